/** The lock, stops, repeated questions, and what can be read. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Obj } from "../../src/sim/types.ts";
import { inProcess, tempDir, workspace, yes } from "./driver.ts";
import { ManualClock, settle } from "./manualClock.ts";

const SUBSCRIBE = { deliveryKind: "desktop-continuous" };

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

  test("M10 two sessions run at once and their events do not mix", async () => {
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
    const sim = inProcess({ pace: 60 });
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
