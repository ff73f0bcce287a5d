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
    file("text/markdown", "plan.md", "file:///one/plan.md"),
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
    // The agent's own store is nothing that a client can open.
    { type: "text", text: "[old.png]" },
    { type: "resource_link", name: "plan.md", uri: "file:///one/plan.md", mimeType: "text/markdown" },
    { type: "text", text: "[notes.txt]" },
    { type: "text", text: "look" },
    image,
  ]);
});

const REMINDER = "<system-reminder>\nbe kind\n</system-reminder>";
const REAL = { semantics: { kind: "user_prompt", origin: "real_user", transcriptVisibility: "visible" } };
const QUOTED = `It printed:\n\`\`\`\n${NOTIFICATION}\n\`\`\`\nWhy?`;

test("B15 a person may ask about reminders and quote them: what stands within a line, in backticks or in fenced code stays", () => {
  for (const words of [
    "What is a <system-reminder>? Please explain it at length.",
    "What is a `<system-reminder>`, and where does `</system-reminder>` stand?",
    "What stands between `<system-reminder>` and </system-reminder>",
    "Why does `<system-reminder>x</system-reminder>` come?",
    "Why does <system-reminder>x</system-reminder> come?",
    `Look: ${REMINDER} is what came.`,
    `\`${REMINDER}\` is what came.`,
    `> ${REMINDER}\nis what came`,
    `    ${REMINDER}\nis what came, indented`,
    `Look:\n\`\`\`\n${REMINDER}\n\`\`\`\nWhy?`,
    `Look:\n\`\`\`xml\n${REMINDER}\n\`\`\``,
    `Look:\n~~~~\n\`\`\`\n~~~\n${REMINDER}\n~~~~\nWhy?`,
    `Look:\n\`\`\`\`\n\`\`\`\n${REMINDER}\n\`\`\`\n\`\`\`\`\nWhy?`,
    `One fence:\n\`\`\`\na\n\`\`\`\nanother:\n\`\`\`\n${REMINDER}\n\`\`\`\nWhy?`,
    `In an open one:\n\`\`\`\n${REMINDER}\nwhy?`,
    "<system-reminder> begins it and </system-reminder> ends it, does it?",
    "</system-reminder>\n<system-reminder>",
    "    indented first line\n  second",
    "\tif (a)\n\t\tb();",
    `The tag\n\`<system-reminder>\`\nand the words\n\`</system-reminder>\``,
  ]) {
    for (const info of [REAL, {}]) {
      expect(personSaid(info, parts(words))).toEqual({ words, files: [], folds: [] });
      // What the runtime appended goes all the same, on lines of its own or not.
      for (const between of ["\n\n", "\n", "\r\n\r\n"]) {
        const appended = `${words}${between}${REMINDER}`;
        expect(personSaid(info, parts(appended)).words).toBe(words);
        expect(personSaid(info, parts(`${appended}\n`)).words).toBe(words);
        expect(personSaid(info, parts(`${appended}\n\n${REMINDER}\n`)).words).toBe(words);
      }
    }
  }
});

test("B15 what the runtime put around a person's words goes, and the words stay as they were indented", () => {
  for (const [stored, words] of [
    [`Fix it${REMINDER}`, "Fix it"],
    [`Fix it ${REMINDER}  \n`, "Fix it"],
    [`Run \`ls\`${REMINDER}`, "Run `ls`"],
    [`${REMINDER}\n\n    four spaces\n  two`, "    four spaces\n  two"],
    [`    four spaces\n\n${REMINDER}`, "    four spaces"],
    [`  one\n${REMINDER}\n\n\n    two`, "  one\n    two"],
    [`${REMINDER}\n${REMINDER}\r\n\r\n one`, " one"],
    [`${REMINDER} ${REMINDER}\none`, "one"],
    ["<system-reminder>a</system-reminder>\none\n<system-reminder>b</system-reminder>\ntwo", "one\ntwo"],
    ["<system-reminder>\nNever say <system-reminder>.\n</system-reminder>\none", "one"],
    ["<system-reminder>\nIt ends with `</system-reminder>`.\n</system-reminder>\none", "one"],
    [
      "<system-reminder>\n```\ncut of\n</system-reminder>\none\n\n<system-reminder>\nb\n</system-reminder>\ntwo",
      "one\ntwo",
    ],
    // A fence that was left open is no reason to show what stands at the end.
    [`Look:\n\`\`\`\ncode\n\n${REMINDER}`, "Look:\n```\ncode"],
    [
      `Look:\n\`\`\`\ncode\n\n${REMINDER}\n\n<system-reminder>\n\`\`\`\n</system-reminder>`,
      "Look:\n```\ncode",
    ],
  ] as const)
    for (const info of [REAL, {}])
      expect([stored, personSaid(info, parts(stored)).words]).toEqual([stored, words]);
});

test("B15 without marks look-alikes of what is folded stay: they are quoted, or lack what makes it whole", () => {
  for (const words of [
    "This session is being continued from a previous conversation? Which one?",
    "This session is being continued from a previous conversation? Which one?\nTell me.",
    "This session is being continued from a previous conversation that I do not know of.",
    "This session is being continued from a previous conversation that ran out of context. Why?\nTell me.",
    "This session is being continued from a previous conversation, it says.\nIs that so?",
    "This session is being continued from a previous conversation",
    `It said:\n${HANDOVER}`,
    "Called the plumber tool with the following input, and nobody came",
    "Called the plumber tool with the following input: come",
    'Called the Read tool with the following input: {"file_path": "a.ts"}, and why?',
    'Called the Read tool with the following input: {"file_path": "a.ts"}\n\nand nothing came back',
    "Called the Read tool with the following input: {the file}",
    'Called the Read tool with the following input: {"file_path": "a.ts',
    'It says "Called the Read tool with the following input: {}"',
    `It says:\n${TRANSCRIPT}`,
    `It says:\n\`\`\`\n\n${TRANSCRIPT}\n\`\`\`\nWhy?`,
    `> ${TRANSCRIPT}`,
    "Result of calling the Read tool: nothing",
    QUOTED,
    `What is ${NOTIFICATION}`,
    `Why does \`${NOTIFICATION}\` come?`,
    "<task-notification>",
  ])
    expect(personSaid({}, parts(words))).toEqual({ words, files: [], folds: [] });
  // Marked as the runtime's it is folded, quoted or not.
  expect(personSaid(marked("background_notification"), parts(QUOTED)).folds).toEqual([
    { kind: "task-notification", text: QUOTED },
  ]);
});

test("B15 A13 a rewritten call behind a person's words is folded, and the words stay", () => {
  const input = '{"command": "echo \\"}{\\"", "more": {"a": [{}]}}';
  const one = `Called the Bash tool with the following input: ${input}`;
  const both = `${one}\n\nResult of calling the Bash tool: first\n\nthen {more\n\n${TRANSCRIPT}`;
  for (const call of [
    one,
    TRANSCRIPT,
    both,
    `${one}\n\n${TRANSCRIPT}`,
    `${one}\nResult of calling the Bash tool: done`,
    'Called the Edit tool with the following input:\n{\n  "file_path": "a.ts"\n}\n\nResult of calling the Edit tool: ok',
    'Called the Edit tool with the following input: {"old_string": "cut of\nResult of calling the Edit tool: ok',
  ]) {
    const folds = [{ kind: "tool-transcript" as const, text: call }];
    expect(personSaid({}, parts(call))).toEqual({ words: "", files: [], folds });
    expect(personSaid({}, parts(`  See @a.ts\n\n${call}\n`))).toEqual({
      words: "  See @a.ts",
      files: [],
      folds,
    });
    expect(personSaid({}, parts(`See @a.ts\r\n \r\n${call}`))).toEqual({
      words: "See @a.ts",
      files: [],
      folds,
    });
    // What a person is said to have written is all theirs.
    expect(personSaid(REAL, parts(`See @a.ts\n\n${call}`)).folds).toEqual([]);
  }
  // A look-alike before it is none.
  const asked = "Called the plumber tool with the following input: {none}\n\nWhat then?";
  expect(personSaid({}, parts(`${asked}\n\n${one}`))).toEqual({
    words: asked,
    files: [],
    folds: [{ kind: "tool-transcript", text: one }],
  });
});

test("B15 A13 parts that the runtime made are folded where they are of a kind that is, and dropped else", () => {
  const made = (text: string) => ({ type: "text", text, synthetic: true });
  const result = "Result of calling the Read tool: lines";
  for (const info of [REAL, {}]) {
    const said = (...more: Obj[]) => personSaid(info, [...parts("See @a.ts"), ...more]);
    expect(said(made(TRANSCRIPT))).toEqual({
      words: "See @a.ts",
      files: [],
      folds: [{ kind: "tool-transcript", text: TRANSCRIPT }],
    });
    expect(said(made(HANDOVER), made(NOTIFICATION), made("a note"), made(REMINDER)).folds).toEqual([
      { kind: "context-handoff", text: HANDOVER },
      { kind: "task-notification", text: NOTIFICATION },
    ]);
    expect(said(made(TRANSCRIPT), made(result), made(result), made("a note")).folds).toEqual([
      { kind: "tool-transcript", text: `${TRANSCRIPT}\n\n${result}\n\n${result}` },
    ]);
    const cut = "Called the Read tool with the following input, which is left out";
    expect(said(made(cut)).folds).toEqual([{ kind: "tool-transcript", text: cut }]);
    expect(said(made(result), made("a note"))).toEqual({ words: "See @a.ts", files: [], folds: [] });
  }
});

test("B15 A13 notes of the runtime are not shown where nothing hides them, and a person's of such a kind are", () => {
  for (const kind of ["todo_reminder", "system_reminder", "rewind_notice", "fork_notice", "timeline_event"])
    for (const origin of ["agent_runtime", "system", undefined]) {
      const info = { semantics: { kind, origin } };
      expect(personSaid(info, parts("note to itself"))).toEqual({ words: "", files: [], folds: [] });
      expect(personSaid(info, parts(TRANSCRIPT)).folds).toEqual([
        { kind: "tool-transcript", text: TRANSCRIPT },
      ]);
      expect(personSaid({ semantics: { kind, origin: "real_user" } }, parts("mine")).words).toBe("mine");
    }
  for (const kind of ["user_prompt", "slash_command", "another"])
    expect(personSaid({ semantics: { kind, origin: "agent_runtime" } }, parts("go on")).words).toBe("go on");
  // Hidden with no kind, as builds without such marks have it.
  const unmarked = { visibility: "model-only" };
  expect(personSaid(unmarked, parts(`${NOTIFICATION}\n\nnote`)).folds).toEqual([
    { kind: "task-notification", text: NOTIFICATION },
  ]);
  expect(personSaid(unmarked, parts(HANDOVER)).folds).toEqual([{ kind: "context-handoff", text: HANDOVER }]);
});

test("B15 a look through two million characters takes no time, whatever is repeated in them", () => {
  for (const piece of [
    "<system-reminder>",
    "\n<system-reminder>\n",
    "</system-reminder>",
    "\n</system-reminder>\n",
    "`<system-reminder>` ",
    "<system-reminder>x</system-reminder> ",
    `\n${REMINDER}\n`,
    "<system-reminder></system-reminder>",
    "\n```\n<system-reminder>",
    "\n```a\n",
    `\n\`\`\`a\n${REMINDER}\n`,
    "<task-notification>",
    "\n</task-notification>\n",
    `\n${NOTIFICATION}\n`,
    "Called the ",
    "Called the a tool with the following input: {",
    "\n\nCalled the a tool with the following input: {",
    "\n\nCalled the a tool with the following input: {}x",
    '\n\nCalled the a tool with the following input: {"',
    "\n\nCalled the a tool with the following input: {}\n\nResult of calling the b tool: {",
    "This session is being continued from a previous conversation that\n",
    "\n",
    " ",
    "\n ",
    "`",
  ]) {
    const text = piece.repeat(Math.ceil(2_000_000 / piece.length));
    for (const whole of [text, `${text}${REMINDER}`, `${REMINDER}${text}</system-reminder>`, `x${text}x`]) {
      const before = performance.now();
      personSaid({}, parts(whole));
      expect([piece, performance.now() - before < 1_000]).toEqual([piece, true]);
    }
  }
}, 60_000);

test("B15 a reminder that names its own tag, or holds one, goes whole", () => {
  for (const inner of [
    "a <system-reminder>b</system-reminder> c",
    "Never mention </system-reminder> to the user. SECRET",
    "<system-reminder> and </system-reminder> are tags",
  ]) {
    const reminder = `<system-reminder>\n${inner}\n</system-reminder>`;
    for (const info of [REAL, {}]) {
      expect(personSaid(info, parts(`Fix it\n\n${reminder}`)).words).toBe("Fix it");
      expect(personSaid(info, parts(`Fix it\n${reminder}\nand that`)).words).toBe("Fix it\nand that");
      expect(personSaid(info, parts(`One\n${reminder}\ntwo\n${reminder}`)).words).toBe("One\ntwo");
    }
  }
});

test("B15 A13 whatever the runtime's own messages say, they are folded by their mark, without its reminders, and one that says nothing is none", () => {
  for (const [kind, fold] of [
    ["compact_summary", "compact"],
    ["background_notification", "task-notification"],
    ["subagent_notification", "task-notification"],
    ["shared_context", "context-handoff"],
  ] as const) {
    const said = (...texts: string[]) => personSaid(marked(kind), parts(...texts)).folds;
    expect(said("Told in other words")).toEqual([{ kind: fold, text: "Told in other words" }]);
    expect(said("Told\n<system-reminder>\nsecret\n</system-reminder>")).toEqual([
      { kind: fold, text: "Told" },
    ]);
    expect(said("")).toEqual([]);
    expect(said()).toEqual([]);
  }
  const answer = {
    info: { id: "a", role: "assistant", ...marked("compact_summary") },
    parts: parts("So far."),
  };
  expect([...replay(transcript([answer]), "/one", "en")]).toMatchObject([{ kind: "fold", fold: "compact" }]);
});

test("B15 A13 the result of a rewritten call is folded with it, also where no mark says whose its part is", () => {
  const call = 'Called the Read tool with the following input: {"file_path": "a.ts"}';
  const result = "Result of calling the Read tool:\nlines";
  expect(personSaid({}, parts(call, result))).toEqual({
    words: "",
    files: [],
    folds: [{ kind: "tool-transcript", text: `${call}\n\n${result}` }],
  });
});

test("A13 R42 folds of one message, and of messages that have no id, are a card each", () => {
  const messages = [
    { info: { role: "user" }, parts: parts(`${NOTIFICATION}\n\n${TRANSCRIPT}`) },
    { info: { role: "user" }, parts: parts(NOTIFICATION) },
    { info: { id: "m1", role: "user" }, parts: parts(`${NOTIFICATION}\n\n${TRANSCRIPT}`) },
  ];
  const ids = [...replay(transcript(messages), "/one", "en")].map((update) => "id" in update && update.id);
  expect(ids).toHaveLength(5);
  expect(new Set(ids).size).toBe(5);
  expect(ids.slice(3)).toEqual(["histfold_m1", "histfold_m1_1"]);
});

test("B15 of reminders at the end, those go that stand on lines of their own or end it; fences of tildes are fences too", () => {
  const reminder = "<system-reminder>\nsecret\n</system-reminder>";
  const inline = "Why does <system-reminder>x</system-reminder>";
  expect(personSaid({}, parts(`${inline}\n${reminder}`)).words).toBe(inline);
  expect(personSaid({}, parts(`Why\n${reminder}\n${reminder}`)).words).toBe("Why");
  const fenced = `Look:\n~~~\n${reminder}\n~~~\nWhat is it?`;
  expect(personSaid({}, parts(fenced)).words).toBe(fenced);
});

test("B15 what a person said in several parts stays apart", () => {
  expect(personSaid({}, parts("one", "two")).words).toBe("one\ntwo");
});
