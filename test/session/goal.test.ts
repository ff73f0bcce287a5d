/** A turn that a goal began, and a prompt that comes while it runs. */

import { expect, test } from "bun:test";
import type { Json } from "../support/plainClient.ts";
import { sessionEvent, settle, startRunning } from "../support/played.ts";

const state = (reason: string): Json => ({
  method: "state.updated",
  params: { sessionId: "s1", reason, patch: {} },
});

test("B16 B6 P22 a goal's turn is shown, an arriving prompt stops it under its own name, and one line says that the goal is paused", async () => {
  const { test, client, server, id, answer } = await startRunning();
  server.push(sessionEvent("s1", 2, "turn.completed", { resultType: "success" }));
  server.push(state("prompt_completed"));
  await answer;
  server.push(state("prompt_started"));
  const started = { inputSource: "goal-continuation", foregroundExecutionId: "fg-7" };
  server.push(sessionEvent("s1", 3, "turn.started", started, "goal"));
  const delta = { kind: "text_delta", assistantMessageId: "m1", delta: "On the way." };
  server.push(sessionEvent("s1", 4, "model.streaming", delta, "goal"));
  await settle();
  expect(client.text("agent_message_chunk", id)).toBe("On the way.");
  const next = client.prompt(id, "something else");
  const stop = await server.take((frame) => frame.method === "v4/command");
  expect(stop.params).toMatchObject({
    sessionId: "s1",
    type: "stop",
    payload: { expectedForegroundExecutionId: "fg-7" },
  });
  await server.take((frame) => frame.method === "session/stop");
  await settle();
  expect(server.inbox.filter((frame) => frame.method === "session/send")).toEqual([]);
  server.push(sessionEvent("s1", 5, "turn.completed", { resultType: "cancelled" }, "goal"));
  server.push(state("goal_continuation_completed"));
  const send = await server.take((frame) => frame.method === "session/send");
  server.push({ id: send.id, result: { accepted: true } });
  const { inputId } = send.params as Json;
  server.push(sessionEvent("s1", 6, "turn.started", { inputId }, "u"));
  server.push(sessionEvent("s1", 7, "turn.completed", { resultType: "success" }, "u"));
  expect(await next).toMatchObject({ stopReason: "end_turn" });
  const lines = client.updates(id).filter((update) => String(update.messageId).startsWith("notice_"));
  expect(lines).toHaveLength(1);
  expect(JSON.stringify(lines[0])).toContain("goal");
  await test.bridge.close();
});
