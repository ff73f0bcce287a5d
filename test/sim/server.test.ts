/** Frames, params, the queue, the handshake, the lock: what holds whatever a prompt says. */
import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Obj } from "../../src/sim/types.ts";
import { inProcess, paramsOf, sessionId, tempDir, workspace, yes } from "./driver.ts";
import { ManualClock, settle } from "./manualClock.ts";

const SUBSCRIBE = { deliveryKind: "desktop-continuous" };

describe("frames", () => {
  test("P1: no frame carries a jsonrpc key, and each is one of the four shapes", async () => {
    using dir = tempDir();
    const sim = inProcess();
    const id = await sim.open(dir.path);
    await sim.prompt(id, "think; bash ls; question; todo");
    for (const frame of sim.frames) {
      const keys = Object.keys(frame)
        .filter((key) => key !== "trace")
        .sort()
        .join();
      expect(["id,method,params", "method,params", "id,result", "error,id"]).toContain(keys);
    }
    await sim.close();
  });

  test.each([
    ["{", "parse-error", -32700],
    ["[1]", "invalid-message", -32600],
    ["null", "invalid-message", -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"session/list","params":{}}', "invalid-message", -32600],
    ['{"id":1.5,"method":"session/list"}', "invalid-message", -32600],
    ['{"id":1,"method":"session/list","more":1}', "invalid-message", -32600],
    ['{"id":1}', "invalid-message", -32600],
    ['{"id":1,"error":{"code":"x"}}', "invalid-message", -32600],
  ])("P1: %s is refused as %s", async (line, id, code) => {
    const sim = inProcess({}, { parts: { quietStart: true } });
    sim.write(line);
    const frame = await sim.until((each) => each.id === id);
    expect((frame.error as Obj).code).toBe(code);
    await sim.close();
  });

  test("P4: a frame without an id does nothing, not even session/stop", async () => {
    using dir = tempDir();
    const sim = inProcess();
    const id = await sim.open(dir.path);
    await sim.call("session/send", { sessionId: id, content: "sleep 0.1; text said" });
    await sim.event("turn.started");
    sim.write(JSON.stringify({ method: "session/stop", params: { sessionId: id } }));
    await sim.state("prompt_completed");
    expect(sim.text()).toBe("said");
    await sim.close();
  });

  test("an unknown method is -32601, and its params are not looked at", async () => {
    const sim = inProcess();
    expect(await sim.refused("session/rewind", { any: 1 })).toMatchObject({
      code: -32601,
      message: "Method not found: session/rewind",
    });
    await sim.close();
  });

  test("startup/storageState comes before anything is sent", async () => {
    const sim = inProcess();
    await sim.until((frame) => (paramsOf(frame, "startup/storageState")?.phase as string) === "ready");
    expect(sim.frames.every((frame) => frame.method === "startup/storageState")).toBe(true);
    await sim.close();
  });
});

describe("params", () => {
  const ws = workspace("/tmp");
  test.each([
    ["session/create", { workspace: ws, color: "red" }, "color"],
    ["session/create", { workspace: { ...ws, extra: 1 } }, "workspace"],
    ["session/create", { workspace: { workspacePath: "/tmp" } }, "workspace.workspaceKey"],
    ["session/create", { workspace: ws, runtimeModel: {} }, "runtimeModel"],
    ["session/create", { workspace: ws, mode: "turbo" }, "mode"],
    [
      "session/create",
      { workspace: ws, mcpServers: [{ name: "x", type: "stdio", command: "c", args: [], env: [] }] },
      "mcpServers.0",
    ],
    ["session/create", { workspace: ws, mcpServers: [{ name: "x", command: "c" }] }, "mcpServers.0"],
    ["session/create", { workspace: ws, sessionId: "sess_mine" }, "sessionId"],
    ["session/send", { sessionId: "s", content: [{ type: "text" }] }, "content"],
    ["session/send", { sessionId: "s", content: "x", prompt: "y" }, "prompt"],
    ["session/subscribe", { sessionId: "s" }, "deliveryKind"],
    ["session/list", { sessionIds: [] }, "sessionIds"],
    ["session/list", { limit: "all" }, "limit"],
    ["session/fork", { sessionId: "s", target: { kind: "last" } }, "target"],
    ["session/goal", { sessionId: "s", action: "win" }, "action"],
    ["session/resume", { sessionId: "s", mode: "build" }, "mode"],
    ["runtime/capabilities", { a: 1 }, "a"],
    ["provider/updateAccountConfig", {}, "revision"],
    ["mcp/list", { workspace: ws, mode: "all" }, "mode"],
  ])("P1: %s refuses %j and names the path", async (method, params, path) => {
    const sim = inProcess();
    const { code, message } = await sim.refused(method, params as Obj);
    expect(code).toBe(-32602);
    expect(message).toContain(path);
    await sim.close();
  });

  test("an entitled account needs current, and access takes no further keys", async () => {
    const sim = inProcess();
    const push = (access: Obj, state: Obj) =>
      sim.refused("provider/updateAccountConfig", {
        revision: "1",
        basedOnZCodeBuiltinRevision: "zcode-builtin:1:x",
        providers: { "account:zai-individual-coding-plan": { access } },
        states: { "account:zai-individual-coding-plan": state },
      });
    const access = { type: "zhipu-account", entitled: true };
    const state = { availability: "available", entitled: true, current: true };
    expect((await push({ ...access, mode: "x" }, state)).code).toBe(-32602);
    expect((await push(access, { availability: "available", entitled: true })).message).toContain("current");
    await sim.close();
  });
});

describe("the handshake of create and resume", () => {
  test("B22: create fails when the preferences are not answered in 15 s, and nothing else waits longer", async () => {
    const clock = new ManualClock();
    const sim = inProcess({}, { clock });
    sim.answer = () => undefined;
    const made = sim.ask("session/create", { workspace: workspace("/tmp") });
    const listed = sim.ask("session/list", {});
    await settle();
    await clock.advance(14_900);
    expect(sim.frames.some((frame) => frame.id === "t1")).toBe(false);
    await clock.advance(200);
    expect((await made).error).toMatchObject({ code: -32022 });
    expect((await listed).result).toEqual({ sessions: [] });
    await sim.close();
  });

  test("B22: an error for an answer is tolerated", async () => {
    const sim = inProcess();
    sim.answer = () => ({ error: { code: -32601, message: "no" } });
    await sim.call("session/create", { workspace: workspace("/tmp") });
    await sim.close();
  });

  test("B22: a resident session's resume asks nothing", async () => {
    using dir = tempDir();
    const sim = inProcess();
    const id = await sim.open(dir.path);
    const asked = () =>
      sim.frames.filter((frame) => frame.method === "session/requestRuntimePreferences").length;
    const before = asked();
    await sim.call("session/resume", { sessionId: id });
    expect(asked()).toBe(before);
    await sim.close();
  });
});

describe("the queue", () => {
  test("P4: requests run one after another; a stop and responses go past them", async () => {
    using dir = tempDir();
    const clock = new ManualClock();
    const sim = inProcess({ slowCreate: 30, pace: 5 }, { clock });
    const first = sim.ask("session/create", { workspace: workspace(dir.path) });
    await settle();
    await clock.advance(31_000);
    const id = sessionId((await first).result as Obj);
    sim.write(
      JSON.stringify({ id: "send", method: "session/send", params: { sessionId: id, content: "sleep 500" } }),
    );
    await settle();
    await clock.advance(100);
    sim.write(
      JSON.stringify({ id: "slow", method: "session/create", params: { workspace: workspace(dir.path) } }),
    );
    sim.write(JSON.stringify({ id: "behind", method: "session/list", params: {} }));
    sim.write(JSON.stringify({ id: "stop", method: "session/stop", params: { sessionId: id } }));
    await settle();
    expect(sim.frames.some((frame) => frame.id === "stop")).toBe(true);
    expect(sim.frames.some((frame) => frame.id === "behind")).toBe(false);
    expect(sim.frames.some((frame) => paramsOf(frame, "state.updated")?.reason === "prompt_failed")).toBe(
      true,
    );
    await clock.advance(31_000);
    expect(sim.frames.findIndex((frame) => frame.id === "slow")).toBeLessThan(
      sim.frames.findIndex((frame) => frame.id === "behind"),
    );
    await sim.close();
  });
});

describe("the prompt lock", () => {
  test("P4: a second send is -32010 until the lock is free, goals and compaction too", async () => {
    using dir = tempDir();
    const sim = inProcess();
    const id = await sim.open(dir.path);
    await sim.call("session/send", { sessionId: id, content: "sleep 0.2" });
    for (const [method, params] of [
      ["session/send", { content: "x" }],
      ["session/goal", { action: "show" }],
      ["session/compact", {}],
      ["session/fork", {}],
    ] as const) {
      expect((await sim.refused(method, { sessionId: id, ...params })).code).toBe(-32010);
    }
    await sim.event("turn.completed");
    await sim.state("prompt_completed");
    await sim.prompt(id, "text free");
    await sim.close();
  });

  test("P4: state.updated prompt_started is written before the answer of the send", async () => {
    using dir = tempDir();
    const sim = inProcess();
    const id = await sim.open(dir.path);
    const from = sim.frames.length;
    await sim.prompt(id, "hello");
    const names = sim.frames.slice(from).map((frame) => String(frame.method ?? `answer ${frame.id}`));
    expect(names.slice(0, 3)).toEqual(["state.updated", "answer t3", "session/requestRuntimePreferences"]);
    await sim.close();
  });

  test("B25: two sessions run at once and their events do not mix", async () => {
    using dir = tempDir();
    const sim = inProcess({ pace: 2 });
    const a = await sim.open(dir.path);
    const b = await sim.open(dir.path);
    await Promise.all([
      sim.prompt(a, "text one two three four five six seven"),
      sim.prompt(b, "text uno due tre quattro"),
    ]);
    const textOf = (id: string) =>
      sim
        .events("model.streaming")
        .filter((event) => event.sessionId === id)
        .map((event) => (event.payload as Obj).delta)
        .join("");
    expect(textOf(a)).toBe("one two three four five six seven");
    expect(textOf(b)).toBe("uno due tre quattro");
    await sim.close();
  });
});

describe("stopping", () => {
  test("P4: a stop ends the turn as cancelled, and its command with everything it started", async () => {
    using dir = tempDir();
    const sim = inProcess();
    const id = await sim.open(dir.path, { mode: "yolo" });
    const marker = join(dir.path, "late");
    await sim.call("session/send", {
      sessionId: id,
      content: `bash (sleep 0.4\\; touch ${marker}) & echo on\\; wait`,
    });
    await sim.event("tool.updated", (payload) => payload.kind === "progress");
    await sim.call("session/stop", { sessionId: id });
    const end = await sim.event("turn.completed");
    expect(end.payload).toMatchObject({ resultType: "cancelled", response: "", tokenCount: 0 });
    await sim.state("prompt_failed");
    await Bun.sleep(500);
    expect(await Bun.file(marker).exists()).toBe(false);
    expect(sim.events("tool.updated").some((event) => (event.payload as Obj).kind === "error")).toBe(true);
    await sim.close();
  });

  test("P10: a stop closes an open question; a late answer is passed over", async () => {
    using dir = tempDir();
    const sim = inProcess();
    sim.answer = (frame) => (frame.method === "interaction/requestPermission" ? undefined : yes(frame));
    const id = await sim.open(dir.path);
    await sim.call("session/send", { sessionId: id, content: "ask" });
    const asked = await sim.request("interaction/requestPermission");
    const read = await sim.call("session/read", { sessionId: id });
    expect(read.projection).toMatchObject({ status: "waiting" });
    await sim.call("session/stop", { sessionId: id });
    await sim.state("prompt_failed");
    sim.write(JSON.stringify({ id: asked.id, result: { decision: "allow" } }));
    await sim.prompt(id, "text on");
    expect(sim.text()).toBe("on");
    await sim.close();
  });

  test("B12: the v4 stop is guarded by the turn that was meant, and reaches a notification's turn", async () => {
    using dir = tempDir();
    const sim = inProcess({ pace: 10 });
    const id = await sim.open(dir.path, { mode: "yolo" });
    const stop = (payload: Obj) =>
      sim.call("v4/command", {
        commandId: "c",
        clientId: "t",
        sessionId: id,
        type: "stop",
        payload,
        issuedAt: 1,
      });
    await sim.prompt(id, "background true");
    const started = await sim.event("turn.started", (payload) => payload.inputSource === "background_task");
    await sim.call("session/stop", { sessionId: id });
    expect(await stop({ expectedForegroundExecutionId: "fg_other" })).toMatchObject({
      status: "noop",
      reasonCode: "guard.stopTargetChanged",
    });
    const { foregroundExecutionId } = started.payload as Obj;
    expect(await stop({ expectedForegroundExecutionId: foregroundExecutionId })).toMatchObject({
      status: "accepted",
    });
    const end = await sim.event("turn.completed");
    expect(end.payload).toMatchObject({ resultType: "cancelled" });
    await sim.close();
  });

  test("v4 commands are answered by a result, whatever is wrong with them", async () => {
    const sim = inProcess();
    const base = {
      commandId: "c",
      clientId: "t",
      sessionId: "sess_no",
      type: "stop",
      payload: {},
      issuedAt: 1,
    };
    expect(await sim.call("v4/command", base)).toMatchObject({
      status: "rejected",
      reasonCode: "proto.sessionNotFound",
    });
    expect(await sim.call("v4/command", { ...base, more: 1 })).toMatchObject({
      status: "rejected",
      reasonCode: "proto.invalidPayload",
    });
    expect(await sim.call("v4/command", {})).toMatchObject({ status: "rejected" });
    await sim.close();
  });
});

describe("questions are announced again", () => {
  test.each([
    ["0.16.9", [1000, 2000, 4000, 8000, 10_000, 10_000]],
    ["0.16.5", [1000, 1000, 1000]],
  ])("P10: in %s after these times, with the same requestId and a new frame id", async (era, gaps) => {
    using dir = tempDir();
    const clock = new ManualClock();
    const sim = inProcess({ era, pace: 1 }, { clock });
    sim.answer = (frame) => (frame.method === "interaction/requestPermission" ? undefined : yes(frame));
    const opening = sim.open(dir.path);
    await clock.advance(10);
    const id = await opening;
    sim.write(JSON.stringify({ id: "s", method: "session/send", params: { sessionId: id, content: "ask" } }));
    await settle();
    await clock.advance(200);
    const asked = () => sim.frames.filter((frame) => frame.method === "interaction/requestPermission");
    expect(asked()).toHaveLength(1);
    // The question came somewhere in these 200 ms; its announcements follow from there.
    let count = 1;
    for (const gap of gaps) {
      await clock.advance(gap - 250);
      expect(asked()).toHaveLength(count);
      await clock.advance(250);
      expect(asked()).toHaveLength(++count);
    }
    expect(new Set(asked().map((frame) => (frame.params as Obj).requestId)).size).toBe(1);
    expect(new Set(asked().map((frame) => frame.id)).size).toBe(count);
    sim.write(JSON.stringify({ id: asked().at(-1)!.id, result: { decision: "deny" } }));
    await settle();
    await clock.advance(60_000);
    expect(asked()).toHaveLength(count);
    await sim.close();
  });
});

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

describe("eras", () => {
  test("P35: 0.16.5 has integer ids, takes runtimeModel, lacks the methods of the registry", async () => {
    using dir = tempDir();
    const sim = inProcess({ era: "0.16.5" });
    for (const method of ["runtime/capabilities", "provider/updateAccountConfig"]) {
      expect((await sim.refused(method)).code).toBe(-32601);
    }
    const id = await sim.open(dir.path, { runtimeModel: {} });
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
    const sim = inProcess({ era: "3.12", pace: 20 });
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

describe("reading", () => {
  test("P5: subscribe gives events only after a given seq, 0 counts; events of this residency", async () => {
    using dir = tempDir();
    const sim = inProcess();
    const id = await sim.open(dir.path);
    await sim.prompt(id, "hello");
    const none = await sim.call("session/subscribe", { sessionId: id, ...SUBSCRIBE });
    expect(none.events).toEqual([]);
    const all = await sim.call("session/subscribe", {
      sessionId: id,
      ...SUBSCRIBE,
      afterSeq: 0,
      includeSnapshot: true,
    });
    expect((all.events as Obj[]).map((event) => event.seq)).toEqual(
      Array.from({ length: all.eventSeq as number }, (_, i) => i + 1),
    );
    expect(all.snapshot).toBeObject();
    const newest = await sim.call("session/events", { sessionId: id, limit: 2 });
    expect((newest.events as Obj[]).map((event) => event.seq)).toEqual([
      (all.eventSeq as number) - 1,
      all.eventSeq as number,
    ]);
    await sim.close();
  });

  test("P20: a fork needs a checkpoint or a target, and copies under ids of its own", async () => {
    using dir = tempDir();
    const sim = inProcess();
    const id = await sim.open(dir.path, { mode: "yolo" });
    await sim.prompt(id, "text one");
    expect((await sim.refused("session/fork", { sessionId: id })).code).toBe(-32603);
    await sim.prompt(id, "write a.txt");
    const made = await sim.call("session/fork", { sessionId: id, target: { kind: "latestCheckpoint" } });
    expect(made).toMatchObject({ parentSessionId: id });
    const child = (made.snapshot as Obj).session as Obj;
    expect(child).toMatchObject({ sessionKind: "fork", parentSessionId: id });
    expect(child.sessionId).toBe(made.forkedSessionId);
    await sim.close();
  });

  test("usage of an unknown session is zeros; skills and MCP states are listed", async () => {
    const sim = inProcess();
    expect(await sim.call("session/usage", { sessionId: "sess_no" })).toMatchObject({
      totalTokens: 0,
      modelRequestCount: 0,
    });
    const mcp = await sim.call("mcp/list", { workspace: workspace("/tmp"), mode: "status" });
    expect(Object.keys(mcp.statuses as Obj)).toContain("sim-stock");
    expect(await sim.call("skills/referenceCatalog", { workspace: workspace("/tmp") })).toMatchObject({
      authority: "workspace",
    });
    expect(await sim.call("workspace/readPresentation", { workspace: workspace("/tmp") })).toHaveProperty(
      "slashCommands",
    );
    await sim.close();
  });

  test("the time scale shortens the waits of rules", async () => {
    const sim = inProcess({}, { env: { ZCODE_ACP_INTERNAL_TIME_SCALE: "100" } });
    sim.answer = () => undefined;
    const begun = performance.now();
    expect((await sim.refused("session/create", { workspace: workspace("/tmp") })).code).toBe(-32022);
    expect(performance.now() - begun).toBeLessThan(2000);
    await sim.close();
  });

  test("the same seed gives the same ids", async () => {
    const ids = async () => {
      const sim = inProcess({ seed: 7 });
      const id = await sim.open("/tmp");
      await sim.close();
      return id;
    };
    expect(await ids()).toBe(await ids());
  });
});
