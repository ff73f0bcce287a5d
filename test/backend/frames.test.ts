/** What a hostile or broken app-server may write, against a whole bridge in this process. */

import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type PlayedServer, type TestBridge, testBridge } from "../support/bridge.ts";
import type { Json } from "../support/plainClient.ts";

const encode = (text: string) => new TextEncoder().encode(text);

/** A bridge with one conversation whose turn runs: text that the server sends now reaches the client. */
async function running(): Promise<{
  test: TestBridge;
  server: PlayedServer;
  client: ReturnType<TestBridge["client"]>;
  answer: Promise<Json>;
  event(type: string, payload: Json, more?: Json): Json;
}> {
  const test = testBridge();
  const client = test.client();
  await client.initialize();
  const session = await client.newSession("/project");
  const server = await test.server(0);
  const probe = await server.take((frame) => frame.method === "runtime/capabilities");
  server.push({ id: probe.id, error: { code: -32601, message: "Method not found" } });
  const answer = client.prompt(session, "hi");
  const create = await server.take((frame) => frame.method === "session/create");
  server.push({ id: create.id, result: { session: { sessionId: "s1" }, runtime: { eventSeq: 1 } } });
  const subscribe = await server.take((frame) => frame.method === "session/subscribe");
  server.push({ id: subscribe.id, result: {} });
  const send = await server.take((frame) => frame.method === "session/send");
  server.push({ id: send.id, result: { accepted: true } });
  let seq = 1;
  const event = (type: string, payload: Json, more: Json = {}) => ({
    method: "session/event",
    params: { sessionId: "s1", seq: ++seq, turnId: "t1", type, payload, ...more },
  });
  server.push(event("turn.started", { inputId: (send.params as Json).inputId }));
  return { test, server, client, answer, event };
}

const delta = (text: string) => ({ kind: "text_delta", assistantMessageId: "m1", delta: text });

test("B12 P1 lines that are no frames, of an unknown kind, with CRLF, a BOM, or cut inside a character, are survived and logged once", async () => {
  const { test, server, client, answer, event } = await running();
  for (let round = 0; round < 3; round++) {
    for (const junk of [
      "not json",
      "[1,2]",
      "null",
      "17",
      '"text"',
      "{}",
      '{"id":99,"result":{}}',
      '{"id":true,"method":5}',
      "",
    ]) {
      server.bytes(encode(`${junk}\n`));
    }
  }
  server.bytes(encode(`\uFEFF${JSON.stringify(event("model.streaming", delta("a")))}\r\n`));
  server.bytes(encode(`${JSON.stringify(event("no.such.type", { x: 1 }))}\n`));
  server.bytes(
    encode(`${JSON.stringify({ method: "no/such/notification", params: { sessionId: "s1" } })}\n`),
  );
  const bytes = encode(`${JSON.stringify(event("model.streaming", delta("中文🙂")))}\n`);
  for (const byte of bytes) server.bytes(new Uint8Array([byte]));
  server.push(event("turn.completed", { resultType: "success" }));
  expect((await answer).stopReason).toBe("end_turn");
  expect(client.text()).toBe("a中文🙂");
  await test.bridge.close();
  const lines = readLog(test.home);
  for (const kind of ["not JSON", "an array", "a bare null", "a bare number", "a bare string"]) {
    expect(lines.filter((line) => line.includes(kind))).toHaveLength(1);
  }
  expect(lines.join("\n")).not.toContain("not json");
});

test("B12 a line of 64 MB arrives whole, and what follows it too", async () => {
  const { test, server, client, answer, event } = await running();
  const big = "x".repeat(64 * 1024 * 1024);
  const bytes = encode(`${JSON.stringify(event("model.streaming", delta(big)))}\n`);
  for (let at = 0; at < bytes.length; at += 256 * 1024) server.bytes(bytes.subarray(at, at + 256 * 1024));
  server.push(event("model.streaming", delta("after")));
  server.push(event("turn.completed", { resultType: "success" }));
  await answer;
  const text = client.text();
  expect(text.length).toBe(big.length + 5);
  expect(text.endsWith("after")).toBe(true);
  await test.bridge.close();
});

test("B12 a last line without a newline counts when the stream ends", async () => {
  const { test, server, client, answer, event } = await running();
  server.bytes(encode(JSON.stringify(event("model.streaming", delta("last words")))));
  server.die(1);
  await expect(answer).rejects.toMatchObject({ data: { code: "ZACP-104" } });
  expect(client.text()).toBe("last words");
  await test.bridge.close();
});

test("P1 no frame of ours carries a jsonrpc key or lacks an id, and a doubled event is drawn once", async () => {
  const { test, server, client, answer, event } = await running();
  const once = event("model.streaming", delta("once"));
  server.push(once);
  server.push(once);
  server.push(event("turn.completed", { resultType: "success" }));
  await answer;
  expect(client.text()).toBe("once");
  for (const frame of server.inbox) {
    expect(frame).not.toHaveProperty("jsonrpc");
    expect(frame).toHaveProperty("id");
  }
  await test.bridge.close();
});

test("B1 every request of the backend is answered once: preferences, headers, what is not served, and what is not known", async () => {
  const { test, server, answer, event } = await running();
  const ask = async (id: string, method: string, params: Json = {}) => {
    server.push({ id, method, params: { sessionId: "s1", ...params } });
    return server.take((frame) => frame.id === id && frame.method === undefined);
  };
  expect((await ask("p", "session/requestRuntimePreferences", { scope: "user-execution" })).result).toEqual({
    nativeSearchEnhancementsEnabled: false,
    memoryEnabled: false,
    askUserQuestionAutoResolutionEnabled: false,
  });
  expect((await ask("m", "interaction/requestOfficialMcpAuthHeaders")).result).toEqual({
    ok: false,
    reason: "official_auth_unavailable",
  });
  for (const method of [
    "interaction/browserList",
    "interaction/browserExecute",
    "automation/list",
    "offPeak/create",
    "subagents/readRuntimeConfig",
    "never/heard",
  ]) {
    expect((await ask(method, method)).error).toMatchObject({ code: -32601 });
  }
  for (const mode of ["start-plan", "team-coding-plan", "off-peak", "highspeed"]) {
    const refused = (
      await ask(mode, "interaction/requestProviderRuntimeHeaders", {
        providerId: "account:bigmodel-individual-coding-plan",
        accountAccess: { mode },
      })
    ).result as Json;
    expect(refused.headersApplied).toBe(false);
    expect(String(refused.errorMessage)).not.toBe("");
  }
  expect(
    (await ask("q", "interaction/requestUserInput", { requestId: "r", questions: [] })).result,
  ).toMatchObject({ action: "decline" });
  server.push(event("turn.completed", { resultType: "success" }));
  await answer;
  await test.bridge.close();
});

test("B1 A4 a repeated permission is asked once, every frame id is answered, and an unknown kind is never an allow", async () => {
  const { test, server, client, answer, event } = await running();
  const asked: Json[] = [];
  let choose!: (answer: Json) => void;
  client.handlers.set("session/request_permission", (params) => {
    asked.push(params);
    return new Promise((resolve) => {
      choose = resolve;
    });
  });
  const params = {
    sessionId: "s1",
    requestId: "perm_1",
    toolCallId: "call_1",
    toolName: "Bash",
    reason: "why",
    input: { command: "rm -r /" },
    options: [
      { optionId: "a", kind: "allow_once", name: "Yes", response: { decision: "allow", reason: "own" } },
      { optionId: "b", kind: "allow_everything_forever", name: "All", response: { decision: "allow" } },
      { optionId: "b", kind: "deny_once", name: "No" },
    ],
  };
  for (const id of ["server-7", "server-8", 9])
    server.push({ id, method: "interaction/requestPermission", params });
  await client.frame((frame) => frame.method === "session/request_permission");
  expect((asked[0]!.options as Json[]).map((option) => option.kind)).toEqual([
    "allow_once",
    "reject_once",
    "reject_once",
  ]);
  expect(new Set((asked[0]!.options as Json[]).map((option) => option.optionId)).size).toBe(3);
  choose({ outcome: { outcome: "selected", optionId: "b" } });
  for (const id of ["server-7", "server-8", 9]) {
    expect((await server.take((frame) => frame.id === id && frame.method === undefined)).result).toEqual({
      decision: "deny",
    });
  }
  // A late repeat gets the same answer without anyone being asked.
  server.push({ id: "server-10", method: "interaction/requestPermission", params });
  expect((await server.take((frame) => frame.id === "server-10")).result).toEqual({ decision: "deny" });
  expect(asked).toHaveLength(1);
  server.push(event("turn.completed", { resultType: "success" }));
  await answer;
  await test.bridge.close();
});

test("A5 B1 a cancelled turn declines its open permission and withdraws the dialog", async () => {
  const { test, server, client, answer } = await running();
  client.handlers.set("session/request_permission", () => undefined);
  server.push({
    id: "server-1",
    method: "interaction/requestPermission",
    params: {
      sessionId: "s1",
      requestId: "perm_1",
      toolCallId: "c",
      toolName: "Bash",
      input: {},
      options: [],
    },
  });
  const dialog = await client.frame((frame) => frame.method === "session/request_permission");
  const session = (dialog.params as Json).sessionId;
  client.notify("session/cancel", { sessionId: session });
  expect((await answer).stopReason).toBe("cancelled");
  expect((await server.take((frame) => frame.id === "server-1")).result).toMatchObject({ decision: "deny" });
  await client.frame(
    (frame) => frame.method === "$/cancel_request" && (frame.params as Json).requestId === dialog.id,
  );
  expect(await server.take((frame) => frame.method === "session/stop")).toMatchObject({
    params: { sessionId: "s1" },
  });
  await test.bridge.close();
});

function readLog(home: string): string[] {
  const dir = join(home, ".local", "state", "zcode-acp");
  return readdirSync(dir)
    .filter((name) => name.endsWith(".log"))
    .flatMap((name) => readFileSync(join(dir, name), "utf8").split("\n"));
}

test("B1 A4 M6 an answer belongs to one question of one session and one process: nothing else is allowed by it", async () => {
  const { test, server, client, answer, event } = await running();
  const asked: Json[] = [];
  client.handlers.set("session/request_permission", (params) => {
    asked.push(params);
    return { outcome: { outcome: "selected", optionId: "allow" } };
  });
  const ask = (id: string, requestId: string | undefined, sessionId = "s1") => ({
    id,
    method: "interaction/requestPermission",
    params: {
      sessionId,
      ...(requestId ? { requestId } : {}),
      toolCallId: "call",
      toolName: "Bash",
      input: { command: "run" },
      options: [],
    },
  });
  const answered = async (on: PlayedServer, id: string) =>
    (await on.take((frame) => frame.id === id && frame.method === undefined)).result as Json;
  server.push(ask("server-7", undefined));
  expect((await answered(server, "server-7")).decision).toBe("allow");
  server.push(ask("server-8", "perm_1"));
  expect((await answered(server, "server-8")).decision).toBe("allow");
  // The same frame id once more, without a request id, is a question of its own.
  server.push(ask("server-7", undefined));
  await answered(server, "server-7");
  expect(asked).toHaveLength(3);
  // A session that is not open here is denied, whatever was allowed elsewhere under that id.
  server.push(ask("server-9", "perm_1", "s2"));
  expect((await answered(server, "server-9")).decision).toBe("deny");
  server.push(event("turn.completed", { resultType: "success" }));
  await answer;
  // The next process counts its ids from the start: the same ones are new questions.
  server.die(1);
  const session = (asked[0]?.sessionId as string) ?? "";
  const again = client.prompt(session, "again");
  const next = await test.server(1);
  const probe = await next.take((frame) => frame.method === "runtime/capabilities");
  next.push({ id: probe.id, result: {} });
  const resume = await next.take((frame) => frame.method === "session/resume");
  next.push({ id: resume.id, result: { session: { sessionId: "s1" }, runtime: { eventSeq: 0 } } });
  const subscribe = await next.take((frame) => frame.method === "session/subscribe");
  next.push({ id: subscribe.id, result: {} });
  const send = await next.take((frame) => frame.method === "session/send");
  next.push({ id: send.id, result: { accepted: true } });
  next.push(ask("server-7", "perm_1"));
  expect((await answered(next, "server-7")).decision).toBe("allow");
  expect(asked).toHaveLength(4);
  next.push({
    method: "session/event",
    params: {
      sessionId: "s1",
      seq: 1,
      turnId: "t2",
      type: "turn.started",
      payload: { inputId: (send.params as Json).inputId },
    },
  });
  next.push({
    method: "session/event",
    params: { sessionId: "s1", seq: 2, turnId: "t2", type: "turn.completed", payload: {} },
  });
  await again;
  await test.bridge.close();
});
