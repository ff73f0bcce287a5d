/** The built binary over the simulator, with a client that strips nothing. */

import { expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { allowAll, launch } from "../support/agent.ts";
import type { Json } from "../support/plainClient.ts";

const isTool = (update: Json) =>
  update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update";

test("A2 initialize tells what works and nothing else, in one version of the protocol", async () => {
  const agent = launch();
  const result = await agent.client.initialize();
  expect(result.protocolVersion).toBe(1);
  expect(result.agentCapabilities).toEqual({
    loadSession: true,
    promptCapabilities: { image: true, embeddedContext: true },
    mcpCapabilities: { http: true, sse: true },
    sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {} },
    auth: {},
  });
  const newer = await agent.client.request("initialize", { protocolVersion: 7, clientCapabilities: {} });
  expect(newer.protocolVersion).toBe(1);
  await agent.close();
});

test("A2 a request before initialize, and a version that is a string, are errors", async () => {
  const agent = launch();
  await expect(agent.client.request("session/new", { cwd: "/tmp", mcpServers: [] })).rejects.toMatchObject({
    code: -32600,
  });
  await expect(
    agent.client.request("initialize", { protocolVersion: "1", clientCapabilities: {} }),
  ).rejects.toMatchObject({ code: -32602 });
  await expect(agent.client.request("session/none", {})).rejects.toMatchObject({ code: -32600 });
  await agent.client.initialize();
  await expect(agent.client.request("session/none", {})).rejects.toMatchObject({ code: -32601 });
  await agent.close();
});

test("P2 P4 P6 a turn streams thought and text, and ends with its own stop reason and usage", async () => {
  const agent = launch();
  const session = await agent.start();
  const result = await agent.client.prompt(session, "think; text All is well");
  expect(result.stopReason).toBe("end_turn");
  expect(agent.client.text("agent_thought_chunk")).not.toBe("");
  expect(agent.client.text()).toContain("All is well");
  const usage = result.usage as Json;
  const raw = ((result._meta as Json).zcode as Json).usage as Json;
  expect(usage.inputTokens).toBeGreaterThan(0);
  expect(raw.source).toBe("provider");
  const updates = agent.client.updates(session);
  expect(updates.some((update) => update.sessionUpdate === "usage_update")).toBe(true);
  const ids = new Set(
    updates
      .filter((update) => update.sessionUpdate === "agent_message_chunk")
      .map((update) => update.messageId),
  );
  expect(ids.size).toBe(1);
  expect(agent.strays).toEqual([]);
  await agent.close();
});

test("P7 P10 A3 A4 A6 a command asks with all that is needed, streams its output, and ends with its exit code", async () => {
  const agent = launch();
  const session = await agent.start({ _meta: { terminal_output: true } });
  const asked = allowAll(agent.client);
  await agent.client.prompt(session, "bash echo one; bash sh -c 'echo two && exit 3'");
  expect(asked).toHaveLength(2);
  const toolCall = asked[0]?.toolCall as Json;
  expect(toolCall).toMatchObject({ kind: "execute", rawInput: { command: "echo one" } });
  expect(JSON.stringify(toolCall.content)).toContain("echo one");
  expect((asked[0]!.options as Json[]).map((option) => option.kind)).toEqual([
    "allow_once",
    "allow_always",
    "reject_once",
  ]);

  const frames = agent.client.frames;
  const opened = frames.findIndex((frame) => isUpdateOf(frame, "tool_call", toolCall.toolCallId));
  const question = frames.findIndex((frame) => frame.method === "session/request_permission");
  expect(opened).toBeGreaterThanOrEqual(0);
  expect(opened).toBeLessThan(question);

  const [first, second] = cards(agent.client.updates(session));
  expect(first?.at(-1)).toMatchObject({ status: "completed", _meta: { terminal_exit: { exit_code: 0 } } });
  expect(second?.at(-1)).toMatchObject({ status: "failed", _meta: { terminal_exit: { exit_code: 3 } } });
  for (const card of [first, second]) {
    for (const update of card ?? []) {
      const meta = update._meta as Json;
      expect("terminal_output" in meta && "terminal_exit" in meta).toBe(false);
      if ("terminal_output" in meta)
        expect(Object.keys(update).sort()).toEqual(["_meta", "sessionUpdate", "toolCallId"]);
    }
  }
  expect(output(first ?? [])).toContain("one");
  expect(output(second ?? [])).toContain("two");
  await agent.close();
});

test("A6 a client without live terminals gets the same output as a fenced block", async () => {
  const agent = launch();
  const session = await agent.start();
  allowAll(agent.client);
  await agent.client.prompt(session, "bash sh -c 'echo one && exit 3'");
  const [card] = cards(agent.client.updates(session));
  const last = JSON.stringify(card?.at(-1));
  expect(last).toContain("```console\\none\\n```");
  expect(last).toContain("Exit code 3");
  expect(JSON.stringify(card)).not.toContain("terminal_");
  await agent.close();
});

test("P7 A3 reads and edits are real, with kind, locations, raw input and a diff of old and new text", async () => {
  const agent = launch();
  writeFileSync(join(agent.workspace, "a.ts"), "export const a = 1;\n");
  const session = await agent.start();
  const asked = allowAll(agent.client);
  await agent.client.prompt(session, "read a.ts; edit a.ts");
  const [read, edit] = cards(agent.client.updates(session));
  const path = join(agent.workspace, "a.ts");
  expect(read?.[0]).toMatchObject({
    kind: "read",
    title: "Read a.ts",
    locations: [{ path }],
    rawInput: { file_path: path },
  });
  expect(JSON.stringify(read?.at(-1))).toContain("export const a = 1;");
  expect(edit?.[0]).toMatchObject({ kind: "edit", title: "Edit a.ts", locations: [{ path }] });
  const [diff] = edit!.at(-1)!.content as Json[];
  expect(diff).toMatchObject({ type: "diff", path });
  expect(diff?.oldText).toContain("export const a = 1;");
  expect(diff?.newText).not.toBe(diff?.oldText);
  expect((asked.at(-1)!.toolCall as Json).content).toContainEqual(
    expect.objectContaining({ type: "diff", path }),
  );
  expect(readFileSync(path, "utf8")).not.toBe("export const a = 1;\n");
  await agent.close();
});

test("A4 the chosen option's own response goes back: always allowed is not asked again, a refusal closes the card as failed", async () => {
  const agent = launch();
  const session = await agent.start();
  const asked = allowAll(agent.client, "allow_always");
  await agent.client.prompt(session, "bash echo one");
  await agent.client.prompt(session, "bash echo one");
  expect(asked).toHaveLength(1);
  const refused = allowAll(agent.client, "reject_once");
  await agent.client.prompt(session, "bash touch made");
  expect(refused).toHaveLength(1);
  const last = agent.client.updates(session).filter(isTool).at(-1);
  expect(last?.status).toBe("failed");
  expect(readdirSync(agent.workspace)).not.toContain("made");
  await agent.close();
});

test("P2 P3 an editor that never sends leaves no session, and its placeholder is an empty conversation later", async () => {
  const first = launch();
  const session = await first.start();
  await first.close();
  const second = launch({ home: first.home, workspace: first.workspace });
  await second.client.initialize();
  expect((await second.client.request("session/list", { cwd: first.workspace })).sessions).toEqual([]);
  await second.client.request("session/load", { sessionId: session, cwd: first.workspace, mcpServers: [] });
  expect(
    second.client.updates(session).filter((update) => String(update.sessionUpdate).endsWith("_chunk")),
  ).toEqual([]);
  expect((await second.client.prompt(session, "text First words")).stopReason).toBe("end_turn");
  await second.close();
});

test("P3 a placeholder that was used is the same conversation in the next bridge: it replays and goes on", async () => {
  const first = launch();
  writeFileSync(join(first.workspace, "a.ts"), "let a;\n");
  const session = await first.start();
  allowAll(first.client);
  await first.client.prompt(session, "think; text Remember me; read a.ts");
  await first.close();

  const second = launch({ home: first.home, workspace: first.workspace });
  await second.client.initialize();
  await second.client.request("session/load", { sessionId: session, cwd: first.workspace, mcpServers: [] });
  expect(second.client.text("user_message_chunk", session)).toBe("think; text Remember me; read a.ts");
  expect(second.client.text("agent_message_chunk", session)).toContain("Remember me");
  expect(second.client.text("agent_thought_chunk", session)).not.toBe("");
  const [card] = cards(second.client.updates(session));
  expect(card?.[0]).toMatchObject({ sessionUpdate: "tool_call", kind: "read" });
  expect(card?.at(-1)?.status).toBe("completed");
  const listed = (await second.client.request("session/list", { cwd: first.workspace })).sessions as Json[];
  expect(listed).toHaveLength(1);
  expect(listed[0]?.cwd).toBe(first.workspace);
  expect(String(listed[0]?.updatedAt)).toMatch(/^\d{4}-\d\d-\d\dT/);
  expect((await second.client.prompt(session, "text Again")).stopReason).toBe("end_turn");

  // The backend's own id is the same conversation, by resume, without a replay.
  const third = launch({ home: first.home, workspace: first.workspace });
  await third.client.initialize();
  const real = listed[0]?.sessionId as string;
  await third.client.request("session/resume", { sessionId: real, cwd: first.workspace, mcpServers: [] });
  expect(third.client.text("user_message_chunk")).toBe("");
  expect((await third.client.prompt(real, "text Third")).stopReason).toBe("end_turn");
  await third.close();
  await second.close();
});

test("an unknown session is an error that says so, for every method that names one", async () => {
  const agent = launch();
  await agent.client.initialize();
  const cwd = agent.workspace;
  await expect(agent.client.prompt("nope", "hi")).rejects.toMatchObject({ code: -32002 });
  await expect(
    agent.client.request("session/load", { sessionId: "nope", cwd, mcpServers: [] }),
  ).rejects.toMatchObject({ code: -32002 });
  await expect(
    agent.client.request("session/resume", { sessionId: "nope", cwd, mcpServers: [] }),
  ).rejects.toMatchObject({ code: -32002 });
  await expect(
    agent.client.request("session/set_mode", { sessionId: "nope", modeId: "plan" }),
  ).rejects.toMatchObject({ code: -32002 });
  await expect(
    agent.client.request("session/new", { cwd: "relative", mcpServers: [] }),
  ).rejects.toMatchObject({ code: -32602 });
  await agent.close();
});

test("A5 M5 session/cancel ends the prompt as cancelled, and the conversation goes on", async () => {
  const agent = launch();
  const session = await agent.start();
  const other = await agent.client.newSession(agent.workspace);
  const running = agent.client.prompt(session, "text before; silence 60");
  const neighbour = agent.client.prompt(other, "text neighbour; sleep 0.5; text done");
  await agent.client.update((update) =>
    String((update.content as Json | undefined)?.text).includes("before"),
  );
  agent.client.notify("session/cancel", { sessionId: session });
  expect((await running).stopReason).toBe("cancelled");
  expect((await neighbour).stopReason).toBe("end_turn");
  expect((await agent.client.prompt(session, "text after")).stopReason).toBe("end_turn");
  await agent.close();
});

test("A5 $/cancel_request of a prompt answers it as cancelled", async () => {
  const agent = launch();
  const session = await agent.start();
  const running = agent.client.prompt(session, "text before; silence 60");
  await agent.client.update((update) =>
    String((update.content as Json | undefined)?.text).includes("before"),
  );
  agent.client.notify("$/cancel_request", { requestId: running.id });
  expect((await running).stopReason).toBe("cancelled");
  await agent.close();
});

test("P2 mode and model chosen before the first prompt ride in the create and show in both forms", async () => {
  const agent = launch();
  const session = await agent.start();
  await expect(
    agent.client.request("session/set_mode", { sessionId: session, modeId: "nonsense" }),
  ).rejects.toMatchObject({ code: -32602 });
  await agent.client.request("session/set_mode", { sessionId: session, modeId: "yolo" });
  const set = await agent.client.request("session/set_config_option", {
    sessionId: session,
    configId: "model",
    value: "sim\\sim-small",
  });
  expect(JSON.stringify(set.configOptions)).toContain('"currentValue":"yolo"');
  // In this mode nothing is asked.
  await agent.client.prompt(session, "bash echo hi");
  expect(agent.client.frames.some((frame) => frame.method === "session/request_permission")).toBe(false);
  const options = agent.client
    .updates(session)
    .findLast((update) => update.sessionUpdate === "config_option_update");
  expect(JSON.stringify(options)).toContain('"currentValue":"sim\\\\sim-small"');
  const after = await agent.client.request("session/set_config_option", {
    sessionId: session,
    configId: "mode",
    value: "plan",
  });
  expect(JSON.stringify(after.configOptions)).toContain('"currentValue":"plan"');
  await agent.client.update(
    (update) => update.sessionUpdate === "current_mode_update" && update.currentModeId === "plan",
  );
  const model = await agent.client.request("session/set_config_option", {
    sessionId: session,
    configId: "model",
    value: "sim/sim-large",
  });
  expect(JSON.stringify(model.configOptions)).toContain('"currentValue":"sim\\\\sim-large"');
  await expect(
    agent.client.request("session/set_config_option", {
      sessionId: session,
      configId: "model",
      value: "sim/none",
    }),
  ).rejects.toMatchObject({ code: -32602 });
  await agent.close();
});

test("M11 session/close ends one conversation and leaves the others; it can be loaded again", async () => {
  const agent = launch();
  const session = await agent.start();
  await agent.client.prompt(session, "text Words");
  const running = agent.client.prompt(session, "silence 60");
  const other = await agent.client.newSession(agent.workspace);
  await agent.client.request("session/close", { sessionId: session });
  expect((await running).stopReason).toBe("cancelled");
  await expect(agent.client.prompt(session, "hi")).rejects.toMatchObject({ code: -32002 });
  expect((await agent.client.prompt(other, "text Other")).stopReason).toBe("end_turn");
  await agent.client.request("session/load", { sessionId: session, cwd: agent.workspace, mcpServers: [] });
  expect((await agent.client.prompt(session, "text Back")).stopReason).toBe("end_turn");
  await agent.close();
});

test("P9 A11 a failed turn is an error that says what to do, and the conversation stays usable", async () => {
  const agent = launch();
  const session = await agent.start();
  await expect(agent.client.prompt(session, "fail auth")).rejects.toMatchObject({
    code: -32000,
    data: { code: "ZACP-301" },
  });
  await expect(agent.client.prompt(session, "fail quota")).rejects.toMatchObject({
    data: { code: "ZACP-312" },
  });
  expect((await agent.client.prompt(session, "text Fine")).stopReason).toBe("end_turn");
  await agent.close();
});

/** Updates of each card, in order of the cards. */
function cards(updates: readonly Json[]): Json[][] {
  const byId = new Map<unknown, Json[]>();
  for (const update of updates.filter(isTool)) {
    const known = byId.get(update.toolCallId);
    if (known) known.push(update);
    else byId.set(update.toolCallId, [update]);
  }
  return [...byId.values()];
}

function output(card: readonly Json[]): string {
  return card
    .map((update) => ((update._meta as Json).terminal_output as Json | undefined)?.data ?? "")
    .join("");
}

function isUpdateOf(frame: Json, kind: string, id: unknown): boolean {
  const update = (frame.params as Json | undefined)?.update as Json | undefined;
  return frame.method === "session/update" && update?.sessionUpdate === kind && update.toolCallId === id;
}

test("A10 a file that cannot ride along gets one sentence, and the turn goes on", async () => {
  const agent = launch();
  const session = await agent.start();
  const gone = `${agent.workspace}/gone.ts`;
  const answer = await agent.client.request("session/prompt", {
    sessionId: session,
    prompt: [
      { type: "text", text: "text hello" },
      { type: "resource_link", name: "gone.ts", uri: `file://${gone}` },
    ],
  });
  expect(answer).toMatchObject({ stopReason: "end_turn" });
  expect(agent.client.text("agent_message_chunk", session)).toContain(`${gone} could not be read`);
  await agent.close();
});
