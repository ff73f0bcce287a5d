/** A session that comes back with its whole history: what nobody was shown is shown, once and in its place. */

import { expect, test } from "bun:test";
import { type Clock, scaledClock, systemClock } from "../../src/platform/clock.ts";
import type { PlayedServer } from "../support/bridge.ts";
import type { Json, PlainClient } from "../support/plainClient.ts";
import { serveSubscribe, sessionEvent, settle, startPlayed, startRunning } from "../support/played.ts";

const person = (messageId: string, words: string, more: Json = {}): Json => ({
  info: { messageId, role: "user", ...more },
  parts: [{ type: "text", text: words }],
});

const reply = (messageId: string, ...parts: (string | Json)[]): Json => ({
  info: { messageId, role: "assistant" },
  parts: parts.map((part) => (typeof part === "string" ? { type: "text", text: part } : part)),
});

const stored = (callId: string, output: string, status = "completed"): Json => ({
  type: "tool",
  partId: `part_${callId}`,
  callId,
  tool: "Read",
  state: { status, input: { file_path: "/one/a.ts" }, output },
});

const piece = (seq: number, assistantMessageId: string | undefined, delta: string, turnId = "t"): Json =>
  sessionEvent("s1", seq, "model.streaming", { kind: "text_delta", assistantMessageId, delta }, turnId);

const isSend = (frame: Json) => frame.method === "session/send";

/** Answers the resume that the bridge asks for. */
async function serveResume(server: PlayedServer, messages: readonly Json[]): Promise<void> {
  const resume = await server.take((frame) => frame.method === "session/resume");
  server.push({
    id: resume.id,
    result: { session: { sessionId: "s1" }, runtime: { eventSeq: 1 }, messages },
  });
  await serveSubscribe(server);
}

async function serveProbe(server: PlayedServer): Promise<void> {
  const probe = await server.take((frame) => frame.method === "runtime/capabilities");
  server.push({ id: probe.id, result: {} });
}

/** The conversation's `s1` is dropped by the backend: the next send says so, and the resume brings this history. */
async function evict(server: PlayedServer, messages: readonly Json[]): Promise<Json> {
  const send = await server.take(isSend);
  server.push({ id: send.id, error: { code: -32004, message: "Session is not active: s1" } });
  await serveResume(server, messages);
  return server.take(isSend);
}

/** Ends the running turn `t` of `startRunning` after it has said something. */
async function finish(server: PlayedServer, answer: Promise<Json | Error>): Promise<void> {
  server.push(piece(2, "m1", "First."));
  server.push(sessionEvent("s1", 3, "turn.completed", { resultType: "success" }));
  server.push({
    method: "state.updated",
    params: { sessionId: "s1", revision: 1, reason: "prompt_completed", patch: {} },
  });
  expect(((await answer) as Json).stopReason).toBe("end_turn");
}

const words = (client: PlainClient) => client.text("agent_message_chunk");

const cards = (client: PlainClient) =>
  client
    .updates()
    .filter((update) => String(update.sessionUpdate).startsWith("tool_call"))
    .map((update) => [update.sessionUpdate, update.toolCallId, update.status]);

test("B5 B10 a turn that a crash cut off: the rest of its words and the end of its card come once with the resume, before the next prompt", async () => {
  const { test, client, server, id, answer } = await startRunning();
  server.push(piece(2, "m1", "Hel"));
  server.push(
    sessionEvent("s1", 3, "tool.updated", {
      kind: "scheduled",
      toolCallId: "c1",
      toolName: "Read",
      input: { file_path: "/one/a.ts" },
    }),
  );
  await settle();
  server.die(1);
  expect(await answer).toBeInstanceOf(Error);
  expect(cards(client).at(-1)).toEqual(["tool_call_update", "c1", "failed"]);
  const next = client.prompt(id, "go on");
  const second = await test.server(1);
  await serveProbe(second);
  await serveResume(second, [
    person("u1", "hi"),
    reply("m1", "Hello", stored("c1", "lines"), " there."),
    reply("m2", stored("c2", "more"), "Done."),
  ]);
  const send = await second.take(isSend);
  expect(words(client)).toBe("Hello there.Done.");
  expect(client.text("user_message_chunk")).toBe("");
  expect(cards(client).filter(([, call]) => call === "c1")).toEqual([
    ["tool_call", "c1", "pending"],
    ["tool_call_update", "c1", "failed"],
    ["tool_call_update", "c1", "in_progress"],
    ["tool_call_update", "c1", "completed"],
  ]);
  expect(
    cards(client)
      .filter(([, call]) => call === "c2")
      .at(-1),
  ).toEqual(["tool_call_update", "c2", "completed"]);
  second.push({ id: send.id, result: { accepted: true } });
  second.push(sessionEvent("s1", 2, "turn.started", { inputId: (send.params as Json).inputId }, "t2"));
  second.push(piece(3, "m3", "Third.", "t2"));
  second.push(sessionEvent("s1", 4, "turn.completed", { resultType: "success" }, "t2"));
  expect((await next).stopReason).toBe("end_turn");
  expect(words(client)).toBe("Hello there.Done.Third.");
  await test.bridge.close();
});

test("B5 B9 B10 a prompt that was tried again is stored once a try, and none of these is news to the one who sent it", async () => {
  const { test, client, server, id, answer } = await startRunning({}, scaledClock(systemClock(), 50));
  const failure = { code: "network_error", message: "connect ECONNREFUSED", retryable: true };
  const fails = (seq: number, turnId: string) => {
    server.push(sessionEvent("s1", seq, "turn.failed", { error: failure }, turnId));
    server.push({
      method: "state.updated",
      params: { sessionId: "s1", revision: seq, reason: "prompt_failed", patch: {} },
    });
  };
  fails(2, "t");
  for (const attempt of [1, 2]) {
    const again = await server.take(isSend);
    server.push({ id: again.id, result: { accepted: true } });
    const turnId = `t${attempt}`;
    const { inputId } = again.params as Json;
    server.push(sessionEvent("s1", attempt * 2 + 1, "turn.started", { inputId }, turnId));
    if (attempt === 1) fails(4, turnId);
  }
  await settle();
  server.die(1);
  expect(await answer).toBeInstanceOf(Error);
  const next = client.prompt(id, "go on");
  const second = await test.server(1);
  await serveProbe(second);
  const tries = ["u1", "u2", "u3"].map((messageId) => person(messageId, "hi"));
  await serveResume(second, [...tries, person("u4", "hi")]);
  await second.take(isSend);
  // The fourth of the same words is somebody else's.
  expect(
    client
      .updates(id)
      .filter((update) => update.sessionUpdate === "user_message_chunk")
      .map((update) => update.messageId),
  ).toEqual(["u4"]);
  await test.bridge.close();
  expect((await next).stopReason).toBe("cancelled");
});

test("B5 what was said elsewhere while the session was away is shown once, questions and answers in order; what was seen is not", async () => {
  const { test, client, server, id, answer } = await startRunning();
  await finish(server, answer);
  const next = client.prompt(id, "and now");
  const history = [
    person("u1", "hi"),
    reply("m1", "First."),
    person("u2", "from the app"),
    reply("m2", "To the app."),
    person("n1", "<task-notification>x</task-notification>", {
      semantics: { transcriptVisibility: "hidden" },
    }),
    reply("m3", "A task is done."),
  ];
  const send = await evict(server, history);
  const shown = client
    .updates()
    .filter((update) => String(update.sessionUpdate).endsWith("message_chunk"))
    .map((update) => [update.sessionUpdate, (update.content as Json).text]);
  expect(shown).toEqual([
    ["agent_message_chunk", "First."],
    ["user_message_chunk", "from the app"],
    ["agent_message_chunk", "To the app."],
    ["agent_message_chunk", "A task is done."],
  ]);
  // Dropped once more, with nothing new: nothing is shown again.
  server.push({ id: send.id, error: { code: -32004, message: "Session is not active: s1" } });
  await serveResume(server, history);
  const third = await server.take(isSend);
  server.push({ id: third.id, error: { code: -32603, message: "no" } });
  expect(await next.catch((error: unknown) => error)).toBeInstanceOf(Error);
  const last = client.prompt(id, "again");
  const resend = await evictOrResume(server, [...history, person("u4", "and now")]);
  expect(client.text("user_message_chunk")).toBe("from the app");
  expect(words(client)).toBe("First.To the app.A task is done.");
  server.push({ id: resend.id, error: { code: -32603, message: "no" } });
  await last.catch(() => {});
  await test.bridge.close();
});

/** The next send, behind a resume where the bridge wants one first. */
async function evictOrResume(server: PlayedServer, messages: readonly Json[]): Promise<Json> {
  const first = await server.take((frame) => isSend(frame) || frame.method === "session/resume");
  if (isSend(first)) {
    server.push({ id: first.id, error: { code: -32004, message: "Session is not active: s1" } });
    await serveResume(server, messages);
  } else {
    server.push({
      id: first.id,
      result: { session: { sessionId: "s1" }, runtime: { eventSeq: 1 }, messages },
    });
    await serveSubscribe(server);
  }
  return server.take(isSend);
}

test("B5 B15 a turn that ended has told everything: calls without words, other spellings and builds without message ids double nothing", async () => {
  const cases: { events: (server: PlayedServer) => void; history: Json[] }[] = [
    {
      // The last message holds a call alone.
      events: (server) => {
        server.push(piece(2, "m1", "First."));
        server.push(
          sessionEvent("s1", 3, "tool.updated", { kind: "started", toolCallId: "c1", toolName: "Read" }),
        );
      },
      history: [person("u1", "hi"), reply("m1", "First."), reply("m2", stored("c1", "x"))],
    },
    {
      events: (server) => {
        server.push(piece(2, undefined, "First."));
        server.push(piece(3, undefined, " Second."));
      },
      history: [
        { info: { id: "u1", role: "user" }, parts: [{ id: "p", type: "text", text: "hi" }] },
        { info: { id: "m1", role: "assistant" }, parts: [{ id: "q", type: "text", text: "First. Second." }] },
      ],
    },
    {
      // The place up to which everything was shown is gone: nothing can be told, so nothing is.
      events: (server) => {
        server.push(piece(2, "m1", "First."));
        server.push(piece(3, "m1", " Second."));
      },
      history: [reply("other", "A summary."), person("u9", "what"), reply("m9", "Never seen.")],
    },
  ];
  for (const { events, history } of cases) {
    const { test, client, server, id, answer } = await startRunning();
    events(server);
    server.push(sessionEvent("s1", 4, "turn.completed", { resultType: "success" }));
    server.push({
      method: "state.updated",
      params: { sessionId: "s1", revision: 1, reason: "prompt_completed", patch: {} },
    });
    await answer;
    const before = client.updates().length;
    const next = client.prompt(id, "next");
    await evict(server, history);
    expect(client.updates().slice(before)).toEqual([]);
    await test.bridge.close();
    await next.catch(() => {});
  }
});

test("B5 a running turn of a build without message ids is caught up by length", async () => {
  const { test, client, server, id, answer } = await startRunning();
  server.push(piece(2, undefined, "One, t"));
  await settle();
  server.die(1);
  await answer;
  const next = client.prompt(id, "next");
  const second = await test.server(1);
  await serveProbe(second);
  await serveResume(second, [
    person("u1", "hi"),
    reply("m1", "One, "),
    reply("m2", "two, "),
    reply("m3", "three"),
  ]);
  await second.take(isSend);
  expect(words(client)).toBe("One, two, three");
  await test.bridge.close();
  await next.catch(() => {});
});

test("B5 a load that brings the session back shows the history once, to the client that asked", async () => {
  const { test, client, server, id, answer } = await startRunning();
  server.push(piece(2, "m1", "Hel"));
  await settle();
  server.die(1);
  await answer;
  const before = client.updates().length;
  const load = client.request("session/load", { sessionId: id, cwd: "/one", mcpServers: [] });
  const second = await test.server(1);
  await serveProbe(second);
  await serveResume(second, [person("u1", "hi"), reply("m1", "Hello.")]);
  await load;
  const replayed = client
    .updates()
    .slice(before)
    .filter((update) => update.content !== undefined);
  expect(replayed.map((update) => (update.content as Json | undefined)?.text)).toEqual(["hi", "Hello."]);
  await test.bridge.close();
});

test("B5 B8 a turn that was given up in silence stays so: what it stored afterwards is not shown", async () => {
  const { missedUpdates } = await import("../../src/translate/missed.ts");
  const { newTranslateState } = await import("../../src/translate/events.ts");
  const state = newTranslateState("/one", "en");
  state.shown.turnStarted("u1", false);
  state.shown.said("m1", "agent", 3);
  state.shown.reset("m1");
  state.shown.givenUp = true;
  const later = [
    person("u1", "hi"),
    reply("m1", "Hel"),
    reply("m2", "too late"),
    person("u2", "x"),
    reply("m3", "y"),
  ];
  const shown = [...missedUpdates(state, later)].map((update) =>
    update.kind === "text" ? update.text : update.kind,
  );
  expect(shown).toEqual(["x", "y"]);
});

const FIVE_MINUTES = 300_000;

/** Real time, and as much more as the test wants to have passed. */
function jumpingClock(): Clock & { jump(ms: number): void } {
  const base = systemClock();
  let ahead = 0;
  return {
    now: () => base.now() + ahead,
    mono: () => base.mono() + ahead,
    after: (ms, run) => base.after(ms, run),
    every: (ms, run) => base.every(ms, run),
    jump: (ms) => {
      ahead += ms;
    },
  };
}

test("B5 a session that was quiet for five minutes is asked for before it is trusted: what it has comes first, and one that is gone is resumed", async () => {
  const clock = jumpingClock();
  const { test, client, server } = await startPlayed(clock);
  const id = await client.newSession("/one");
  const run = async (text: string, ask: (send: () => Promise<Json>) => Promise<Json>, turnId: string) => {
    const answer = client.prompt(id, text);
    const send = await ask(() => server.take(isSend));
    server.push({ id: send.id, result: { accepted: true } });
    server.push(
      sessionEvent("s1", nextSeq++, "turn.started", { inputId: (send.params as Json).inputId }, turnId),
    );
    server.push(sessionEvent("s1", nextSeq++, "turn.completed", { resultType: "success" }, turnId));
    server.push({
      method: "state.updated",
      params: { sessionId: "s1", reason: "prompt_completed", patch: {} },
    });
    await answer;
  };
  let nextSeq = 1;
  await run(
    "one",
    async (send) => {
      const create = await server.take((frame) => frame.method === "session/create");
      server.push({ id: create.id, result: { session: { sessionId: "s1" }, runtime: { eventSeq: 0 } } });
      await serveSubscribe(server);
      return send();
    },
    "t1",
  );
  // A moment later it is simply used.
  clock.jump(FIVE_MINUTES - 5_000);
  await run("two", (send) => send(), "t2");
  expect(server.inbox.filter((frame) => frame.method === "session/subscribe")).toEqual([]);
  // After five minutes it is asked first: an event that was lost comes before the prompt goes.
  clock.jump(FIVE_MINUTES + 1);
  await run(
    "three",
    async (send) => {
      const look = await server.take((frame) => frame.method === "session/subscribe");
      expect((look.params as Json).afterSeq).toBe(nextSeq - 1);
      await settle();
      expect(server.inbox.filter(isSend)).toEqual([]);
      const lost = { sessionId: "s1", seq: nextSeq++, type: "session.titleUpdated" };
      // What has no place in the count cannot be told from what was shown before.
      const titled = (seq: unknown, title: string) => ({
        ...lost,
        seq,
        payload: { title, source: "generated" },
      });
      const placeless = [undefined, null, -1, 0, nextSeq + 0.5, 1e15, 2 ** 60, "7", nextSeq - 2];
      server.push({
        id: look.id,
        result: {
          events: [
            titled(lost.seq, "Lost"),
            ...placeless.map((seq) => titled(seq, `at ${String(seq)}`)),
            null,
            7,
          ],
        },
      });
      const next = await send();
      expect(client.updates(id).at(-1)).toMatchObject({
        sessionUpdate: "session_info_update",
        title: "Lost",
      });
      return next;
    },
    "t3",
  );
  // One that is gone is resumed, and the prompt is sent once.
  clock.jump(FIVE_MINUTES + 1);
  await run(
    "four",
    async (send) => {
      const look = await server.take((frame) => frame.method === "session/subscribe");
      server.push({ id: look.id, error: { code: -32004, message: "Session is not active: s1" } });
      await serveResume(server, []);
      nextSeq = 2;
      return send();
    },
    "t4",
  );
  expect(server.inbox.filter(isSend)).toEqual([]);
  // A build that cannot say is believed.
  clock.jump(FIVE_MINUTES + 1);
  await run(
    "five",
    async (send) => {
      const look = await server.take((frame) => frame.method === "session/subscribe");
      server.push({ id: look.id, error: { code: -32601, message: "no such method" } });
      return send();
    },
    "t5",
  );
  await test.bridge.close();
});
