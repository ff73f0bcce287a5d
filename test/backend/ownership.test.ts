/** Who is heard: events and answers of one conversation never reach another, nor a newer one of the same id. */

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PlayedServer } from "../support/bridge.ts";
import type { Json, PlainClient, RemoteError } from "../support/plainClient.ts";
import {
  sessionEvent as event,
  serveSubscribe,
  settle,
  startPlayed as start,
  startRunning,
} from "../support/played.ts";
import { tempDir } from "../support/temp.ts";

/** Answers a create of the bridge with a session of that id, and the subscription that follows. */
async function serveCreate(server: PlayedServer, sessionId: string): Promise<void> {
  const create = await server.take((frame) => frame.method === "session/create");
  server.push({ id: create.id, result: { session: { sessionId }, runtime: { eventSeq: 0 } } });
  await serveSubscribe(server);
}

test("M1 M2 M4 two conversations at once: text, ends and questions reach their own, and a foreign session nobody", async () => {
  const { test, client, server } = await start();
  const [one, two] = [await client.newSession("/one"), await client.newSession("/two")];
  const first = client.prompt(one, "one");
  await serveCreate(server, "s1");
  const second = client.prompt(two, "two");
  await serveCreate(server, "s2");
  const sends = [
    await server.take((f) => f.method === "session/send"),
    await server.take((f) => f.method === "session/send"),
  ];
  expect(sends.map((send) => (send.params as Json).sessionId)).toEqual(["s1", "s2"]);
  expect(new Set(sends.map((send) => (send.params as Json).inputId)).size).toBe(2);
  for (const send of sends) server.push({ id: send.id, result: { accepted: true } });
  for (const [i, id] of ["s1", "s2"].entries()) {
    server.push(event(id, 1, "turn.started", { inputId: (sends[i]!.params as Json).inputId }, `turn_${id}`));
    server.push(
      event(
        id,
        2,
        "model.streaming",
        { kind: "text_delta", assistantMessageId: "m", delta: `text of ${id}` },
        `turn_${id}`,
      ),
    );
  }
  server.push(
    event("s3", 3, "model.streaming", { kind: "text_delta", assistantMessageId: "m", delta: "foreign" }),
  );
  // An end that carries another conversation's turn id ends nothing here.
  server.push(event("s1", 3, "turn.completed", { resultType: "success" }, "turn_s2"));
  server.push(event("s2", 3, "turn.completed", { resultType: "success" }, "turn_s2"));
  expect((await second).stopReason).toBe("end_turn");
  let settled = false;
  void first.then(() => {
    settled = true;
  });
  for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
  expect(settled).toBe(false);
  server.push(event("s1", 4, "turn.completed", { resultType: "success" }, "turn_s1"));
  expect((await first).stopReason).toBe("end_turn");
  expect(client.text("agent_message_chunk", one)).toBe("text of s1");
  expect(client.text("agent_message_chunk", two)).toBe("text of s2");
  expect(JSON.stringify(client.frames)).not.toContain("foreign");
  await test.bridge.close();
}, 10_000);

test("M1 M11 what a closed conversation left behind does not speak for the one that now has its id", async () => {
  const { test, client, server } = await start();
  const id = await client.newSession("/one");
  const cut = client.prompt(id, "old words");
  const create = await server.take((frame) => frame.method === "session/create");
  await client.request("session/close", { sessionId: id });
  expect((await cut).stopReason).toBe("cancelled");
  await client.request("session/load", { sessionId: id, cwd: "/one", mcpServers: [] });
  const fresh = client.prompt(id, "new words");
  // Only now does the backend answer the create of the closed one: that session is closed, not used.
  server.push({ id: create.id, result: { session: { sessionId: "old" }, runtime: { eventSeq: 0 } } });
  const closed = await server.take((frame) => frame.method === "session/close");
  expect(closed.params).toEqual({ sessionId: "old" });
  await serveCreate(server, "new");
  const send = await server.take((frame) => frame.method === "session/send");
  expect(send.params).toMatchObject({ sessionId: "new", content: "new words" });
  server.push({ id: send.id, result: { accepted: true } });
  server.push(
    event("old", 1, "model.streaming", {
      kind: "text_delta",
      assistantMessageId: "m",
      delta: "from the grave",
    }),
  );
  server.push(event("new", 1, "turn.started", { inputId: (send.params as Json).inputId }));
  server.push(event("new", 2, "turn.completed", { resultType: "success" }));
  expect((await fresh).stopReason).toBe("end_turn");
  expect(JSON.stringify(client.frames)).not.toContain("grave");
  expect(server.inbox.filter((frame) => frame.method === "session/send")).toEqual([]);
  await test.bridge.close();
});

test("B20 a slow create of one conversation holds up neither the cancel nor the events of another", async () => {
  const { test, client, server } = await start();
  const [one, two] = [await client.newSession("/one"), await client.newSession("/two")];
  const first = client.prompt(one, "one");
  await serveCreate(server, "s1");
  const send = await server.take((frame) => frame.method === "session/send");
  server.push({ id: send.id, result: { accepted: true } });
  server.push(
    event("s1", 1, "turn.started", { inputId: (send.params as Json).inputId, foregroundExecutionId: "fg" }),
  );
  void client.prompt(two, "two").catch(() => {});
  // The create of the second is never answered.
  await server.take((frame) => frame.method === "session/create");
  server.push(
    event("s1", 2, "model.streaming", { kind: "text_delta", assistantMessageId: "m", delta: "still here" }),
  );
  await client.update((update) => JSON.stringify(update).includes("still here"));
  client.notify("session/cancel", { sessionId: one });
  expect((await first).stopReason).toBe("cancelled");
  expect((await server.take((frame) => frame.method === "session/stop")).params).toEqual({ sessionId: "s1" });
  expect((await server.take((frame) => frame.method === "v4/command")).params).toMatchObject({
    type: "stop",
    sessionId: "s1",
    payload: { expectedForegroundExecutionId: "fg" },
  });
  await test.bridge.close();
});

test("A12 P24 extension methods answer with and without the underscore; unknown ones do not exist", async () => {
  const { test, client } = await start();
  const id = await client.newSession("/one");
  for (const [method, mode] of [
    ["session/setMode", "plan"],
    ["_session/setMode", "yolo"],
  ] as const) {
    const answer = await client.request(method, { sessionId: id, mode });
    expect(JSON.stringify(answer.configOptions)).toContain(`"currentValue":"${mode}"`);
  }
  await client.request("_session/setModel", { sessionId: id, model: { providerId: "p", modelId: "m" } });
  for (const method of [
    "session/rewind",
    "_session/rewind",
    "session/steer",
    "session/rewindCascade",
    "_none",
    "none",
  ]) {
    await expect(client.request(method, { sessionId: id })).rejects.toMatchObject({ code: -32601 });
  }
  await expect(client.request("session/setMode", { sessionId: id, mode: "none" })).rejects.toMatchObject({
    code: -32602,
  });
  await test.bridge.close();
});

test("P4 P5 a session is subscribed from its last event on; to-dos are read once more after a change, and told when they differ", async () => {
  const { test, client, server } = await start();
  const id = await client.newSession("/one");
  const answer = client.prompt(id, "hi");
  const create = await server.take((frame) => frame.method === "session/create");
  server.push({ id: create.id, result: { session: { sessionId: "s1" }, runtime: { eventSeq: 4 } } });
  const subscribe = await server.take((frame) => frame.method === "session/subscribe");
  expect(subscribe.params).toEqual({ sessionId: "s1", deliveryKind: "desktop-continuous", afterSeq: 4 });
  // Events since then come along, and a snapshot where a build sends one unasked.
  server.push({
    id: subscribe.id,
    result: {
      eventSeq: 5,
      events: [
        { seq: 4, type: "session.titleUpdated", payload: { source: "custom", title: "Old" } },
        { seq: 5, type: "session.titleUpdated", payload: { source: "custom", title: "Named" } },
      ],
      snapshot: { settings: { mode: { current: "plan" } }, projection: {} },
    },
  });
  const send = await server.take((frame) => frame.method === "session/send");
  server.push({ id: send.id, result: { accepted: true } });
  expect(client.updates(id).filter((update) => update.sessionUpdate === "session_info_update")).toEqual([
    { sessionUpdate: "session_info_update", title: "Named" },
  ]);
  expect(client.updates(id)).toContainEqual({ sessionUpdate: "current_mode_update", currentModeId: "plan" });
  server.push(event("s1", 6, "turn.started", { inputId: (send.params as Json).inputId }));
  const todo = (status: string) => [{ content: "Look", status, priority: "high" }];
  server.push(
    event("s1", 7, "tool.updated", {
      kind: "scheduled",
      toolCallId: "c",
      toolName: "TodoWrite",
      input: { todos: todo("pending") },
    }),
  );
  server.push(
    event("s1", 8, "tool.updated", {
      kind: "result",
      toolCallId: "c",
      result: { success: true, content: "ok" },
    }),
  );
  const read = await server.take((frame) => frame.method === "session/read");
  expect(read.params).toEqual({ sessionId: "s1", messageLimit: 0 });
  server.push({ id: read.id, result: { todos: [], todoGroups: [{ todos: todo("completed") }] } });
  await client.update(
    (update) => update.sessionUpdate === "plan" && JSON.stringify(update).includes("completed"),
  );
  server.push(event("s1", 9, "turn.completed", { resultType: "success" }));
  await answer;
  expect(client.updates(id).filter((update) => update.sessionUpdate === "plan")).toHaveLength(2);
  await test.bridge.close();
});

test("B21 P3 a session that was never prompted is unknown after a restart: a fresh one stands behind the same id, with its settings", async () => {
  const { test, client, server } = await start();
  const id = await client.newSession("/one");
  await client.request("session/set_mode", { sessionId: id, modeId: "plan" });
  const lost = client.prompt(id, "one").catch((error: unknown) => error);
  const create = await server.take((frame) => frame.method === "session/create");
  expect(create.params).toMatchObject({ mode: "plan" });
  server.push({
    id: create.id,
    result: {
      session: { sessionId: "s1" },
      runtime: { eventSeq: 0 },
      settings: { mode: { current: "plan" } },
    },
  });
  await serveSubscribe(server);
  await server.take((frame) => frame.method === "session/send");
  server.die(1);
  expect(await lost).toBeInstanceOf(Error);
  const again = client.prompt(id, "two");
  const next = await test.server(1);
  const probe = await next.take((frame) => frame.method === "runtime/capabilities");
  next.push({ id: probe.id, result: {} });
  const resume = await next.take((frame) => frame.method === "session/resume");
  next.push({ id: resume.id, error: { code: -32004, message: "Session not found: s1" } });
  const fresh = await next.take((frame) => frame.method === "session/create");
  expect(fresh.params).toMatchObject({ mode: "plan", workspace: { workspacePath: "/one" } });
  next.push({ id: fresh.id, result: { session: { sessionId: "s2" }, runtime: { eventSeq: 0 } } });
  await serveSubscribe(next);
  const send = await next.take((frame) => frame.method === "session/send");
  expect(send.params).toMatchObject({ sessionId: "s2", content: "two" });
  next.push({ id: send.id, result: { accepted: true } });
  next.push(event("s2", 1, "turn.started", { inputId: (send.params as Json).inputId }));
  next.push(
    event("s2", 2, "model.streaming", { kind: "text_delta", assistantMessageId: "m", delta: "here" }),
  );
  next.push(event("s2", 3, "turn.completed", { resultType: "success" }));
  expect((await again).stopReason).toBe("end_turn");
  expect(client.text("agent_message_chunk", id)).toBe("here");
  await test.bridge.close();
}, 15_000);

test("B21 B13 a session of an earlier bridge that is unknown was used where the app's list holds words of it: it is gone, and nothing takes its place", async () => {
  const home = tempDir("bridge");
  const folder = join(home, ".zcode", "v2");
  mkdirSync(folder, { recursive: true });
  const aliases = join(folder, "acp-lazy-sessions.json");
  const known = (id: string) => ({ cwd: "/one", zcodeSid: id, createdAt: 1 });
  writeFileSync(aliases, JSON.stringify({ used: known("s1"), titled: known("s2"), unused: known("s3") }));
  const database = new Database(join(folder, "tasks-index.sqlite"), { create: true });
  database.run(
    "CREATE TABLE tasks (workspace_key TEXT, task_id TEXT, title TEXT, meta_json TEXT, searchable_text TEXT)",
  );
  const add = database.query("INSERT INTO tasks VALUES ('/one', ?, ?, '{}', ?)");
  add.run("s1", "", "what it was about");
  add.run("s2", "A title", "");
  add.run("s3", "", "");
  database.close();
  const { test, client, server } = await start(undefined, { HOME: home });
  const unknown = async () => {
    const resume = await server.take((frame) => frame.method === "session/resume");
    server.push({ id: resume.id, error: { code: -32004, message: "Session not found" } });
  };
  for (const sessionId of ["used", "titled"]) {
    const load = client.request("session/load", { sessionId, cwd: "/one", mcpServers: [] });
    await unknown();
    expect(await load.catch((error: RemoteError) => error.code)).toBe(-32002);
  }
  const load = client.request("session/load", { sessionId: "unused", cwd: "/one", mcpServers: [] });
  await unknown();
  await serveCreate(server, "s4");
  await load;
  await test.bridge.close();
  expect(JSON.parse(readFileSync(aliases, "utf8"))).toMatchObject({
    used: known("s1"),
    titled: known("s2"),
    unused: known("s4"),
  });
});

test("B21 B13 R8 a prompt that the backend never took is told to the client, and leaves no sign of use in the app's list", async () => {
  const home = tempDir("bridge");
  mkdirSync(join(home, ".zcode", "v2"), { recursive: true });
  const path = join(home, ".zcode", "v2", "tasks-index.sqlite");
  const database = new Database(path, { create: true });
  database.run(
    "CREATE TABLE tasks (workspace_key TEXT, task_id TEXT, title TEXT, meta_json TEXT, searchable_text TEXT, updated_at INTEGER)",
  );
  const row = () => database.query("SELECT title, searchable_text FROM tasks").get();
  const { test, client, server } = await start(undefined, { HOME: home });
  const id = await client.newSession("/one");
  const lost = client.prompt(id, "words").catch((error: unknown) => error);
  await serveCreate(server, "s1");
  await server.take((frame) => frame.method === "session/send");
  await client.update((update) => update.title === "words");
  server.die(1);
  expect(await lost).toBeInstanceOf(Error);
  const again = client.prompt(id, "other").catch((error: unknown) => error);
  const next = await test.server(1);
  const probe = await next.take((frame) => frame.method === "runtime/capabilities");
  next.push({ id: probe.id, result: {} });
  const resume = await next.take((frame) => frame.method === "session/resume");
  // What was asked of the list so far is done.
  await Bun.sleep(200);
  expect(row()).toEqual({ title: "", searchable_text: "" });
  next.push({ id: resume.id, result: { session: { sessionId: "s1" }, runtime: { eventSeq: 0 } } });
  await serveSubscribe(next);
  const send = await next.take((frame) => frame.method === "session/send");
  next.push({ id: send.id, result: { accepted: true } });
  await settle();
  await test.bridge.close();
  await again;
  expect(row()).toEqual({ title: "words", searchable_text: "other" });
  database.close();
}, 15_000);

test("B18 MCP servers of all three transports go along with a create, and again with a resume", async () => {
  const { test, client, server } = await start();
  const mcpServers = [
    { name: "local", command: "/bin/tool", args: ["-x"], env: [{ name: "A", value: "1" }] },
    { type: "http", name: "far", url: "https://x/mcp", headers: [{ name: "H", value: "v" }] },
    { type: "sse", name: "old", url: "https://x/sse", headers: [] },
  ];
  const { sessionId: id } = (await client.request("session/new", { cwd: "/one", mcpServers })) as {
    sessionId: string;
  };
  const answer = client.prompt(id, "one");
  const create = await server.take((frame) => frame.method === "session/create");
  const wanted = [
    { name: "local", command: "/bin/tool", args: ["-x"], env: [{ name: "A", value: "1" }] },
    { name: "far", type: "http", url: "https://x/mcp", headers: [{ name: "H", value: "v" }] },
    { name: "old", type: "sse", url: "https://x/sse", headers: [] },
  ];
  expect((create.params as Json).mcpServers).toEqual(wanted);
  server.push({ id: create.id, result: { session: { sessionId: "s1" }, runtime: { eventSeq: 0 } } });
  await serveSubscribe(server);
  const evicted = await server.take((frame) => frame.method === "session/send");
  server.push({ id: evicted.id, error: { code: -32004, message: "Session is not active: s1" } });
  const resume = await server.take((frame) => frame.method === "session/resume");
  expect((resume.params as Json).mcpServers).toEqual(wanted);
  // Tools that no editor serves are kept from the model there as well.
  expect((resume.params as Json).toolDenylist).toContain("CronCreate");
  server.push({ id: resume.id, result: { session: { sessionId: "s1" }, runtime: { eventSeq: 0 } } });
  await serveSubscribe(server);
  const send = await server.take((frame) => frame.method === "session/send");
  server.push({ id: send.id, result: { accepted: true } });
  server.push(event("s1", 1, "turn.started", { inputId: (send.params as Json).inputId }));
  server.push(event("s1", 2, "turn.completed", { resultType: "success" }));
  expect((await answer).stopReason).toBe("end_turn");
  await test.bridge.close();
});

test("M3 two loads of one id at once share one resume, and both get the whole history", async () => {
  const { test, client, server } = await start();
  const other = test.client();
  await other.initialize();
  const load = (each: PlainClient) =>
    each.request("session/load", { sessionId: "s9", cwd: "/one", mcpServers: [] });
  const loads = [load(client), load(client), load(other)];
  const resume = await server.take((frame) => frame.method === "session/resume");
  const messages = [{ info: { id: "u", role: "user" }, parts: [{ type: "text", text: "asked" }] }];
  server.push({
    id: resume.id,
    result: { session: { sessionId: "s9" }, runtime: { eventSeq: 3 }, messages },
  });
  await serveSubscribe(server);
  await Promise.all(loads);
  expect(server.inbox.filter((frame) => frame.method === "session/resume")).toEqual([]);
  expect(client.text("user_message_chunk", "s9")).toBe("askedasked");
  expect(other.text("user_message_chunk", "s9")).toBe("asked");
  await test.bridge.close();
});

test("P7 a list that is written while the one before it is about to be read again is never shown as that", async () => {
  const { test, client, server, answer } = await startRunning();
  const list = (status: string) => [{ content: "Look", status, priority: "high" }];
  const write = (seq: number, status: string) => {
    const call = { toolCallId: `c${seq}`, toolName: "TodoWrite", input: { todos: list(status) } };
    server.push(event("s1", seq, "tool.updated", { kind: "scheduled", ...call }));
    const result = { success: true, content: "ok" };
    server.push(event("s1", seq + 1, "tool.updated", { kind: "result", ...call, result }));
  };
  write(2, "pending");
  await Bun.sleep(400);
  write(4, "completed");
  const written = Date.now();
  const read = await server.take((frame) => frame.method === "session/read");
  // The backend takes up to 600 ms to write what the result has told.
  server.push({
    id: read.id,
    result: { todos: list(Date.now() - written < 600 ? "pending" : "completed") },
  });
  server.push(event("s1", 6, "turn.completed", { resultType: "success" }));
  await answer;
  const plans = client.updates().filter((update) => update.sessionUpdate === "plan");
  expect(plans.map((plan) => (plan.entries as Json[])[0]!.status)).toEqual(["pending", "completed"]);
  await test.bridge.close();
});

test("P7 a list that was read while another one was written is not shown in its place", async () => {
  const { test, client, server, answer } = await startRunning();
  const write = (seq: number, status: string) => {
    const todos = [{ content: "Look", status, priority: "high" }];
    const call = { toolCallId: `c${seq}`, toolName: "TodoWrite", input: { todos } };
    server.push(event("s1", seq, "tool.updated", { kind: "scheduled", ...call }));
    const result = { success: true, content: "ok" };
    server.push(event("s1", seq + 1, "tool.updated", { kind: "result", ...call, result }));
    return { todos };
  };
  const first = write(2, "pending");
  const read = await server.take((frame) => frame.method === "session/read");
  const second = write(4, "completed");
  await client.update((update) => JSON.stringify(update.entries ?? "").includes("completed"));
  server.push({ id: read.id, result: first });
  const again = await server.take((frame) => frame.method === "session/read");
  server.push({ id: again.id, result: second });
  server.push(event("s1", 6, "turn.completed", { resultType: "success" }));
  await answer;
  const plans = client.updates().filter((update) => update.sessionUpdate === "plan");
  expect(plans.map((plan) => (plan.entries as Json[])[0]!.status)).toEqual(["pending", "completed"]);
  await test.bridge.close();
});
