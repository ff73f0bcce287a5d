/** The tools of a recorded stream: each does what the recorded one did. */
import { sleep } from "../../src/platform/clock.ts";
import type { CommandEnd } from "../../src/sim/commands.ts";
import { type AskPlan, Stopped, type ToolEnd, type ToolPlan } from "../../src/sim/model.ts";
import type { Obj, Todo } from "../../src/sim/types.ts";
import { agentPlan } from "../../src/sim/words/agents.ts";
import {
  askClient,
  clientTool,
  type Elicitation,
  mcpOrder,
  modeTool,
  planTool,
  todoTool,
} from "../../src/sim/words/asking.ts";
import { startBackground } from "../../src/sim/words/bash.ts";

export type Events = { type: string; payload: Obj; at: number }[];

/** A tool that does what the recorded one did. */
export function toolOf(name: string, callId: string, input: Obj, all: Events): ToolPlan {
  const mine = all.filter(({ type, payload }) => payload.toolCallId === callId && type !== "model.streaming");
  const of = (kind: string) =>
    mine.find(({ type, payload }) => type === "tool.updated" && payload.kind === kind)?.payload;
  const asked = mine.find(
    ({ type }) => type === "permission.requested" || type === "request:interaction/requestPermission",
  )?.payload;
  const started = of("started");
  const plain: ToolPlan = {
    name,
    input,
    callId,
    readOnly: started?.readOnly === true,
    scope: (started?.sideEffectScope as ToolPlan["scope"] | undefined) ?? "system",
    parallel: of("scheduled")?.canRunParallel === true,
    ...(asked ? { ask: askOf(name, asked) } : {}),
    run: (context) => replayTool(context, mine, all),
  };
  const error = of("error")?.error as Obj | undefined;
  if (error?.type === "TOOL_NOT_FOUND") return { ...plain, unknown: true };
  if (name === "ExitPlanMode")
    return { ...plain, run: (context) => planTool(String(input.plan)).run(context) };
  if (name === "EnterPlanMode") return { ...plain, run: (context) => modeTool().run(context) };
  if (name === "TodoWrite") {
    return { ...plain, run: (context) => todoTool(context.live, input.todos as Todo[]).run(context) };
  }
  if (name.startsWith("mcp__")) {
    const asked = all.find(
      ({ type, payload }) => type === "request:interaction/requestUserInput" && payload.toolCallId === callId,
    );
    const { message, requestedSchema } = asked!.payload.input as Obj & Elicitation;
    return { ...mcpOrder(name.split("__")[1]!, input, { message, requestedSchema }), callId };
  }
  if (name === "Agent") return agentOf(callId, input, all);
  if (name === "Bash" && input.run_in_background)
    return { ...plain, run: async (context) => background(context, mine, input) };
  const requests = clientRequests(mine, all, callId);
  if (requests.length > 0) {
    return {
      ...clientTool(name, input, plain.readOnly, async (context) => {
        for (const { type, payload } of requests)
          await askClient(context, type.slice("request:".length), payload);
        return { kind: "error", error: error! };
      }),
      callId,
    };
  }
  return plain;
}

function clientRequests(mine: Events, all: Events, callId: string): Events {
  const start = mine.find(({ payload }) => payload.kind === "started")?.at ?? Number.POSITIVE_INFINITY;
  const end = mine.find(({ payload }) => payload.kind === "error" || payload.kind === "result")?.at ?? 0;
  void callId;
  return all.filter(
    ({ type, at }) =>
      /^request:(automation|offPeak|interaction\/browser)/.test(type) && at > start && at < end,
  );
}

function askOf(name: string, asked: Obj): AskPlan {
  const always = (asked.options as Obj[]).find((option) => option.optionId === "allow_project")?.response as
    | Obj
    | undefined;
  const rule = (
    (always?.permissionUpdates as Obj[] | undefined)?.[0]?.rules as AskPlan["rule"][] | undefined
  )?.[0];
  return {
    kind: name === "AskUserQuestion" ? "questions" : name === "ExitPlanMode" ? "plan" : "permission",
    risk: asked.riskLevel as AskPlan["risk"],
    reason: String(asked.reason),
    ...(rule ? { rule } : {}),
  };
}

async function replayTool(
  context: Parameters<ToolPlan["run"]>[0],
  mine: Events,
  all: Events,
): Promise<ToolEnd> {
  const { world } = context.live;
  for (const { payload } of mine.filter(({ payload }) => payload.kind === "progress")) {
    if (!(await sleep(world.clock, 5, context.signal))) throw new Stopped();
    const {
      toolCallId: _id,
      toolName: _name,
      agentId: _a,
      agentType: _t,
      childSessionId: _s,
      childToolCallId: _c,
      description: _d,
      parentToolCallId: _p,
      source: _so,
      ...rest
    } = payload;
    context.progress(rest);
  }
  const error = mine.find(({ payload }) => payload.kind === "error")?.payload.error as Obj | undefined;
  const result = mine.find(({ payload }) => payload.kind === "result")?.payload.result as Obj | undefined;
  if ((!error && !result) || error?.type === "TOOL_CANCELLED") {
    await sleep(world.clock, 1e12, context.signal);
    throw new Stopped();
  }
  if (error) return { kind: "error", error };
  const { content, display, perf, truncated, originalBytes, artifactPath } = result as {
    content: string;
    display?: Obj;
    perf: Obj;
    truncated?: boolean;
    originalBytes?: number;
    artifactPath?: string;
  };
  const { toolCallId } = mine[0]!.payload;
  const batch = all.findIndex(
    ({ payload }) =>
      payload.kind === "batch" && (payload.toolCallIds as string[]).includes(String(toolCallId)),
  );
  const checkpoint = batch >= 0 && all[batch + 1]?.type === "checkpoint.created";
  const touched = checkpoint || display?.kind === "file_diff";
  return {
    kind: "result",
    content,
    ...(display ? { display } : {}),
    ...(perf.detail ? { detail: perf.detail as Obj } : {}),
    ...(perf.exitCode === undefined ? {} : { exitCode: Number(perf.exitCode) }),
    ...(truncated ? { truncated: { originalBytes: originalBytes!, artifactPath: artifactPath! } } : {}),
    checkpoint,
    ...(touched
      ? { changes: [{ path: String(display?.filePath ?? "new"), additions: 1, deletions: 0 }] }
      : {}),
  };
}

function agentOf(callId: string, input: Obj, all: Events): ToolPlan {
  const inner = all.filter(
    ({ type, payload }) => type === "tool.updated" && payload.parentToolCallId === callId,
  );
  const calls = inner.filter(({ payload }) => payload.kind === "scheduled");
  const end = all.find(
    ({ payload }) => payload.parentToolCallId === callId && payload.totalTokens !== undefined,
  );
  // Work that was stopped from outside never ends by itself.
  const endless = end?.payload.status === "cancelled";
  const tools = calls.map(({ payload }): ToolPlan => {
    const card = String(payload.toolCallId);
    const plan = toolOf(String(payload.toolName), card, payload.input as Obj, all);
    return { ...plan, callId: String(payload.childToolCallId), scope: plan.scope };
  });
  return agentPlan(
    {
      agentType: String(input.subagent_type),
      description: String(input.description),
      prompt: String(input.prompt),
      tools,
      answer: "The work is done.",
      tokens: 5200,
      thinkMs: endless ? 1e12 : 900,
    },
    input.run_in_background === true,
    callId,
  );
}

function background(context: Parameters<ToolPlan["run"]>[0], mine: Events, input: Obj): ToolEnd {
  const { clock } = context.live.world;
  const told = mine.filter(({ type, payload }) => type === "session.updated" && payload.taskId !== undefined);
  const progress = told.filter(
    ({ payload }) => payload.status === "running" && payload.pid !== undefined && !payload.cancelRequestedAt,
  );
  const last = told.at(-1)!.payload;
  return startBackground(context, String(input.command), String(input.description), (onProgress) => {
    const abort = new AbortController();
    const end = (exitCode: number): CommandEnd => ({
      exitCode,
      output: String(last.outputTail),
      stdout: String(last.stdoutTail),
      stderr: "",
      outputBytes: Number(last.outputBytes),
      firstOutputMs: 1,
      runMs: 10,
    });
    const run = async (): Promise<CommandEnd> => {
      for (const { payload } of progress) {
        if (!(await sleep(clock, 1000, abort.signal))) return end(137);
        onProgress({
          elapsedMs: 1,
          pid: Number(payload.pid),
          stdoutBytes: Number(payload.stdoutBytes),
          stderrBytes: 0,
          outputBytes: Number(payload.outputBytes),
          stdoutTail: String(payload.stdoutTail),
          stderrTail: "",
        });
      }
      await sleep(clock, last.status === "cancelled" ? 1e12 : 800, abort.signal);
      return end(Number(last.exitCode ?? 137));
    };
    return { pid: Number(last.pid), done: run(), kill: () => abort.abort() };
  });
}
