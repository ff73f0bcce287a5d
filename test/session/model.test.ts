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
