/** What a further try of a prompt says: the new part of it, as the model said it. */

import { expect, test } from "bun:test";
import { scaledClock, systemClock } from "../../src/platform/clock.ts";
import type { Json } from "../support/plainClient.ts";
import { sessionEvent, startPrompted } from "../support/played.ts";

test("B9 a further try's new words go on where the first broke off, letter by letter", async () => {
  const { test, client, server, id, answer } = await startPrompted(scaledClock(systemClock(), 200));
  let seq = 0;
  const one = async (turnId: string, pieces: readonly string[], type: string, payload: Json) => {
    const send = await server.take((frame) => frame.method === "session/send");
    server.push({ id: send.id, result: { accepted: true } });
    const { inputId } = send.params as Json;
    server.push(sessionEvent("s1", ++seq, "turn.started", { inputId }, turnId));
    for (const delta of pieces)
      server.push(
        sessionEvent(
          "s1",
          ++seq,
          "model.streaming",
          { kind: "text_delta", assistantMessageId: turnId, delta },
          turnId,
        ),
      );
    server.push(sessionEvent("s1", ++seq, type, payload, turnId));
    server.push({
      method: "state.updated",
      params: { sessionId: "s1", revision: seq, reason: "prompt_completed", patch: {} },
    });
  };
  const failure = {
    error: { type: "x", message: "socket hang up", code: "network_error", attribution: { retryable: true } },
  };
  await one("t1", ["Hello ", "wo"], "turn.failed", failure);
  await one("t2", ["Hello w", "orld, ", "again."], "turn.completed", { resultType: "success" });
  expect((await answer).stopReason).toBe("end_turn");
  const said = client
    .updates(id)
    .filter((update) => update.sessionUpdate === "agent_message_chunk")
    .filter((update) => !String(update.messageId).startsWith("notice_"))
    .map((update) => (update.content as Json).text);
  expect(said.join("")).toBe("Hello world, again.");
  await test.bridge.close();
});
