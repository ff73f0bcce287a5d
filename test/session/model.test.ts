/** A session that was left with a model which is not there any more. */

import { expect, test } from "bun:test";
import type { Json } from "../support/plainClient.ts";
import { serveSubscribe, startPlayed } from "../support/played.ts";

const listed = (modelId: string, more: Json = {}): Json => ({
  ref: { providerId: "p", modelId },
  label: `Label ${modelId}`,
  ...more,
});

const levels = { reasoning: { levels: [{ value: "low", label: "low" }], defaultLevel: "low" } };

test("B17 a model that disappeared is replaced on resume by the first that is there, with a level of its own, and so said once", async () => {
  const { test, client, server } = await startPlayed();
  const load = client.request("session/load", { sessionId: "s", cwd: "/one", mcpServers: [] });
  const resume = await server.take((frame) => frame.method === "session/resume");
  const settings = {
    model: {
      current: { providerId: "p", modelId: "old" },
      available: [listed("new", levels), listed("other")],
    },
  };
  server.push({
    id: resume.id,
    result: { session: { sessionId: "s" }, runtime: { eventSeq: 1 }, messages: [], settings },
  });
  await serveSubscribe(server);
  const set = await server.take((frame) => frame.method === "session/setModel");
  expect(set.params).toEqual({
    sessionId: "s",
    model: { providerId: "p", modelId: "new", options: { reasoningLevel: "low" } },
    persistAsWorkspaceLastUsed: false,
  });
  server.push({ id: set.id, result: {} });
  const result = await load;
  const model = (result.configOptions as Json[]).find(({ id }) => id === "model");
  expect(model).toMatchObject({ currentValue: "p\\new" });
  expect(client.text().trim()).toBe("The model old is not there any more; Label new is used instead.");
  await test.bridge.close();
});

test("B17 what takes its place is of the pinned provider, and gets a level also where it has no default", async () => {
  const { test, client, server } = await startPlayed(undefined, { ZCODE_PROVIDER: "q" });
  const load = client.request("session/load", { sessionId: "s", cwd: "/one", mcpServers: [] });
  const resume = await server.take((frame) => frame.method === "session/resume");
  const leveled = { reasoning: { levels: [{ value: "low" }, { value: "high" }] } };
  const pinned = listed("pinned", { ref: { providerId: "q", modelId: "pinned" }, ...leveled });
  const model = { current: { providerId: "p", modelId: "old" }, available: [listed("new"), pinned] };
  const session = { session: { sessionId: "s" }, runtime: { eventSeq: 1 }, messages: [] };
  server.push({ id: resume.id, result: { ...session, settings: { model } } });
  await serveSubscribe(server);
  const set = await server.take((frame) => frame.method === "session/setModel");
  expect((set.params as Json).model).toEqual({
    providerId: "q",
    modelId: "pinned",
    options: { reasoningLevel: "low" },
  });
  server.push({ id: set.id, result: {} });
  await load;
  await test.bridge.close();
});

test("B17 P24 a build that takes a model's name alone is told its level as well", async () => {
  const { test, client, server } = await startPlayed();
  const load = client.request("session/load", { sessionId: "s", cwd: "/one", mcpServers: [] });
  const resume = await server.take((frame) => frame.method === "session/resume");
  const model = {
    current: { providerId: "p", modelId: "old" },
    available: [listed("new", levels), listed("x")],
  };
  const session = { session: { sessionId: "s" }, runtime: { eventSeq: 1 }, messages: [] };
  server.push({ id: resume.id, result: { ...session, settings: { model } } });
  await serveSubscribe(server);
  const set = await server.take((frame) => frame.method === "session/setModel");
  server.push({ id: set.id, error: { code: -32602, message: "Invalid params: modelId: Required" } });
  const named = await server.take((frame) => frame.method === "session/setModel");
  expect(named.params).toEqual({ sessionId: "s", providerId: "p", modelId: "new" });
  server.push({ id: named.id, result: {} });
  const level = await server.take((frame) => frame.method === "session/setThoughtLevel");
  expect(level.params).toEqual({ sessionId: "s", thoughtLevel: "low" });
  server.push({ id: level.id, result: {} });
  const options = (await load).configOptions as Json[];
  expect(options.find(({ id }) => id === "thought")).toMatchObject({ currentValue: "low" });
  await test.bridge.close();
});

for (const [what, model] of [
  ["one that is there", { current: { providerId: "p", modelId: "new" }, available: [listed("new")] }],
  ["one that no list names", { current: { providerId: "p", modelId: "old" }, available: [] }],
] as const)
  test(`B17 ${what} stays`, async () => {
    const { test, client, server } = await startPlayed();
    const load = client.request("session/load", { sessionId: "s", cwd: "/one", mcpServers: [] });
    const resume = await server.take((frame) => frame.method === "session/resume");
    const session = { session: { sessionId: "s" }, runtime: { eventSeq: 1 }, messages: [] };
    server.push({ id: resume.id, result: { ...session, settings: { model } } });
    await serveSubscribe(server);
    await load;
    expect(server.inbox.filter((frame) => frame.method === "session/setModel")).toEqual([]);
    expect(client.text()).toBe("");
    await test.bridge.close();
  });
