/** A send that comes to a backend which does not have its session: another process, or one that has pushed it out. */

import { expect, test } from "bun:test";
import type { Json } from "../support/plainClient.ts";
import { serveSubscribe, sessionEvent, settle, startRunning } from "../support/played.ts";

const isSend = (frame: Json) => frame.method === "session/send";

test("M4 B10 a prompt that was answered with the backend's end does not run in the next one", async () => {
  const { test: bridge, client, server, id, answer } = await startRunning();
  server.push(sessionEvent("s1", 2, "turn.completed", { resultType: "success" }));
  server.push({
    method: "state.updated",
    params: { sessionId: "s1", revision: 2, reason: "prompt_completed", patch: {} },
  });
  expect(await answer).toMatchObject({ stopReason: "end_turn" });
  // The process has ended, and what it left behind takes a while to go: until then nobody is told.
  let gone!: () => void;
  const going = new Promise<void>((resolve) => {
    gone = resolve;
  });
  server.kill = () => going;
  server.die(1);
  await settle();
  const lost = client.prompt(id, "lost").catch((error: unknown) => error);
  const next = await bridge.server(1);
  const probe = await next.take((frame) => frame.method === "runtime/capabilities");
  gone();
  expect(await lost).toMatchObject({ data: { code: "ZACP-104" } });
  next.push({ id: probe.id, result: {} });
  // It was on its way already; the new process does not have the session.
  const sent = await next.take(isSend);
  next.push({ id: sent.id, error: { code: -32004, message: "Session is not active: s1" } });
  const resume = await next.take((frame) => frame.method === "session/resume");
  next.push({ id: resume.id, result: { session: { sessionId: "s1" }, runtime: { eventSeq: 2 } } });
  await serveSubscribe(next);
  await settle();
  expect(next.inbox.filter(isSend)).toEqual([]);
  const after = client.prompt(id, "after");
  const send = await next.take(isSend);
  expect(send.params).toMatchObject({ content: "after" });
  next.push({ id: send.id, result: { accepted: true } });
  const { inputId } = send.params as Json;
  next.push(sessionEvent("s1", 3, "turn.started", { inputId }, "u"));
  next.push(sessionEvent("s1", 4, "turn.completed", { resultType: "success" }, "u"));
  expect(await after).toMatchObject({ stopReason: "end_turn" });
  await bridge.bridge.close();
});

test("B5 a session that is pushed out again between its resume and the call that needed it is brought up once more", async () => {
  const { test: bridge, client, server, id, answer } = await startRunning();
  server.push(sessionEvent("s1", 2, "turn.completed", { resultType: "success" }));
  server.push({
    method: "state.updated",
    params: { sessionId: "s1", revision: 2, reason: "prompt_completed", patch: {} },
  });
  await answer;
  const second = client.prompt(id, "second");
  for (let evictions = 0; evictions < 3; evictions++) {
    const send = await server.take(isSend);
    server.push({ id: send.id, error: { code: -32004, message: "Session is not active: s1" } });
    const resume = await server.take((frame) => frame.method === "session/resume");
    server.push({ id: resume.id, result: { session: { sessionId: "s1" }, runtime: { eventSeq: 2 } } });
    await serveSubscribe(server);
  }
  const send = await server.take(isSend);
  server.push({ id: send.id, result: { accepted: true } });
  const { inputId } = send.params as Json;
  server.push(sessionEvent("s1", 3, "turn.started", { inputId }, "u"));
  server.push(sessionEvent("s1", 4, "turn.completed", { resultType: "success" }, "u"));
  expect(await second).toMatchObject({ stopReason: "end_turn" });
  await bridge.bridge.close();
});
