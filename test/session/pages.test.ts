/** Tails and pages while the history changes: what is told is what is there, and it costs no more than it must. */

import { expect, test } from "bun:test";
import type { AnyMessage } from "@agentclientprotocol/sdk/unstable";
import type { Receiver } from "../../src/bridge/transport.ts";
import { scaledClock, systemClock } from "../../src/platform/clock.ts";
import { Conversation } from "../../src/session/conversation.ts";
import { History } from "../../src/session/history.ts";
import { EARLIER_MS } from "../../src/session/limits.ts";
import { expectBatch } from "../../src/session/readers.ts";
import type { Residence } from "../../src/session/residence.ts";
import { ManualClock } from "../sim/manualClock.ts";
import { type Json, PlainClient, type RemoteError } from "../support/plainClient.ts";
import { acceptSend, serveSubscribe, sessionEvent, settle, startPlayed } from "../support/played.ts";
import { eachSeedAsync, Random } from "../support/random.ts";
import {
  agent,
  begin,
  earlier,
  type Loaded,
  load,
  plumbing,
  Store,
  shown,
  speaker,
  tool,
  user,
  words,
} from "../support/stored.ts";

const EXPIRED = { code: -32602, message: expect.stringContaining("cursor expired") };
const NOT_OPEN = { code: -32002 };
const COMPACTED = {
  method: "state.updated",
  params: { sessionId: "s", reason: "session_compacted", patch: {} },
};

/** The message of the first line. */
const oldest = (lines: readonly string[]) => lines[0]?.split(" ")[1];

const failed = (each: Promise<unknown>) => each.catch((error: RemoteError) => error);

test("R42 R43 R44 R45 B5 B15 whatever is loaded, paged, appended, written again, compacted and dropped, in any order and by two clients, each sees what is there", async () => {
  await eachSeedAsync(80, async (random) => {
    const { test, client, store, end } = await begin(random, random.int(1, 30));
    const second = test.client();
    await second.initialize();
    /** What stands before what each has seen since its last load. */
    const views = new Map<PlainClient, { meta: Json; before: string | number; stale: boolean }>();
    const tailOf = ({ lines, meta }: Loaded) => {
      const truth = store.truth();
      expect(truth.lines.slice(truth.lines.length - lines.length)).toEqual(lines);
      expect([meta.totalMessages, meta.totalTurns]).toEqual([truth.messages, truth.turns]);
      expect(meta.hasMore).toBe(lines.length < truth.lines.length);
      if (meta.hasMore) expect(lines.length === 0 || lines[0]!.startsWith("user ")).toBe(true);
    };
    for (let step = 0; step < 25; step++) {
      const each = random.pick([client, second]);
      const view = views.get(each);
      const kind = random.pick(["load", "page", "page", "page", "turn", "rewrite", "compact", "evict"]);
      if (kind === "turn") store.turn();
      else if (kind === "rewrite" && random.chance(0.5)) store.rewrite();
      else if (kind === "compact" && random.chance(0.3)) {
        store.compact();
        for (const seen of views.values()) seen.stale = true;
      } else if (kind === "evict" && random.chance(0.3)) store.evicted = true;
      else if (kind === "load" || !view) {
        const stored = store.messages.length;
        const limit = random.pick([undefined, 0, 1, 3, 10, 50]);
        const loaded = await load(each, "s", limit);
        // Who follows it is told what a resume brings that nobody has seen: no part of a batch that is empty.
        if (limit === 0) loaded.lines.length = 0;
        tailOf(loaded);
        views.set(each, { meta: loaded.meta, before: oldest(loaded.lines) ?? stored, stale: false });
      } else if (kind === "page" && view.meta.hasMore) {
        const { evicted, resumes } = store;
        const paging = earlier(each, "s", view.meta.cursor, random.pick([undefined, 1, 3, 20]));
        if (evicted) {
          expect(await failed(paging)).toMatchObject(NOT_OPEN);
          expect(store.resumes).toBe(resumes);
          views.delete(each);
          continue;
        }
        if (view.stale) {
          expect(await failed(paging)).toMatchObject(EXPIRED);
          views.delete(each);
          continue;
        }
        const page = await paging;
        const truth = store.truth();
        const { lines } = store.truth(view.before);
        expect(page.lines.length).toBeGreaterThan(0);
        expect(lines.slice(-page.lines.length)).toEqual(page.lines);
        expect([page.meta.totalMessages, page.meta.totalTurns]).toEqual([truth.messages, truth.turns]);
        expect(page.meta.hasMore).toBe(page.lines.length < lines.length);
        if (page.meta.hasMore) expect(page.lines[0]).toStartWith("user ");
        view.before = oldest(page.lines)!;
        view.meta = page.meta;
      }
    }
    await end();
  });
}, 120_000);

test("R45 R44 what was read ahead is worth nothing once the history is another one: after messages are gone, a compaction that was only heard of, and an end of the process", async () => {
  const { client, server, store, end } = await begin(new Random(3), 60);
  const ahead = async () => {
    const { meta } = await load(client, "s", 2);
    // Reads more than it shows.
    return (await earlier(client, "s", meta.cursor, 5)).meta.cursor;
  };
  let cursor = await ahead();
  store.messages.splice(-20);
  expect(await failed(earlier(client, "s", cursor, 5))).toMatchObject(EXPIRED);
  cursor = await ahead();
  // What was said so far takes the place of the first messages.
  store.messages.splice(0, 40);
  store.compact();
  expect(await failed(earlier(client, "s", cursor, 5))).toMatchObject(EXPIRED);
  expect((await load(client, "s", 2)).meta.totalMessages).toBe(store.truth().messages);
  cursor = await ahead();
  server.push(COMPACTED);
  await settle();
  expect(await failed(earlier(client, "s", cursor, 5))).toMatchObject(EXPIRED);
  cursor = await ahead();
  const asked = store.asked.length;
  server.die(1);
  await settle();
  expect(await failed(earlier(client, "s", cursor, 5))).toMatchObject(NOT_OPEN);
  expect(store.asked).toHaveLength(asked);
  await end();
});

test("R44 however many clients page at once, they share what is read", async () => {
  for (const clients of [1, 3]) {
    const { test, client, store, end } = await begin(new Random(4), 400);
    const all = [client];
    for (let n = 1; n < clients; n++) {
      const more = test.client();
      await more.initialize();
      all.push(more);
    }
    const metas = await Promise.all(all.map(async (each) => (await load(each, "s", 30)).meta));
    store.asked.length = 0;
    let pages = 0;
    while (metas.some(({ hasMore }) => hasMore)) {
      for (const [n, each] of all.entries()) {
        if (!metas[n]!.hasMore) continue;
        metas[n] = (await earlier(each, "s", metas[n]!.cursor, 30)).meta;
        pages++;
      }
    }
    const read = store.asked.reduce(
      (sum, { limit }) => sum + Math.min(Number(limit ?? Number.POSITIVE_INFINITY), store.messages.length),
      0,
    );
    // Beside a look at the newest ones for each page.
    expect(read - pages * 20).toBeLessThan(4 * store.messages.length);
    await end();
  }
});

test("R46 who loads anew what it follows is shown what was said since it asked once, behind what was said before", async () => {
  const { client, server, store, end } = await begin(new Random(1), 2);
  await load(client, "s");
  void client.prompt("s", "go");
  const inputId = await acceptSend(server);
  const { event, say } = speaker(server);
  store.messages.push(user("uN", "go"));
  event("turn.started", { inputId, messageId: "uN" });
  say("one ");
  await settle();
  store.hold = true;
  const from = client.updates("s").length;
  const loading = load(client, "s", 1);
  await settle();
  say("two ");
  await settle();
  expect(shown(client, "s", from)).toEqual([]);
  store.release();
  say("three");
  await loading;
  await settle();
  expect(shown(client, "s", from)).toEqual(["user uN go", "agent aN one two ", "agent aN three"]);
  await end();
});

test("R46 a load in mid-turn shows the answer before it, a prompt that is not stored yet, and what was put in, each in its place", async () => {
  for (const kind of ["not stored", "unnamed and stored", "a notification", "put in"] as const) {
    const { test, client, server, store, end } = await begin(new Random(1), 0);
    store.messages.push(user("u1", "first"), agent("a1", words("Answer.")));
    await load(client, "s");
    const { event, say } = speaker(server);
    if (kind === "a notification") {
      event("turn.started", { inputSource: "background_task", inputVisibility: "model-only" });
    } else {
      void client.prompt("s", "go");
      const inputId = await acceptSend(server);
      const named = kind === "unnamed and stored" ? {} : { messageId: "uN" };
      event("turn.started", { inputId, ...named });
    }
    if (kind === "put in" || kind === "unnamed and stored") store.messages.push(user("uN", "go"));
    say("Working. ", "aN");
    await settle();
    if (kind !== "not stored") store.messages.push(agent("aN", words("Wor")));
    if (kind === "put in") {
      store.messages.push(user("uS", "this too"));
      say("Also. ", "aO");
      await settle();
    }
    const other = test.client();
    await other.initialize();
    const { lines, meta } = await load(other, "s");
    expect(lines).toEqual([
      "user u1 first",
      "agent a1 Answer.",
      ...(kind === "a notification" ? [] : [`user uN go`]),
      "agent aN Working. ",
      ...(kind === "put in" ? ["user uS this too", "agent aO Also. "] : []),
    ]);
    expect(meta.turnActive).toBe(true);
    await end();
  }
});

test("P25 P26 R42 what runs on in the background is replayed as running, on the card that its end comes to", async () => {
  const { test, client, server, store, end } = await begin(new Random(1), 0);
  await load(client, "s");
  void client.prompt("s", "go");
  const inputId = await acceptSend(server);
  const { event } = speaker(server);
  event("turn.started", { inputId, messageId: "uN" });
  const input = { command: "npm run slow", run_in_background: true };
  event("tool.updated", { kind: "scheduled", toolCallId: "c1", toolName: "Bash", input });
  event("session.updated", { taskId: "t1", taskKind: "bash", toolCallId: "c1", status: "running" });
  const launched = { success: true, content: "Command running in background with ID: t1" };
  event("tool.updated", { kind: "result", toolCallId: "c1", result: launched });
  event("session.updated", {
    taskId: "t2",
    taskKind: "subagent",
    status: "running",
    description: "look around",
  });
  event("turn.completed", { resultType: "success" });
  server.push({ method: "state.updated", params: { sessionId: "s", reason: "prompt_completed", patch: {} } });
  const stored = { status: "completed", input, output: launched.content };
  store.messages.push(
    user("uN", "go"),
    agent("aN", { type: "tool", callId: "c1", tool: "Bash", state: stored }),
  );
  await settle();
  const other = test.client();
  await other.initialize();
  await load(other, "s");
  const cards = () => {
    const status = new Map<unknown, unknown>();
    const of = other.updates("s").filter(({ toolCallId }) => toolCallId !== undefined);
    for (const update of of) {
      if (update.sessionUpdate === "tool_call") status.set(update.toolCallId, update.status);
      else expect(status.has(update.toolCallId)).toBe(true);
      if (update.status !== undefined) status.set(update.toolCallId, update.status);
    }
    return Object.fromEntries(status);
  };
  expect(cards()).toEqual({ c1: "in_progress", bg_t2: "in_progress" });
  event("session.updated", { taskId: "t1", taskKind: "bash", toolCallId: "c1", status: "completed" });
  event("session.updated", { taskId: "t2", taskKind: "subagent", status: "completed" });
  await settle();
  expect(cards()).toEqual({ c1: "completed", bg_t2: "completed" });
  await end();
});

test("R46 M3 a long replay holds up nobody else, what is said meanwhile comes behind it, and one that is taken back stops", async () => {
  const { test, client, server, store, end } = await begin(new Random(1), 0);
  const long = "word ".repeat(200);
  for (let n = 0; n < 4_000; n++) store.messages.push(user(`u${n}`, `p${n} ${long}`));
  await load(client, "s", 0);
  const other = test.client();
  await other.initialize();
  await load(other, "t", 0);
  const seqs = new Map<string, number>();
  const say = (session: string, delta: string) => {
    const seq = (seqs.get(session) ?? 0) + 1;
    seqs.set(session, seq);
    const payload = { kind: "text_delta", assistantMessageId: "aN", delta };
    server.push(sessionEvent(session, seq, "model.streaming", payload));
  };
  const count = () => client.updates("s").length;
  const begun = async (from: number) => {
    while (count() === from) await new Promise<void>((resolve) => setImmediate(resolve));
  };
  let from = count();
  const loading = load(client, "s");
  await begun(from);
  say("t", "hello");
  say("s", "live");
  while (other.updates("t").length === 0) await new Promise<void>((resolve) => setImmediate(resolve));
  expect(count() - from).toBeLessThan(4_000);
  const { lines } = await loading;
  expect(lines.at(-2)).toStartWith("user u3999 ");
  expect(lines.at(-1)).toBe("agent aN live");
  // Taken back in the middle: nothing more of it comes, and what is said is told.
  from = count();
  const again = client.request("session/load", { sessionId: "s", cwd: "/one", mcpServers: [] });
  await begun(from);
  client.notify("$/cancel_request", { requestId: again.id });
  say("s", "after");
  expect(await failed(again)).toMatchObject({ code: -32800 });
  await settle();
  expect(count() - from).toBeLessThan(4_000);
  expect(shown(client, "s").at(-1)).toBe("agent aN after");
  await end();
});

test("R42 B2 a call whose input is nested deeper than can be written again is shown without it, and all that stands beside it as well", async () => {
  const { client, server, end } = await begin(new Random(1), 0);
  await load(client, "s");
  const depth = 100_000;
  const input = `{"file_path":"/one/a.ts","x":${"[".repeat(depth)}${"]".repeat(depth)}}`;
  const frame = JSON.stringify(
    sessionEvent("s", 1, "tool.updated", {
      kind: "scheduled",
      toolCallId: "c1",
      toolName: "Read",
      input: "@",
    }),
  );
  server.bytes(new TextEncoder().encode(`${frame.replace('"@"', input)}\n`));
  server.push(
    sessionEvent("s", 2, "tool.updated", {
      kind: "result",
      toolCallId: "c1",
      result: { success: true, content: "lines" },
    }),
  );
  await settle();
  const cards = client.updates("s").filter(({ toolCallId }) => toolCallId === "c1");
  expect(cards.map(({ sessionUpdate, status }) => [sessionUpdate, status])).toEqual([
    ["tool_call", "pending"],
    ["tool_call_update", "completed"],
  ]);
  expect(cards[0]).not.toHaveProperty("rawInput");
  await end();
});

test("R24 R42 another client finds a conversation in the list, is replayed its end, and goes on with it beside the first", async () => {
  const { test, client, server, store, end } = await begin(new Random(7), 20);
  await load(client, "s", 1);
  const app = test.client();
  await app.initialize();
  const listing = app.request("session/list", { cwd: "/one" });
  const list = await server.take(({ method }) => method === "session/list");
  const workspace = { workspacePath: "/one", workspaceKey: "/one" };
  server.push({
    id: list.id,
    result: {
      sessions: [{ sessionId: "s", workspace, sessionKind: "interactive", title: "Cart", updatedAt: 1 }],
    },
  });
  const { sessions } = (await listing) as { sessions: Json[] };
  expect(sessions).toMatchObject([{ sessionId: "s", cwd: "/one", title: "Cart" }]);
  const tail = await load(app, String(sessions[0]!.sessionId), 5);
  expect(store.truth().lines.slice(-tail.lines.length)).toEqual(tail.lines);
  expect(tail.lines.length).toBeGreaterThanOrEqual(5);
  const answer = app.prompt("s", "go on");
  const inputId = await acceptSend(server);
  server.push(sessionEvent("s", 1, "turn.started", { inputId, messageId: "uN" }));
  const delta = { kind: "text_delta", assistantMessageId: "aN", delta: "Going on." };
  server.push(sessionEvent("s", 2, "model.streaming", delta));
  server.push(sessionEvent("s", 3, "turn.completed", { resultType: "success" }));
  server.push({ method: "state.updated", params: { sessionId: "s", reason: "prompt_completed", patch: {} } });
  expect(await answer).toMatchObject({ stopReason: "end_turn" });
  for (const each of [client, app]) expect(shown(each, "s").at(-1)).toBe("agent aN Going on.");
  await end();
});

test("R46 M3 a load that is taken back, refused, or asked without a name to answer under, keeps nothing from its client", async () => {
  const { test, server, store, end } = await begin(new Random(2), 3);
  const params = { sessionId: "s", cwd: "/one", mcpServers: [] };
  const { say } = speaker(server);
  const client = test.client();
  await client.initialize();
  // The second waits behind the first, and is cancelled there.
  const both = [client.request("session/load", params), client.request("session/load", params)];
  client.notify("$/cancel_request", { requestId: both[1]!.id });
  await both[0];
  expect(await failed(both[1]!)).toMatchObject({ code: -32800 });
  const from = client.updates("s").length;
  const heard = async (word: string) => {
    say(word);
    await settle();
    expect(shown(client, "s", from).at(-1)).toBe(`agent aN ${word}`);
  };
  await heard("one ");
  // Refused only once it is begun with, right before a good one.
  const refused = client.request("session/load", { ...params, cwd: "relative" });
  const good = load(client, "s", 1);
  say("two ");
  store.messages.push(agent("aN", words("one two ")));
  expect(await failed(refused)).toMatchObject({ code: -32602 });
  await good;
  await settle();
  const told = shown(client, "s", from).filter((line) => line.includes("two "));
  expect(told).toEqual(["agent aN one two "]);
  for (const id of [undefined, {}, [1], true])
    client.raw(JSON.stringify({ jsonrpc: "2.0", id, method: "session/load", params }));
  await settle();
  await heard("three ");
  await end();
});

test("R46 what a turn said that ends while the history is read is in the replay", async () => {
  const { test, client, server, store, end } = await begin(new Random(2), 2);
  await load(client, "s");
  const answer = client.prompt("s", "go");
  const inputId = await acceptSend(server);
  const { event, say } = speaker(server);
  event("turn.started", { inputId, messageId: "uN" });
  store.messages.push(user("uN", "go"));
  await settle();
  const other = test.client();
  await other.initialize();
  store.hold = true;
  const loading = load(other, "s", 1);
  await settle();
  // Read before the end, answered behind it.
  const early = [...store.messages];
  say("Reply.");
  event("turn.completed", { resultType: "success" });
  server.push({ method: "state.updated", params: { sessionId: "s", reason: "prompt_completed", patch: {} } });
  await answer;
  store.hold = false;
  store.messages.push(agent("aN", words("Reply.")));
  store.release(early);
  expect((await loading).lines).toEqual(["user uN go", "agent aN Reply."]);
  await end();
});

test("R45 a cursor expires where the newest turns were taken back, although what it points at is there", async () => {
  const { client, store, end } = await begin(new Random(2), 30);
  const { meta } = await load(client, "s", 20);
  store.messages.splice(-3);
  expect(await failed(earlier(client, "s", meta.cursor))).toMatchObject(EXPIRED);
  await end();
});

test("R42 calls that are numbered anew in each turn are a card each, in the whole and in pages", async () => {
  const { client, store, end } = await begin(new Random(2), 0);
  for (let n = 0; n < 6; n++) store.messages.push(user(`u${n}`, `p${n}`), agent(`a${n}`, tool("call_0")));
  const cards = (lines: readonly string[]) => lines.filter((line) => line === "card call_0").length;
  expect(cards((await load(client, "s")).lines)).toBe(6);
  const tail = await load(client, "s", 4);
  expect(cards([...tail.lines, ...(await earlier(client, "s", tail.meta.cursor)).lines])).toBe(6);
  await end();
});

test("R42 a limit beyond every number is the largest, and one that is no number is none", async () => {
  const { client, store, end } = await begin(new Random(2), 0);
  for (let n = 0; n < 600; n++) store.messages.push(user(`u${n}`, `p${n}`));
  const ask = async (limit: string) => {
    const from = client.updates("s").length;
    const params = `{"sessionId":"s","cwd":"/one","mcpServers":[],"_meta":{"zcode":{"limit":${limit}}}}`;
    await client.requestRaw("session/load", params);
    return shown(client, "s", from).length;
  };
  for (const limit of ["1e999", "501", "9007199254740993"]) expect(await ask(limit)).toBe(500);
  for (const limit of ['"30"', "null", "true", "[]"]) expect(await ask(limit)).toBe(600);
  expect(await ask("-1e999")).toBe(0);
  await end();
});

test("R46 M3 who does not read is sent no more of a replay than waits for it already, and asks for nothing more meanwhile", async () => {
  const { test, client, store, end } = await begin(new Random(1), 0);
  const long = "word ".repeat(200);
  for (let n = 0; n < 4_000; n++) store.messages.push(user(`u${n}`, `p${n} ${long}`));
  await load(client, "s", 0);
  let receiver!: Receiver;
  let sent = 0;
  /** What it is sent waits from the hundredth message on. */
  const read = Promise.withResolvers<void>();
  let waits = true;
  const slow: PlainClient = new PlainClient((line) => receiver.message(JSON.parse(line) as AnyMessage, line));
  test.bridge.connect({
    listen: (given) => {
      receiver = given;
    },
    send: (message) => {
      sent++;
      slow.receive(message);
    },
    room: () => (waits && sent > 100 ? read.promise : undefined),
  });
  await slow.initialize();
  const first = load(slow, "s");
  while (sent <= 100) await new Promise<void>((resolve) => setImmediate(resolve));
  for (let i = 0; i < 20; i++) await settle();
  const before = sent;
  expect(before).toBeLessThan(4_000);
  const asked = store.asked.length;
  const second = load(slow, "s", 1);
  for (let i = 0; i < 20; i++) await settle();
  expect([sent, store.asked.length]).toEqual([before, asked]);
  // Others are not held up.
  expect((await load(client, "s", 1)).lines).toHaveLength(1);
  waits = false;
  read.resolve();
  expect((await first).lines.length).toBeGreaterThanOrEqual(4_000);
  await second;
  await end();
});

test("R44 R42 a page brings 500 messages at most, one at least, and whole ones", async () => {
  const { client, store, end } = await begin(new Random(2), 0);
  for (let n = 0; n < 700; n++) store.messages.push(user(`u${n}`, `p${n}`));
  const { meta } = await load(client, "s", 1);
  for (const [limit, count] of [
    [9_999, 500],
    [501, 500],
    [500, 500],
    [2.9, 2],
    [-5, 1],
  ] as const)
    expect((await earlier(client, "s", meta.cursor, limit)).lines).toHaveLength(count);
  await end();
});

test("R43 there is more where something that shows stands before a batch, read or not, and none where nothing of it shows", async () => {
  const unread = await begin(new Random(2), 5);
  // What is read for a tail of one begins with what shows nothing, right before its turn.
  const silent = unread.store.id();
  unread.store.messages.push(agent(silent, { type: "step-finish" }), user("uN", "go"));
  for (let n = 1; n < 20; n++) unread.store.messages.push(agent(`a${n}`, words(`said ${n}`)));
  await load(unread.client, "s", 0);
  const tail = await load(unread.client, "s", 1);
  expect(tail.lines[0]).toBe("user uN go");
  expect(tail.meta.hasMore).toBe(true);
  expect((await earlier(unread.client, "s", tail.meta.cursor)).lines.length).toBeGreaterThan(0);
  await unread.end();
  const all = await begin(new Random(2), 0);
  all.store.messages.push(
    plumbing("todo_reminder", "nudge", "n1"),
    user("u1", "hi"),
    agent("a1", words("Yes.")),
  );
  for (let n = 0; n < 2; n++) expect((await load(all.client, "s", 2)).meta.hasMore).toBe(false);
  await all.end();
});

test("P3 R44 a placeholder that was never used has no page, and none is made for it", async () => {
  const { client, server, end } = await begin(new Random(2), 0);
  const id = await client.newSession("/one");
  const { meta } = await load(client, id);
  for (const cursor of [meta.cursor, "", undefined])
    expect(await failed(earlier(client, id, cursor))).toMatchObject(EXPIRED);
  expect(server.inbox.filter(({ method }) => method === "session/create")).toEqual([]);
  await end();
});

test("R45 a cursor of which any part is another one has expired", async () => {
  const { client, store, end } = await begin(new Random(2), 10);
  store.compact();
  store.turn(false);
  const { meta } = await load(client, "s", 1);
  const parts = JSON.parse(Buffer.from(String(meta.cursor), "base64url").toString()) as unknown[];
  const [mark, at, compactions, cuts, id, begun] = parts as [string, number, number, number, string, string];
  const wrong: readonly unknown[][] = [
    [`${mark}x`, null, 1],
    ["x", -1, at + 0.5, null, String(at)],
    [compactions + 1, compactions - 1, -1, null, String(compactions)],
    [cuts + 1, -1, null, String(cuts)],
    [`${id}x`, 7, {}, true],
    [`${begun}x`, 7, "", true],
  ];
  for (const [place, values] of wrong.entries()) {
    for (const value of values) {
      const cursor = Buffer.from(JSON.stringify(parts.with(place, value))).toString("base64url");
      expect(await failed(earlier(client, "s", cursor))).toMatchObject(EXPIRED);
    }
  }
  expect((await earlier(client, "s", meta.cursor)).lines.length).toBeGreaterThan(0);
  await end();
});

test("R44 B5 a page waits for a session that somebody else brings up, and a late word that it was gone is not believed of one that is back", async () => {
  const { test, client, server } = await startPlayed();
  const messages = [1, 2, 3].flatMap((n) => [user(`u${n}`, `p${n}`), agent(`a${n}`, words(`said ${n}`))]);
  const back = async () => {
    const resume = await server.take(({ method }) => method === "session/resume");
    return async () => {
      const result = { session: { sessionId: "s" }, runtime: { eventSeq: 0 }, messages };
      server.push({ id: resume.id, result });
      await serveSubscribe(server);
    };
  };
  const read = () => server.take(({ method }) => method === "session/messages");
  const gone = (frame: Json) =>
    server.push({ id: frame.id, error: { code: -32004, message: "Session is not active" } });
  const first = load(client, "s", 2);
  await (await back())();
  const { meta } = await first;
  const others = [test.client(), test.client()];
  for (const other of others) await other.initialize();
  const loads = others.map((other) => load(other, "s", 2));
  const [one, two] = [await read(), await read()];
  gone(one);
  const bring = await back();
  const page = earlier(client, "s", meta.cursor, 2);
  await settle();
  await bring();
  const paged = await read();
  server.push({ id: paged.id, result: { messages } });
  expect((await page).lines).toEqual(["user u2 p2", "agent a2 said 2"]);
  gone(two);
  const again = await read();
  server.push({ id: again.id, result: { messages } });
  for (const each of loads) expect((await each).lines.slice(-2)).toEqual(["user u3 p3", "agent a3 said 3"]);
  expect(server.inbox.filter(({ method }) => method === "session/resume")).toEqual([]);
  await test.bridge.close();
});

test("R45 R44 a prompt that nobody answered yet and that is written again is shown by a page as it is now, whatever was read ahead", async () => {
  const { client, store, end } = await begin(new Random(2), 0);
  for (let n = 0; n < 40; n++)
    store.messages.push(user(`u${n}`, `p${n}`), agent(`a${n}`, words(`said ${n}`)));
  for (let n = 40; n < 50; n++) store.messages.push(user(`u${n}`, `p${n}`));
  await load(client, "s", 0);
  const { meta } = await load(client, "s", 2);
  const page = await earlier(client, "s", meta.cursor, 2);
  expect(page.lines).toEqual(["user u46 p46", "user u47 p47"]);
  store.messages.push(user("u45", "written anew"));
  expect((await earlier(client, "s", page.meta.cursor, 2)).lines).toEqual([
    "user u44 p44",
    "user u45 written anew",
  ]);
  await end();
});

test("R42 R43 after a compaction the totals are those of what it left, also where what it hid keeps its place and its name", async () => {
  const { client, server, store, end } = await begin(new Random(2), 30);
  await load(client, "s", 0);
  for (const [place, { info }] of store.messages.slice(0, 20).entries())
    store.messages[place] = plumbing("todo_reminder", "hidden", String(info.messageId));
  server.push(COMPACTED);
  await settle();
  const truth = store.truth();
  expect((await load(client, "s", 1)).meta).toMatchObject({
    totalMessages: truth.messages,
    totalTurns: truth.turns,
  });
  await end();
});

test("R44 R46 what was read ahead of a turn that still runs is shown by a page as it is now", async () => {
  const { test, client, store, end } = await begin(new Random(2), 10);
  store.messages.push(user("uN", "go"), agent("aN", words("Wor")));
  const { meta } = await load(client, "s", 0);
  store.messages.push(agent("aO", words("Also.")));
  const other = test.client();
  await other.initialize();
  const tail = await load(other, "s", 1);
  await earlier(other, "s", tail.meta.cursor, 1);
  store.messages[store.messages.length - 2] = agent("aN", words("Working."));
  expect((await earlier(client, "s", meta.cursor, 1)).lines).toEqual(["user uN go", "agent aN Working."]);
  await end();
});

test("R42 R44 B15 a turn of many messages is read with few reads", async () => {
  const { client, store, end } = await begin(new Random(2), 300);
  for (const [name, count] of [
    ["x", 400],
    ["y", 30],
  ] as const) {
    store.messages.push(user(`u${name}`, "go"));
    for (let n = 0; n < count; n++) store.messages.push(agent(`${name}${n}`, words(`said ${name}${n}`)));
  }
  await load(client, "s", 0);
  store.asked.length = 0;
  const { lines, meta } = await load(client, "s", 1);
  expect(lines).toHaveLength(31);
  expect(store.asked.length).toBeLessThan(6);
  store.asked.length = 0;
  expect((await earlier(client, "s", meta.cursor, 1)).lines).toHaveLength(401);
  expect(store.asked.length).toBeLessThan(6);
  await end();
});

test("R42 B15 of what was appended since no more is read than that, however much it is", async () => {
  const { client, store, end } = await begin(new Random(2), 100);
  await load(client, "s", 0);
  // What shows nothing is written again, with words.
  for (const rewritten of [false, true]) {
    for (let n = 0; n < 60; n++) store.turn(false);
    if (rewritten) store.messages.push(agent("silent", words("After all.")));
    else store.messages.push(agent("silent", { type: "step-finish" }));
    for (let n = 0; n < 60; n++) store.turn(false);
    store.asked.length = 0;
    const { meta } = await load(client, "s", 1);
    const whole = store.asked.filter(
      (asked) => asked.limit === undefined && asked.afterMessageId === undefined,
    );
    expect(whole).toHaveLength(rewritten ? 1 : 0);
    const truth = store.truth();
    expect([meta.totalMessages, meta.totalTurns]).toEqual([truth.messages, truth.turns]);
  }
  await end();
});

test("R45 a cursor expires where the newest turns were taken back and many were appended since", async () => {
  const { client, store, end } = await begin(new Random(2), 30);
  store.messages.push(agent("aN", words("To be gone.")));
  const { meta } = await load(client, "s", 20);
  store.messages.splice(-1);
  for (let n = 0; n < 60; n++) store.turn(false);
  const truth = store.truth();
  expect((await load(client, "s", 1)).meta.totalMessages).toBe(truth.messages);
  expect(await failed(earlier(client, "s", meta.cursor))).toMatchObject(EXPIRED);
  await end();
});

test("B5 B15 a short history that is still being restored is read until it is whole", async () => {
  const { client, store, end } = await begin(new Random(9), 6);
  const whole = await load(client, "s");
  for (const reads of [1, 2, 3]) {
    store.prefixReads = reads;
    const { lines, meta } = await load(client, "s", 5);
    expect(whole.lines.slice(-lines.length)).toEqual(lines);
    expect(meta.totalMessages).toBe(whole.meta.totalMessages);
  }
  await end();
});

test("R42 R43 R46 what is appended, or compacted, between two reads of one load is in it, and its totals are true", async () => {
  for (const [reads, what] of [
    [1, "appended"],
    [2, "appended"],
    [1, "compacted"],
    [2, "compacted"],
  ] as const) {
    const { client, server, store, end } = await begin(new Random(2), 30);
    await load(client, "s", 0);
    // More than is asked for at first: then what came since is read as well.
    if (reads === 2) for (let n = 0; n < 60; n++) store.turn(false);
    store.hold = true;
    const loading = load(client, "s", 1);
    await settle();
    if (reads === 2) {
      store.release();
      await settle();
    }
    if (what === "appended") store.messages.push(user("uN", "go"), agent("aN", words("Gone.")));
    else {
      for (const [place, { info }] of store.messages.slice(0, 20).entries())
        store.messages[place] = plumbing("todo_reminder", "hidden", String(info.messageId));
      server.push(COMPACTED);
      await settle();
    }
    store.hold = false;
    store.release();
    const { lines, meta } = await loading;
    const truth = store.truth();
    expect(truth.lines.slice(-lines.length)).toEqual(lines);
    expect([meta.totalMessages, meta.totalTurns]).toEqual([truth.messages, truth.turns]);
    await end();
  }
});

test("R42 B15 behind messages that have no id no more is read than what was appended either", async () => {
  const { client, store, end } = await begin(new Random(2), 100);
  store.messages.push(
    { info: { role: "assistant" }, parts: [words("Nameless.")] },
    agent("aN", words("Named.")),
  );
  await load(client, "s", 0);
  for (let n = 0; n < 60; n++) store.turn(false);
  store.asked.length = 0;
  await load(client, "s", 1);
  expect(store.asked.filter((asked) => asked.limit === undefined && !("afterMessageId" in asked))).toEqual(
    [],
  );
  await end();
});

test("R45 a cursor expires where the last message is another one, or an older one written again in its place", async () => {
  for (const instead of [agent("aX", words("Another.")), agent("m2", words("Written again."))]) {
    const { client, store, end } = await begin(new Random(2), 0);
    for (let n = 0; n < 200; n++)
      store.messages.push(user(store.id(), `p${n}`), agent(store.id(), words(`a${n}`)));
    const { meta } = await load(client, "s", 20);
    store.messages.splice(-1, 1, instead);
    expect(await failed(earlier(client, "s", meta.cursor))).toMatchObject(EXPIRED);
    await end();
  }
});

test("R45 where no message has a name, a cursor behind the last one expires once there are fewer", async () => {
  const { client, store, end } = await begin(new Random(2), 0);
  const nameless = (role: string, text: string) => ({ info: { role }, parts: [words(text)] });
  for (let n = 0; n < 3; n++) store.messages.push(nameless("user", `p${n}`), nameless("assistant", `a${n}`));
  const { meta } = await load(client, "s", 0);
  expect((await earlier(client, "s", meta.cursor, 2)).lines).toHaveLength(2);
  store.messages.splice(-2);
  expect(await failed(earlier(client, "s", meta.cursor, 2))).toMatchObject(EXPIRED);
  await end();
});

test("R42 R43 the last answer counts once it shows something, also where a person has put something in behind it", async () => {
  const { client, store, end } = await begin(new Random(2), 10);
  store.messages.push(user("uN", "go"), agent("aN", { type: "step-start" }), user("uS", "this too"));
  await load(client, "s", 0);
  store.messages[store.messages.length - 2] = agent("aN", words("Working."));
  store.messages.push(agent("aO", words("Also.")));
  const { meta } = await load(client, "s", 1);
  const truth = store.truth();
  expect([meta.totalMessages, meta.totalTurns]).toEqual([truth.messages, truth.turns]);
  await end();
});

test("R42 R43 where what shows nothing stands before the first prompt, its turn is counted and nothing more is promised", async () => {
  const nudge = plumbing("todo_reminder", "nudge", "n0");
  const answers = Array.from({ length: 20 }, (_, n) => agent(`a${n}`, words(`said ${n}`)));
  const silent = Array.from({ length: 30 }, (_, n) => agent(`s${n}`, { type: "step-finish" }));
  for (const [messages, limit] of [
    [[nudge, user("u1", "go"), ...answers], 1],
    [[...silent, user("u1", "go"), answers[0]!], 1],
  ] as const) {
    const { client, store, end } = await begin(new Random(2), 0);
    store.messages.push(...messages);
    await load(client, "s", 0);
    const { lines, meta } = await load(client, "s", limit);
    expect(lines[0]).toBe("user u1 go");
    expect(meta).toMatchObject({ hasMore: false, replayedTurns: 1, totalTurns: 1 });
    await end();
  }
});

test("R42 R43 B15 a prompt that is tried again after many failures is no new one, however far back it was said", async () => {
  const { client, store, end } = await begin(new Random(2), 3);
  const error = { name: "ModelError", data: { code: "model_rate_limited", message: "slow down" } };
  store.messages.push(user("uN", "go"));
  for (let n = 0; n < 40; n++)
    store.messages.push({
      info: { messageId: `f${n}`, role: "assistant", error },
      parts: [words(`${n} failed`)],
    });
  const before = await load(client, "s", 0);
  store.messages.push(user("uO", "go"), agent("aN", words("Done.")));
  const { lines, meta } = await load(client, "s", 1);
  expect(lines[0]).toBe("user uN go");
  expect(lines).not.toContain("user uO go");
  expect(meta.totalTurns).toBe(before.meta.totalTurns);
  await end();
});

test("R44 what was read ahead is forgotten when nobody asks for the next page for a while", async () => {
  const clock = new ManualClock();
  const conversation = new Conversation("s", "/one", [], "acp-1", "en");
  conversation.backendId = "s";
  const messages = Array.from({ length: 100 }, (_, n) => user(`u${n}`, `p${n}`));
  const residence = {
    of: async () => ({ messages }),
    isResident: () => true,
    ask: async (_: unknown, _method: string, { limit }: Json) => ({
      messages: typeof limit === "number" ? messages.slice(-limit) : messages,
    }),
  };
  const history = new History({ clock }, residence as unknown as Residence);
  const reader = expectBatch(conversation, {}, false);
  const { meta } = await history.load(conversation, 2, reader, new AbortController().signal);
  await history.earlier(conversation, String(meta.cursor), 2);
  await clock.advance(EARLIER_MS - 1);
  expect(conversation.earlier).toBeDefined();
  await clock.advance(1);
  expect(conversation.earlier).toBeUndefined();
});

test("R46 a load in mid-turn tells the turn's own prompt from an earlier one, from one that waits, and from how it is stored", async () => {
  const answered = [user("u1", "go"), agent("a1", words("Answer."))];
  for (const [kind, stored, begins, expected] of [
    // Said before and answered: it is said once more.
    [
      "said before",
      answered,
      {},
      ["user u1 go", "agent a1 Answer.", "user undefined go", "agent aN Working."],
    ],
    // Said before, in other words, and never answered.
    ["unanswered", [user("u1", "first")], {}, ["user u1 first", "user undefined go", "agent aN Working."]],
    // Stored in other words than it was typed in.
    [
      "reworded",
      [user("uN", "go, please")],
      { messageId: "uN" },
      ["user uN go, please", "agent aN Working."],
    ],
    // It waits, and what runs is the agent's own turn.
    [
      "waits",
      answered,
      { inputSource: "background_task" },
      ["user u1 go", "agent a1 Answer.", "agent aN Working."],
    ],
  ] as const) {
    const { test, client, server, store, end } = await begin(new Random(1), 0);
    store.messages.push(...stored);
    await load(client, "s", 0);
    const { event, say } = speaker(server);
    void client.prompt("s", "go");
    const inputId = await acceptSend(server);
    event("turn.started", kind === "waits" ? begins : { inputId, ...begins });
    say("Working.");
    await settle();
    const other = test.client();
    await other.initialize();
    expect([kind, (await load(other, "s")).lines]).toEqual([kind, [...expected]]);
    // Who asks for no messages is shown none of the turn either.
    const third = test.client();
    await third.initialize();
    expect((await load(third, "s", 0)).lines).toEqual([]);
    await end();
  }
});

test("R46 a load in mid-turn shows thoughts once, and on a build that names no message what a person put in", async () => {
  for (const named of [true, false]) {
    const { test, client, server, store, end } = await begin(new Random(1), 0);
    store.messages.push(user("u1", "first"), agent("a1", words("Answer.")));
    await load(client, "s", 0);
    const { event } = speaker(server);
    void client.prompt("s", "go");
    const inputId = await acceptSend(server);
    event("turn.started", { inputId, messageId: "uN" });
    const assistantMessageId = named ? "aN" : undefined;
    event("model.streaming", { kind: "reasoning_delta", assistantMessageId, delta: "Hm." });
    store.messages.push(
      user("uN", "go"),
      agent("aN", { type: "reasoning", text: "Hm" }),
      user("uS", "this too"),
    );
    await settle();
    const other = test.client();
    await other.initialize();
    const { lines } = await load(other, "s");
    const thought = `thought ${named ? "thought_aN" : undefined} Hm.`;
    expect(lines.slice(0, 3)).toEqual(["user u1 first", "agent a1 Answer.", "user uN go"]);
    expect(lines.slice(3).toSorted()).toEqual([thought, "user uS this too"].toSorted());
    await end();
  }
});

test("P25 P26 R46 in a later turn what runs on in the background is drawn once, where it was launched or at the end", async () => {
  for (const named of [true, false]) {
    const { test, client, server, store, end } = await begin(new Random(1), 0);
    await load(client, "s");
    const { event, say } = speaker(server);
    const turn = async (messageId: string) => {
      void client.prompt("s", `go ${messageId}`);
      const inputId = await acceptSend(server);
      event("turn.started", { inputId, ...(named ? { messageId } : {}) });
    };
    await turn("u1");
    const input = { command: "npm run slow", run_in_background: true };
    event("tool.updated", { kind: "scheduled", toolCallId: "c1", toolName: "Bash", input });
    event("session.updated", { taskId: "t1", taskKind: "bash", toolCallId: "c1", status: "running" });
    const launched = { success: true, content: "Command running in background with ID: t1" };
    event("tool.updated", { kind: "result", toolCallId: "c1", result: launched });
    event("session.updated", { taskId: "t2", taskKind: "subagent", status: "running", description: "look" });
    event("turn.completed", { resultType: "success" });
    server.push({
      method: "state.updated",
      params: { sessionId: "s", reason: "prompt_completed", patch: {} },
    });
    const state = { status: "completed", input, output: launched.content };
    const call = { type: "tool", callId: "c1", tool: "Bash", state };
    store.messages.push(user("u1", "go u1"), agent("a1", words("Launching."), call));
    await settle();
    await turn("u2");
    store.messages.push(user("u2", "go u2"));
    // Its card changes while another turn runs.
    event("tool.updated", { kind: "progress", toolCallId: "c1", stdout: "more\n" });
    event("session.updated", { taskId: "t1", taskKind: "bash", toolCallId: "c1", status: "completed" });
    say("On it.");
    await settle();
    const other = test.client();
    await other.initialize();
    const { lines } = await load(other, "s");
    expect(lines).toEqual([
      "user u1 go u1",
      "agent a1 Launching.",
      "card c1",
      "user u2 go u2",
      "agent aN On it.",
      "card bg_t2",
    ]);
    await end();
  }
});

test("R46 what a turn says that begins between a resume and the end of a load comes behind the history, once", async () => {
  const { client, server, test } = await startPlayed();
  const loading = load(client, "s", 5);
  const resume = await server.take((frame) => frame.method === "session/resume");
  const messages = [user("u1", "hi"), agent("a1", words("Hello."))];
  server.push({ id: resume.id, result: { session: { sessionId: "s" }, runtime: { eventSeq: 4 }, messages } });
  server.push(sessionEvent("s", 5, "turn.started", { inputSource: "background_task" }));
  const delta = { kind: "text_delta", assistantMessageId: "a2", delta: "Meanwhile." };
  server.push(sessionEvent("s", 6, "model.streaming", delta));
  await serveSubscribe(server);
  expect((await loading).lines).toEqual(["user u1 hi", "agent a1 Hello.", "agent a2 Meanwhile."]);
  await test.bridge.close();
});

test("R46 M3 a page of a long turn is one as well: what is said meanwhile comes behind it, and of a conversation that is closed nothing more comes", async () => {
  const { test, client, server, store, end } = await begin(new Random(1), 0);
  const long = "word ".repeat(200);
  store.messages.push(user("u1", "go"));
  for (let n = 0; n < 4_000; n++) store.messages.push(agent(`a${n}`, words(`${n} ${long}`)));
  store.messages.push(user("u2", "on"));
  const { meta } = await load(client, "s", 1);
  const count = () => client.updates("s").length;
  const begun = async (from: number) => {
    while (count() === from) await new Promise<void>((resolve) => setImmediate(resolve));
    expect(count() - from).toBeLessThan(4_000);
  };
  let from = count();
  const paging = earlier(client, "s", meta.cursor, 1);
  await begun(from);
  speaker(server).say("live");
  const { lines } = await paging;
  expect(lines).toHaveLength(4_002);
  expect(lines.at(-1)).toBe("agent aN live");
  const other = test.client();
  await other.initialize();
  from = count();
  const loading = client.request("session/load", { sessionId: "s", cwd: "/one", mcpServers: [] });
  await begun(from);
  await other.request("session/close", { sessionId: "s" });
  const closed = count();
  expect(await failed(loading)).toMatchObject(NOT_OPEN);
  await settle();
  expect(count()).toBe(closed);
  expect(closed - from).toBeLessThan(4_000);
  await end();
});

test("R46 M3 what was said while a page was shown that is taken back is in the load that comes behind it, once", async () => {
  const { client, server, store, end } = await begin(new Random(1), 0);
  const long = "word ".repeat(200);
  store.messages.push(user("u1", "go"));
  for (let n = 0; n < 6_000; n++) store.messages.push(agent(`a${n}`, words(`${n} ${long}`)));
  store.messages.push(user("u2", "on"));
  const { meta } = await load(client, "s", 1);
  const from = client.updates("s").length;
  const params = { sessionId: "s", before: meta.cursor, limit: 1 };
  const paging = client.request("session/load_earlier", params);
  while (client.updates("s").length === from) await new Promise<void>((resolve) => setImmediate(resolve));
  speaker(server).say("live");
  await new Promise<void>((resolve) => setImmediate(resolve));
  store.hold = true;
  const loading = load(client, "s", 1);
  client.notify("$/cancel_request", { requestId: paging.id });
  expect(await failed(paging)).toMatchObject({ code: -32800 });
  await settle();
  store.messages.push(agent("aN", words("live")));
  store.release();
  await loading;
  expect(shown(client, "s", from).filter((line) => line === "agent aN live")).toHaveLength(1);
  await end();
});

test("R46 B9 a load during a further try of a prompt shows what the one before has said as it is stored, once", async () => {
  const { test, client, server } = await startPlayed(scaledClock(systemClock(), 200));
  const store = new Store(new Random(1));
  const stop = store.serve(server);
  await load(client, "s");
  const { event, say } = speaker(server);
  const answer = failed(client.prompt("s", "go"));
  const data = {
    type: "x",
    message: "socket hang up",
    code: "network_error",
    attribution: { retryable: true },
  };
  for (const [prompt, reply] of [
    ["uN", "aN"],
    ["uO", "aO"],
  ] as const) {
    const inputId = await acceptSend(server);
    event("turn.started", { inputId, messageId: prompt });
    store.messages.push(user(prompt, "go"));
    say(`Said by ${reply}.`, reply);
    if (reply === "aO") break;
    event("turn.failed", { error: data });
    server.push({
      method: "state.updated",
      params: { sessionId: "s", reason: "prompt_completed", patch: {} },
    });
    const error = { name: "ModelError", data };
    store.messages.push({
      info: { messageId: reply, role: "assistant", error },
      parts: [words(`Said by ${reply}.`)],
    });
  }
  await settle();
  const other = test.client();
  await other.initialize();
  const { lines } = await load(other, "s");
  expect(lines).toEqual(["user uN go", "agent aN Said by aN.", "agent aO Said by aO."]);
  stop();
  await test.bridge.close();
  await answer;
});

test("R42 P3 what a terminal client is shown behind its resume is the tail of 200", async () => {
  const { test, client, end } = await begin(new Random(8), 300);
  const tail = await load(client, "s", 200);
  const terminal = test.client();
  await terminal.initialize({}, { name: "martty", version: "1" });
  await terminal.request("session/resume", { sessionId: "s", cwd: "/one", mcpServers: [] });
  while (shown(terminal, "s").length < tail.lines.length) await settle();
  await settle();
  expect(shown(terminal, "s")).toEqual(tail.lines);
  await end();
}, 10_000);

test("R42 a load of an id that nobody knows says so and leaves nothing behind", async () => {
  const { client, server, test } = await startPlayed();
  const loading = load(client, "nope", 5);
  const resume = await server.take((frame) => frame.method === "session/resume");
  server.push({ id: resume.id, error: { code: -32004, message: "Session is not active" } });
  expect(await failed(loading)).toMatchObject({ code: -32002, message: expect.stringContaining("nope") });
  expect(await failed(client.prompt("nope", "hi"))).toMatchObject({ code: -32002 });
  expect(server.inbox.filter(({ method }) => method === "session/resume")).toEqual([]);
  await test.bridge.close();
});

test("P26 R44 what runs on in the background is shown by a page as running as well", async () => {
  const { client, server, store, end } = await begin(new Random(1), 0);
  await load(client, "s", 0);
  const { event } = speaker(server);
  void client.prompt("s", "go");
  const inputId = await acceptSend(server);
  event("turn.started", { inputId, messageId: "u1" });
  const input = { command: "npm run slow", run_in_background: true };
  event("tool.updated", { kind: "scheduled", toolCallId: "c1", toolName: "Bash", input });
  event("session.updated", { taskId: "t1", taskKind: "bash", toolCallId: "c1", status: "running" });
  const content = "Command running in background with ID: t1";
  event("tool.updated", { kind: "result", toolCallId: "c1", result: { success: true, content } });
  event("turn.completed", { resultType: "success" });
  server.push({ method: "state.updated", params: { sessionId: "s", reason: "prompt_completed", patch: {} } });
  const state = { status: "completed", input, output: content };
  const call = { type: "tool", callId: "c1", tool: "Bash", state };
  store.messages.push(user("u1", "go"), agent("a1", call), user("u2", "on"), agent("a2", words("On.")));
  await settle();
  const { meta } = await load(client, "s", 1);
  const from = client.updates("s").length;
  expect((await earlier(client, "s", meta.cursor, 5)).lines).toEqual(["user u1 go", "card c1"]);
  const statuses = client
    .updates("s")
    .slice(from)
    .flatMap(({ status }) => status ?? []);
  expect(statuses.at(-1)).toBe("in_progress");
  await end();
});
