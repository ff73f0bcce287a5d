/** What the backend is told of a cancel, and when. */

import { expect, test } from "bun:test";
import { ManualClock } from "../sim/manualClock.ts";
import type { PlayedServer } from "../support/bridge.ts";
import type { Json } from "../support/plainClient.ts";
import { serveSubscribe, sessionEvent, settle, startPrompted, startRunning } from "../support/played.ts";
import { until } from "../support/processes.ts";

const state = (reason: string): Json => ({
  method: "state.updated",
  params: { sessionId: "s1", reason, patch: {} },
});

/** What was told of a stop and is not taken yet: the old way by its name, the new one by the turn that it names. */
const stops = ({ inbox }: PlayedServer) =>
  inbox.flatMap(({ method, params }) =>
    method === "v4/command" ? [(params as Json).payload] : method === "session/stop" ? ["stop"] : [],
  );

test("B6 A5 a stop before the turn holds the lock is kept, told without a name when it does, and with its name when it has one", async () => {
  const { test, client, server, id, answer } = await startPrompted();
  const send = await server.take((frame) => frame.method === "session/send");
  client.notify("session/cancel", { sessionId: id });
  expect(await answer).toMatchObject({ stopReason: "cancelled" });
  await settle();
  expect(stops(server)).toEqual([]);
  server.push(state("prompt_started"));
  await settle();
  expect(stops(server)).toEqual(["stop"]);
  const { inputId } = send.params as Json;
  server.push(sessionEvent("s1", 1, "turn.started", { inputId, foregroundExecutionId: "fg-1" }));
  await settle();
  expect(stops(server)).toEqual(["stop", "stop", { expectedForegroundExecutionId: "fg-1" }]);
  server.push({ id: send.id, result: { accepted: true } });
  await test.bridge.close();
});

for (const inputSource of ["background_task", "subagent"])
  test(`B6 P28 a prompt that only waits behind a notification turn (${inputSource}) is cancelled without a stop, which would end that turn`, async () => {
    const { test, client, server, id, answer } = await startRunning();
    server.push(sessionEvent("s1", 2, "turn.completed", { resultType: "success" }));
    server.push(state("prompt_completed"));
    await answer;
    const started = { inputSource, foregroundExecutionId: "fg-2" };
    server.push(sessionEvent("s1", 3, "turn.started", started, "note"));
    server.push(state("prompt_started"));
    await settle();
    const waiting = client.prompt(id, "next");
    await settle();
    client.notify("session/cancel", { sessionId: id });
    expect(await waiting).toMatchObject({ stopReason: "cancelled" });
    await settle();
    expect(stops(server)).toEqual([]);
    expect(server.inbox.filter((frame) => frame.method === "session/send")).toEqual([]);
    await test.bridge.close();
  });

test("B6 M4 closing the session is the last resort: a turn has ten seconds to end as it was told to", async () => {
  const clock = new ManualClock();
  const { test, client, server, id, answer } = await startRunning({}, clock);
  client.notify("session/cancel", { sessionId: id });
  expect(await answer).toMatchObject({ stopReason: "cancelled" });
  const closes = () => server.inbox.filter(({ method }) => method === "session/close");
  await clock.advance(9_000);
  await settle();
  expect(closes()).toEqual([]);
  await clock.advance(1_000);
  await settle();
  expect(closes()).toHaveLength(1);
  let settled = false;
  const next = client.prompt(id, "next").finally(() => {
    settled = true;
  });
  const resume = await server.take(({ method }) => method === "session/resume");
  const session = { session: { sessionId: "s1" }, runtime: { eventSeq: 0 } };
  server.push({ id: resume.id, result: { ...session, messages: [] } });
  await serveSubscribe(server);
  const send = await server.take(({ method }) => method === "session/send");
  server.push({ id: send.id, result: { accepted: true } });
  // The old turn's last words, in each form, are nothing to the prompt, whose turn takes its time to begin.
  const terminal = { kind: "turn.terminal", sessionId: "s1", turnId: "t", status: "completed" };
  server.push({ method: "v4/telemetry/event", params: terminal });
  server.push(sessionEvent("s1", 1, "turn.completed", { resultType: "success" }));
  await settle();
  await clock.advance(6_000);
  await settle();
  expect(settled).toBe(false);
  const { inputId } = send.params as Json;
  server.push(sessionEvent("s1", 1, "turn.started", { inputId }, "t2"));
  server.push(sessionEvent("s1", 2, "turn.completed", { resultType: "success" }, "t2"));
  expect(await next).toMatchObject({ stopReason: "end_turn" });
  await test.bridge.close();
});

test("M11 A5 closing a conversation answers every prompt of it as cancelled, the running one and those that wait", async () => {
  const { test, client, server, id, answer } = await startRunning();
  const others = ["two", "three", "four"].map((words) => client.prompt(id, words));
  await settle();
  const closed = client.request("session/close", { sessionId: id });
  for (const each of [answer, ...others]) expect(await each).toMatchObject({ stopReason: "cancelled" });
  // Nor does it wait for a backend that is busy with something else.
  await closed;
  await server.take(({ method }) => method === "session/close");
  await test.bridge.close();
});

for (const reason of [
  "prompt_completed",
  "prompt_failed",
  "session_compacted",
  "session_compact_cancelled",
  "session_compact_failed",
  "goal_continuation_completed",
  "goal_continuation_failed",
])
  test(`B22 the queue moves at ${reason}`, async () => {
    const { test, client, server, id, answer } = await startRunning({}, new ManualClock());
    server.push(sessionEvent("s1", 2, "turn.completed", { resultType: "success" }));
    await answer;
    void client.prompt(id, "next").catch(() => {});
    const isSend = ({ method }: Json) => method === "session/send";
    await settle();
    expect(server.inbox.filter(isSend)).toEqual([]);
    server.push(state(reason));
    await server.take(isSend);
    await test.bridge.close();
  });

test("M4 P6 on a build that echoes no input id, a turn that only the model sees is not the prompt's", async () => {
  const { test, client, server, id, answer } = await startPrompted();
  let settled = false;
  void answer.then(() => {
    settled = true;
  });
  const send = await server.take((frame) => frame.method === "session/send");
  server.push({ id: send.id, result: { accepted: true } });
  server.push(sessionEvent("s1", 1, "turn.started", { inputVisibility: "model-only" }, "own"));
  server.push(sessionEvent("s1", 2, "turn.completed", { resultType: "success" }, "own"));
  await settle();
  expect(settled).toBe(false);
  server.push(sessionEvent("s1", 3, "turn.started", {}, "t2"));
  server.push(sessionEvent("s1", 4, "turn.completed", { resultType: "error_max_turns" }, "t2"));
  expect(await answer).toMatchObject({ stopReason: "max_turn_requests" });
  expect(client.text("agent_message_chunk", id)).toBe("");
  await test.bridge.close();
});

test("P23 B22 the turn of a compaction that nobody here asked for is known by its phase, and its words are not drawn", async () => {
  const { test, client, server, id, answer } = await startRunning();
  server.push(sessionEvent("s1", 2, "turn.completed", { resultType: "success" }));
  await answer;
  const says = (seq: number, delta: string, turnId: string) =>
    server.push(
      sessionEvent(
        "s1",
        seq,
        "model.streaming",
        { kind: "text_delta", assistantMessageId: turnId, delta },
        turnId,
      ),
    );
  const phase = { operationId: "o1", phase: "standalone_turn" };
  server.push(sessionEvent("s1", 3, "session.updated", phase, "c"));
  says(4, "A summary.", "c");
  says(5, "A reply.", "t3");
  await until("the reply is heard", 3_000, () => client.text("agent_message_chunk", id) !== "");
  expect(client.text("agent_message_chunk", id)).toBe("A reply.");
  await test.bridge.close();
});
