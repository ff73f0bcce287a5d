/** `turn.terminal` tells of a turn's end that another event says more of, and that may be late or lost. */

import { expect, test } from "bun:test";
import { scaledClock, systemClock } from "../../src/platform/clock.ts";
import type { Json } from "../support/plainClient.ts";
import { sessionEvent, settle, startPlayed, startPrompted, startRunning } from "../support/played.ts";

const failed = (seq: number) =>
  sessionEvent("s1", seq, "turn.failed", {
    error: { type: "x", message: "busy there", code: "server_error" },
  });

const terminal: Json = {
  method: "v4/telemetry/event",
  params: {
    kind: "turn.terminal",
    sessionId: "s1",
    turnId: "t",
    eventSeq: 3,
    status: "failed",
    errorMessage: "busy there",
  },
};

for (const how of ["late", "lost"]) {
  test(`B5 B9 P9 a failure whose own event is ${how} is known for what it is, and tried again; the words before it are not lost`, async () => {
    const { test, client, server, id, answer } = await startPrompted(scaledClock(systemClock(), 200));
    const send = await server.take((frame) => frame.method === "session/send");
    server.push({ id: send.id, result: { accepted: true } });
    server.push(sessionEvent("s1", 1, "turn.started", { inputId: (send.params as Json).inputId }));
    const delta = { kind: "text_delta", assistantMessageId: "m", delta: "words" };
    const words = sessionEvent("s1", 2, "model.streaming", delta);
    server.push(terminal);
    const look = await server.take((frame) => frame.method === "session/events");
    expect(look.params).toEqual({ sessionId: "s1", afterSeq: 1 });
    if (how === "late") {
      server.push(words);
      server.push(failed(3));
      await settle();
    }
    server.push({
      id: look.id,
      result: { events: how === "late" ? [] : [words.params as Json, failed(3).params as Json] },
    });
    server.push({ method: "state.updated", params: { sessionId: "s1", reason: "prompt_failed", patch: {} } });
    const again = await server.take((frame) => frame.method === "session/send");
    expect(client.text("agent_message_chunk", id)).toContain("words");
    server.push({ id: again.id, result: { accepted: true } });
    server.push(sessionEvent("s1", 4, "turn.completed", { resultType: "success" }, "t2"));
    expect((await answer).stopReason).toBe("end_turn");
    await test.bridge.close();
  });
}

test("P9 one that comes behind its event asks for nothing", async () => {
  const { test, server, answer } = await startPrompted();
  const send = await server.take((frame) => frame.method === "session/send");
  server.push({ id: send.id, result: { accepted: true } });
  server.push(sessionEvent("s1", 1, "turn.started", { inputId: (send.params as Json).inputId }));
  server.push(sessionEvent("s1", 2, "turn.completed", { resultType: "success" }));
  server.push({ ...terminal, params: { ...(terminal.params as Json), eventSeq: 2, status: "success" } });
  expect((await answer).stopReason).toBe("end_turn");
  await settle();
  expect(server.inbox.filter((frame) => frame.method === "session/events")).toEqual([]);
  await test.bridge.close();
});

test("M11 M1 a conversation that is closed while it is brought up leaves no session behind", async () => {
  const { test, client, server } = await startPlayed();
  const load = client.request("session/load", { sessionId: "s7", cwd: "/one", mcpServers: [] });
  const resume = await server.take((frame) => frame.method === "session/resume");
  const close = client.request("session/close", { sessionId: "s7" });
  await settle();
  server.push({
    id: resume.id,
    result: { session: { sessionId: "s7" }, runtime: { eventSeq: 1 }, messages: [] },
  });
  await expect(load).rejects.toThrow();
  const told = await server.take((frame) => frame.method === "session/close");
  expect(told.params).toEqual({ sessionId: "s7" });
  server.push({ id: told.id, result: {} });
  await close;
  await test.bridge.close();
});

test("B5 a build that answers without its log has not said that an event is of another residency", async () => {
  for (const result of [null, {}, { events: "none" }]) {
    const { test, client, server, answer } = await startRunning();
    server.push(sessionEvent("s1", 5, "model.streaming", { kind: "text_delta", delta: "Behind a hole." }));
    const look = await server.take((frame) => frame.method === "session/events");
    server.push({ id: look.id, result });
    server.push(sessionEvent("s1", 6, "turn.completed", { resultType: "success" }));
    await answer;
    expect(client.text()).toBe("Behind a hole.");
    await test.bridge.close();
  }
});
