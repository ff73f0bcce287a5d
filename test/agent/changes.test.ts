/** Settings that are changed again before the backend has answered the change before. */

import { expect, test } from "bun:test";
import type { PlayedServer } from "../support/bridge.ts";
import type { Json } from "../support/plainClient.ts";
import { settle, startRunning } from "../support/played.ts";

const model = (modelId: string, ...levels: string[]) => ({
  ref: { providerId: "p", modelId },
  label: modelId,
  reasoning: { levels, defaultLevel: levels[0] },
});

/** `s1` is in mode `build`, with the first of two models. */
async function start() {
  const running = await startRunning();
  const models = [model("m", "low"), model("n", "deep", "deeper")];
  running.server.push({
    method: "state.updated",
    params: {
      sessionId: "s1",
      patch: {
        settings: { mode: { current: "build" }, model: { current: models[0]!.ref, available: models } },
      },
    },
  });
  await settle();
  const option = (configId: string, value: string) =>
    running.client.request("session/set_config_option", { sessionId: running.id, configId, value });
  return { ...running, option };
}

/** Answers the next of these as taken. @returns its params. */
async function take(server: PlayedServer, method: string): Promise<Json> {
  const frame = await server.take((each) => each.method === method);
  server.push({ id: frame.id, result: {} });
  return frame.params as Json;
}

const current = (answer: Json) =>
  Object.fromEntries((answer.configOptions as Json[]).map(({ id, currentValue }) => [id, currentValue]));

test("A7 P24 M7 the last of two changes counts, also where it goes back to what the first has not left yet", async () => {
  const { test, client, server, id, option } = await start();
  const first = option("mode", "plan");
  const other = test.client();
  await other.initialize();
  await other.request("session/resume", { sessionId: id, cwd: "/one", mcpServers: [] });
  // By another client, and in another way.
  const second = other.request("session/set_mode", { sessionId: id, modeId: "build" });
  await settle();
  expect(await take(server, "session/setMode")).toMatchObject({ mode: "plan" });
  expect(await take(server, "session/setMode")).toMatchObject({ mode: "build" });
  expect(current(await first).mode).toBe("plan");
  await second;
  const told = client.updates(id).filter(({ sessionUpdate }) => sessionUpdate === "current_mode_update");
  expect(told.map(({ currentModeId }) => currentModeId)).toEqual(["plan", "build"]);
  await test.bridge.close();
});

test("A7 P24 a level is judged by the model that was chosen right before it; a refusal holds up nothing", async () => {
  const { test, server, option } = await start();
  const answers = [
    option("model", "p\\n"),
    option("thought", "low"),
    option("thought", "deeper"),
    option("mode", "plan"),
  ];
  // All have come before the first is answered.
  await settle();
  expect(await take(server, "session/setModel")).toMatchObject({ model: { modelId: "n" } });
  await expect(answers[1]!).rejects.toThrow("`low` is not a value");
  expect(await take(server, "session/setThoughtLevel")).toMatchObject({ thoughtLevel: "deeper" });
  await take(server, "session/setMode");
  expect(current(await answers[3]!)).toEqual({ mode: "plan", model: "p\\n", thought: "deeper" });
  await test.bridge.close();
});

test("A7 M11 a change that waits for another is not made in a conversation that was closed meanwhile", async () => {
  const { test, client, server, id, option } = await start();
  const first = option("mode", "plan").catch(String);
  const second = option("mode", "edit").catch((error: Error) => error.message);
  await settle();
  const closed = client.request("session/close", { sessionId: id });
  await take(server, "session/setMode");
  await first;
  expect(await second).toContain("There is no conversation");
  void closed;
  expect(server.inbox.filter(({ method }) => method === "session/setMode")).toEqual([]);
  await test.bridge.close();
});
