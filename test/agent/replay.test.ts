/** What a load brings beside messages: the plan and the use as they are now, and nothing where there is nothing. */

import { expect, test } from "bun:test";
import { Loads } from "../../src/agent/replay.ts";
import type { Client } from "../../src/clients/client.ts";
import { Conversation } from "../../src/session/conversation.ts";
import { cardAsItIs, LiveLog } from "../../src/session/live.ts";
import { batchOver, expectBatch, holdBack, tellBefore } from "../../src/session/readers.ts";
import type { Sessions } from "../../src/session/sessions.ts";
import type { ToolCard } from "../../src/translate/updates.ts";
import type { PlayedServer } from "../support/bridge.ts";
import type { Json, PlainClient } from "../support/plainClient.ts";
import { sessionEvent, settle, startPlayed } from "../support/played.ts";

const todo = (content: string): Json => ({ content, status: "pending", priority: "high" });
const wrote = (callID: string, ...todos: Json[]): Json => ({
  type: "tool",
  callID,
  tool: "TodoWrite",
  state: { status: "completed", input: { todos }, output: JSON.stringify({ todos }) },
});
const words = (text: string): Json => ({ type: "text", text });
const message = (role: string, id: string, ...parts: Json[]): Json => ({ info: { id, role }, parts });

const PLANNED = [
  message("user", "u1", words("one")),
  message("assistant", "a1", wrote("c1", todo("old"))),
  message("user", "u2", words("two")),
  message("assistant", "a2", words("done")),
];
const UNPLANNED = [PLANNED[0]!, PLANNED[2]!, PLANNED[3]!];
const USED = { projection: { contextUsed: 500, contextWindow: 32_000 } };

async function begin(messages: readonly Json[], snapshot: Json) {
  const played = await startPlayed();
  const { server } = played;
  let on = true;
  const held: (() => void)[] = [];
  const control = { hold: false, held };
  void (async () => {
    const methods = ["session/resume", "session/subscribe", "session/messages"];
    while (on) {
      const frame = await server
        .take(({ method }) => methods.includes(String(method)), 60_000)
        .catch(() => undefined);
      if (!frame || !on) return;
      const { limit, sessionId } = frame.params as Json;
      if (frame.method === "session/subscribe") server.push({ id: frame.id, result: {} });
      else if (frame.method === "session/resume") {
        const result = { session: { sessionId }, runtime: { eventSeq: 0 }, messages, ...snapshot };
        server.push({ id: frame.id, result });
      } else {
        const some = typeof limit === "number" ? messages.slice(-limit) : messages;
        const answer = () => server.push({ id: frame.id, result: { messages: some } });
        if (control.hold) held.push(answer);
        else answer();
      }
    }
  })();
  const end = async () => {
    on = false;
    await played.test.bridge.close();
  };
  return { ...played, control, end };
}

/** Plans and uses that a client was sent since `from`. */
function told(client: PlainClient, from = 0): string[] {
  return client
    .updates("s")
    .slice(from)
    .flatMap((update) => {
      if (update.sessionUpdate === "usage_update") return [`${update.used} of ${update.size}`];
      if (update.sessionUpdate !== "plan") return [];
      return [`plan ${(update.entries as Json[]).map(({ content }) => content).join()}`];
    });
}

async function load(client: PlainClient, limit?: number): Promise<{ told: string[]; cursor: unknown }> {
  const from = client.updates("s").length;
  const _meta = { zcode: limit === undefined ? {} : { limit } };
  const answer = await client.request("session/load", { sessionId: "s", cwd: "/one", mcpServers: [], _meta });
  return { told: told(client, from), cursor: (answer.replayMeta as Json).cursor };
}

const plan = (server: PlayedServer, seq: number, ...todos: Json[]) =>
  server.push(
    sessionEvent("s", seq, "tool.updated", {
      kind: "result",
      toolCallId: `t${seq}`,
      toolName: "TodoWrite",
      input: { todos },
      result: { success: true, content: JSON.stringify({ todos }) },
    }),
  );

test("R42 R44 a load ends with the plan as it is now, and neither its history nor a page brings an older one", async () => {
  const { client, test, end } = await begin(PLANNED, { todos: [todo("new")], ...USED });
  const tail = await load(client, 1);
  // The first ones are the resume's own.
  expect(tail.told.slice(-2)).toEqual(["plan new", "500 of 32000"]);
  expect(tail.told.filter((line) => line.includes("old"))).toEqual([]);
  const from = client.updates("s").length;
  await client.request("session/load_earlier", { sessionId: "s", before: tail.cursor, limit: 50 });
  expect(client.updates("s").length).toBeGreaterThan(from);
  expect(told(client, from)).toEqual([]);
  expect((await load(client)).told).toEqual(["plan new", "500 of 32000"]);
  const other = test.client();
  await other.initialize();
  expect((await load(other)).told).toEqual(["plan new", "500 of 32000"]);
  await end();
});

test("R42 where nothing is planned any more a load says so, and where nothing ever was it says nothing", async () => {
  const emptied = await begin(PLANNED, { todos: [] });
  expect((await load(emptied.client)).told).toEqual(["plan "]);
  await emptied.end();
  const never = await begin(UNPLANNED, { todos: [] });
  expect((await load(never.client)).told).toEqual([]);
  plan(never.server, 1, todo("meanwhile"));
  await settle();
  expect((await load(never.client)).told).toEqual(["plan meanwhile"]);
  const other = never.test.client();
  await other.initialize();
  await load(other);
  // What empties it is said while the load waits, and is covered by what that brings.
  never.control.hold = true;
  const from = other.updates("s").length;
  const loading = load(other);
  await settle();
  plan(never.server, 2);
  await settle();
  for (const answer of never.control.held.splice(0)) answer();
  await loading;
  expect(told(other, from).at(-1)).toBe("plan ");
  never.control.hold = false;
  expect((await load(never.client)).told).toEqual(["plan "]);
  await never.end();
});

test("R42 a load that asks for no message is sent none, no plan and no use; what is not known to be used is not told", async () => {
  const { client, test, end } = await begin(PLANNED, { todos: [todo("new")], ...USED });
  await load(client, 1);
  expect((await load(client, 0)).told).toEqual([]);
  const other = test.client();
  await other.initialize();
  const from = other.updates("s").length;
  await load(other, 0);
  await settle();
  const kinds = other.updates("s").slice(from);
  expect(kinds.map(({ sessionUpdate }) => sessionUpdate)).toEqual(["available_commands_update"]);
  await end();
  for (const projection of [{ contextUsed: 0, contextWindow: 32_000 }, { contextWindow: 32_000 }, {}]) {
    const unused = await begin(UNPLANNED, { projection });
    for (const limit of [undefined, 1, 0]) expect((await load(unused.client, limit)).told).toEqual([]);
    await unused.end();
  }
});

/** A conversation in which things are said, and what a client is told of them. */
function held() {
  const conversation = new Conversation("s", "/one", [], "acp-1", "en");
  const client = {};
  const told: string[] = [];
  const say = (word: string) => holdBack(conversation, () => () => void told.push(word));
  return { conversation, client, told, say };
}

test("R46 M3 of several loads of one client each thing said is told once, or behind each history that is shown, whichever ends first and however", () => {
  for (const [ends, expected] of [
    // The first is taken back: the second has all, and shows what its history covers.
    [
      [
        ["first", false, 0],
        ["second", true, 0],
      ],
      ["two"],
    ],
    [
      [
        ["first", false, 0],
        ["second", false, 0],
      ],
      ["one", "two"],
    ],
    [
      [
        ["first", true, 1],
        ["second", false, 0],
      ],
      ["two"],
    ],
    [
      [
        ["first", true, 0],
        ["second", true, 0],
      ],
      ["one", "two", "two"],
    ],
    [
      [
        ["first", true, 0],
        ["second", false, 0],
      ],
      ["one", "two"],
    ],
    [
      [
        ["second", false, 0],
        ["first", false, 0],
      ],
      ["one", "two"],
    ],
  ] as const) {
    const { conversation, client, told, say } = held();
    const first = expectBatch(conversation, client, false);
    say("one");
    const second = expectBatch(conversation, client, false);
    say("two");
    for (const [which, shown, covered] of ends) {
      const reader = which === "first" ? first : second;
      if (shown) reader.covered += covered;
      batchOver(conversation, reader, shown);
    }
    expect(told).toEqual([...expected]);
    expect(conversation.readers.size).toBe(0);
  }
});

test("R46 M3 what waited for a load that was taken back is in whichever history is shown next", () => {
  const { conversation, client, told, say } = held();
  const first = expectBatch(conversation, client, false);
  say("zero");
  const [second, third] = [
    expectBatch(conversation, client, false),
    expectBatch(conversation, client, false),
  ];
  batchOver(conversation, first, false);
  batchOver(conversation, third, true);
  batchOver(conversation, second, false);
  expect(told).toEqual([]);
});

test("R46 M4 what waits when a prompt ends is told behind what has begun to be shown, and not once more when that is over", () => {
  const { conversation, client, told, say } = held();
  const reader = expectBatch(conversation, client, false);
  say("covered");
  reader.covered = 1;
  say("said");
  reader.finish = () => void told.push("history");
  tellBefore(conversation, client);
  expect(told).toEqual(["history", "said"]);
  say("later");
  batchOver(conversation, reader, true);
  expect(told).toEqual(["history", "said", "later"]);
});

test("R46 loads that wait when their client leaves keep nothing any more", () => {
  const { conversation, say } = held();
  const sessions = { registry: { find: () => conversation } } as unknown as Sessions;
  const loads = new Loads(sessions, {} as Client);
  // A name that is used twice is one load.
  for (const request of [1, 2, 1]) loads.came(request, { sessionId: "s" });
  expect(conversation.readers.size).toBe(2);
  loads.end();
  expect(conversation.readers.size).toBe(0);
  expect(say("one").size).toBe(0);
  expect(loads.begin("s")).toBeUndefined();
});

test("R46 A13 a card is drawn as it is: with its output, and closed where it is over; a person's words are none of the turn's", () => {
  const card = (status: string, command: boolean, output: string) =>
    cardAsItIs({ id: "c", status, command, output } as unknown as ToolCard).map((update) =>
      update.kind === "tool" ? update.change : update.kind,
    );
  expect(card("in_progress", true, "a")).toEqual(["opened", "output"]);
  expect(card("in_progress", true, "")).toEqual(["opened"]);
  expect(card("completed", true, "a")).toEqual(["opened", "output", "closed"]);
  expect(card("failed", false, "a")).toEqual(["opened", "closed"]);
  const live = new LiveLog();
  live.note({ kind: "text", role: "user", messageId: "u", text: "hi" });
  expect(live.isEmpty).toBe(true);
});
