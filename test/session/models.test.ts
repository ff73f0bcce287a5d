/** Which models the files offer, and how a session's missing model is cured. */

import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RpcError } from "../../src/backend/rpc.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { isModelGone, offeredModels, refusesModel } from "../../src/session/models.ts";
import { modelValue } from "../../src/session/settings.ts";
import type { Credentials, ProviderEntry } from "../../src/store/providers.ts";
import { Remembered } from "../../src/store/remembered.ts";
import { testBridge } from "../support/bridge.ts";
import type { Json } from "../support/plainClient.ts";
import { serveSubscribe, sessionEvent, startRunning } from "../support/played.ts";
import { until } from "../support/processes.ts";
import { tempDir } from "../support/temp.ts";

const entry = (id: string, models: readonly string[], usable = true): ProviderEntry => ({
  id,
  name: `Name of ${id}`,
  kind: undefined,
  apiKey: "k",
  baseUrl: undefined,
  usable,
  models: models.map((model) => ({
    id: model,
    contextWindow: 5,
    levels: ["low", "high"],
    defaultLevel: "high",
  })),
});

const OLD_FILE = "/home/.zcode/v2/config.json";
const NEW_FILE = "/home/.zcode/v2/provider_config.json";

const credentials = (more: Partial<Credentials>): Credentials => ({
  providers: [
    entry("own", ["a", "b"]),
    entry("builtin:zai-coding-plan", ["GLM"]),
    entry("off", ["x"], false),
  ],
  personal: [entry("mine", ["m"]), entry("spare", ["m", "n"]), entry("none", [])],
  cachedPlans: [],
  selectedPlans: [],
  files: [
    { path: OLD_FILE, problem: undefined },
    { path: NEW_FILE, problem: undefined },
  ],
  ...more,
});

const offered = (
  more: Partial<Credentials> = {},
  input: { modern?: boolean; provider?: string; model?: string } = {},
) => {
  const { models, first } = offeredModels(credentials(more), {
    modern: input.modern,
    provider: input.provider,
    model: input.model,
  });
  return { models: models.map(({ ref }) => modelValue(ref)), first: first && modelValue(first) };
};

describe("what the files offer", () => {
  const OLD = ["builtin:zai-coding-plan\\GLM", "own\\a", "own\\b"];
  const NEW = ["account:zai-individual-coding-plan\\GLM", "mine\\m", "spare\\m", "spare\\n"];

  test("B17 an older build: usable ones of the older file, that which it is started with first", () => {
    expect(offered({}, { modern: false })).toEqual({ models: OLD, first: OLD[0]! });
    expect(offered({}, { modern: false, provider: "own" })).toEqual({
      models: ["own\\a", "own\\b", "builtin:zai-coding-plan\\GLM"],
      first: "own\\a",
    });
    expect(offered({}, { modern: false, provider: "own", model: "b" }).first).toBe("own\\b");
    // What cannot be used is pinned in vain.
    expect(offered({}, { modern: false, provider: "off" }).models).toHaveLength(3);
  });

  test("B17 a newer build: plans in its own spelling, and the person's own of the newer file", () => {
    expect(offered({}, { modern: true })).toEqual({ models: NEW, first: NEW[0]! });
    expect(offered({}, { modern: true, provider: "spare" })).toMatchObject({
      models: ["spare\\m", "spare\\n", NEW[0]!, "mine\\m"],
      first: "spare\\m",
    });
    for (const provider of ["builtin:zai-coding-plan", "account:zai-individual-coding-plan"])
      expect(offered({}, { modern: true, provider })).toEqual({ models: NEW, first: NEW[0]! });
  });

  test("B17 a newer build begins with what its file names, unless a provider is pinned", () => {
    const defaultModel = { providerId: "spare", modelId: "n" };
    expect(offered({ defaultModel }, { modern: true }).first).toBe("spare\\n");
    expect(offered({ defaultModel }, { modern: true, provider: "mine" }).first).toBe("mine\\m");
    expect(offered({ defaultModel: { providerId: "gone", modelId: "n" } }, { modern: true }).first).toBe(
      NEW[0]!,
    );
  });

  test("B17 plans that the app alone can serve are left to the session", () => {
    const providers = [entry("builtin:zai-start-plan", ["GLM"]), entry("builtin:else", ["x"])];
    expect(offered({ providers }, { modern: true }).models).toEqual(NEW.slice(1));
    expect(offered({ providers }, { modern: false }).models).toHaveLength(2);
    // One without a key is nobody's.
    const off = [entry("builtin:zai-coding-plan", ["GLM"], false)];
    expect(offered({ providers: off }, { modern: true }).models).toEqual(NEW.slice(1));
  });

  test("B17 before a build has told its age, the newer app's file tells it", () => {
    expect(offered().models).toEqual(NEW);
    expect(
      offered({
        files: [
          { path: OLD_FILE, problem: undefined },
          { path: NEW_FILE, problem: "x" },
        ],
      }).models,
    ).toEqual(OLD);
    expect(
      offered({ files: [{ path: "C:\\\\v2\\\\provider_config.json", problem: undefined }] }).models,
    ).toEqual(NEW);
  });

  test("B17 nothing usable offers nothing", () => {
    for (const modern of [true, false, undefined])
      expect(
        offeredModels(credentials({ providers: [], personal: [] }), { modern, provider: "p", model: "m" }),
      ).toEqual({
        models: [],
        first: undefined,
      });
  });
});

describe("what a refusal means", () => {
  const error = (code: number, message = "", data?: unknown) => new RpcError("m", code, message, data);

  test.each([
    [-32603, "x", { name: "ModelProtocolError" }, true],
    [-32603, "x", { code: "model_not_found" }, true],
    [-32603, "Provider Registry 中不存在 Model: p/m", undefined, true],
    [-32603, 'Reasoning effort "x" is not supported by p/m', undefined, true],
    [-32603, "disk full", undefined, false],
    [-32602, "Provider Registry", undefined, false],
    [-32031, "ZCODE_RUNTIME_MODEL_UNAVAILABLE", undefined, true],
    [-32031, "headers were not applied", undefined, false],
  ])("B17 %p %p with %j is about the model: %p", (code, message, data, expected) => {
    expect(refusesModel(error(code, message, data))).toBe(expected);
  });

  test("B17 what is no answer of the backend is about nothing", () => {
    expect(refusesModel(new Error("Provider Registry"))).toBe(false);
  });

  test("B17 a background task that cannot be cancelled has the same code, and cures nothing", () => {
    expect(isModelGone(error(-32031, "not supported"))).toBe(false);
    expect(isModelGone(error(-32031, "x", { code: "ZCODE_RUNTIME_MODEL_UNAVAILABLE" }))).toBe(true);
  });
});

const GONE = { code: -32031, message: "历史任务使用的模型已不可用 (ZCODE_RUNTIME_MODEL_UNAVAILABLE)" };
const settings = {
  model: {
    current: { providerId: "p", modelId: "old" },
    available: [{ ref: { providerId: "p", modelId: "new" }, label: "New" }],
  },
};

test("B17 a prompt that is refused for its model goes through with the first there is, and so said once", async () => {
  const { test: bridge, client, server, id, answer } = await startRunning();
  server.push(sessionEvent("s1", 2, "turn.completed", { resultType: "success" }));
  server.push({
    method: "state.updated",
    params: { sessionId: "s1", revision: 2, reason: "prompt_completed", patch: {} },
  });
  await answer;
  const second = client.prompt(id, "second");
  const send = await server.take((frame) => frame.method === "session/send");
  server.push({ id: send.id, error: GONE });
  const resume = await server.take((frame) => frame.method === "session/resume");
  server.push({ id: resume.id, result: { session: { sessionId: "s1" }, settings } });
  const set = await server.take((frame) => frame.method === "session/setModel");
  expect(set.params).toMatchObject({
    model: { providerId: "p", modelId: "new" },
    persistAsWorkspaceLastUsed: false,
  });
  server.push({ id: set.id, result: {} });
  const again = await server.take((frame) => frame.method === "session/send");
  expect(again.params).toEqual(send.params as Json);
  server.push({ id: again.id, result: { accepted: true } });
  server.push(sessionEvent("s1", 3, "turn.started", { inputId: (again.params as Json).inputId }, "u"));
  server.push(sessionEvent("s1", 4, "turn.completed", { resultType: "success" }, "u"));
  expect(await second).toMatchObject({ stopReason: "end_turn" });
  expect(client.text().trim()).toBe("The model old is not there any more; New is used instead.");
  await bridge.bridge.close();
});

test("B17 where there is no other model the prompt is answered with what the backend said", async () => {
  const { test: bridge, client, server, id, answer } = await startRunning();
  server.push(sessionEvent("s1", 2, "turn.completed", { resultType: "success" }));
  server.push({
    method: "state.updated",
    params: { sessionId: "s1", revision: 2, reason: "prompt_completed", patch: {} },
  });
  await answer;
  const second = client.prompt(id, "second").catch((error: unknown) => error as Error);
  const send = await server.take((frame) => frame.method === "session/send");
  server.push({ id: send.id, error: GONE });
  const resume = await server.take((frame) => frame.method === "session/resume");
  server.push({ id: resume.id, error: { code: -32603, message: "no" } });
  expect(await second).toBeInstanceOf(Error);
  expect(server.inbox.filter((frame) => frame.method === "session/send")).toEqual([]);
  await bridge.bridge.close();
});

/** A bridge whose older file has one provider of the person's own. */
function withOwnProvider() {
  const home = tempDir("home");
  mkdirSync(join(home, ".zcode", "v2"), { recursive: true });
  writeFileSync(
    join(home, ".zcode", "v2", "config.json"),
    JSON.stringify({
      provider: { p: { options: { apiKey: "k", baseURL: "https://x/v1" }, models: { m: {} } } },
    }),
  );
  writeFileSync(join(home, "zcode"), "", { mode: 0o755 });
  return testBridge({
    env: { HOME: home, ZCODE_ACP_BACKEND: "auto", ZCODE_BIN: join(home, "zcode") },
  });
}

test("B17 a session that cannot even be resumed for its model gets one of the files, and so said", async () => {
  const bridge = withOwnProvider();
  const client = bridge.client();
  await client.initialize();
  const load = client.request("session/load", { sessionId: "s9", cwd: "/one", mcpServers: [] });
  const server = await bridge.server(0);
  const answer = async (method: string, reply: Json) => {
    const frame = await server.take((each) => each.method === method);
    server.push({ id: frame.id, ...reply });
    return frame.params as Json;
  };
  await answer("runtime/capabilities", { error: { code: -32601, message: "no such method" } });
  await answer("workspace/updateProviderRegistry", { result: { providerCount: 1 } });
  await answer("session/resume", { error: GONE });
  const model = { providerId: "p", modelId: "m" };
  expect(await answer("session/setModel", { result: {} })).toMatchObject({ sessionId: "s9", model });
  await answer("session/resume", {
    result: { session: { sessionId: "s9" }, messages: [], settings: { model: { current: model } } },
  });
  await serveSubscribe(server);
  const { configOptions } = await load;
  expect((configOptions as Json[]).find(({ id }) => id === "model")).toMatchObject({ currentValue: "p\\m" });
  expect(client.text().trim()).toBe(
    "The model of this conversation is not there any more; m is used instead.",
  );
  await bridge.bridge.close();
});

test("B17 a model of the person's own that an older build does not list stays, since it goes along", async () => {
  const bridge = withOwnProvider();
  const client = bridge.client();
  await client.initialize();
  const load = client.request("session/load", { sessionId: "s9", cwd: "/one", mcpServers: [] });
  const server = await bridge.server(0);
  const answer = async (method: string, reply: Json) => {
    const frame = await server.take((each) => each.method === method);
    server.push({ id: frame.id, ...reply });
  };
  await answer("runtime/capabilities", { error: { code: -32601, message: "no such method" } });
  await answer("workspace/updateProviderRegistry", { result: { providerCount: 1 } });
  const current = { providerId: "p", modelId: "m" };
  const available = ["x", "y"].map((modelId) => ({ ref: { providerId: "q", modelId }, label: modelId }));
  await answer("session/resume", {
    result: { session: { sessionId: "s9" }, messages: [], settings: { model: { current, available } } },
  });
  await serveSubscribe(server);
  const { configOptions } = await load;
  expect((configOptions as Json[]).find(({ id }) => id === "model")).toMatchObject({ currentValue: "p\\m" });
  expect(server.inbox.filter(({ method }) => method === "session/setModel")).toEqual([]);
  expect(client.text()).toBe("");
  await bridge.bridge.close();
});

test("P2 B17 the model that is shown is chosen once a person names it, and then remembered", async () => {
  const bridge = withOwnProvider();
  const client = bridge.client();
  await client.initialize();
  const { sessionId, configOptions } = await client.request("session/new", { cwd: "/one", mcpServers: [] });
  expect((configOptions as Json[]).find(({ id }) => id === "model")).toMatchObject({ currentValue: "p\\m" });
  const remembered = new Remembered(
    join(bridge.home, ".local/state/zcode-acp"),
    { write: () => {}, once: () => {} },
    systemClock(),
  );
  const id = sessionId as string;
  expect(remembered.choice(id)).toBeUndefined();
  await client.request("session/set_config_option", { sessionId, configId: "model", value: "p\\m" });
  await until("it is written", 3_000, () => remembered.choice(id));
  expect(remembered.choice(id)).toEqual({ model: { providerId: "p", modelId: "m" } });
  await bridge.bridge.close();
});
