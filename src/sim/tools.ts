/** A step's tools: scheduled, asked about, started, ended, and counted in a batch. */
import { askFirst } from "./asks.ts";
import type { AssistantMessage } from "./messages.ts";
import { Stopped, type ToolContext, type ToolEnd, type ToolPlan } from "./model.ts";
import type { Turn } from "./turn.ts";
import type { Obj } from "./types.ts";

export interface Call {
  plan: ToolPlan;
  callId: string;
}

const CANCELLED = { type: "TOOL_CANCELLED", message: "Cancelled before it was done." };

/** Runs the tools one after another. A stop gives the one that runs an error, and the batch, before it goes on. */
export async function runTools(turn: Turn, assistant: AssistantMessage, calls: Call[]): Promise<ToolEnd[]> {
  const { live } = turn;
  const { modern } = live.world.era;
  for (const { plan, callId } of calls) {
    turn.event("tool.updated", scheduled(plan, callId, modern ? assistant.id : undefined));
    if (modern)
      live.operation("tool-scheduled", { turnId: turn.id, toolCallId: callId, toolName: plan.name });
  }
  const ends: ToolEnd[] = [];
  let files = 0;
  const batch = () => {
    const good = ends.filter((end) => end.kind === "result").length;
    turn.event("tool.updated", {
      toolCallIds: calls.map((call) => call.callId),
      successCount: good,
      errorCount: calls.length - good,
      kind: "batch",
    });
  };
  for (const call of calls) {
    try {
      const end = await runTool(turn, assistant, call);
      ends.push(end);
      if (end.kind === "result") {
        turn.noteChanges(call.plan.name, end.changes ?? []);
        if (end.checkpoint) files += end.changes?.length ?? 1;
      }
      if (end.kind === "denied" && end.endsTurn) turn.over = true;
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
      turn.event("tool.updated", { toolCallId: call.callId, error: CANCELLED, kind: "error" });
      batch();
      throw error;
    }
  }
  batch();
  turn.toolCalls += ends.filter((end) => end.kind !== "denied").length;
  if (files > 0 && modern) checkpoint(turn, assistant, files);
  return ends;
}

function scheduled(plan: ToolPlan, callId: string, assistantMessageId: string | undefined): Obj {
  if (!assistantMessageId)
    return { toolCallId: callId, toolName: plan.name, input: plan.input, kind: "scheduled" };
  return {
    toolCallId: callId,
    assistantMessageId,
    ...schedule(plan, callId),
    kind: "scheduled",
    inputByteLength: Buffer.byteLength(JSON.stringify(plan.input)),
    inputOmitted: true,
    inputRef: "model_stream",
  };
}

/** The keys about order that every newer `scheduled` has. */
export function schedule(plan: ToolPlan, callId: string): Obj {
  return {
    toolName: plan.name,
    dependencies: [],
    parallelGroupIndex: 0,
    canRunParallel: plan.parallel ?? false,
    schedule: { parallelGroups: [[callId]], executionOrder: [callId] },
  };
}

async function runTool(turn: Turn, assistant: AssistantMessage, { plan, callId }: Call): Promise<ToolEnd> {
  const { live } = turn;
  const { world } = live;
  const { modern } = world.era;
  turn.check();
  if (plan.unknown) {
    const error = { type: "TOOL_NOT_FOUND", message: `Unknown tool: ${plan.name}` };
    turn.event("tool.updated", { toolCallId: callId, error, kind: "error" });
    return { kind: "error", error };
  }
  let input = plan.input;
  let permissionWaitMs: number | undefined;
  const active = { toolCallId: callId, toolName: plan.name, status: "pending" };
  live.activeTools.push(active);
  const leave = () => {
    live.activeTools = live.activeTools.filter((each) => each !== active);
  };
  const part = assistant.part({
    type: "tool",
    callID: callId,
    declarationIndex: 0,
    tool: plan.name,
    state: { status: "running", input, title: plan.name, time: { start: world.clock.now() } },
  });
  const keep = (state: Obj) => {
    const old = part.state as Obj;
    part.state = { ...old, ...state, time: { ...(old.time as Obj), end: world.clock.now() } };
  };
  try {
    if (plan.ask) {
      const asked = await askFirst(turn, plan, callId);
      if (asked.kind === "denied") {
        keep({ status: "error", error: asked.feedback ?? asked.reason ?? "Refused" });
        return asked;
      }
      permissionWaitMs = asked.waitedMs;
      input = asked.input;
    }
    active.status = "running";
    const startedAt = world.clock.now();
    turn.event(
      "tool.updated",
      modern
        ? {
            toolCallId: callId,
            toolName: plan.name,
            startedAt,
            readOnly: plan.readOnly,
            sideEffectScope: plan.scope,
            kind: "started",
          }
        : { toolCallId: callId, toolName: plan.name, kind: "started" },
    );
    const begun = world.clock.mono();
    const elapsed = () => Math.round(world.clock.mono() - begun);
    const end = await runSafely(plan, {
      live,
      turn,
      callId,
      input,
      signal: turn.signal,
      elapsed,
      progress: (payload) =>
        turn.event("tool.updated", { toolCallId: callId, toolName: plan.name, ...payload }),
    });
    turn.check();
    if (end.kind === "error") {
      turn.event("tool.updated", { toolCallId: callId, error: end.error, kind: "error" });
      keep({ status: "error", error: String(end.error.message) });
    } else if (end.kind === "result") {
      const result = toolResult(end, { modern, permissionWaitMs, totalMs: end.totalMs ?? elapsed() });
      turn.event("tool.updated", {
        toolCallId: callId,
        result,
        duration: end.totalMs ?? elapsed(),
        kind: "result",
      });
      keep({ status: "completed", output: end.content, metadata: partMetadata(end) });
      end.after?.();
    }
    return end;
  } catch (error) {
    keep({ status: "error", error: CANCELLED.message });
    throw error;
  } finally {
    leave();
  }
}

/** A tool that breaks is an error of the tool, not of the turn. */
export async function runSafely(plan: ToolPlan, context: ToolContext): Promise<ToolEnd> {
  try {
    return await plan.run(context);
  } catch (error) {
    if (error instanceof Stopped) throw error;
    return {
      kind: "error",
      error: { type: "TOOL_EXECUTION_FAILED", message: String((error as Error).message) },
    };
  }
}

function partMetadata(end: ToolEnd & { kind: "result" }): Obj {
  const bytes = Buffer.byteLength(end.content);
  return {
    schemaVersion: 1,
    serialization: {
      truncated: Boolean(end.truncated),
      originalBytes: end.truncated?.originalBytes ?? bytes,
      returnedBytes: bytes,
      budgetStrategy: end.truncated ? "persisted" : "inline",
    },
    ...(end.display ? { display: end.display } : {}),
  };
}

/** `result` of a `tool.updated`. */
export function toolResult(
  end: ToolEnd & { kind: "result" },
  facts: { modern: boolean; permissionWaitMs?: number | undefined; totalMs: number },
): Obj {
  const { content, display, detail, exitCode, truncated } = end;
  if (!facts.modern) {
    return {
      success: true,
      content,
      ...(display ? { display } : {}),
      perf: exitCode === undefined ? {} : { exitCode },
    };
  }
  const bytes = Buffer.byteLength(content);
  return {
    success: true,
    content,
    ...(display ? { display } : {}),
    perf: {
      totalMs: facts.totalMs,
      ...(facts.permissionWaitMs === undefined ? {} : { permissionWaitMs: facts.permissionWaitMs }),
      ...(detail ? { detail } : {}),
    },
    truncated: Boolean(truncated),
    originalBytes: truncated?.originalBytes ?? bytes,
    returnedBytes: bytes,
    budgetStrategy: truncated ? "persisted" : "inline",
    ...(truncated?.artifactPath ? { artifactPath: truncated.artifactPath } : {}),
  };
}

function checkpoint(turn: Turn, assistant: AssistantMessage, fileCount: number): void {
  const { live } = turn;
  const checkpointId = `checkpoint_${live.world.ids.uuid()}`;
  live.data.checkpoints.push({ checkpointId, messageId: turn.messageId });
  const n = live.data.checkpoints.length;
  turn.event("checkpoint.created", {
    checkpointId,
    messageId: turn.messageId,
    targetMessageId: turn.messageId,
    toolMessageId: assistant.id,
    scope: "workspace",
    snapshotRef: `zcode-artifact://${live.id}/snap-${n}`,
    diffRef: `zcode-artifact://${live.id}/diff-${n}`,
    fileCount,
  });
}
