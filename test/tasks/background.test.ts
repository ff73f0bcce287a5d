/** Background tasks: which card shows them, and every way in which they end. */

import { describe, expect, test } from "bun:test";
import { renderUpdate } from "../../src/clients/render.ts";
import type { Obj } from "../../src/platform/json.ts";
import {
  cancelTask,
  endTasks,
  knowsTask,
  newTaskBook,
  openTasks,
  taskUpdated,
} from "../../src/tasks/background.ts";
import { newTranslateState, translateEvent } from "../../src/translate/events.ts";
import type { Update } from "../../src/translate/updates.ts";

function conversation() {
  const state = newTranslateState("/work", "en");
  const book = newTaskBook();
  return {
    book,
    state,
    event: (type: string, payload: Obj) => translateEvent(state, type, payload),
    task: (payload: Obj) => taskUpdated(book, state, { taskId: "t1", ...payload }),
    /** A background command whose launch is over. */
    launch() {
      translateEvent(state, "tool.updated", {
        kind: "scheduled",
        toolCallId: "call",
        toolName: "Bash",
        input: { command: "npm run build", run_in_background: true },
      });
      translateEvent(state, "tool.updated", { kind: "started", toolCallId: "call" });
      return translateEvent(state, "tool.updated", {
        kind: "result",
        toolCallId: "call",
        result: {
          success: true,
          content: "Command running in background with ID: t1",
          perf: { detail: { command: { status: "backgrounded" } } },
        },
      });
    },
  };
}

const changes = (updates: readonly Update[]) =>
  updates.map((update) =>
    update.kind === "tool" ? `${update.change} ${update.card.id} ${update.card.status}` : update.kind,
  );

const rendered = (update: Update | undefined) =>
  JSON.parse(renderUpdate(update!, { terminal: true }) ?? "null") as { status?: string; _meta: Obj };

describe("a background command", () => {
  test("P29 stays on its launch card: no exit at launch, in progress at the first event, output once, exit code 0", () => {
    const c = conversation();
    expect(c.launch()).toEqual([]);
    expect(c.event("turn.completed", { resultType: "success" })).toEqual([]);
    expect(changes(c.task({ toolCallId: "call", status: "running" }))).toEqual(["status call in_progress"]);
    expect(changes(c.task({ toolCallId: "call", status: "running" }))).toEqual([]);
    const grown = c.task({ toolCallId: "call", status: "running", stdoutTail: "step 1\n" });
    const last = c.task({
      toolCallId: "call",
      status: "completed",
      stdoutTail: "step 1\nstep 2\n",
      outputTail: "step 1\nstep 2\n",
    });
    expect(changes([...grown, ...last])).toEqual([
      "output call completed",
      "output call completed",
      "closed call completed",
    ]);
    expect(
      [...grown, ...last].flatMap((update) =>
        update.kind === "tool" && update.change === "output" ? update.appended : [],
      ),
    ).toEqual(["step 1\n", "step 2\n"]);
    expect(rendered(last.at(-1))._meta.terminal_exit).toMatchObject({ exit_code: 0 });
    expect(changes(c.task({ toolCallId: "call", status: "completed" }))).toEqual([]);
  });

  test("P29 output that only the last event holds is shown then", () => {
    const c = conversation();
    c.launch();
    c.task({ toolCallId: "call", status: "running" });
    const last = c.task({ toolCallId: "call", status: "completed", outputTail: "done\n" });
    expect(changes(last)).toEqual(["output call completed", "closed call completed"]);
  });

  test.each(["failed", "timed_out", "cancelled", "spawn_error", "lost"])(
    "P29 an end as %s is a failed card with exit code 1 and its reason",
    (status) => {
      const c = conversation();
      c.launch();
      c.task({ toolCallId: "call", status: "running" });
      const [closed] = c.task({ toolCallId: "call", status });
      expect(closed).toMatchObject({ change: "closed", card: { status: "failed", exitCode: 1 } });
      if (status !== "failed") expect(JSON.stringify(rendered(closed))).toContain(status.replace("_", " "));
    },
  );

  test("P30 P27 without a known launch card it gets a card of its own, whatever its kind is called", () => {
    const c = conversation();
    const opened = c.task({
      toolCallId: "unknown",
      taskKind: "bash",
      toolName: "Bash",
      command: "make",
      description: "Make it",
      status: "running",
    });
    expect(opened).toMatchObject([
      {
        change: "opened",
        card: { id: "bg_t1", title: "[background] Make it", kind: "other", status: "in_progress" },
      },
    ]);
    expect(changes(c.task({ status: "completed" }))).toEqual(["closed bg_t1 completed"]);
    // The same kind under a call that is no command does not take that call's card.
    const other = conversation();
    other.event("tool.updated", { kind: "scheduled", toolCallId: "agent", toolName: "Agent", input: {} });
    expect(other.task({ toolCallId: "agent", taskKind: "bash", status: "running" })).toMatchObject([
      { change: "opened", card: { id: "bg_t1" } },
    ]);
  });

  test("P30 however long its description or command is, the title is one short line", () => {
    for (const said of [{ description: "a\nb ".repeat(5000) }, { command: "echo x\n".repeat(5000) }]) {
      const [opened] = conversation().task({ toolCallId: "unknown", status: "running", ...said });
      const title = opened?.kind === "tool" ? opened.card.title : "";
      expect(title).toMatch(/^\[background\] (a b|echo x)/);
      expect(title).not.toContain("\n");
      expect(title.length).toBeLessThan(300);
    }
  });
});

describe("a background sub-agent", () => {
  const start = () => {
    const c = conversation();
    c.event("tool.updated", {
      kind: "scheduled",
      toolCallId: "agent",
      toolName: "Agent",
      input: { run_in_background: true },
    });
    return c;
  };

  test("P26 gets a card of its own, beside the launch card, which ends with its own result", () => {
    const c = start();
    const opened = c.task({
      toolCallId: "agent",
      toolName: "Agent",
      taskKind: "subagent",
      description: "Dead code",
      status: "running",
    });
    expect(opened).toMatchObject([
      {
        change: "opened",
        card: { id: "bg_t1", title: "[background] Dead code", kind: "other", status: "in_progress" },
      },
    ]);
    const launched = c.event("tool.updated", {
      kind: "result",
      toolCallId: "agent",
      result: { success: true, content: "agentId: agent_1\nworking in the background" },
    });
    expect(changes(launched)).toEqual(["closed agent completed"]);
    expect(changes(c.event("turn.completed", { resultType: "success" }))).toEqual([]);
    expect(changes(c.task({ status: "completed" }))).toEqual(["closed bg_t1 completed"]);
  });

  test("P26 a first event that is already final opens and closes the card", () => {
    const c = start();
    expect(changes(c.task({ toolCallId: "agent", description: "Quick", status: "completed" }))).toEqual([
      "opened bg_t1 in_progress",
      "closed bg_t1 completed",
    ]);
  });

  test("P26 its own tools outlive the turn and end with it", () => {
    const c = start();
    c.task({ toolCallId: "agent", description: "Look", status: "running" });
    c.event("tool.updated", {
      kind: "scheduled",
      toolCallId: "inner",
      toolName: "Bash",
      parentToolCallId: "agent",
      source: "subagent",
      background: true,
      input: { command: "ls" },
    });
    c.event("turn.completed", { resultType: "success" });
    expect(changes(c.task({ status: "failed" }))).toEqual(["closed inner failed", "closed bg_t1 failed"]);
  });
});

test("P31 M8 only a task that was seen here is known; a cancelled one says so on its card, before or after the event", () => {
  const c = conversation();
  c.launch();
  c.task({ toolCallId: "call", status: "running" });
  expect(knowsTask(c.book, "t1")).toBe(true);
  expect(knowsTask(c.book, "t2")).toBe(false);
  expect(knowsTask(conversation().book, "t1")).toBe(false);
  cancelTask(c.book, "t1");
  const [closed] = c.task({ toolCallId: "call", status: "cancelled" });
  expect(rendered(closed)).toMatchObject({
    status: "failed",
    _meta: { backgroundTask: { taskId: "t1", cancelled: true }, terminal_exit: { exit_code: 1 } },
  });
  expect(endTasks(c.book, c.state, "cancelled", "t1")).toEqual([]);
  expect(openTasks(c.book)).toBe(0);
});

test("M8 P29 of a task that has ended nothing is kept but that it was here", () => {
  const c = conversation();
  c.launch();
  const long = "x".repeat(100_000);
  const [, shown] = c.task({ toolCallId: "call", status: "running", outputTail: long });
  const updates = c.task({ toolCallId: "call", status: "completed" });
  expect(JSON.stringify([...c.book.tasks]).length).toBeLessThan(2_000);
  expect(knowsTask(c.book, "t1")).toBe(true);
  // Whoever opens the conversation while the turn runs is still shown it whole.
  expect([shown, ...updates].map((update) => update?.kind === "tool" && update.card.output)).toEqual([
    long,
    long,
  ]);
  expect(c.task({ toolCallId: "call", status: "completed" })).toEqual([]);
});

test("M8 P29 tasks of a backend that died are lost, and say so", () => {
  const c = conversation();
  c.launch();
  c.task({ toolCallId: "call", status: "running" });
  taskUpdated(c.book, c.state, { taskId: "t2", status: "running", description: "Other" });
  expect(openTasks(c.book)).toBe(2);
  expect(changes(endTasks(c.book, c.state, "lost"))).toEqual(["closed call failed", "closed bg_t2 failed"]);
  expect(changes(c.task({ toolCallId: "call", status: "completed" }))).toEqual([]);
});

test("P27 events without a task, a status, or with wrong fields change nothing", () => {
  const c = conversation();
  for (const payload of [
    { taskId: undefined, status: "running" },
    { status: undefined },
    { status: 5 },
    { taskId: "", status: "running" },
    { taskId: {}, status: "running" },
  ]) {
    expect(c.task(payload)).toEqual([]);
  }
  expect(
    changes(c.task({ status: "paused", toolCallId: 7, description: [], command: {}, toolName: 1 })),
  ).toEqual(["opened bg_t1 in_progress"]);
});
