/** What goes out to the app-server and when, and ends in every form that a build may send. */

import { expect, test } from "bun:test";
import { within } from "../support/agent.ts";
import { testBridge } from "../support/bridge.ts";
import type { Json } from "../support/plainClient.ts";
import { serveSubscribe, sessionEvent, settle, startPlayed, startRunning } from "../support/played.ts";

test("P2 M7 a mode set while the create is under way is set on the session that comes of it", async () => {
  const { test, client, server } = await startPlayed();
  const id = await client.newSession("/one");
  void client.prompt(id, "hi").catch(() => {});
  const create = await server.take((f) => f.method === "session/create");
  const set = client.request("session/set_mode", { sessionId: id, modeId: "plan" });
  await settle();
  server.push({
    id: create.id,
    result: {
      session: { sessionId: "s" },
      runtime: { eventSeq: 0 },
      settings: { mode: { current: "build" } },
    },
  });
  await serveSubscribe(server);
  const mode = await server.take((f) => f.method === "session/setMode", 1000);
  expect(mode.params).toEqual({ sessionId: "s", mode: "plan" });
  server.push({ id: mode.id, result: {} });
  await set;
  await test.bridge.close();
});

test("B20 a prompt of a resident conversation is written while another's create is unanswered", async () => {
  const { test, client, server, id, answer } = await startRunning();
  server.push(sessionEvent("s1", 2, "turn.completed", { resultType: "success" }));
  server.push({
    method: "state.updated",
    params: { sessionId: "s1", reason: "prompt_completed", patch: {} },
  });
  await answer;
  const two = await client.newSession("/two");
  void client.prompt(two, "two").catch(() => {});
  await server.take((f) => f.method === "session/create");
  void client.prompt(id, "again").catch(() => {});
  expect((await server.take((f) => f.method === "session/send", 1000)).params).toMatchObject({
    sessionId: "s1",
  });
  await test.bridge.close();
});

test("P5 a resume's snapshot shows the to-do list", async () => {
  const { test, client, server } = await startPlayed();
  const loaded = client.request("session/load", { sessionId: "s", cwd: "/one", mcpServers: [] });
  const resume = await server.take((f) => f.method === "session/resume");
  server.push({
    id: resume.id,
    result: {
      session: { sessionId: "s" },
      runtime: { eventSeq: 3 },
      messages: [],
      todos: [{ content: "Look", status: "pending", priority: "high" }],
    },
  });
  await serveSubscribe(server);
  await loaded;
  expect(client.updates("s").find((u) => u.sessionUpdate === "plan")).toMatchObject({
    entries: [{ content: "Look" }],
  });
  await test.bridge.close();
});

test("P9 a turn.terminal that interrupts, or fails, in either form", async () => {
  for (const form of ["event", "telemetry"]) {
    for (const status of ["interrupted", "failed"]) {
      const { test, server, answer } = await startRunning();
      const payload = { kind: "turn.terminal", status, errorMessage: "boom" };
      server.push(
        form === "event"
          ? sessionEvent("s1", 2, "turn.terminal", payload)
          : {
              method: "v4/telemetry/event",
              params: { version: 1, sessionId: "s1", turnId: "t", ...payload },
            },
      );
      const ended = await answer;
      if (status === "failed") expect(ended).toBeInstanceOf(Error);
      else expect(ended).toMatchObject({ stopReason: "cancelled" });
      await test.bridge.close();
    }
  }
});

test("B2 P8 a build that refuses several keys, and one that ends a turn in a way nobody knows", async () => {
  const { test, client, server } = await startPlayed();
  const id = await client.newSession("/one");
  const answer = client.prompt(id, "hi").catch((e: unknown) => e);
  const refusing = async (method: string, keys: string[], result: Json) => {
    for (;;) {
      const call = await server.take((f) => f.method === method, 1000);
      const key = keys.find((k) => k in (call.params as Json));
      if (key === undefined) {
        server.push({ id: call.id, result });
        return call;
      }
      server.push({ id: call.id, error: { code: -32602, message: `Unrecognized key: "${key}"` } });
    }
  };
  await refusing("session/create", ["toolDenylist"], {
    session: { sessionId: "s1" },
    runtime: { eventSeq: 0 },
  });
  await refusing("session/subscribe", ["deliveryKind", "afterSeq"], {});
  await refusing("session/send", ["inputId", "toolDenylist"], { accepted: true });
  server.push(sessionEvent("s1", 1, "turn.started", {}));
  server.push(sessionEvent("s1", 2, "turn.completed", { resultType: "success_with_remarks" }));
  expect(await answer).toMatchObject({ stopReason: "end_turn" });
  await test.bridge.close();
});

test("B11 a backend that is still starting when the bridge closes is ended", async () => {
  const test = testBridge();
  const client = test.client();
  await client.initialize();
  await client.newSession("/one");
  const server = await test.server(0);
  await server.take((f) => f.method === "runtime/capabilities"); // never answered
  void test.bridge.close();
  expect(await within(server.exited, 1000, "its end")).toMatchObject({ signal: "SIGTERM" });
});
