/** Questions and plans on their way to people and back, with clients of every kind. */

import { expect, test } from "bun:test";
import type { PlayedServer } from "../support/bridge.ts";
import { type Json, type PlainClient, RemoteError } from "../support/plainClient.ts";
import { settle, startRunning } from "../support/played.ts";

const QUESTIONS = [
  { question: "Which?", header: "H", options: [{ label: "A", description: "first" }, { label: "B" }] },
  { question: "Which ones?", multiSelect: true, options: [{ label: "X" }, { label: "Y" }, { label: "Z" }] },
];

let frames = 0;

/** One question of the backend; `requestId` says which it is, however often it is asked. */
function ask(server: PlayedServer, params: Json, requestId = "r1"): string {
  const id = `server-${++frames}`;
  const whole = { requestId, sessionId: "s1", toolCallId: "c1", turnId: "t", ...params };
  server.push({ id, method: "interaction/requestUserInput", params: whole });
  return id;
}

const asking = (server: PlayedServer, questions: readonly Json[] = QUESTIONS) =>
  ask(server, {
    toolName: "AskUserQuestion",
    schema: { toolName: "AskUserQuestion" },
    input: { questions },
    questions,
  });

const planning = (server: PlayedServer) =>
  ask(server, {
    toolName: "ExitPlanMode",
    schema: { interaction: "plan_approval", toolName: "ExitPlanMode" },
    input: { plan: "# Plan\n\n1. Do it" },
    questions: [{ question: "Review this implementation plan.", options: [] }],
  });

const answerOf = async (server: PlayedServer, id: string) =>
  (await server.take((frame) => frame.id === id && frame.method === undefined)).result as Json;

const FORMS = { elicitation: { form: {} } };

interface Dialogs {
  readonly forms: Json[];
  readonly permissions: Json[];
}

/** Answers with what the test says; `undefined` never answers, an error fails. */
function answers(
  client: PlainClient,
  form: ((params: Json) => unknown) | undefined,
  permission?: (params: Json) => unknown,
): Dialogs {
  const seen: Dialogs = { forms: [], permissions: [] };
  if (form)
    client.handlers.set("elicitation/create", (params) => {
      seen.forms.push(params);
      return form(params);
    });
  if (permission)
    client.handlers.set("session/request_permission", (params) => {
      seen.permissions.push(params);
      return permission(params);
    });
  return seen;
}

const select = (optionId: string) => ({ outcome: { outcome: "selected", optionId } });
const fail = () => {
  throw new RemoteError(-32601, "Method not found", undefined);
};

/** A running turn, and clients with these capabilities and names on its conversation. */
async function start(...kinds: { capabilities?: Json; name?: string }[]) {
  const running = await startRunning();
  const [first, ...others] = kinds;
  await running.client.initialize(first?.capabilities ?? {}, { name: first?.name ?? "one", version: "1" });
  const clients = [running.client];
  for (const { capabilities = {}, name = "other" } of others) {
    const client = running.test.client();
    await client.initialize(capabilities, { name, version: "1" });
    await client.request("session/resume", { sessionId: running.id, cwd: "/one", mcpServers: [] });
    clients.push(client);
  }
  return { ...running, clients };
}

test("P12 P15 P17 R47 M6 a client with forms gets one form, one without gets each question by itself, in one race: the first answer wins and the other dialog is withdrawn", async () => {
  const { test, server, clients } = await start({ capabilities: FORMS }, {});
  let submit: (answer: Json) => void = () => {};
  const submitted = new Promise<Json>((resolve) => {
    submit = resolve;
  });
  const one = answers(clients[0]!, () => submitted);
  const two = answers(clients[1]!, undefined, () => undefined);
  const id = asking(server);
  await clients[0]!.frame((frame) => frame.method === "elicitation/create");
  const dialog = await clients[1]!.frame((frame) => frame.method === "session/request_permission");
  submit({ action: "accept", content: { q_0: "B", q_1: ["X", "Z"], q_1_other: "own" } });
  expect(await answerOf(server, id)).toEqual({
    action: "accept",
    content: { answers: { "Which?": "B", "Which ones?": "X, Z, own" } },
  });
  await clients[1]!.frame(
    (frame) => frame.method === "$/cancel_request" && (frame.params as Json).requestId === dialog.id,
  );
  expect(one.forms[0]).toMatchObject({ mode: "form", message: "Please answer 2 questions." });
  expect(two.permissions[0]).toMatchObject({ toolCall: { title: "Which?" } });
  // Repeated by the backend, it is answered and put to nobody.
  const again = asking(server);
  expect(await answerOf(server, again)).toMatchObject({ action: "accept" });
  expect([one.forms.length, two.permissions.length]).toEqual([1, 1]);
  await test.bridge.close();
});

test("P15 a client that can open pages, and shows no forms, is asked question by question", async () => {
  const { test, server, clients } = await start({ capabilities: { elicitation: { url: {} } } });
  const dialogs = answers(clients[0]!, fail, () => select("skip"));
  asking(server);
  await clients[0]!.frame((frame) => frame.method === "session/request_permission");
  expect(dialogs.forms).toEqual([]);
  await test.bridge.close();
});

test("P12 P15 without forms: one choice of the first question, each choice of the second by itself, a skip leaves a question out", async () => {
  const { test, server, clients } = await start({});
  const picks = ["choice_1", "include", "skip", "include", "skip", "skip", "skip", "skip"];
  const seen = answers(clients[0]!, undefined, () => select(picks.shift()!));
  expect(await answerOf(server, asking(server))).toEqual({
    action: "accept",
    content: { answers: { "Which?": "B", "Which ones?": "X, Z" } },
  });
  expect(seen.permissions.map(({ toolCall }) => (toolCall as Json).title)).toEqual([
    "Which?",
    "Which ones?: X",
    "Which ones?: Y",
    "Which ones?: Z",
  ]);
  expect((seen.permissions[0]!.options as Json[]).map(({ name }) => name)).toEqual([
    "A",
    "B",
    "Skip this question",
  ]);
  const other = ask(server, { toolName: "AskUserQuestion", questions: QUESTIONS }, "r2");
  expect(await answerOf(server, other)).toEqual({ action: "accept", content: { answers: {} } });
  await test.bridge.close();
});

test("P17 decline and cancel of a form go back as such, and words alone can be asked only in a form", async () => {
  const { test, server, clients } = await start({ capabilities: FORMS });
  const replies: Json[] = [
    { action: "decline" },
    { action: "cancel" },
    { action: "accept", content: { q_0_other: "mine" } },
  ];
  answers(clients[0]!, () => replies.shift());
  expect(await answerOf(server, ask(server, { questions: QUESTIONS }, "a"))).toEqual({ action: "decline" });
  expect(await answerOf(server, ask(server, { questions: QUESTIONS }, "b"))).toMatchObject({
    action: "cancel",
  });
  const free = [{ question: "Name?", options: [] }];
  expect(await answerOf(server, ask(server, { questions: free }, "c"))).toEqual({
    action: "accept",
    content: { answers: { "Name?": "mine" } },
  });
  expect(await answerOf(server, ask(server, { questions: [] }, "d"))).toMatchObject({ action: "decline" });
  await test.bridge.close();
  const plain = await start({});
  expect(await answerOf(plain.server, ask(plain.server, { questions: free }, "e"))).toMatchObject({
    action: "decline",
  });
  await plain.test.bridge.close();
});

for (const [what, wrong] of [
  ["an error", fail],
  ["nonsense", () => ({ action: "accept", content: { q_0: "never offered" } })],
  ["no object", () => "yes"],
  ["an action that nobody knows", () => ({ action: "later" })],
] as const) {
  test(`P15 P19 a form answered with ${what} wins no race; when all forms have failed everybody is asked once by permissions, and at last it is declined with that reason`, async () => {
    const { test, server, clients } = await start({ capabilities: FORMS }, { capabilities: FORMS });
    const one = answers(clients[0]!, wrong, () => select("choice_0"));
    const two = answers(clients[1]!, wrong, fail);
    const single = [QUESTIONS[0]!];
    expect(await answerOf(server, asking(server, single))).toEqual({
      action: "accept",
      content: { answers: { "Which?": "A" } },
    });
    expect([one.forms.length, two.forms.length, one.permissions.length]).toEqual([1, 1, 1]);
    answers(clients[0]!, wrong, () => ({ outcome: { outcome: "selected", optionId: "nope" } }));
    const other = ask(server, { toolName: "AskUserQuestion", questions: single }, "r2");
    expect(await answerOf(server, other)).toEqual({
      action: "decline",
      reason: "No client could show the question: each of them failed.",
    });
    await test.bridge.close();
  });
}

test("P15 one client that fails, or closes its dialog, leaves the race to the other", async () => {
  const { test, server, clients } = await start({ capabilities: FORMS }, { capabilities: FORMS });
  const replies: (() => unknown)[] = [fail, () => ({ action: "cancel" })];
  let submit: (answer: Json) => void = () => {};
  answers(clients[0]!, () => replies.shift()!());
  answers(
    clients[1]!,
    () =>
      new Promise<Json>((resolve) => {
        submit = resolve;
      }),
  );
  for (const requestId of ["a", "b"]) {
    const id = ask(server, { questions: QUESTIONS }, requestId);
    await settle();
    expect(server.inbox.filter((frame) => frame.id === id)).toEqual([]);
    submit({ action: "accept", content: { q_0: "A" } });
    expect(await answerOf(server, id)).toMatchObject({ action: "accept" });
  }
  await test.bridge.close();
});

test("P11 P13 P14 P18 a plan: a form with all of it for martty alone, a permission with it as content for everybody else, whatever they can", async () => {
  const { test, server, clients } = await start(
    { capabilities: FORMS },
    { capabilities: FORMS, name: "Martty" },
  );
  const zed = answers(
    clients[0]!,
    () => undefined,
    () => undefined,
  );
  const martty = answers(
    clients[1]!,
    () => ({ action: "accept", content: { approval: "approve" } }),
    () => undefined,
  );
  expect(await answerOf(server, planning(server))).toEqual({
    action: "accept",
    content: { answer_0: "approve" },
  });
  expect(martty.forms[0]).toMatchObject({
    message: "Exit plan mode",
    requestedSchema: {
      properties: { approval: { description: "# Plan\n\n1. Do it" } },
      required: ["approval"],
    },
  });
  expect(zed.forms).toEqual([]);
  expect(zed.permissions[0]).toMatchObject({
    toolCall: { content: [{ content: { text: "# Plan\n\n1. Do it" } }] },
    options: [{ kind: "allow_once" }, { kind: "reject_once" }],
  });
  await test.bridge.close();
});

for (const [what, reply] of [
  ["reject", { action: "accept", content: { approval: "reject" } }],
  ["decline", { action: "decline" }],
  ["cancel", { action: "cancel" }],
] as const) {
  test(`P18 ${what} of a plan's form declines`, async () => {
    const { test, server, clients } = await start({ capabilities: FORMS, name: "martty" });
    answers(clients[0]!, () => reply);
    expect(await answerOf(server, planning(server))).toMatchObject({ action: "decline" });
    await test.bridge.close();
  });
}

test("P19 P18 a plan's form that fails is asked once as a permission, and only when that fails too it is declined", async () => {
  const { test, server, clients } = await start({ capabilities: FORMS, name: "martty" });
  const nonsense = answers(
    clients[0]!,
    () => ({ action: "accept", content: {} }),
    () => select("approve"),
  );
  expect(await answerOf(server, planning(server))).toEqual({
    action: "accept",
    content: { answer_0: "approve" },
  });
  expect([nonsense.forms.length, nonsense.permissions.length]).toEqual([1, 1]);
  answers(clients[0]!, fail, fail);
  const id = ask(server, { toolName: "ExitPlanMode", input: { plan: "x" } }, "r2");
  expect(await answerOf(server, id)).toMatchObject({
    action: "decline",
    reason: expect.stringContaining("failed"),
  });
  await test.bridge.close();
});

test("B18 an MCP server's questions become its form, answered by place and by text; without forms they are declined clearly", async () => {
  const requestedSchema = {
    type: "object",
    properties: {
      count: { type: "integer", title: "Pieces" },
      express: { type: "boolean" },
      depot: { type: "string", enum: ["north", "south"], enumNames: ["North", "South"] },
      note: { type: "string" },
    },
    required: ["count"],
  };
  const params = {
    toolName: "McpElicitation",
    schema: { interaction: "mcp_elicitation", serverName: "stock", requestedSchema },
    input: { serverName: "stock", message: "Details?", requestedSchema },
    questions: ["How many?", "Express", "Depot", "Note"].map((question) => ({ question, options: [] })),
  };
  const { test, server, clients } = await start({ capabilities: FORMS });
  const replies: Json[] = [
    { action: "accept", content: { count: 12, express: false, depot: "south" } },
    { action: "accept", content: { express: true } },
  ];
  const seen = answers(clients[0]!, () => replies.shift(), fail);
  expect(await answerOf(server, ask(server, params, "mcp-elicit-1"))).toEqual({
    action: "accept",
    content: {
      answers: { "How many?": "12", Express: "false", Depot: "south" },
      answer_0: "12",
      answer_1: "false",
      answer_2: "south",
    },
  });
  expect(seen.forms[0]).toMatchObject({
    message: "stock: Details?",
    requestedSchema: {
      properties: { depot: { oneOf: [{ const: "north", title: "North" }, { const: "south" }] } },
    },
  });
  // What is required is missing: no answer.
  expect(await answerOf(server, ask(server, params, "mcp-elicit-2"))).toMatchObject({ action: "decline" });
  await test.bridge.close();
  const plain = await start({});
  expect(await answerOf(plain.server, ask(plain.server, params, "mcp-elicit-3"))).toMatchObject({
    action: "decline",
    reason: expect.stringContaining("form"),
  });
  await plain.test.bridge.close();
});

test("B18 an MCP server's fields may be called as something that every object has", async () => {
  const string = { type: "string" };
  const requestedSchema = {
    type: "object",
    properties: { name: string, constructor: string, valueOf: string },
    required: ["valueOf"],
  };
  const params = {
    schema: { interaction: "mcp_elicitation", requestedSchema },
    questions: [{ question: "__proto__" }],
  };
  const { test, server, clients } = await start({ capabilities: FORMS });
  const replies: Json[] = [
    { action: "accept", content: { name: "x", valueOf: "y" } },
    { action: "accept", content: { name: "x" } },
  ];
  answers(clients[0]!, () => replies.shift(), fail);
  const given = await answerOf(server, ask(server, params, "mcp-elicit-1"));
  expect(JSON.stringify(given)).toBe(
    '{"action":"accept","content":{"answers":{"__proto__":"x"},"answer_0":"x","answer_2":"y"}}',
  );
  // What is required is missing, whatever an object has of that name.
  expect(await answerOf(server, ask(server, params, "mcp-elicit-2"))).toMatchObject({ action: "decline" });
  await test.bridge.close();
});

test("B18 A4 an answer that an MCP server did not offer takes the client out; what is required and no field is not waited for", async () => {
  const requestedSchema = {
    type: "object",
    properties: { depot: { type: "string", enum: ["north", "south"] } },
    required: ["depot", "ghost"],
  };
  const params = { schema: { interaction: "mcp_elicitation", requestedSchema }, questions: [] };
  const { test, server, clients } = await start({ capabilities: FORMS });
  const replies: Json[] = ["east", null, "north"].map((depot) => ({ action: "accept", content: { depot } }));
  answers(clients[0]!, () => replies.shift(), fail);
  for (const id of ["mcp-elicit-1", "mcp-elicit-2"])
    expect(await answerOf(server, ask(server, params, id))).toMatchObject({ action: "decline" });
  expect(await answerOf(server, ask(server, params, "mcp-elicit-3"))).toEqual({
    action: "accept",
    content: { answers: {}, answer_0: "north" },
  });
  await test.bridge.close();
});

test("P11 A4 B1 a permission and a plan of one call under one id are two questions, each with its own answer", async () => {
  const { test, server, clients } = await start({});
  const seen = answers(clients[0]!, undefined, ({ options }) =>
    select(String((options as Json[])[0]!.optionId)),
  );
  const call = { toolCallId: "c7", toolName: "ExitPlanMode", input: { plan: "# Plan" } };
  server.push({
    id: "first",
    method: "interaction/requestPermission",
    params: { requestId: "r7", sessionId: "s1", turnId: "t", ...call, options: [] },
  });
  expect(await answerOf(server, "first")).toEqual({ decision: "allow" });
  const plan = ask(server, { ...call, schema: { interaction: "plan_approval" } }, "r7");
  expect(await answerOf(server, plan)).toEqual({ action: "accept", content: { answer_0: "approve" } });
  expect(seen.permissions).toHaveLength(2);
  await test.bridge.close();
});

test("P16 A5 R47 an open question is put to a client that has loaded the conversation, once it has drawn it; a cancel ends it everywhere", async () => {
  const { test, server, clients, client, id: session } = await start({ capabilities: FORMS });
  const first = answers(client, () => undefined);
  const id = asking(server);
  await client.frame((frame) => frame.method === "elicitation/create");
  const late = test.client();
  await late.initialize(FORMS);
  const seen = answers(late, () => undefined);
  await late.request("session/resume", { sessionId: session, cwd: "/one", mcpServers: [] });
  expect(seen.forms).toEqual([]);
  const dialog = await late.frame((frame) => frame.method === "elicitation/create");
  // The one that has it open already keeps it, unless it loads again itself: then the old dialog goes.
  expect(first.forms.length).toBe(1);
  const before = client.frames.length;
  await client.request("session/resume", { sessionId: session, cwd: "/one", mcpServers: [] });
  await client.frame(
    (frame) => client.frames.indexOf(frame) >= before && frame.method === "elicitation/create",
  );
  expect(client.frames.slice(before).some((frame) => frame.method === "$/cancel_request")).toBe(true);
  clients[0]!.notify("session/cancel", { sessionId: session });
  expect(await answerOf(server, id)).toMatchObject({ action: "decline" });
  await late.frame(
    (frame) => frame.method === "$/cancel_request" && (frame.params as Json).requestId === dialog.id,
  );
  await test.bridge.close();
});

test("A3 M6 a sub-agent's question says who asks, under the conversation's own id", async () => {
  const { test, server, clients, id: session } = await start({});
  const seen = answers(clients[0]!, undefined, () => select("skip"));
  const origin = { kind: "subagent", agentId: "agent_1", agentType: "Explore", description: "Look around" };
  await answerOf(server, ask(server, { toolName: "AskUserQuestion", questions: [QUESTIONS[0]!], origin }));
  expect(seen.permissions[0]!.sessionId).toBe(session);
  // It is the mirrored call that asks, and no second card is made for it.
  expect(seen.permissions[0]).toMatchObject({ toolCall: { toolCallId: "tool_subagent_agent_1_c1" } });
  expect(JSON.stringify(seen.permissions[0])).toContain("The sub-agent asks: Look around");
  await test.bridge.close();
});

test("B1 P12 a question of a session that is not open here is declined, and whatever else is asked gets its answer", async () => {
  const { test, server } = await start({});
  expect(await answerOf(server, ask(server, { sessionId: "s9", questions: QUESTIONS }))).toMatchObject({
    action: "decline",
  });
  const odd = ask(
    server,
    { questions: [{ question: 7, options: { a: 1 } }], input: null, schema: "x" },
    "odd",
  );
  expect(await answerOf(server, odd)).toMatchObject({ action: "decline" });
  await test.bridge.close();
});
