/** Settings, forks and servers, over an app-server that the test plays. */

import { expect, test } from "bun:test";
import type { PlayedServer } from "../support/bridge.ts";
import type { Json } from "../support/plainClient.ts";
import { serveSubscribe, sessionEvent, settle, startPlayed, startRunning } from "../support/played.ts";

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
