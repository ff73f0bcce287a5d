/** Turns that say nothing: what proves that they live, and how those end that do not. */

import { expect, test } from "bun:test";
import { scaledClock, systemClock } from "../../src/platform/clock.ts";
import { ManualClock } from "../sim/manualClock.ts";
import type { PlayedServer } from "../support/bridge.ts";
import type { Json, PlainClient } from "../support/plainClient.ts";
import { serveSubscribe, sessionEvent, settle, startPrompted, startRunning } from "../support/played.ts";
import { until } from "../support/processes.ts";

const messages: Json[] = [
  { info: { messageId: "u1", role: "user" }, parts: [{ type: "text", text: "hi" }] },
  { info: { messageId: "m1", role: "assistant" }, parts: [{ type: "text", text: "Hello." }] },
];

/** Serves whatever brings the session back and reads it, until a prompt is sent. */
async function serveUntilSend(server: PlayedServer): Promise<Json> {
  for (;;) {
    const frame = await server.take((each) =>
      ["session/resume", "session/subscribe", "session/messages", "session/send", "session/read"].includes(
        String(each.method),
      ),
    );
    if (frame.method === "session/send") return frame;
    const session = { session: { sessionId: "s1" }, runtime: { eventSeq: 1 } };
    server.push({ id: frame.id, result: { ...session, messages } });
  }
}

test("B5 B8 a silent turn whose session is gone ends at once and gently: what it stored is shown once, and the next prompt works", async () => {
  const { test, client, server, id, answer } = await startPrompted(scaledClock(systemClock(), 500));
  const send = await server.take((frame) => frame.method === "session/send");
  server.push({ id: send.id, result: { accepted: true } });
  const { inputId } = send.params as Json;
  server.push(sessionEvent("s1", 1, "turn.started", { inputId, messageId: "u1" }));
  const delta = { kind: "text_delta", assistantMessageId: "m1", delta: "Hel" };
  server.push(sessionEvent("s1", 2, "model.streaming", delta));
  const gone = { code: -32004, message: "Session is not active: s1" };
  const look = await server.take((frame) => frame.method === "session/read");
  server.push({ id: look.id, error: gone });
  const read = await server.take((frame) => frame.method === "session/messages");
  server.push({ id: read.id, error: gone });
  const next = answer.then((ended) => {
    expect(ended.stopReason).toBe("end_turn");
    return client.prompt(id, "next");
  });
  const again = await serveUntilSend(server);
  expect((again.params as Json).content).toBe("next");
  server.push({ id: again.id, result: { accepted: true } });
  server.push(sessionEvent("s1", 2, "turn.started", { inputId: (again.params as Json).inputId }, "t2"));
  server.push(sessionEvent("s1", 3, "turn.completed", { resultType: "success" }, "t2"));
  expect((await next).stopReason).toBe("end_turn");
  const said = client
    .updates(id)
    .filter((update) => update.sessionUpdate === "agent_message_chunk")
    .filter((update) => !String(update.messageId).startsWith("notice_"))
    .map((update) => (update.content as Json).text);
  expect(said.join("")).toBe("Hello.");
  expect(client.text("user_message_chunk")).toBe("");
  await test.bridge.close();
});

/** Ten minutes are a second. */
const quick = () => scaledClock(systemClock(), 600);

test("B8 P12 a turn that waits for a person lives without limit: the backend is not even asked", async () => {
  const { test, client, server, answer } = await startRunning({}, quick());
  let decide!: (outcome: Json) => void;
  const decided = new Promise<Json>((resolve) => {
    decide = resolve;
  });
  await client.initialize({ elicitation: { form: {} } });
  client.handlers.set("elicitation/create", () => decided);
  const questions = [{ question: "Which?", options: [{ label: "A" }, { label: "B" }] }];
  const asked = { sessionId: "s1", requestId: "r", toolCallId: "c1", toolName: "AskUserQuestion" };
  const params = { ...asked, schema: { toolName: "AskUserQuestion" }, input: { questions }, questions };
  server.push({ id: "q", method: "interaction/requestUserInput", params });
  await client.frame((frame) => frame.method === "elicitation/create");
  let ended = false;
  void answer.then(() => {
    ended = true;
  });
  // Half an hour.
  await Bun.sleep(3_000);
  expect(ended).toBe(false);
  expect(server.inbox.filter((frame) => frame.method === "session/read")).toEqual([]);
  decide({ action: "decline" });
  const reply = await server.take((frame) => frame.id === "q");
  expect(reply.result).toMatchObject({ action: "decline" });
  server.push(sessionEvent("s1", 2, "turn.completed", { resultType: "success" }));
  expect(await answer).toMatchObject({ stopReason: "end_turn" });
  await test.bridge.close();
});

test("B8 B6 a turn that stood still for ten minutes ends with what history holds of its reply; it is stopped by its name, and what it still says is dropped", async () => {
  const rules = quick();
  const { test, client, server, id, answer } = await startPrompted(rules);
  const send = await server.take((frame) => frame.method === "session/send");
  server.push({ id: send.id, result: { accepted: true } });
  const { inputId } = send.params as Json;
  const started = { inputId, messageId: "u1", foregroundExecutionId: "fg-1" };
  server.push(sessionEvent("s1", 1, "turn.started", started));
  const delta = (seq: number, words: string) =>
    sessionEvent("s1", seq, "model.streaming", {
      kind: "text_delta",
      assistantMessageId: "m1",
      delta: words,
    });
  server.push(delta(2, "Hel"));
  const since = rules.mono();
  let read: Json;
  do {
    read = await server.take(({ method }) => method === "session/read" || method === "session/messages");
    const projection = { contextUsed: 5, totalTokenCount: 7, turnCount: 1 };
    const result = read.method === "session/read" ? { projection } : { messages };
    server.push({ id: read.id, result });
  } while (read.method === "session/read");
  expect(rules.mono() - since).toBeGreaterThanOrEqual(600_000);
  expect(await answer).toMatchObject({ stopReason: "end_turn" });
  const stop = await server.take((frame) => frame.method === "v4/command");
  expect(stop.params).toMatchObject({ type: "stop", payload: { expectedForegroundExecutionId: "fg-1" } });
  server.push(delta(3, "lo. And more."));
  server.push(sessionEvent("s1", 4, "turn.completed", { resultType: "cancelled" }));
  server.push({
    method: "state.updated",
    params: { sessionId: "s1", reason: "prompt_completed", patch: {} },
  });
  const next = client.prompt(id, "next");
  // It comes to a session that was dropped meanwhile, whose history holds what the turn wrote behind its end.
  const sent = await server.take((frame) => frame.method === "session/send");
  server.push({ id: sent.id, error: { code: -32004, message: "Session is not active: s1" } });
  const resume = await server.take((frame) => frame.method === "session/resume");
  const late = { info: { messageId: "m2", role: "assistant" }, parts: [{ type: "text", text: "Late." }] };
  const session = { session: { sessionId: "s1" }, runtime: { eventSeq: 4 } };
  server.push({ id: resume.id, result: { ...session, messages: [...messages, late] } });
  await serveSubscribe(server);
  const again = await server.take((frame) => frame.method === "session/send");
  server.push({ id: again.id, result: { accepted: true } });
  server.push(sessionEvent("s1", 5, "turn.started", { inputId: (again.params as Json).inputId }, "t2"));
  server.push(sessionEvent("s1", 6, "turn.completed", { resultType: "success" }, "t2"));
  expect(await next).toMatchObject({ stopReason: "end_turn" });
  const said = client.updates(id).filter((update) => update.sessionUpdate === "agent_message_chunk");
  const lines = said.filter((update) => String(update.messageId).startsWith("notice_"));
  expect(lines).toHaveLength(1);
  const words = said.filter((update) => !lines.includes(update)).map(({ content }) => (content as Json).text);
  expect(words.join("")).toBe("Hello.");
  await test.bridge.close();
});

test("B8 B20 a prompt that waits for its session is no silent turn, however long that takes", async () => {
  const { test, client, server, id, answer } = await startRunning({}, quick());
  server.push(sessionEvent("s1", 2, "turn.completed", { resultType: "success" }));
  expect(await answer).toMatchObject({ stopReason: "end_turn" });
  server.die(1);
  await settle();
  let ended = false;
  const next = client.prompt(id, "next").finally(() => {
    ended = true;
  });
  const second = await test.server(1);
  const probe = await second.take((frame) => frame.method === "runtime/capabilities");
  second.push({ id: probe.id, result: {} });
  const resume = await second.take((frame) => frame.method === "session/resume");
  // Twenty minutes.
  await Bun.sleep(2_000);
  expect(ended).toBe(false);
  expect(second.inbox.filter((frame) => frame.method === "session/read")).toEqual([]);
  second.push({ id: resume.id, result: { session: { sessionId: "s1" }, runtime: { eventSeq: 2 } } });
  await serveSubscribe(second);
  const send = await second.take((frame) => frame.method === "session/send");
  second.push({ id: send.id, result: { accepted: true } });
  const { inputId } = send.params as Json;
  second.push(sessionEvent("s1", 3, "turn.started", { inputId }, "t2"));
  second.push(sessionEvent("s1", 4, "turn.completed", { resultType: "success" }, "t2"));
  expect((await next).stopReason).toBe("end_turn");
  expect(client.text("agent_message_chunk", id)).not.toContain("ten minutes");
  await test.bridge.close();
});

/** A prompt whose turn does not begin for ten minutes is answered; `inputId` is that of its send. */
async function givenUp() {
  const clock = new ManualClock();
  const { test, client, server, id, answer } = await startPrompted(clock);
  const send = await server.take((frame) => frame.method === "session/send");
  server.push({ id: send.id, result: { accepted: true } });
  let look: Json | undefined;
  do {
    await clock.advance(15_000);
    // None comes before the answer to the send was read.
    look = await server
      .take(({ method }) => method === "session/read" || method === "session/messages", 100)
      .catch(() => undefined);
    if (look) server.push({ id: look.id, result: { projection: { turnCount: 1 }, messages: [] } });
  } while (look?.method !== "session/messages");
  expect(await answer).toMatchObject({ stopReason: "end_turn" });
  const { inputId } = send.params as Json;
  const says = (seq: number, delta: string, turnId?: string) =>
    server.push(
      sessionEvent(
        "s1",
        seq,
        "model.streaming",
        { kind: "text_delta", assistantMessageId: `m${seq}`, delta },
        turnId,
      ),
    );
  return { clock, test, client, server, id, inputId, says };
}

/** What the agent said, without the bridge's own lines. */
const spoken = (client: PlainClient, id: string) =>
  client
    .updates(id)
    .filter(({ sessionUpdate }) => sessionUpdate === "agent_message_chunk")
    .filter(({ messageId }) => !String(messageId).startsWith("notice_"))
    .map(({ content }) => (content as Json).text)
    .join("");

for (const echoes of [true, false])
  test(`B8 a turn that begins after it was given up is stopped, and what it says is dropped, ${echoes ? "where it names its input" : "where it names none, and where its history is read"}`, async () => {
    const { clock, test, client, server, id, inputId, says } = await givenUp();
    const started = { messageId: "u1", foregroundExecutionId: "fg-1", ...(echoes ? { inputId } : {}) };
    server.push(sessionEvent("s1", 1, "turn.started", started));
    const stop = await server.take((frame) => frame.method === "v4/command");
    expect((stop.params as Json).payload).toEqual({ expectedForegroundExecutionId: "fg-1" });
    says(2, "too late");
    let next: Promise<Json>;
    if (echoes) {
      server.push(sessionEvent("s1", 3, "turn.completed", { resultType: "cancelled" }));
      server.push({
        method: "state.updated",
        params: { sessionId: "s1", reason: "prompt_failed", patch: {} },
      });
      next = client.prompt(id, "next");
    } else {
      // It does not stop, and its session is closed: the history holds what the turn wrote.
      await clock.advance(10_000);
      next = client.prompt(id, "next");
      const resume = await server.take((frame) => frame.method === "session/resume");
      const late = { info: { messageId: "m9", role: "assistant" }, parts: [{ type: "text", text: "later" }] };
      const session = { session: { sessionId: "s1" }, runtime: { eventSeq: 3 } };
      server.push({ id: resume.id, result: { ...session, messages: [messages[0]!, late] } });
      await serveSubscribe(server);
    }
    const again = await server.take((frame) => frame.method === "session/send");
    server.push({ id: again.id, result: { accepted: true } });
    const second = (again.params as Json).inputId;
    server.push(sessionEvent("s1", 4, "turn.started", { inputId: second }, "t2"));
    says(5, "in time", "t2");
    server.push(sessionEvent("s1", 6, "turn.completed", { resultType: "success" }, "t2"));
    expect((await next).stopReason).toBe("end_turn");
    expect(spoken(client, id)).toBe("in time");
    await test.bridge.close();
  });

for (const [whose, payload] of [
  ["of another input", { inputId: "their-1" }],
  ["of a background task", { inputSource: "background_task" }],
] as const)
  test(`B8 M4 P28 a turn ${whose} that begins in the place of one that was given up is heard`, async () => {
    const { test, client, server, id, says } = await givenUp();
    server.push(sessionEvent("s1", 1, "turn.started", { messageId: "u1", ...payload }, "t2"));
    says(2, "another's words", "t2");
    await until("they are heard", 3_000, () => spoken(client, id) !== "");
    expect(spoken(client, id)).toBe("another's words");
    await test.bridge.close();
  });
