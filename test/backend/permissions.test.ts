/** Permissions: what the dialog shows, every way that it ends, and what goes back. */

import { expect, test } from "bun:test";
import type { PlayedServer } from "../support/bridge.ts";
import type { Json } from "../support/plainClient.ts";
import { settle, startRunning } from "../support/played.ts";

const permission = (id: unknown, more: Json = {}) => ({
  id,
  method: "interaction/requestPermission",
  params: {
    sessionId: "s1",
    requestId: `r${id}`,
    toolCallId: `c${id}`,
    toolName: "Bash",
    input: { command: "ls" },
    options: [],
    ...more,
  },
});
const decided = async (server: PlayedServer, id: unknown, ms = 1000) =>
  (await server.take((f) => f.id === id && f.method === undefined, ms)).result as Json;

test("P10 a client whose dialog fails has refused nothing: the question stays open", async () => {
  const { test, client, server } = await startRunning();
  client.handlers.set("session/request_permission", () => {
    throw new Error("broken dialog");
  });
  server.push(permission("server-1"));
  await client.frame((f) => f.method === "session/request_permission");
  await settle();
  expect(server.inbox.filter((f) => f.id === "server-1")).toEqual([]);
  await test.bridge.close();
});

test("P10 a single client that closes the dialog has refused", async () => {
  const { test, client, server } = await startRunning();
  client.handlers.set("session/request_permission", () => ({ outcome: { outcome: "cancelled" } }));
  server.push(permission("server-1"));
  expect((await decided(server, "server-1")).decision).toBe("deny");
  await test.bridge.close();
});

test("A3 a sub-agent's permission names the mirrored card", async () => {
  const { test, client, server } = await startRunning();
  client.handlers.set("session/request_permission", () => undefined);
  server.push(permission("server-1", { toolCallId: "call_x", origin: { kind: "subagent", agentId: "a1" } }));
  const frame = await client.frame((f) => f.method === "session/request_permission");
  expect((frame.params as Json).toolCall).toMatchObject({ toolCallId: "tool_subagent_a1_call_x" });
  await test.bridge.close();
});

test("A3 a tool without a command, diff or output shows its input in the dialog", async () => {
  const { test, client, server } = await startRunning();
  client.handlers.set("session/request_permission", () => undefined);
  server.push(permission("server-1", { toolName: "mcp__db__drop", input: { table: "users" } }));
  const frame = await client.frame((f) => f.method === "session/request_permission");
  expect(JSON.stringify(((frame.params as Json).toolCall as Json).content)).toContain("users");
  await test.bridge.close();
});

test("A3 a permission for a call that no event told of is preceded by its tool_call", async () => {
  const { test, client, server } = await startRunning();
  client.handlers.set("session/request_permission", () => undefined);
  server.push(permission("server-1"));
  const frame = await client.frame((f) => f.method === "session/request_permission");
  const at = client.frames.indexOf(frame);
  const card = client.frames.findIndex(
    (f) =>
      JSON.stringify(f).includes('"sessionUpdate":"tool_call"') && JSON.stringify(f).includes('"cserver-1"'),
  );
  expect(card).toBeGreaterThanOrEqual(0);
  expect(card).toBeLessThan(at);
  await test.bridge.close();
});

test("A4 every kind maps, and what goes back", async () => {
  const { test, client, server } = await startRunning();
  const options = [
    { optionId: "1", kind: "allow_once", name: "n" },
    { optionId: "2", kind: "allow_always", name: "n" },
    { optionId: "3", kind: "allow_project", name: "n" },
    { optionId: "4", kind: "deny_once", name: "n" },
    { optionId: "5", kind: "deny_always", name: "n" },
    { optionId: "6", kind: "reject_always", name: "n" },
    { optionId: "7", kind: "ask_boss", name: "n", response: { decision: "escalate", reason: "up" } },
    { optionId: "8", kind: "ask_boss", name: "n", response: { decision: "modify", modifiedInput: {} } },
  ];
  let pick = 0;
  const kinds: unknown[] = [];
  client.handlers.set("session/request_permission", (params) => {
    kinds.splice(0, 99, ...(params.options as Json[]).map((o) => o.kind));
    return { outcome: { outcome: "selected", optionId: String(++pick) } };
  });
  const answers: Json[] = [];
  for (const _ of options) {
    const id = `server-${answers.length}`;
    server.push(permission(id, { options }));
    answers.push(await decided(server, id));
  }
  expect(kinds).toEqual([
    "allow_once",
    "allow_always",
    "allow_always",
    "reject_once",
    "reject_always",
    "reject_always",
    "reject_once",
    "reject_once",
  ]);
  expect(answers.map((a) => a.decision)).toEqual([
    "allow",
    "allow",
    "allow",
    "deny",
    "deny",
    "deny",
    "escalate",
    "deny",
  ]);
  await test.bridge.close();
});

test("A4 options of one id are offered under ids of their own, and each goes back as what it is", async () => {
  const { test, client, server } = await startRunning();
  const options = [
    { optionId: "x", kind: "allow_once", name: "one", response: { decision: "allow", place: 0 } },
    { optionId: "x", kind: "deny_once", name: "two", response: { decision: "deny", place: 1 } },
    { optionId: "x_", kind: "allow_always", name: "three", response: { decision: "allow", place: 2 } },
    { kind: "deny_once", name: "four", response: { decision: "deny", place: 3 } },
  ];
  let pick = 0;
  client.handlers.set("session/request_permission", (params) => {
    const offered = params.options as Json[];
    expect(new Set(offered.map(({ optionId }) => optionId)).size).toBe(options.length);
    return { outcome: { outcome: "selected", optionId: offered[pick]!.optionId } };
  });
  for (const { response } of options) {
    server.push(permission(`server-${pick}`, { options }));
    expect(await decided(server, `server-${pick}`)).toEqual(response);
    pick++;
  }
  await test.bridge.close();
});

test("M6 A3 each client is asked under the id by which it knows the conversation", async () => {
  const { test, client, server, id } = await startRunning();
  const other = test.client();
  await other.initialize();
  await other.request("session/resume", { sessionId: "s1", cwd: "/one", mcpServers: [] });
  server.push(permission("server-1"));
  const asked = async (who: typeof client) => {
    const frame = await who.frame((each) => each.method === "session/request_permission");
    return (frame.params as Json).sessionId;
  };
  expect(await asked(client)).toBe(id);
  expect(await asked(other)).toBe("s1");
  await test.bridge.close();
});

test("B1 A5 a permission that comes after the cancel is declined and put to nobody", async () => {
  const { test, client, server, id, answer } = await startRunning();
  client.notify("session/cancel", { sessionId: id });
  await answer;
  server.push(permission("server-1"));
  expect((await decided(server, "server-1")).decision).toBe("deny");
  expect(client.frames.some((f) => f.method === "session/request_permission")).toBe(false);
  await test.bridge.close();
});

test("B1 a request that cannot be dealt with is answered with an error", async () => {
  const { test, server } = await startRunning();
  const deep = `${'{"a":'.repeat(60_000)}1${"}".repeat(60_000)}`;
  const line = JSON.stringify(permission("server-1", { input: { x: "DEEP" } })).replace('"DEEP"', deep);
  server.bytes(new TextEncoder().encode(`${line}\n`));
  const answer = await server.take((f) => f.id === "server-1" && f.method === undefined, 1000);
  expect(answer.error).toMatchObject({ code: -32603 });
  await test.bridge.close();
});
