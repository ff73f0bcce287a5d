/** What each word of a prompt does: helpers, background work, failures. */
import { describe, expect, test } from "bun:test";
import type { Obj } from "../../src/sim/types.ts";
import { WORDS } from "../../src/sim/words/list.ts";
import { inProcess, paramsOf } from "./driver.ts";
import { ManualClock } from "./manualClock.ts";
import { fast, tools, within } from "./within.ts";

describe("sub-agents and background work", () => {
  test("P25: a sub-agent's tools carry its ids, and its result what it cost", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "agent look around");
      const inner = sim
        .events("tool.updated")
        .map((event) => event.payload as Obj)
        .filter((payload) => payload.parentToolCallId);
      expect(inner.map((payload) => payload.kind)).toEqual([
        "scheduled",
        "started",
        "result",
        "scheduled",
        "started",
        "result",
      ]);
      for (const payload of inner) {
        expect(payload.source).toBe("subagent");
        expect(payload.toolCallId).toBe(
          `tool_subagent_${String(payload.agentId)}_${String(payload.childToolCallId)}`,
        );
      }
      const ask = sim.frames.find((frame) => frame.method === "interaction/requestPermission")!.params as Obj;
      expect(ask.origin).toMatchObject({ kind: "subagent", parentSessionId: id });
      expect(ask.toolCallId).toBe(inner[3]!.childToolCallId);
      const end = tools(sim, "result").at(-1)!.result as Obj;
      expect(end.content).toMatch(
        /agentId: agent_.*\n<usage>subagent_tokens: \d+\ntool_uses: 2\nduration_ms: \d+<\/usage>$/,
      );
      const list = await sim.call("session/subagents", { sessionId: id });
      expect(list).toMatchObject({ running: [], ended: { total: 1 } });
    }));

  test("P26 P28: a background agent ends after the turn, and a turn of its own tells of it", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "agent-background count the files");
      await sim.event(
        "session.updated",
        (payload) => payload.taskKind === "subagent" && payload.status === "completed",
      );
      const started = await sim.event("turn.started");
      expect(started.payload).toMatchObject({
        inputSource: "background_task",
        inputVisibility: "model-only",
        backgroundSource: "subagent",
      });
      const completed = await sim.event("turn.completed");
      expect(completed.payload).toMatchObject({ backgroundSubagentResultConsumed: true });
    }));

  test("P29 P28: a background command tells of its life, then of its end in a turn without a lock", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "background echo built\\; sleep 0.2");
      const end = await sim.event(
        "session.updated",
        (payload) => payload.taskKind === "bash" && payload.status !== "running",
      );
      expect(end.payload).toMatchObject({
        status: "completed",
        exitCode: 0,
        outputTail: "built\n",
        cancellable: false,
      });
      await sim.event("turn.started", (payload) => payload.inputSource === "background_task");
      await sim.event("turn.completed");
      const reasons = sim.frames.map((frame) => paramsOf(frame, "state.updated")?.reason).filter(Boolean);
      expect(reasons).toEqual(["prompt_started", "prompt_completed"]);
    }));

  test("P31: a background command can be cancelled once", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "background sleep 30");
      const task = sim.events("session.updated").find((event) => (event.payload as Obj).taskId)!
        .payload as Obj;
      const done = await sim.call("session/cancelBackgroundTask", { sessionId: id, taskId: task.taskId });
      expect(done).toMatchObject({ cancelled: true, status: "cancelled", snapshot: { status: "cancelled" } });
      const again = await sim.call("session/cancelBackgroundTask", { sessionId: id, taskId: task.taskId });
      expect(again).toMatchObject({ cancelled: false, reason: "background_task_not_running" });
      const unknown = await sim.call("session/cancelBackgroundTask", { sessionId: id, taskId: "exec_no" });
      expect(unknown).toMatchObject({
        cancelled: false,
        reason: "background_task_not_found",
        status: "lost",
      });
    }));

  test("B7: a send behind a notification's turn is queued and drained into it", () =>
    within(
      async (sim, id) => {
        await sim.prompt(id, "background true");
        await sim.event("turn.started", (payload) => payload.inputSource === "background_task");
        await sim.call("session/send", { sessionId: id, content: "text and now this", inputId: "in-7" });
        const queued = await sim.event("turn.steerQueued");
        expect(queued.payload).toMatchObject({ inputId: "in-7", delivery: "queue", queueLength: 1 });
        const drained = await sim.event("turn.steerDrained");
        expect((drained.payload as Obj).pendingInputIds).toEqual([(queued.payload as Obj).pendingInputId]);
        await sim.state("prompt_completed");
        expect(sim.text()).toContain("and now this");
        expect(sim.events("turn.started")).toHaveLength(2);
      },
      { pace: 60 },
    ));

  test("B7: with own-turn the queued send gets a turn of its own", () =>
    within(
      async (sim, id) => {
        await sim.prompt(id, "background true");
        await sim.event("turn.started", (payload) => payload.inputSource === "background_task");
        await sim.call("session/send", { sessionId: id, content: "text mine", inputId: "in-8" });
        await sim.event("turn.started", (payload) => payload.inputId === "in-8");
        await sim.state("prompt_completed");
        expect(sim.events("turn.steerDrained")).toHaveLength(0);
      },
      { pace: 60, ownTurn: true },
    ));
});

describe("words for trouble", () => {
  test.each([
    ["network", "model_request_failed", "network_error", true],
    ["rate", "model_rate_limited", "rate_limited", true],
    ["overload", "model_request_failed", "provider_overloaded", true],
    ["server", "model_request_failed", "server_error", true],
    ["auth", "provider_not_configured", "auth_failed", false],
    ["quota", "1308", "rate_limited", false],
    ["context", "model_context_exceeded", "context_exceeded", false],
    ["captcha", "3007", "auth_failed", false],
  ])("P9: fail %s is code %s", (kind, code, reason, retryable) =>
    within(
      async (sim, id) => {
        await sim.prompt(id, `fail ${kind}`);
        expect(sim.events("turn.failed")[0]!.payload).toMatchObject({
          error: { code, attribution: { reason, retryable } },
          turnPhase: "model_request",
        });
        const retries = sim
          .events("session.updated")
          .filter((event) => (event.payload as Obj).type === "model_retry_scheduled");
        expect(retries).toHaveLength(retryable ? 1 : 0);
        await sim.prompt(id, "text well again");
        expect(sim.text()).toBe("well again");
      },
      {},
      {},
      fast,
    ),
  );

  test("P9: fail config has no turn, and fail counts turns", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "fail config");
      expect(sim.events("turn.failed")[0]).not.toHaveProperty("turnId");
      expect(sim.events("turn.started")).toHaveLength(0);
      await sim.prompt(id, "fail auth 2");
      await sim.prompt(id, "text not yet");
      await sim.prompt(id, "text now");
      expect(sim.text()).toBe("now");
    }));

  test("P9: a hiccup is told and recovers by itself", () =>
    within(
      async (sim, id) => {
        await sim.prompt(id, "hiccup; text all is well");
        const retry = sim.events("session.updated").find((event) => (event.payload as Obj)._meta)!
          .payload as Obj;
        expect(retry._meta).toMatchObject({ zcode: { apiRetry: { kind: "api_retry", attempt: 1 } } });
        expect(sim.text()).toBe("all is well");
      },
      {},
      {},
      fast,
    ));

  test.each([
    ["silence 3", 20],
    ["silence 3 frozen", 0],
    ["sleep 3", 0],
  ])("during %s the context grows by %d", async (word, growth) => {
    const clock = new ManualClock();
    const sim = inProcess({ pace: 1 }, { clock });
    const opening = sim.open("/tmp");
    await clock.advance(10);
    const id = await opening;
    sim.write(JSON.stringify({ id: "s", method: "session/send", params: { sessionId: id, content: word } }));
    await clock.advance(100);
    const used = async () =>
      ((await sim.call("session/read", { sessionId: id })).projection as Obj).contextUsed as number;
    const before = await used();
    await clock.advance(2_880);
    expect(sim.events("turn.completed")).toHaveLength(0);
    expect((await used()) - before).toBe(growth);
    await clock.advance(500);
    expect(sim.events("turn.completed")).toHaveLength(1);
    await sim.close();
  });

  test("garbage leaves the turn whole", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "garbage; text after it");
      expect(sim.lines).toContain("null");
      expect(sim.lines).toContain("[1,2,3]");
      expect(sim.events("future.event")).toHaveLength(1);
      expect((sim.events("turn.completed")[0]!.payload as Obj).response).toBe("after it");
    }));

  test("stderr writes there and nowhere else", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "stderr a warning");
      expect(sim.stderr).toContain("a warning");
      expect(sim.lines.some((line) => line === "a warning")).toBe(false);
    }));

  test("P22 P23: compact tells of a compaction in the turn, goal sets one", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "compact; goal all is green");
      const told = sim.events("session.updated").map((event) => event.payload as Obj);
      expect(told.filter((payload) => payload.trigger === "auto").map((payload) => payload.status)).toEqual([
        "started",
        "completed",
      ]);
      const shown = await sim.call("session/goal", { sessionId: id, action: "show" });
      expect(shown.response).toContain("all is green");
    }));

  test("spawn and spawn-setsid leave a child that the simulator does not end", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "spawn exec sleep 30; spawn-setsid exec sleep 30");
      const pids = [...sim.text().matchAll(/Left behind: (\d+)/g)].map((match) => Number(match[1]));
      expect(pids).toHaveLength(2);
      for (const pid of pids) {
        expect(() => process.kill(pid, 0)).not.toThrow();
        process.kill(pid, "SIGKILL");
      }
    }));

  test("crash ends the process with 1 in mid-turn", () =>
    within(async (sim, id) => {
      await sim.call("session/send", { sessionId: id, content: "text before; crash" });
      expect(await sim.ended()).toBe(1);
      expect(sim.text()).toBe("before");
      expect(sim.events("turn.completed")).toHaveLength(0);
    }));

  test("hang answers nothing any more", () =>
    within(async (sim, id) => {
      await sim.call("session/send", { sessionId: id, content: "text before; hang" });
      await sim.event("model.streaming");
      await Bun.sleep(20);
      const count = sim.frames.length;
      sim.write(JSON.stringify({ id: "late", method: "session/list", params: {} }));
      await Bun.sleep(20);
      expect(sim.frames.length).toBe(count);
      sim.exitCode = -1;
    }));

  test("every word is known to the tests or to the stream tests", () => {
    expect(new Set(WORDS.map((word) => word.word)).size).toBe(WORDS.length);
  });
});
