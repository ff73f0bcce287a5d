/** What the runtime put among the messages: left out, folded, or kept because a person wrote it. */

import { expect, test } from "bun:test";
import { renderUpdate } from "../../src/clients/render.ts";
import type { Obj } from "../../src/platform/json.ts";
import { personSaid } from "../../src/translate/plumbing.ts";
import { replay, transcript } from "../../src/translate/transcript.ts";

const parts = (...texts: string[]) => texts.map((text) => ({ type: "text", text }));
const marked = (kind: string, more: Obj = {}) => ({
  semantics: { kind, origin: "agent_runtime", transcriptVisibility: "hidden", ...more },
});
const NOTIFICATION = "<task-notification>\n<task-id>exec_1</task-id>\n</task-notification>";
const HANDOVER =
  "This session is being continued from a previous conversation that ran out of context.\nAna asked…";
const TRANSCRIPT = 'Called the Read tool with the following input: {"file_path": "a.ts"}\n\nResult: lines';

test("B15 A13 by their marks: what tells where something happened is folded, hidden or not, and notes of the runtime are left out", () => {
  const folds = (info: Obj, text: string) => personSaid(info, parts(text)).folds;
  expect(folds(marked("compact_summary"), HANDOVER)).toEqual([{ kind: "compact", text: HANDOVER }]);
  expect(folds({ summary: { title: "x", body: "y" } }, "so far")).toEqual([
    { kind: "compact", text: "so far" },
  ]);
  for (const kind of ["background_notification", "subagent_notification"])
    expect(folds(marked(kind), NOTIFICATION)).toEqual([{ kind: "task-notification", text: NOTIFICATION }]);
  expect(folds(marked("shared_context"), "told")).toEqual([{ kind: "context-handoff", text: "told" }]);
  expect(folds(marked("system_reminder"), TRANSCRIPT)).toEqual([
    { kind: "tool-transcript", text: TRANSCRIPT },
  ]);
  for (const kind of ["todo_reminder", "system_reminder", "rewind_notice", "fork_notice", "timeline_event"])
    expect(personSaid(marked(kind), parts("note to itself"))).toEqual({ words: "", files: [], folds: [] });
  expect(personSaid({ visibility: "model-only" }, parts("hidden"))).toEqual({
    words: "",
    files: [],
    folds: [],
  });
});

test("B15 A13 without marks, only whole forms are folded, and the words around them stay", () => {
  expect(personSaid({}, parts(HANDOVER)).folds).toEqual([{ kind: "context-handoff", text: HANDOVER }]);
  expect(personSaid({}, parts(TRANSCRIPT)).folds).toEqual([{ kind: "tool-transcript", text: TRANSCRIPT }]);
  expect(personSaid({}, parts(`Go on\n\n${NOTIFICATION}\n\nand on`))).toEqual({
    words: "Go on\nand on",
    files: [],
    folds: [{ kind: "task-notification", text: NOTIFICATION }],
  });
});

test("B15 a person's own words stay where the build says that they are a person's, whatever they look like", () => {
  const real = { semantics: { kind: "user_prompt", origin: "real_user", transcriptVisibility: "visible" } };
  for (const words of [
    HANDOVER,
    TRANSCRIPT,
    NOTIFICATION,
    "This session is being continued from a previous conversation? Which one?",
    "Called the plumber tool with the following input, and nobody came",
    "What is a <system-reminder>?",
  ])
    expect(personSaid(real, parts(words))).toEqual({ words, files: [], folds: [] });
  // What the runtime appended to them goes all the same.
  const reminder = "<system-reminder>\nbe kind\n</system-reminder>";
  expect(personSaid(real, parts(`Fix it\n\n${reminder}`)).words).toBe("Fix it");
});

test("A13 R42 a fold is a closed card of its kind, under an id that stays, with its text inside", () => {
  const messages = [
    { info: { id: "m1", role: "user", ...marked("background_notification") }, parts: parts(NOTIFICATION) },
    { info: { id: "m2", role: "assistant", summary: { title: "t" } }, parts: parts("so far") },
  ];
  const drawn = () =>
    [...replay(transcript(messages), "/one", "en")].map((update) =>
      JSON.parse(renderUpdate(update, { terminal: false }) ?? "null"),
    );
  expect(drawn()).toEqual([
    {
      sessionUpdate: "tool_call",
      toolCallId: "histfold_m1",
      title: "A background task has ended",
      kind: "other",
      status: "completed",
      content: [{ type: "content", content: { type: "text", text: `\`\`\`\n${NOTIFICATION}\n\`\`\`` } }],
      _meta: { zcode: { collapsed: true, kind: "task-notification" } },
    },
    expect.objectContaining({
      toolCallId: "histfold_m2",
      title: "The conversation was compacted",
      _meta: { zcode: { collapsed: true, kind: "compact" } },
    }),
  ]);
  expect(drawn()).toEqual(drawn());
});

test("B15 R42 what a person sent beside words is shown: images with their bytes, everything else by its name, and a prompt without words is one", () => {
  const file = (mime: string, filename: string, url: string) => ({ type: "file", mime, filename, url });
  const sent = [
    file("image/png", "screen.png", "data:image/png;base64,iVBORw0KGgo="),
    file("image/png", "old.png", "zcode-artifact://s/att-1"),
    file("text/plain", "notes.txt", "data:text/plain;base64,aGk="),
    { ...file("image/png", "made.png", "x:1"), synthetic: true },
    { type: "file" },
  ];
  const items = transcript([
    { info: { id: "m1", role: "user" }, parts: sent },
    { info: { id: "m2", role: "user" }, parts: [...parts("look"), sent[0]] },
  ]);
  expect(items.map(({ starts, shows }) => [starts, shows])).toEqual([
    [true, true],
    [true, true],
  ]);
  const contents = [...replay(items, "/one", "en")].map(
    (update) => JSON.parse(renderUpdate(update, { terminal: false }) ?? "null").content,
  );
  const image = { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" };
  expect(contents).toEqual([
    image,
    { type: "resource_link", name: "old.png", uri: "zcode-artifact://s/att-1", mimeType: "image/png" },
    { type: "text", text: "[notes.txt]" },
    { type: "text", text: "look" },
    image,
  ]);
});
