/** A session that the backend drops while, as far as was told, a turn runs in it. */

import { expect, test } from "bun:test";
import { ManualClock } from "../sim/manualClock.ts";
import type { Json } from "../support/plainClient.ts";
import { serveSubscribe, sessionEvent, settle, startPlayed, startRunning } from "../support/played.ts";

const delta = (seq: number, text: string) =>
  sessionEvent("s1", seq, "model.streaming", { kind: "text_delta", assistantMessageId: "m1", delta: text });
const bash = { toolCallId: "c1", toolName: "Bash", input: { command: "ls" } };

test("B5 P9 its prompt ends with the resume, and with what is stored of the answer", async () => {
  const { test, client, server, id, answer } = await startRunning();
  server.push(delta(2, "half "));
  await settle();
  const changed = client.request("session/set_mode", { sessionId: id, modeId: "plan" });
  const change = await server.take((frame) => frame.method === "session/setMode");
  server.push({ id: change.id, error: { code: -32004, message: "not resident" } });
  const resume = await server.take((frame) => frame.method === "session/resume");
  const messages: Json[] = [
    { info: { id: "u1", role: "user" }, parts: [{ type: "text", text: "hi" }] },
    { info: { id: "m1", role: "assistant" }, parts: [{ type: "text", text: "half done" }] },
  ];
  server.push({
    id: resume.id,
    result: { session: { sessionId: "s1" }, runtime: { eventSeq: 1 }, messages },
  });
  await serveSubscribe(server);
  const again = await server.take((frame) => frame.method === "session/setMode");
  server.push({ id: again.id, result: {} });
  await changed;
  expect((await answer) as Json).toMatchObject({ stopReason: "end_turn" });
  expect(client.text("agent_message_chunk", id)).toBe("half done");
  void client.prompt(id, "more").catch(() => {});
  await server.take((frame) => frame.method === "session/send");
  await test.bridge.close();
});

test("B10 P9 where the backend dies before it is back, its prompt and its cards end as with any death", async () => {
  const { test, client, server, id, answer } = await startRunning();
  server.push(sessionEvent("s1", 2, "tool.updated", { kind: "scheduled", ...bash }));
  server.push(sessionEvent("s1", 3, "tool.updated", { kind: "started", ...bash }));
  await settle();
  const changed = client.request("session/set_mode", { sessionId: id, modeId: "plan" });
  const change = await server.take((frame) => frame.method === "session/setMode");
  server.push({ id: change.id, error: { code: -32004, message: "not resident" } });
  await server.take((frame) => frame.method === "session/resume");
  server.die(1);
  await expect(changed).rejects.toThrow();
  expect(await answer).toBeInstanceOf(Error);
  const cards = client.updates(id).filter((update) => update.toolCallId === "c1");
  expect(cards.at(-1)?.status).toBe("failed");
  await test.bridge.close();
});

test("B5 P4 a session that could not be subscribed to is brought up anew by the next prompt, which is heard", async () => {
  const { test, client, server } = await startPlayed();
  const id = await client.newSession("/one");
  const first = client.prompt(id, "one").catch((error: unknown) => error as Error);
  const create = await server.take((frame) => frame.method === "session/create");
  server.push({ id: create.id, result: { session: { sessionId: "s1" }, runtime: { eventSeq: 0 } } });
  const subscribe = await server.take((frame) => frame.method === "session/subscribe");
  server.push({ id: subscribe.id, error: { code: -32603, message: "not now" } });
  expect(await first).toBeInstanceOf(Error);
  void client.prompt(id, "two").catch(() => {});
  const resume = await server.take((frame) => frame.method === "session/resume");
  server.push({ id: resume.id, result: { session: { sessionId: "s1" }, runtime: { eventSeq: 0 } } });
  await serveSubscribe(server);
  await server.take((frame) => frame.method === "session/send");
  await test.bridge.close();
});

test("B5 B1 what it had asked is answered, and the dialog closed", async () => {
  const { test, client, server, id, answer } = await startRunning();
  client.handlers.set("session/request_permission", () => undefined);
  const asked = { sessionId: "s1", requestId: "r", options: [], ...bash };
  server.push({ id: "f1", method: "interaction/requestPermission", params: asked });
  await client.frame((frame) => frame.method === "session/request_permission");
  const changed = client.request("session/set_mode", { sessionId: id, modeId: "plan" });
  const change = await server.take((frame) => frame.method === "session/setMode");
  server.push({ id: change.id, error: { code: -32004, message: "not resident" } });
  const resume = await server.take((frame) => frame.method === "session/resume");
  server.push({ id: resume.id, result: { session: { sessionId: "s1" }, runtime: { eventSeq: 1 } } });
  const reply = await server.take((frame) => frame.id === "f1");
  expect(reply.result).toMatchObject({ decision: "deny" });
  await client.frame((frame) => frame.method === "$/cancel_request");
  await serveSubscribe(server);
  server.push({ id: (await server.take((frame) => frame.method === "session/setMode")).id, result: {} });
  await Promise.all([changed, answer]);
  await test.bridge.close();
});

test("B22 P9 what is said of the lock while a session is merely asked for what it has is heard", async () => {
  const clock = new ManualClock();
  const { test, client, server, id, answer } = await startRunning({}, clock);
  // It is not trusted without a question any more, and that is behind another conversation's slow create.
  await clock.advance(301_000);
  const other = await client.newSession("/two");
  void client.prompt(other, "hi").catch(() => {});
  await server.take((frame) => frame.method === "session/create");
  const load = client.request("session/load", { sessionId: id, cwd: "/one", mcpServers: [] });
  await settle();
  server.push({ method: "state.updated", params: { sessionId: "s1", reason: "prompt_failed", patch: {} } });
  expect(await answer).toBeInstanceOf(Error);
  await test.bridge.close();
  await load.catch(() => {});
});

test("M1 M11 what a closed session still says is not heard by the record that opens it anew", async () => {
  const { test, client, server, id, answer } = await startRunning();
  server.push(delta(2, "before "));
  await settle();
  void client.request("session/close", { sessionId: id });
  const again = client.request("session/resume", { sessionId: id, cwd: "/one", mcpServers: [] });
  expect(await answer).toMatchObject({ stopReason: "cancelled" });
  const resume = await server.take((frame) => frame.method === "session/resume");
  server.push(delta(3, "late "));
  server.push(sessionEvent("s1", 4, "turn.completed", { resultType: "cancelled" }));
  await settle();
  server.push({
    id: resume.id,
    result: { session: { sessionId: "s1" }, runtime: { eventSeq: 1 }, messages: [] },
  });
  await serveSubscribe(server);
  await again;
  server.push(delta(2, "after"));
  await settle();
  expect(client.text()).toBe("before after");
  await test.bridge.close();
});
