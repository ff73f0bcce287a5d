/** Frames, params, the queue, the handshake: what holds whatever a prompt says. */
import { describe, expect, test } from "bun:test";
import type { Obj } from "../../src/sim/types.ts";
import { inProcess, paramsOf, sessionId, tempDir, workspace } from "./driver.ts";
import { ManualClock, settle } from "./manualClock.ts";

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
