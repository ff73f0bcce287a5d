/** A question that waits for a person without an editor: not for ever. */

import { expect, test } from "bun:test";
import type { AnyMessage } from "@agentclientprotocol/sdk/unstable";
import type { Receiver } from "../../src/bridge/transport.ts";
import { testBridge } from "../support/bridge.ts";
import { type Json, PlainClient } from "../support/plainClient.ts";
import { serveSubscribe, sessionEvent, settle, startRunning } from "../support/played.ts";

test("P19 without an editor a question is declined when its time is over, with that reason and once; one that was answered is not", async () => {
  const test = testBridge({ questionTtl: 300 });
  const client = test.client();
  await client.initialize();
  const id = await client.newSession("/one");
  const server = await test.server(0);
  const probe = await server.take((frame) => frame.method === "runtime/capabilities");
  server.push({ id: probe.id, result: {} });
  void client.prompt(id, "hi").catch(() => {});
  const create = await server.take((frame) => frame.method === "session/create");
  server.push({ id: create.id, result: { session: { sessionId: "s1" }, runtime: { eventSeq: 0 } } });
  await serveSubscribe(server);
  const send = await server.take((frame) => frame.method === "session/send");
  server.push({ id: send.id, result: { accepted: true } });
  server.push(sessionEvent("s1", 1, "turn.started", { inputId: (send.params as Json).inputId }));
  await settle();
  let withdrawn = 0;
  client.handlers.set("session/request_permission", async (_, signal) => {
    while (!signal.cancelled) await Bun.sleep(5);
    withdrawn++;
    return { outcome: { outcome: "cancelled" } };
  });
  const ask = (frame: string, requestId: string) =>
    server.push({
      id: frame,
      method: "interaction/requestPermission",
      params: {
        requestId,
        sessionId: "s1",
        toolCallId: `c-${requestId}`,
        toolName: "Bash",
        input: { command: "ls" },
        options: [{ optionId: "allow", kind: "allow_once", name: "Allow" }],
      },
    });
  const answer = async (frame: string) => (await server.take((each) => each.id === frame)).result as Json;
  const began = performance.now();
  ask("f1", "r1");
  // Asked again meanwhile: its time is what it was.
  ask("f1 again", "r1");
  expect(await answer("f1 again")).toMatchObject({ decision: "deny" });
  expect(await answer("f1")).toEqual({ decision: "deny", reason: "Nobody answered the question in time." });
  expect(performance.now() - began).toBeGreaterThan(280);
  await settle();
  // A repeat of it gets the same.
  ask("f2", "r1");
  expect(await answer("f2")).toMatchObject({ decision: "deny" });
  client.handlers.set("session/request_permission", () => ({
    outcome: { outcome: "selected", optionId: "allow" },
  }));
  ask("f3", "r2");
  expect(await answer("f3")).toEqual({ decision: "allow" });
  await Bun.sleep(400);
  expect(server.inbox.filter((frame) => frame.id === "f3")).toEqual([]);
  expect(withdrawn).toBe(1);
  await test.bridge.close();
});

test("P16 P19 a question outlives its clients: where all have left it waits, and is put to the next", async () => {
  const test = testBridge();
  let receiver!: Receiver;
  const first: PlainClient = new PlainClient((line) =>
    receiver.message(JSON.parse(line) as AnyMessage, line),
  );
  const { closed } = test.bridge.connect({
    listen(given) {
      receiver = given;
    },
    send: (message) => first.receive(message),
    room: () => undefined,
  });
  await first.initialize({ elicitation: { form: {} } });
  const id = await first.newSession("/one");
  const server = await test.server(0);
  const probe = await server.take((frame) => frame.method === "runtime/capabilities");
  server.push({ id: probe.id, result: {} });
  void first.prompt(id, "hi").catch(() => {});
  const create = await server.take((frame) => frame.method === "session/create");
  server.push({ id: create.id, result: { session: { sessionId: "s1" }, runtime: { eventSeq: 0 } } });
  await serveSubscribe(server);
  const send = await server.take((frame) => frame.method === "session/send");
  server.push({ id: send.id, result: { accepted: true } });
  server.push(sessionEvent("s1", 1, "turn.started", { inputId: (send.params as Json).inputId }));
  first.handlers.set("elicitation/create", () => new Promise<never>(() => {}));
  const questions = [{ question: "Which?", options: [{ label: "A" }, { label: "B" }] }];
  const params = { requestId: "r", sessionId: "s1", toolCallId: "c", toolName: "AskUserQuestion", questions };
  server.push({ id: "f", method: "interaction/requestUserInput", params });
  await first.frame((frame) => frame.method === "elicitation/create");
  receiver.end();
  await closed;
  await settle();
  expect(server.inbox.filter((frame) => frame.id === "f")).toEqual([]);
  const next = test.client();
  await next.initialize();
  next.handlers.set("session/request_permission", () => ({
    outcome: { outcome: "selected", optionId: "choice_1" },
  }));
  await next.request("session/resume", { sessionId: id, cwd: "/one", mcpServers: [] });
  expect((await server.take((frame) => frame.id === "f", 3_000)).result).toEqual({
    action: "accept",
    content: { answers: { "Which?": "B" } },
  });
  await test.bridge.close();
});

test("P16 R42 who loads a conversation that waits for an answer is asked, behind its history", async () => {
  const { test, client, server, id } = await startRunning();
  client.handlers.set("session/request_permission", () => new Promise<never>(() => {}));
  const questions = [{ question: "Which?", options: [{ label: "A" }, { label: "B" }] }];
  const params = { requestId: "r", sessionId: "s1", toolCallId: "c", toolName: "AskUserQuestion", questions };
  server.push({ id: "f", method: "interaction/requestUserInput", params });
  await client.frame((frame) => frame.method === "session/request_permission");
  const next = test.client();
  await next.initialize();
  next.handlers.set("session/request_permission", () => ({
    outcome: { outcome: "selected", optionId: "choice_1" },
  }));
  const loading = next.request("session/load", { sessionId: id, cwd: "/one", mcpServers: [] });
  const read = await server.take((frame) => frame.method === "session/messages");
  server.push({ id: read.id, result: { messages: [] } });
  await loading;
  expect((await server.take((frame) => frame.id === "f", 3_000)).result).toEqual({
    action: "accept",
    content: { answers: { "Which?": "B" } },
  });
  const of = (test: (frame: Json) => boolean) => next.frames.findIndex(test);
  expect(of((frame) => frame.method === "session/request_permission")).toBeGreaterThan(
    of((frame) => frame.id === loading.id),
  );
  await test.bridge.close();
});
