/** Slash commands and extension methods over the built file and the simulator. */

import { expect, test } from "bun:test";
import { type Agent, launch } from "../support/agent.ts";
import type { Json } from "../support/plainClient.ts";

/** What one command said in the conversation. */
async function say(agent: Agent, session: string, words: string): Promise<string> {
  const before = agent.client.text("agent_message_chunk", session).length;
  expect((await agent.client.prompt(session, words)).stopReason).toBe("end_turn");
  return agent.client.text("agent_message_chunk", session).slice(before).trim();
}

/** The current value of each option, as it was told last. */
function options(agent: Agent, session: string): Json {
  const told = agent.client
    .updates(session)
    .findLast((update) => update.sessionUpdate === "config_option_update");
  return Object.fromEntries(
    (told!.configOptions as Json[]).map((option) => [option.id, option.currentValue]),
  );
}

test("A7 A8 P22 P23 P24 P20 R40 slash commands are listed with hints, and each says what came of it", async () => {
  const agent = launch();
  const session = await agent.start();
  const list = await agent.client.update((update) => update.sessionUpdate === "available_commands_update");
  const commands = list.availableCommands as Json[];
  expect(commands.map(({ name }) => name)).toEqual([
    "compact",
    "goal",
    "fork",
    "model",
    "mode",
    "thought",
    "quota",
    "mcp",
    "resume",
  ]);
  for (const { description } of commands) expect(String(description).length).toBeGreaterThan(10);
  expect((commands.find(({ name }) => name === "goal")!.input as Json).hint).toBe(
    "objective|pause|resume|clear",
  );
  await agent.client.prompt(session, "text first");
  expect(await say(agent, session, "/model")).toContain("- sim\\sim-small");
  expect(await say(agent, session, "/model sim\\sim-small")).toContain("sim-small");
  expect(await say(agent, session, "/model nope")).toContain("`nope` is not a value");
  expect(await say(agent, session, "/model sim-large")).toContain("sim-large");
  expect(await say(agent, session, "/mode plan")).toBe("The mode is plan now.");
  expect(await say(agent, session, "/thought")).toContain("- low");
  expect(await say(agent, session, "/thought low")).toContain("low");
  expect(options(agent, session)).toEqual({ mode: "plan", model: "sim\\sim-large", thought: "low" });
  expect(await say(agent, session, "/goal")).not.toBe("");
  expect(await say(agent, session, "/resume")).toContain("first");
  expect(await say(agent, session, "/mcp")).not.toBe("");
  const forked = /`([^`]+)`/.exec(await say(agent, session, "/fork"))?.[1];
  await agent.client.request("session/load", { sessionId: forked, cwd: agent.workspace, mcpServers: [] });
  expect(agent.client.text("agent_message_chunk", forked)).toContain("first");
  expect(await say(agent, session, "/compact")).toContain("compacted");
  expect(await say(agent, session, "text after")).toContain("after");
  // What is no command reaches the model as it is.
  expect(await say(agent, session, "/Users/me")).toContain("/Users/me");
  expect(agent.strays).toEqual([]);
  await agent.close();
}, 30_000);

test("A12 P20 P21 P22 P23 P24 P31 extension methods, each also with the underscore", async () => {
  const agent = launch();
  const session = await agent.start();
  await agent.client.prompt(session, "text first");
  const ask = (method: string, params: Json = {}) =>
    agent.client.request(method, { sessionId: session, ...params });
  for (const prefix of ["", "_"]) {
    expect(JSON.stringify(await ask(`${prefix}session/setThoughtLevel`, { thoughtLevel: "max" }))).toContain(
      '"max"',
    );
    expect(JSON.stringify(await ask(`${prefix}session/setMode`, { mode: "edit" }))).toContain('"edit"');
    expect(await ask(`${prefix}session/goal`, { action: "show" })).toHaveProperty("response");
    const shapes = [{}, { target: { kind: "turn", turnIndex: 0 } }, { cwd: agent.workspace, mcpServers: [] }];
    for (const shape of shapes) {
      const { sessionId } = await ask(`${prefix}session/fork`, shape);
      expect(sessionId).not.toBe(session);
      expect((await agent.client.prompt(String(sessionId), "text in the fork")).stopReason).toBe("end_turn");
    }
    expect(await ask(`${prefix}session/compact`)).toHaveProperty("state");
    await agent.client.prompt(session, "text behind it");
  }
  await expect(ask("session/setThoughtLevel", { thoughtLevel: "nope" })).rejects.toMatchObject({
    code: -32602,
  });
  await expect(ask("session/goal", { action: "nope" })).rejects.toMatchObject({ code: -32602 });
  await expect(ask("session/goal", { action: "set" })).rejects.toMatchObject({ code: -32602 });
  await expect(ask("session/rewind", {})).rejects.toMatchObject({ code: -32601 });
  await expect(ask("session/steer", {})).rejects.toMatchObject({ code: -32601 });
  await agent.close();
}, 30_000);

test("A12 D4 what this ZCode lacks is refused with a sentence", async () => {
  const agent = launch({ sim: "--missing session/fork,session/goal,session/compact,mcp/list" });
  const session = await agent.start();
  await agent.client.prompt(session, "text first");
  for (const [method, params] of [
    ["session/fork", {}],
    ["session/goal", { action: "show" }],
    ["session/compact", {}],
  ] as const)
    await expect(agent.client.request(method, { sessionId: session, ...params })).rejects.toMatchObject({
      data: { code: "ZACP-108" },
    });
  expect(await say(agent, session, "/mcp")).toContain("mcp/list");
  expect(await say(agent, session, "text on")).toContain("on");
  await agent.close();
});

test("A8 A12 P20 D4 what ZCode refuses beside a prompt is told as that, and not as a turn that failed", async () => {
  const agent = launch({ sim: "--refuse session/goal:-32603,session/compact:-32603,mcp/list:-32603" });
  const session = await agent.start();
  await agent.client.prompt(session, "text first");
  const target = { kind: "message", messageId: "nope" };
  for (const [method, params] of [
    ["session/fork", { target }],
    ["session/goal", { action: "show" }],
    ["session/compact", {}],
  ] as const)
    await expect(agent.client.request(method, { sessionId: session, ...params })).rejects.toMatchObject({
      code: -32603,
      message: expect.stringMatching(/^ZCode did not do that: ./),
      data: { code: "ZACP-110" },
    });
  for (const command of ["/goal", "/compact", "/mcp"])
    expect(await say(agent, session, command)).toStartWith("ZCode did not do that: ");
  await agent.close();
});

test("P24 P2 A7 a level that is chosen before the first prompt rides in the create, and one that the model lacks is no option", async () => {
  const agent = launch();
  const session = await agent.start();
  await agent.client.prompt(session, "text first");
  const small = await agent.client.request("session/set_config_option", {
    sessionId: session,
    configId: "model",
    value: "sim\\sim-small",
  });
  expect((small.configOptions as Json[]).map(({ id }) => id)).toEqual(["mode", "model"]);
  const large = await agent.client.request("session/set_config_option", {
    sessionId: session,
    configId: "model",
    value: "sim\\sim-large",
  });
  const thought = (large.configOptions as Json[]).find(({ id }) => id === "thought")!;
  expect(thought).toMatchObject({ category: "thought_level", type: "select" });
  expect((thought.options as Json[]).map(({ value }) => value)).toEqual(["low", "high", "max"]);
  const set = await agent.client.request("session/set_config_option", {
    sessionId: session,
    configId: "thought",
    value: "max",
  });
  expect((set.configOptions as Json[]).find(({ id }) => id === "thought")!.currentValue).toBe("max");
  expect((await agent.client.prompt(session, "text on")).stopReason).toBe("end_turn");
  await agent.close();
});

test("B18 servers of all three transports that the editor names are handed on, and /mcp tells of them beside the person's own", async () => {
  const agent = launch();
  await agent.client.initialize();
  const { sessionId } = await agent.client.request("session/new", {
    cwd: agent.workspace,
    mcpServers: [
      { name: "local", command: "/bin/tool", args: ["-x"], env: [{ name: "A", value: "1" }] },
      { type: "http", name: "far", url: "https://x/mcp", headers: [{ name: "H", value: "v" }] },
      { type: "sse", name: "old", url: "https://x/sse", headers: [] },
    ],
  });
  const session = String(sessionId);
  await agent.client.prompt(session, "text hello");
  const lines = (await say(agent, session, "/mcp")).split("\n");
  for (const name of ["sim-stock", "local", "far", "old"])
    expect(lines).toContain(`- ${name}: connected (1)`);
  expect(lines).toContain("- sim-broken: failed (0): connect ECONNREFUSED");
  expect(await agent.close()).toBe(0);
});
