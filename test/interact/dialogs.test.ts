/** What closes a question, what leaves it open, and what stands in its dialogs. */

import { expect, test } from "bun:test";
import { accepted, valuesOf } from "../../src/interact/form.ts";
import type { PlayedServer } from "../support/bridge.ts";
import { type Json, type PlainClient, RemoteError } from "../support/plainClient.ts";
import { settle, startRunning } from "../support/played.ts";

const FORMS = { elicitation: { form: {} } };

function push(server: PlayedServer, method: string, id: string, params: Json): void {
  server.push({ id, method, params: { requestId: `r-${id}`, sessionId: "s1", toolCallId: "c1", ...params } });
}

const ask = (server: PlayedServer, id: string, params: Json) =>
  push(server, "interaction/requestUserInput", id, params);

const questions = (server: PlayedServer, id: string, ...asked: Json[]) =>
  ask(server, id, { toolName: "AskUserQuestion", questions: asked });

const permission = (server: PlayedServer, id: string, params: Json) =>
  push(server, "interaction/requestPermission", id, {
    toolName: "Bash",
    input: { command: "ls" },
    ...params,
  });

const answerOf = async (server: PlayedServer, id: string) =>
  (await server.take((frame) => frame.id === id && frame.method === undefined, 3_000)).result as Json;

const CANCELLED = { outcome: { outcome: "cancelled" } };
const select = (optionId: string) => ({ outcome: { outcome: "selected", optionId } });
const fail = () => {
  throw new RemoteError(-32601, "Method not found", undefined);
};

/** Answers each permission with the next of these; what was asked. */
function answering(client: PlainClient, ...given: unknown[]): Json[] {
  const asked: Json[] = [];
  client.handlers.set("session/request_permission", (params) => {
    asked.push(params);
    return given[asked.length - 1] ?? fail();
  });
  return asked;
}

const ONE = { question: "Which?", options: [{ label: "A" }, { label: "B" }] };
const SEVERAL = { question: "Which ones?", multiSelect: true, options: [{ label: "X" }, { label: "X" }] };

test("P12 P15 a dialog that is closed closes all questions of it, whichever it was", async () => {
  const { test, client, server } = await startRunning();
  for (const [id, ...given] of [
    ["one", CANCELLED],
    ["several", select("choice_0"), CANCELLED],
    ["last", select("choice_0"), select("include"), CANCELLED],
  ] as const) {
    const asked = answering(client, ...given);
    questions(server, id, ONE, SEVERAL);
    expect(await answerOf(server, id)).toMatchObject({ action: "cancel" });
    expect(asked).toHaveLength(given.length);
  }
  await test.bridge.close();
});

test("P12 P15 one by one: a label that repeats is answered once, a long one is shown whole, what has no choices is left out", async () => {
  const { test, client, server } = await startRunning();
  const long = "x".repeat(5_000);
  const asked = answering(client, select("choice_0"), select("include"), select("include"));
  questions(server, "f", { question: "Long?", options: [{ label: long }] }, SEVERAL, {
    question: "Words?",
    options: [],
  });
  expect(await answerOf(server, "f")).toEqual({
    action: "accept",
    content: { answers: { "Long?": long, "Which ones?": "X" } },
  });
  const [first] = asked as [Json];
  expect(JSON.stringify((first.toolCall as Json).content)).toContain(long);
  expect(JSON.stringify(first.options)).not.toContain(long);
  await test.bridge.close();
});

test("P17 P12 a very long label has a short value, and a question without words is answered by its place", () => {
  const choice = (label: string) => ({ label, description: undefined });
  const question = { text: "", header: undefined, multi: false, choices: [choice("y".repeat(5_000))] };
  expect(valuesOf(question)).toEqual(["option_1"]);
  expect(accepted([question], [["y"]])).toEqual({
    action: "accept",
    content: { answers: {}, answer_0: "y" },
  });
});

test("P11 P14 P19 a plan's permission that fails is put to that client once, and stays open for the next one", async () => {
  const { test, client, server, id } = await startRunning();
  await client.initialize(FORMS, { name: "zed", version: "1" });
  const asked = answering(client);
  ask(server, "plan", { toolName: "ExitPlanMode", input: { plan: "# Plan" } });
  await client.frame((frame) => frame.method === "session/request_permission");
  await settle();
  expect(asked).toHaveLength(1);
  expect(server.inbox.filter((frame) => frame.id === "plan")).toEqual([]);
  const next = test.client();
  await next.initialize();
  answering(next, select("approve"));
  await next.request("session/resume", { sessionId: id, cwd: "/one", mcpServers: [] });
  expect(await answerOf(server, "plan")).toEqual({ action: "accept", content: { answer_0: "approve" } });
  await test.bridge.close();
});

test("B18 what an MCP server asks is answered in the one form that is there, however odd its fields are", async () => {
  const { test, client, server, id } = await startRunning();
  const other = test.client();
  await other.initialize(FORMS);
  await other.request("session/resume", { sessionId: id, cwd: "/one", mcpServers: [] });
  answering(client, CANCELLED);
  const forms: Json[] = [];
  other.handlers.set("elicitation/create", (params) => {
    forms.push(params);
    return { action: "accept", content: { a: "1", b: "2" } };
  });
  const string = { type: "string" };
  const odd = { ...string, enum: ["1", "2"], enumNames: ["One"] };
  const requestedSchema = { type: "object", properties: { a: odd, b: string }, required: ["a", "gone", 7] };
  const asked = { serverName: "stock", message: "Details?", requestedSchema };
  const text = { question: "The same?" };
  ask(server, "f", {
    schema: { interaction: "mcp_elicitation", requestedSchema },
    input: asked,
    questions: [text, text],
  });
  await settle();
  expect(forms[0]?.requestedSchema).toEqual({
    type: "object",
    properties: { a: { ...string, enum: ["1", "2"] }, b: string },
    required: ["a"],
  });
  // A field that is required and not there is asked of nobody.
  expect(await answerOf(server, "f")).toEqual({
    action: "accept",
    content: { answers: {}, answer_0: "1", answer_1: "2" },
  });
  await test.bridge.close();
});

test("A3 the dialog of a sub-agent's call that has its card's id already names that, and says why it asks", async () => {
  const { test, client, server } = await startRunning();
  const asked = answering(client, select("allow"));
  permission(server, "f", {
    toolCallId: "tool_subagent_a1_c9",
    origin: { kind: "subagent", agentId: "a1", agentType: "explorer" },
    reason: "It writes outside the workspace.",
  });
  expect(await answerOf(server, "f")).toEqual({ decision: "allow" });
  const { toolCallId, content } = asked[0]!.toolCall as Json;
  expect(toolCallId).toBe("tool_subagent_a1_c9");
  expect(JSON.stringify(content)).toContain("It writes outside the workspace.");
  await test.bridge.close();
});

test("B1 a question that is repeated after others were answered gets its own answer, and is put to nobody", async () => {
  const { test, client, server } = await startRunning();
  const asked = answering(client, select("deny"), select("allow"), select("allow"));
  for (const [id, decision] of [
    ["f1", "deny"],
    ["f2", "allow"],
    ["f3", "allow"],
  ] as const) {
    permission(server, id, {});
    expect(await answerOf(server, id)).toEqual({ decision });
  }
  permission(server, "late", { requestId: "r-f1" });
  expect(await answerOf(server, "late")).toEqual({ decision: "deny" });
  expect(asked).toHaveLength(3);
  await test.bridge.close();
});
