/** When a conversation's context is made smaller by itself. */

import { expect, test } from "bun:test";
import type { Json } from "../support/plainClient.ts";
import { sessionEvent, settle, startRunning } from "../support/played.ts";

const state = (reason: string): Json => ({
  method: "state.updated",
  params: { sessionId: "s1", reason, patch: {} },
});

test("P23 B22 a context that is still too large after it was made smaller is left until the next turn has ended, and so is one below the threshold", async () => {
  const env = { ZCODE_ACP_AUTO_COMPACT_THRESHOLD: "1000" };
  const { test, client, server, id, answer } = await startRunning(env);
  let seq = 1;
  const say = (type: string, payload: Json, turn: string) =>
    server.push(sessionEvent("s1", ++seq, type, payload, turn));
  const end = (used: number, turn: string) => {
    say("session.updated", { usage: { totalTokens: used }, contextWindow: 5000 }, turn);
    say("turn.completed", { resultType: "success" }, turn);
    server.push(state("prompt_completed"));
  };
  const compacts = () => server.inbox.filter(({ method }) => method === "session/compact").length;
  end(999, "t");
  await answer;
  await settle();
  expect(compacts()).toBe(0);
  for (const [prompt, sign] of [
    ["two", "session_compacted"],
    ["three", "session_compact_failed"],
    ["four", "session_compact_cancelled"],
  ] as const) {
    const next = client.prompt(id, prompt);
    const send = await server.take(({ method }) => method === "session/send");
    server.push({ id: send.id, result: { accepted: true } });
    say("turn.started", { inputId: (send.params as Json).inputId }, prompt);
    await settle();
    expect(compacts()).toBe(0);
    end(1000, prompt);
    await next;
    const compact = await server.take(({ method }) => method === "session/compact");
    server.push(state("compact_started"));
    server.push({ id: compact.id, result: {} });
    server.push(state(sign));
    await settle();
    expect(compacts()).toBe(0);
  }
  await test.bridge.close();
});

test("P23 B22 what a compaction says is not shown either where its turn has no name, or its beginning was not heard", async () => {
  const { test, client, server, answer } = await startRunning();
  server.push(sessionEvent("s1", 2, "turn.completed", { resultType: "success" }));
  server.push(state("prompt_completed"));
  await answer;
  const say = (delta: string): Json => {
    const event = sessionEvent("s1", 0, "model.streaming", { kind: "text_delta", delta }).params as Json;
    return { method: "session/event", params: { ...event, seq: undefined, turnId: undefined } };
  };
  server.push(state("compact_started"));
  server.push(say("Unheard."));
  const { params } = sessionEvent("s1", 3, "turn.started", { inputVisibility: "model-only" });
  server.push({ method: "session/event", params: { ...(params as Json), turnId: undefined } });
  server.push(say("Nameless."));
  server.push(state("session_compacted"));
  server.push(say("Seen."));
  await settle();
  expect(client.text()).toBe("Seen.");
  await test.bridge.close();
});
