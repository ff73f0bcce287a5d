/** Settings, forks and servers, over an app-server that the test plays. */

import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type PlayedServer, testBridge } from "../support/bridge.ts";
import type { Json } from "../support/plainClient.ts";
import { serveSubscribe, sessionEvent, settle, startPlayed, startRunning } from "../support/played.ts";
import { tempDir } from "../support/temp.ts";

const level = (value: string): Json => ({ value, label: value });
const SETTINGS = {
  mode: { current: "edit" },
  model: {
    current: { providerId: "p", modelId: "m" },
    available: ["m", "n"].map((modelId) => ({
      ref: { providerId: "p", modelId },
      label: modelId,
      reasoning: { levels: [level("low"), level("high")], defaultLevel: "low" },
    })),
  },
  thoughtLevel: { current: "high" },
};

const SETTERS = ["session/setMode", "session/setModel", "session/setThoughtLevel"];

async function opened() {
  const played = await startPlayed();
  const { client, server } = played;
  const load = client.request("session/resume", { sessionId: "s1", cwd: "/one", mcpServers: [] });
  const resume = await server.take((frame) => frame.method === "session/resume");
  const session = { session: { sessionId: "s1" }, runtime: { eventSeq: 0 } };
  server.push({ id: resume.id, result: { ...session, settings: SETTINGS } });
  await serveSubscribe(server);
  await load;
  return played;
}

const sent = (server: PlayedServer, methods: readonly string[]) =>
  server.inbox.filter(({ method }) => methods.includes(method as string));

test("A7 P24 an editor that sends back the values it was told changes nothing, and gets them all again", async () => {
  const { test, client, server } = await opened();
  for (const [configId, value] of [
    ["mode", "edit"],
    ["model", "p\\m"],
    ["model", "m"],
    ["thought", "high"],
  ]) {
    const { configOptions } = await client.request("session/set_config_option", {
      sessionId: "s1",
      configId,
      value,
    });
    expect((configOptions as Json[]).map(({ id, currentValue }) => [id, currentValue])).toEqual([
      ["mode", "edit"],
      ["model", "p\\m"],
      ["thought", "high"],
    ]);
  }
  await client.request("session/set_mode", { sessionId: "s1", modeId: "edit" });
  await settle();
  expect(sent(server, SETTERS)).toEqual([]);
  await test.bridge.close();
});

test("P20 a fork goes on from the last message only where there is no checkpoint; a refusal for another reason is told", async () => {
  const { test, client, server } = await opened();
  const fork = () =>
    client.request("session/fork", { sessionId: "s1" }).catch((error: unknown) => error as Error);
  const reply = async (method: string, more: Json) => {
    const frame = await server.take((each) => each.method === method);
    server.push({ id: frame.id, ...more });
    return frame.params as Json;
  };
  for (const code of [-32010, -32602, -32601]) {
    const refused = fork();
    await reply("session/fork", { error: { code, message: "no" } });
    expect(await refused).toBeInstanceOf(Error);
    await settle();
    expect(sent(server, ["session/messages", "session/fork"])).toEqual([]);
  }
  const made = fork();
  expect(await reply("session/fork", { error: { code: -32603, message: "no checkpoint" } })).toEqual({
    sessionId: "s1",
    target: { kind: "latestCheckpoint" },
  });
  await reply("session/messages", { result: { messages: [{ info: { messageId: "m7" } }] } });
  expect(await reply("session/fork", { result: { forkedSessionId: "s2" } })).toEqual({
    sessionId: "s1",
    target: { kind: "message", messageId: "m7" },
  });
  expect(await made).toMatchObject({ sessionId: "s2" });
  await test.bridge.close();
});

test("B18 servers that are named when a conversation is opened again go along with its next resume", async () => {
  const { test, client, server, id, answer } = await startRunning();
  server.push(sessionEvent("s1", 2, "turn.completed", { resultType: "success" }));
  await answer;
  const mcpServers = [{ name: "late", command: "/bin/late", args: ["x"], env: [] }];
  await client.request("session/resume", { sessionId: id, cwd: "/one", mcpServers });
  // An editor that names none leaves them.
  await client.request("session/resume", { sessionId: id, cwd: "/one", mcpServers: [] });
  void client.prompt(id, "again").catch(() => {});
  const send = await server.take((frame) => frame.method === "session/send");
  server.push({ id: send.id, error: { code: -32004, message: "not resident" } });
  const resume = await server.take((frame) => frame.method === "session/resume");
  expect((resume.params as Json).mcpServers).toEqual(mcpServers);
  await test.bridge.close();
});

test("P22 an objective goes along with the actions that set one, and with no other", async () => {
  const { test, client, server } = await opened();
  for (const [action, objective] of [
    ["set", "Ship it"],
    ["replace", "Ship it"],
    ["show", undefined],
    ["pause", undefined],
    ["resume", undefined],
    ["clear", undefined],
  ]) {
    const asked = client.request("session/goal", { sessionId: "s1", action, objective: " Ship it " });
    const frame = await server.take((each) => each.method === "session/goal");
    server.push({ id: frame.id, result: { response: "done" } });
    expect(await asked).toEqual({ response: "done" });
    expect(frame.params).toEqual({ sessionId: "s1", action, ...(objective ? { objective } : {}) });
  }
  await test.bridge.close();
});

test("P2 what rides in the create is not set once more", async () => {
  const { test, client, server } = await startPlayed();
  const id = await client.newSession("/one");
  await client.request("session/set_mode", { sessionId: id, modeId: "plan" });
  void client.prompt(id, "go").catch(() => {});
  const create = await server.take((frame) => frame.method === "session/create");
  expect((create.params as Json).mode).toBe("plan");
  server.push({ id: create.id, result: { session: { sessionId: "s1" }, runtime: { eventSeq: 0 } } });
  await serveSubscribe(server);
  await server
    .take((frame) => [...SETTERS, "session/send"].includes(frame.method as string))
    .then((frame) => {
      expect(frame.method).toBe("session/send");
    });
  await test.bridge.close();
});

const SIGNED_IN = {
  "provider_config.json": {
    config: {
      providerConfigRules: {
        providerRules: [
          {
            providerId: "mine",
            config: { access: { apiKey: "k" }, api: { baseUrl: "https://x" }, personalModelIds: ["m"] },
          },
        ],
      },
    },
  },
  "coding-plan-cache.json": {
    entryStatus: { items: { "builtin:zai-coding-plan": { status: "available" } } },
  },
};

test.each([
  ["a provider of the newer file", "provider_config.json"],
  ["a plan that the app knows of", "coding-plan-cache.json"],
  ["nothing", ""],
])("A11 with %s a sign-in is answered as it is", async (_what, name) => {
  const home = tempDir("home");
  mkdirSync(join(home, ".zcode", "v2"), { recursive: true });
  if (name !== "")
    writeFileSync(
      join(home, ".zcode", "v2", name),
      JSON.stringify(SIGNED_IN[name as keyof typeof SIGNED_IN]),
    );
  const test = testBridge({ env: { HOME: home, ZCODE_ACP_BACKEND: "auto" } });
  const client = test.client();
  await client.initialize();
  const asked = client.request("authenticate", { methodId: "zcode-credentials" });
  if (name === "") await expect(asked).rejects.toThrow(".zcode");
  else expect(await asked).toEqual({});
  await test.bridge.close();
});
