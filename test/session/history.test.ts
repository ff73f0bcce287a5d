/** Loads, tails and pages over any history: joined they are the whole, and nothing at a seam is lost or told twice. */

import { expect, test } from "bun:test";
import type { PlainClient, RemoteError } from "../support/plainClient.ts";
import { acceptSend, sessionEvent, settle, startPlayed } from "../support/played.ts";
import { eachSeedAsync, Random } from "../support/random.ts";
import {
  agent,
  begin,
  earlier,
  load,
  shown,
  speaker,
  startsTurn,
  tool,
  user,
  words,
} from "../support/stored.ts";

test("R42 R43 R44 R45 B15 whatever the history, tails and pages join to the whole, no turn is cut, and what is told of them is true", async () => {
  await eachSeedAsync(60, async (random) => {
    const { test, client, store, end } = await begin(random, random.int(0, 40));
    // Known to this bridge before, or opened cold.
    if (random.chance(0.5)) await load(client, "s", 0);
    const limit = random.pick([1, 2, 5, 10, 30, 500]);
    const tail = await load(client, "s", limit);
    expect(startsTurn(tail.lines) || tail.meta.hasMore === false).toBe(true);
    const pages = [tail];
    while (pages[0]!.meta.hasMore) {
      // What is appended meanwhile neither moves nor repeats anything.
      if (random.chance(0.3)) store.turn(false);
      const page = await earlier(client, "s", pages[0]!.meta.cursor, random.pick([undefined, 1, 3, 7, 50]));
      expect(startsTurn(page.lines) || page.meta.hasMore === false).toBe(true);
      expect(page.lines.length).toBeGreaterThan(0);
      pages.unshift(page);
      expect(pages.length).toBeLessThan(200);
    }
    const joined = pages.flatMap(({ lines }) => lines);
    const other = test.client();
    await other.initialize();
    const whole = await load(other, "s");
    const appended = whole.lines.length - joined.length;
    expect(appended).toBeGreaterThanOrEqual(0);
    expect(joined).toEqual(whole.lines.slice(0, joined.length));
    expect(whole.meta.hasMore).toBe(false);
    expect(whole.meta.replayedMessages).toBe(whole.meta.totalMessages);
    expect(whole.meta.replayedTurns).toBe(whole.meta.totalTurns);
    const again = await load(client, "s", 1);
    expect([again.meta.totalMessages, again.meta.totalTurns]).toEqual([
      whole.meta.totalMessages,
      whole.meta.totalTurns,
    ]);
    // Nobody else was shown any of it.
    expect(shown(other, "s").length).toBe(whole.lines.length);
    await end();
  });
}, 120_000);

test("R42 a limit is clamped, 0 brings what is told alone, and without one it is all", async () => {
  const { client, store, end } = await begin(new Random(3), 0);
  for (let n = 0; n < 700; n++) store.messages.push(user(store.id(), `p${n}`));
  expect((await load(client, "s", 0)).lines).toEqual([]);
  const none = await load(client, "s", 0);
  expect(none.meta).toMatchObject({
    replayedMessages: 0,
    replayedTurns: 0,
    totalMessages: 700,
    hasMore: true,
  });
  expect((await earlier(client, "s", none.meta.cursor, 2)).lines).toHaveLength(2);
  for (const [limit, count] of [
    [30, 30],
    [9_999, 500],
    [-5, 0],
    [2.9, 2],
  ] as const)
    expect((await load(client, "s", limit)).lines).toHaveLength(count);
  expect((await load(client, "s")).lines).toHaveLength(700);
  const tail = await load(client, "s", 30);
  expect(tail.meta).toMatchObject({
    hasMore: true,
    replayedMessages: 30,
    replayedTurns: 30,
    turnActive: false,
  });
  expect((await earlier(client, "s", tail.meta.cursor)).lines).toHaveLength(50);
  expect((await earlier(client, "s", tail.meta.cursor, 0)).lines).toHaveLength(1);
  await end();
});

test("R45 a cursor lasts while turns are appended, and has expired after a compaction, after messages are gone, for garbage and for another session", async () => {
  const { client, store, end } = await begin(new Random(5), 30);
  const { meta } = await load(client, "s", 5);
  store.turn();
  expect((await earlier(client, "s", meta.cursor, 3)).lines.length).toBeGreaterThan(0);
  const expired = (cursor: unknown) =>
    expect(earlier(client, "s", cursor)).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining("cursor expired"),
    });
  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  for (const garbage of [
    "",
    "x",
    undefined,
    null,
    7,
    encoded([]),
    encoded({}),
    encoded(["x", 1, 0, "m1"]),
    "A".repeat(1e5),
  ])
    await expired(garbage);
  const other = await load(client, "another", 5);
  await expired(other.meta.cursor);
  store.compact();
  await expired(meta.cursor);
  const after = await load(client, "s", 5);
  expect((await earlier(client, "s", after.meta.cursor)).lines.length).toBeGreaterThan(0);
  // Truncated: what the cursor points at is gone.
  const again = await load(client, "s", 1);
  const oldest = again.lines[0]!.split(" ")[1];
  store.messages.splice(store.messages.findIndex(({ info }) => info.messageId === oldest));
  await expired(again.meta.cursor);
  await end();
});

test("R44 a page is for who has the conversation, and nothing is resumed for it", async () => {
  const { test, client, server, store, end } = await begin(new Random(6), 20);
  const { meta } = await load(client, "s", 3);
  const other = test.client();
  await other.initialize();
  const unattached = (each: PlainClient, id: string) =>
    each
      .request("session/load_earlier", { sessionId: id, before: meta.cursor })
      .catch((error: RemoteError) => error);
  expect(await unattached(other, "s")).toMatchObject({ code: -32002 });
  expect(await unattached(client, "never heard of")).toMatchObject({ code: -32002 });
  const asked = store.asked.length;
  server.die(1);
  await settle();
  expect(await unattached(client, "s")).toMatchObject({ code: -32002 });
  expect(store.asked).toHaveLength(asked);
  expect(test.servers).toHaveLength(1);
  await end();
});

test("B5 B15 a history that is still being restored is read until it is whole", async () => {
  const { client, store, end } = await begin(new Random(9), 40);
  const whole = await load(client, "s");
  for (const [limit, reads] of [
    [undefined, 1],
    [undefined, 3],
    [5, 1],
    [5, 2],
    [5, 3],
    [1, 4],
  ] as const) {
    store.prefixReads = reads;
    const { lines, meta } = await load(client, "s", limit);
    if (limit === undefined) expect(lines).toEqual(whole.lines);
    else expect(whole.lines.slice(-lines.length)).toEqual(lines);
    expect(meta.totalMessages).toBe(whole.meta.totalMessages);
  }
  await end();
}, 20_000);

test("R42 B15 a tail asks the backend for little, and pages for twice the whole at most", async () => {
  const { client, store, end } = await begin(new Random(11), 1_000);
  await load(client, "s", 0);
  store.asked.length = 0;
  let page = await load(client, "s", 30);
  expect(store.asked.every(({ limit }) => Number(limit) <= 100)).toBe(true);
  while (page.meta.hasMore) page = await earlier(client, "s", page.meta.cursor);
  const read = store.asked.reduce(
    (sum, { limit }) => sum + Math.min(Number(limit), store.messages.length),
    0,
  );
  expect(read).toBeLessThan(6 * store.messages.length);
  await end();
}, 20_000);

test("R46 A13 R9 a load while a turn runs shows what has happened, each once, and then joins in; to others it comes as it did", async () => {
  const { test, client, server, store, end } = await begin(new Random(1), 2);
  await load(client, "s");
  const answer = client.prompt("s", "go");
  const inputId = await acceptSend(server);
  const asked = store.id();
  store.messages.push(user(asked, "go"));
  const { event, say } = speaker(server, "a1");
  event("turn.started", { inputId, messageId: asked });
  say("One ");
  say("two. ");
  event("tool.updated", {
    kind: "scheduled",
    toolCallId: "c1",
    toolName: "Read",
    input: { file_path: "/one/a" },
  });
  event("tool.updated", { kind: "result", toolCallId: "c1", result: { success: true, content: "lines" } });
  // The store has a part of it, as it is written from time to time.
  store.messages.push(agent("a1", words("One "), tool("c1")));
  await settle();
  const other = test.client();
  await other.initialize();
  const loading = load(other, "s", 1);
  // Said while it is read.
  say("Three. ");
  const { lines, meta } = await loading;
  expect(meta.turnActive).toBe(true);
  expect(lines).toEqual([`user ${asked} go`, "agent a1 One two. ", "card c1", "agent a1 Three. "]);
  const before = other.updates("s").length;
  say("Four.");
  event("turn.completed", { resultType: "success" });
  server.push({ method: "state.updated", params: { sessionId: "s", reason: "prompt_completed", patch: {} } });
  expect((await answer).stopReason).toBe("end_turn");
  await settle();
  expect(shown(other, "s", before)).toEqual(["agent a1 Four."]);
  const text = shown(client, "s")
    .filter((line) => line.startsWith("agent a1"))
    .map((line) => line.slice(9));
  expect(text.join("")).toBe("One two. Three. Four.");
  const turns = (each: PlainClient) =>
    each.frames.filter((frame) => frame.method === "$/zcode/turnState").map(({ params }) => params);
  expect(turns(client)).toEqual([
    { sessionId: "s", running: true },
    { sessionId: "s", running: false },
  ]);
  expect(turns(other)).toEqual([{ sessionId: "s", running: false }]);
  await end();
});

test("R46 M4 who loads a conversation anew in which its own prompt runs is told its words before its end, and then the history", async () => {
  const { client, server, store, end } = await begin(new Random(4), 2);
  await load(client, "s");
  const answer = client.prompt("s", "go");
  const inputId = await acceptSend(server);
  const asked = store.id();
  server.push(sessionEvent("s", 1, "turn.started", { inputId, messageId: asked }));
  await settle();
  store.hold = true;
  const from = client.updates("s").length;
  const loading = load(client, "s");
  await settle();
  const delta = { kind: "text_delta", assistantMessageId: "a1", delta: "All of it." };
  server.push(sessionEvent("s", 2, "model.streaming", delta));
  server.push(sessionEvent("s", 3, "turn.completed", { resultType: "success" }));
  server.push({ method: "state.updated", params: { sessionId: "s", reason: "prompt_completed", patch: {} } });
  store.messages.push(user(asked, "go"), agent("a1", words("All of it.")));
  expect((await answer).stopReason).toBe("end_turn");
  expect(shown(client, "s", from)).toEqual(["agent a1 All of it."]);
  store.hold = false;
  store.release();
  expect((await loading).lines.slice(-3)).toEqual([
    expect.stringMatching(/./),
    `user ${asked} go`,
    "agent a1 All of it.",
  ]);
  await end();
});

test("R46 a load that is refused, or whose client is gone, keeps nothing back from anybody", async () => {
  const { test, client, server, store, end } = await begin(new Random(2), 3);
  await load(client, "s");
  const bad = client.request("session/load", { sessionId: "s" });
  const { say } = speaker(server, "a1");
  say("one ");
  await expect(bad).rejects.toMatchObject({ code: -32602 });
  await settle();
  say("two ");
  await settle();
  expect(shown(client, "s").filter((line) => line.startsWith("agent a1"))).toEqual([
    "agent a1 one ",
    "agent a1 two ",
  ]);
  // Cancelled in mid-load: what was said is told, and the history is not.
  store.hold = true;
  const loading = client.request("session/load", { sessionId: "s", cwd: "/one", mcpServers: [] });
  await settle();
  say("three");
  client.notify("$/cancel_request", { requestId: loading.id });
  await expect(loading).rejects.toMatchObject({ code: -32800 });
  await settle();
  const before = shown(client, "s");
  expect(before.at(-1)).toBe("agent a1 three");
  store.release();
  await settle();
  expect(shown(client, "s")).toEqual(before);
  await test.bridge.close();
  await end();
});

test("R46 M3 what waits for several loads of one client is told once, whichever of them come to nothing", async () => {
  const { test, client: opener, server, store, end } = await begin(new Random(2), 3);
  await load(opener, "s");
  // One that does not follow it yet.
  const client = test.client();
  await client.initialize();
  const { say } = speaker(server, "a1");
  const said = () => shown(client, "s").filter((line) => line.startsWith("agent a1"));
  const loading = () => client.request("session/load", { sessionId: "s", cwd: "/one", mcpServers: [] });
  // The first is taken back: the second brings the history, and what was said behind it.
  store.hold = true;
  const first = loading();
  await settle();
  say("one ");
  await settle();
  const second = loading();
  await settle();
  client.notify("$/cancel_request", { requestId: first.id });
  await expect(first).rejects.toMatchObject({ code: -32800 });
  await settle();
  expect(said()).toEqual([]);
  store.hold = false;
  store.messages.push(agent("a1", words("one ")));
  store.release();
  await second;
  await settle();
  expect(said()).toEqual(["agent a1 one "]);
  // Both go with the backend.
  store.hold = true;
  const before = said().length;
  const both = [loading(), loading()];
  await settle();
  say("two ");
  await settle();
  server.die(1);
  for (const each of both) await expect(each).rejects.toMatchObject({ code: -32603 });
  await settle();
  expect(said().slice(before)).toEqual(["agent a1 two "]);
  await end();
});

test("R42 R46 who has the conversation and asks for what is told of it alone misses nothing that is said meanwhile", async () => {
  const { client, server, store, end } = await begin(new Random(3), 3);
  await load(client, "s");
  const say = (seq: number, delta: string) =>
    server.push(
      sessionEvent("s", seq, "model.streaming", { kind: "text_delta", assistantMessageId: "a1", delta }),
    );
  say(1, "one ");
  await settle();
  store.hold = true;
  const loading = load(client, "s", 0);
  await settle();
  say(2, "two ");
  await settle();
  // At once: the answer to the prompt that says it must not come before it.
  expect(shown(client, "s").at(-1)).toBe("agent a1 two ");
  store.release();
  expect((await loading).lines).toEqual(["agent a1 two "]);
  await end();
});

test("R46 P6 what a prompt says comes before its answer, also to a client that is just loading the conversation", async () => {
  const { client, server, store, end } = await begin(new Random(4), 2);
  await load(client, "s");
  const answer = client.prompt("s", "go");
  const inputId = await acceptSend(server);
  server.push(sessionEvent("s", 1, "turn.started", { inputId, messageId: "u9" }));
  store.hold = true;
  const from = client.updates("s").length;
  const loading = load(client, "s", 1);
  await settle();
  const payload = { kind: "text_delta", assistantMessageId: "a9", delta: "All of it." };
  server.push(sessionEvent("s", 2, "model.streaming", payload));
  server.push(sessionEvent("s", 3, "turn.completed", { resultType: "success" }));
  server.push({ method: "state.updated", params: { sessionId: "s", reason: "prompt_completed", patch: {} } });
  await answer;
  expect(shown(client, "s", from)).toEqual(["agent a9 All of it."]);
  const before = client.updates("s").length;
  store.messages.push(user("u9", "go"), agent("a9", words("All of it.")));
  store.hold = false;
  store.release();
  await loading;
  await settle();
  expect(shown(client, "s", before)).toEqual(["user u9 go", "agent a9 All of it."]);
  await end();
});

test("R46 what is said between the history of a resume and the end of a load comes behind the history, once", async () => {
  const { client, server, test } = await startPlayed();
  const loading = load(client, "s", 5);
  const resume = await server.take((frame) => frame.method === "session/resume");
  const messages = [user("u1", "hi"), agent("a1", words("Hello."))];
  server.push({ id: resume.id, result: { session: { sessionId: "s" }, runtime: { eventSeq: 4 }, messages } });
  const delta = { kind: "text_delta", assistantMessageId: "a2", delta: "Meanwhile." };
  server.push(sessionEvent("s", 5, "model.streaming", delta));
  const subscribe = await server.take((frame) => frame.method === "session/subscribe");
  server.push({ id: subscribe.id, result: {} });
  expect((await loading).lines).toEqual(["user u1 hi", "agent a1 Hello.", "agent a2 Meanwhile."]);
  await test.bridge.close();
});

test("R42 P3 a terminal client that resumes is shown the tail behind the answer, others are not, and a placeholder is an empty conversation", async () => {
  const { test, store, end } = await begin(new Random(8), 300);
  for (const [name, shows] of [
    ["martty", true],
    ["zed", false],
  ] as const) {
    const client = test.client();
    await client.initialize({}, { name, version: "1" });
    const answered = client.request("session/resume", { sessionId: "s", cwd: "/one", mcpServers: [] });
    await answered;
    const answer = client.frames.findIndex((frame) => frame.id === answered.id);
    for (let i = 0; i < 10; i++) await settle();
    const first = client.frames.findIndex((frame) => JSON.stringify(frame).includes("user_message_chunk"));
    expect(first > answer).toBe(shows);
    const count = shown(client, "s").length;
    if (shows) expect(count).toBeGreaterThan(100);
    expect(count).toBeLessThan(store.messages.length);
  }
  const client = test.client();
  await client.initialize();
  const id = await client.newSession("/one");
  const { lines, meta } = await load(client, id, 30);
  expect(lines).toEqual([]);
  expect(meta).toEqual({
    cursor: null,
    hasMore: false,
    replayedMessages: 0,
    replayedTurns: 0,
    totalMessages: 0,
    totalTurns: 0,
    turnActive: false,
  });
  await end();
});
