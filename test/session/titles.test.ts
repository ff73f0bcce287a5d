/** What a title is made of, and who may replace it. */

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/platform/clock.ts";
import { Conversation } from "../../src/session/conversation.ts";
import { firstLine, Titles } from "../../src/session/titles.ts";
import { TasksIndex } from "../../src/store/tasksIndex.ts";
import { plainWords } from "../../src/translate/wording.ts";
import { testBridge } from "../support/bridge.ts";
import { serveSubscribe, sessionEvent, settle, startRunning } from "../support/played.ts";
import { until } from "../support/processes.ts";
import { tempDir } from "../support/temp.ts";

test("R8 the first line that says something, in one line of at most 80 whole characters", () => {
  expect(firstLine("\n \r\n  one  \ntwo")).toBe("one");
  expect(firstLine("a\u001b]0;x\u0007b")).toBe("a ]0;x b");
  expect(firstLine("   \n\t")).toBe("");
  expect(firstLine("\u200b\u2060\n\u00a0\u202e\nseen")).toBe("seen");
  expect(firstLine("\u200b")).toBe("");
  expect([...firstLine("😀".repeat(200))]).toHaveLength(80);
  expect(firstLine(`${"a".repeat(79)}😀😀`)).toBe(`${"a".repeat(79)}😀`);
  for (let n = 0; n < 170; n++)
    expect(firstLine(`${"a".repeat(n)}${"😀".repeat(90)}`)).not.toMatch(/[\ud800-\udbff]$/);
});

function setup() {
  const said: string[] = [];
  const clock = systemClock();
  const index = new TasksIndex(tempDir("titles"), { write: () => {}, once: () => {} }, clock);
  const titles = new Titles({ index, clock }, (_, title) => said.push(title));
  const conversation = new Conversation("c", "/project", [], "acp-x", "en");
  conversation.backendId = "s";
  return { said, titles, conversation };
}

test("P33 generated and custom titles are taken, the backend's own first words are not, and a custom one stays", () => {
  const { said, titles, conversation } = setup();
  titles.sent(conversation, { content: "first", attachments: [] });
  titles.pushed(conversation, "First…", "first_input");
  titles.pushed(conversation, "New conversation", "default");
  titles.pushed(conversation, "Unknown kind", "else");
  titles.pushed(conversation, "Made", "generated");
  titles.pushed(conversation, "Made", "generated");
  titles.pushed(conversation, "Chosen", "custom");
  titles.pushed(conversation, "Made again", "generated");
  titles.stored(conversation, { title: "Stored" });
  titles.sent(conversation, { content: "second", attachments: [] });
  titles.pushed(conversation, "Chosen later", "custom");
  expect(said).toEqual(["first", "Made", "Chosen", "Chosen later"]);
  expect(conversation.title).toBe("Chosen later");
});

test("R40 P33 what only the agent was to see of a prompt is in no title that it makes of it", () => {
  const { said, titles, conversation } = setup();
  titles.sent(conversation, { content: "/nothing of ours", attachments: [] });
  titles.pushed(conversation, plainWords("/nothing of ours"), "generated");
  titles.pushed(conversation, plainWords(""), "generated");
  expect(said).toEqual(["/nothing of ours"]);
});

test("R8 a prompt without words gives no title, the next one does, and a stored title is kept", () => {
  const { said, titles, conversation } = setup();
  titles.sent(conversation, { content: " \n", attachments: [] });
  titles.sent(conversation, { content: "words", attachments: [] });
  expect(said).toEqual(["words"]);
  const other = setup();
  other.titles.stored(other.conversation, { title: "Stored", titleSource: "first_input" });
  other.titles.sent(other.conversation, { content: "words", attachments: [] });
  expect(other.said).toEqual(["Stored"]);
});

test("P33 R8 a session that comes back brings no first words in place of the title, and what was made or chosen meanwhile", () => {
  const { said, titles, conversation } = setup();
  titles.sent(conversation, { content: "first words, all of them", attachments: [] });
  titles.stored(conversation, { title: "first words...", titleSource: "first_input" });
  titles.stored(conversation, { title: "New conversation", titleSource: "default" });
  expect(said).toEqual(["first words, all of them"]);
  titles.stored(conversation, { title: "Made", titleSource: "generated" });
  titles.stored(conversation, { title: "Chosen", titleSource: "custom" });
  titles.pushed(conversation, "Made again", "generated");
  expect(said.slice(1)).toEqual(["Made", "Chosen"]);
});

test("P33 P34 B13 a push of a title that a person chose reaches clients and the app's list, and what is made later changes neither", async () => {
  const home = tempDir("titles");
  mkdirSync(join(home, ".zcode", "v2"), { recursive: true });
  const database = new Database(join(home, ".zcode", "v2", "tasks-index.sqlite"), { create: true });
  database.run(`CREATE TABLE tasks (workspace_key TEXT NOT NULL, task_id TEXT NOT NULL, title TEXT NOT NULL,
    title_overridden INTEGER NOT NULL DEFAULT 0, meta_json TEXT NOT NULL DEFAULT '{}')`);
  // A row of the app's own.
  database.run("INSERT INTO tasks VALUES ('/one', 's1', 'Its own', 0, '{\"starred\":true}')");
  const row = () =>
    database.query("SELECT title, title_overridden AS chosen, meta_json AS meta FROM tasks").get();
  const { test, client, server, id } = await startRunning({ HOME: home });
  const push = (seq: number, title: string, source: string) =>
    server.push(sessionEvent("s1", seq, "session.titleUpdated", { title, source }));
  push(2, "Made", "generated");
  push(3, "Chosen", "custom");
  push(4, "Made later", "generated");
  const chosen = { title: "Chosen", chosen: 1, meta: JSON.stringify({ starred: true, title: "Chosen" }) };
  await until("the app's list has it", 5_000, () => JSON.stringify(row()) === JSON.stringify(chosen));
  await settle();
  const titles = client.updates(id).filter((update) => update.sessionUpdate === "session_info_update");
  expect(titles.map(({ title }) => title)).toEqual(["hi", "Made", "Chosen"]);
  await test.bridge.close();
  expect(row()).toEqual(chosen);
  database.close();
});

test("P33 the window is called what a terminal client's own conversation is: not what another client's is, nor by who looks on", async () => {
  const titles: string[] = [];
  const { bridge, client, server } = testBridge({ windowTitle: (title) => titles.push(title) });
  const [terminal, editor] = [client(), client()];
  await terminal.initialize({}, { name: "martty", version: "1" });
  await editor.initialize({}, { name: "zed", version: "1" });
  const mine = await terminal.newSession("/one");
  const theirs = await editor.newSession("/two");
  const backend = await server(0);
  const probe = await backend.take((frame) => frame.method === "runtime/capabilities");
  backend.push({ id: probe.id, result: {} });
  const prompts: Promise<unknown>[] = [];
  for (const [who, id, words, backendId] of [
    [editor, theirs, "Not in this window", "s2"],
    [terminal, mine, "In this window", "s1"],
  ] as const) {
    prompts.push(who.prompt(id, words).catch(() => {}));
    const create = await backend.take((frame) => frame.method === "session/create");
    backend.push({ id: create.id, result: { session: { sessionId: backendId }, runtime: { eventSeq: 0 } } });
    await serveSubscribe(backend);
    await backend.take((frame) => frame.method === "session/send");
  }
  expect(titles).toEqual(["In this window"]);
  // An editor that opens the terminal's conversation changes nothing there, nor does one without a title.
  const load = editor.request("session/load", { sessionId: mine, cwd: "/one", mcpServers: [] });
  const read = await backend.take((frame) => frame.method === "session/messages");
  backend.push({ id: read.id, result: { messages: [] } });
  await load;
  const unused = await terminal.newSession("/three");
  await terminal.request("session/load", { sessionId: unused, cwd: "/three", mcpServers: [] });
  await settle();
  expect(titles).toEqual(["In this window"]);
  await bridge.close();
  await Promise.all(prompts);
});
