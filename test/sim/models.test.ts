/** Models, accounts and eras. */
import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Obj } from "../../src/sim/types.ts";
import { inProcess, paramsOf, sessionId, tempDir, workspace, yes } from "./driver.ts";

describe("models and accounts", () => {
  const PLAN = "account:bigmodel-individual-coding-plan";
  const push = (revision: string, basis = "zcode-builtin:1:x") => ({
    revision,
    basedOnZCodeBuiltinRevision: basis,
    providers: { [PLAN]: { access: { type: "zhipu-account", entitled: true } } },
    states: { [PLAN]: { availability: "available", entitled: true, current: true } },
  });
  const available = (snapshot: Obj) =>
    (((snapshot.settings as Obj).model as Obj).available as Obj[]).map((entry) =>
      Object.values(entry.ref as Obj).join("/"),
    );

  test("P24: the models of the simulator need no sign-in; the first is chosen, with its level", async () => {
    const sim = inProcess();
    const made = await sim.call("session/create", { workspace: workspace("/tmp") });
    expect(available(made)).toEqual(["sim/sim-large", "sim/sim-small"]);
    expect((made.settings as Obj).thoughtLevel).toMatchObject({
      current: "high",
      defaultLevel: "high",
      enabled: true,
    });
    await sim.close();
  });

  test("B4: with plan there is no model before the push, and the same revision changes nothing", async () => {
    const sim = inProcess({ plan: true });
    expect(available(await sim.call("session/create", { workspace: workspace("/tmp") }))).toEqual([]);
    expect(await sim.call("provider/updateAccountConfig", push("1"))).toMatchObject({
      status: "received",
      providerCount: 1,
    });
    expect(await sim.call("provider/updateAccountConfig", push("1"))).toMatchObject({ status: "unchanged" });
    const made = await sim.call("session/create", { workspace: workspace("/tmp") });
    expect(available(made)).toContain(`${PLAN}/GLM-5.3`);
    await sim.close();
  });

  test("B4: a push on the wrong basis is taken and void; both variables must be set", async () => {
    using dir = tempDir();
    const table = join(dir.path, "zcode-builtin.json");
    writeFileSync(table, JSON.stringify({ revision: 7 }));
    const right = `zcode-builtin:7:${createHash("sha256").update(table).digest("hex")}`;
    const personal = join(dir.path, "provider_config.json");
    const models = async (env: Record<string, string>, basis: string) => {
      const sim = inProcess({ plan: true }, { env });
      expect(await sim.call("provider/updateAccountConfig", push("1", basis))).toMatchObject({
        status: "received",
      });
      const made = await sim.call("session/create", { workspace: workspace(dir.path) });
      await sim.close();
      return available(made).length;
    };
    const both = { ZCODE_BUILTIN_PROVIDER_CONFIG_FILE: table, ZCODE_PERSONAL_PROVIDER_CONFIG_FILE: personal };
    expect(await models(both, right)).toBe(2);
    expect(await models(both, "zcode-builtin:7:other")).toBe(0);
    expect(await models({ ZCODE_BUILTIN_PROVIDER_CONFIG_FILE: table }, right)).toBe(0);
  });

  test("B5: headers are asked for before each request of the model, and once more for the title", async () => {
    using dir = tempDir();
    const sim = inProcess({ plan: true, expectKey: "key-EXAMPLE" });
    await sim.call("provider/updateAccountConfig", push("1"));
    const id = await sim.open(dir.path, { mode: "yolo" });
    await sim.prompt(id, "bash ls; bash pwd");
    await sim.event("session.titleUpdated", (payload) => payload.source === "generated");
    const asked = sim.frames.filter((frame) => frame.method === "interaction/requestProviderRuntimeHeaders");
    expect(asked.map((frame) => "turnId" in (frame.params as Obj))).toEqual([true, true, true, false]);
    expect(asked[0]!.params).toMatchObject({
      providerId: PLAN,
      accountAccess: { mode: "individual-coding-plan" },
      reason: "model-request",
    });
    await sim.close();
  });

  test.each([
    [
      "a refusal",
      { result: { headersApplied: false, errorMessage: "Choose another plan." } },
      "-32031",
      "Choose another plan.",
    ],
    ["an error", { error: { code: -32601, message: "no such method" } }, "-32031", "no such method"],
    [
      "another key",
      { result: { headersApplied: true, requestAuth: { apiKey: "wrong" } } },
      "provider_not_configured",
      "key",
    ],
  ])("B5: %s for headers fails the turn with its sentence", async (_name, answer, code, message) => {
    using dir = tempDir();
    const sim = inProcess({ plan: true, expectKey: "key-EXAMPLE" });
    sim.answer = (frame) =>
      frame.method === "interaction/requestProviderRuntimeHeaders" ? answer : yes(frame);
    await sim.call("provider/updateAccountConfig", push("1"));
    const id = await sim.open(dir.path);
    await sim.prompt(id, "hello");
    const error = (sim.events("turn.failed")[0]!.payload as Obj).error as Obj;
    expect(error.code).toBe(code);
    expect(error.message).toContain(message);
    await sim.close();
  });

  test("P24: create drops options, so that a level must be given beside them", async () => {
    using dir = tempDir();
    const sim = inProcess();
    const model = { providerId: "sim", modelId: "sim-large", options: { reasoningLevel: "max" } };
    const id = await sim.open(dir.path, { model });
    await sim.prompt(id, "hello");
    expect((sim.events("turn.failed")[0]!.payload as Obj).error).toMatchObject({
      message: "Reasoning level is required for sim/sim-large",
    });
    await sim.call("session/setModel", { sessionId: id, model, persistAsWorkspaceLastUsed: false });
    await sim.prompt(id, "text well");
    expect(sim.text()).toBe("well");
    await sim.close();
  });

  test("P24: setMode, setModel and setThoughtLevel answer snapshots with the current model alone", async () => {
    using dir = tempDir();
    const sim = inProcess();
    const id = await sim.open(dir.path);
    const mode = await sim.call("session/setMode", { sessionId: id, mode: "yolo" });
    expect((mode.settings as Obj).mode).toEqual({ current: "yolo" });
    const level = await sim.call("session/setThoughtLevel", { sessionId: id, thoughtLevel: "low" });
    expect(available(level)).toEqual(["sim/sim-large"]);
    const small = await sim.call("session/setModel", {
      sessionId: id,
      model: { providerId: "sim", modelId: "sim-small" },
    });
    expect((small.settings as Obj).thoughtLevel).toEqual({ available: [], enabled: false });
    expect(await sim.refused("session/setThoughtLevel", { sessionId: id })).toMatchObject({ code: -32602 });
    const reasons = sim.frames.map((frame) => paramsOf(frame, "state.updated")?.reason).filter(Boolean);
    expect(reasons).toEqual(["mode_changed", "thought_level_changed", "model_changed"]);
    await sim.close();
  });

  test("a personal provider file takes the place of the simulator's models", async () => {
    using dir = tempDir();
    const personal = join(dir.path, "provider_config.json");
    const rule = {
      providerId: "mine",
      providerName: "Mine",
      config: {
        access: { type: "api-key", apiKey: "k" },
        api: { type: "openai-chat-completions", baseUrl: "http://127.0.0.1:9" },
        personalModelIds: ["m1"],
      },
    };
    writeFileSync(
      personal,
      JSON.stringify({ schemaVersion: 1, config: { providerConfigRules: { providerRules: [rule] } } }),
    );
    const sim = inProcess({}, { env: { ZCODE_PERSONAL_PROVIDER_CONFIG_FILE: personal } });
    expect(available(await sim.call("session/create", { workspace: workspace(dir.path) }))).toEqual([
      "mine/m1",
    ]);
    await sim.close();
  });
});

describe("a person's own providers in old eras", () => {
  const mine = (more: Obj = {}) => ({
    providerId: "mine",
    kind: "openai-compatible",
    apiFormat: "openai-chat-completions",
    baseURL: "https://llm.example.org",
    apiKey: { source: "inline", value: "key-EXAMPLE" },
    models: [
      {
        modelId: "m",
        reasoning: { enabled: true, levels: [{ value: "low", label: "low" }], defaultLevel: "low" },
      },
    ],
    ...more,
  });
  const push = (revision: string, providers: Obj[]) => ({
    workspace: workspace("/tmp"),
    registry: { revision, generatedAt: 1, providers },
  });
  const model = { providerId: "mine", modelId: "m" };
  const runtimeModel = { revision: "r", generatedAt: 1, model, provider: mine() };

  test("B17: exist once they were pushed, and the same revision changes nothing", async () => {
    const sim = inProcess({ era: "0.16.5" });
    const create = { workspace: workspace("/tmp"), model };
    expect((await sim.refused("session/create", create)).data).toMatchObject({
      name: "ModelProtocolError",
      code: "provider_not_found",
    });
    expect(await sim.call("workspace/updateProviderRegistry", push("1", [mine()]))).toEqual({
      status: "applied",
      appliedProviderRevision: "1",
      providerCount: 1,
    });
    await sim.call("session/create", create);
    expect(await sim.call("workspace/updateProviderRegistry", push("1", []))).toMatchObject({
      status: "unchanged",
    });
    await sim.call("session/create", create);
    await sim.close();
  });

  test.each([
    ["no model", { models: [] }],
    ["no key", { apiKey: undefined }],
    ["a bare key", { apiKey: "key-EXAMPLE" }],
    ["a key that is unknown", { more: 1 }],
    ["an unknown format", { apiFormat: "other" }],
  ])("B17: one with %s spoils the whole list", async (_what, more) => {
    const sim = inProcess({ era: "0.15" });
    const spoilt = push("1", [mine(), mine({ providerId: "other", ...more })]);
    expect((await sim.refused("workspace/updateProviderRegistry", spoilt)).code).toBe(-32602);
    expect((await sim.refused("session/create", { workspace: workspace("/tmp"), model })).code).toBe(-32603);
    await sim.call(
      "workspace/updateProviderRegistry",
      push("1", [mine({ apiKey: undefined, apiKeyRequired: false })]),
    );
    await sim.close();
  });

  test("B17: may come beside a choice instead; builds of today take neither", async () => {
    using dir = tempDir();
    for (const era of ["0.15", "0.16.5"]) {
      const sim = inProcess({ era });
      const id = await sim.open(dir.path, { model, thoughtLevel: "low", runtimeModel });
      await sim.prompt(id, "model");
      expect(sim.text()).toBe("mine/m at low");
      await sim.close();
    }
    for (const era of ["3.12", "0.16.9"]) {
      const sim = inProcess({ era });
      const create = { workspace: workspace(dir.path), runtimeModel };
      expect(await sim.refused("session/create", create)).toMatchObject({ code: -32602 });
      expect((await sim.refused("workspace/updateProviderRegistry", push("1", [mine()]))).code).toBe(-32601);
      await sim.close();
    }
  });

  test("B17: a key that the provider does not take fails the turn", async () => {
    using dir = tempDir();
    const sim = inProcess({ era: "0.16.5", expectKey: "another-EXAMPLE" });
    await sim.call("workspace/updateProviderRegistry", push("1", [mine()]));
    const id = await sim.open(dir.path, { model, thoughtLevel: "low" });
    await sim.prompt(id, "hello");
    expect((sim.events("turn.failed")[0]!.payload as Obj).error).toMatchObject({
      cause: { code: "provider_not_configured" },
    });
    await sim.close();
  });
});

describe("eras", () => {
  test("P35: 0.16.5 has integer ids, lacks the methods of the registry", async () => {
    using dir = tempDir();
    const sim = inProcess({ era: "0.16.5" });
    for (const method of ["runtime/capabilities", "provider/updateAccountConfig"]) {
      expect((await sim.refused(method)).code).toBe(-32601);
    }
    const id = await sim.open(dir.path);
    expect(sim.frames.find((frame) => frame.method === "session/requestRuntimePreferences")!.id).toBe(1);
    await sim.prompt(id, "bash echo hi");
    const end = sim.events("tool.updated").find((event) => (event.payload as Obj).kind === "result")!;
    expect(((end.payload as Obj).result as Obj).perf).toEqual({ exitCode: 0 });
    expect(sim.events("turn.terminal")[0]!.payload).toMatchObject({
      status: "success",
      resultType: "end_turn",
    });
    await sim.close();
  });

  test("P35: 0.15 asks no preferences, takes a model's name, subscribes without a kind, shows the window in usage", async () => {
    using dir = tempDir();
    const sim = inProcess({ era: "0.15" });
    sim.answer = () => ({ result: { decision: "allow" } });
    const id = sessionId(await sim.call("session/create", { workspace: workspace(dir.path) }));
    await sim.call("session/subscribe", { sessionId: id });
    await sim.call("session/setModel", { sessionId: id, modelId: "sim-small" });
    await sim.prompt(id, "hello");
    expect(sim.frames.some((frame) => frame.method === "session/requestRuntimePreferences")).toBe(false);
    expect((sim.events("turn.completed")[0]!.payload as Obj).usage).toMatchObject({ contextWindow: 64_000 });
    const changed = sim.frames
      .map((frame) => paramsOf(frame, "state.updated"))
      .find((params) => params?.reason === "model_changed");
    expect(changed!.patch).toHaveProperty("settings");
    await sim.close();
  });

  test("P32: before 0.16.9 a send behind a notification's turn is busy", async () => {
    using dir = tempDir();
    const sim = inProcess({ era: "3.12", pace: 60 });
    const id = await sim.open(dir.path);
    await sim.prompt(id, "background true");
    await sim.event("turn.started", (payload) => payload.inputSource === "background_task");
    expect((await sim.refused("session/send", { sessionId: id, content: "now" })).code).toBe(-32010);
    await sim.event("turn.completed");
    await sim.prompt(id, "text then");
    await sim.close();
  });

  test("an era that is not known is a sentence that names those that are", async () => {
    expect(Promise.resolve().then(() => inProcess({ era: "9" }).close())).rejects.toThrow("0.16.9");
  });
});
