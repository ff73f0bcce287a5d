/** What the backend is told of a cancel, and when. */

import { expect, test } from "bun:test";
import { ManualClock } from "../sim/manualClock.ts";
import type { PlayedServer } from "../support/bridge.ts";
import type { Json } from "../support/plainClient.ts";
import { sessionEvent, settle, startPrompted, startRunning } from "../support/played.ts";

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

test("B6 P28 a prompt that only waits behind a notification turn is cancelled without a stop, which would end that turn", async () => {
  const { test, client, server, id, answer } = await startRunning();
  server.push(sessionEvent("s1", 2, "turn.completed", { resultType: "success" }));
  server.push(state("prompt_completed"));
  await answer;
  const started = { inputSource: "background_task", foregroundExecutionId: "fg-2" };
  server.push(sessionEvent("s1", 3, "turn.started", started, "note"));
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
  void client.prompt(id, "next").catch(() => {});
  await server.take(({ method }) => method === "session/resume");
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
