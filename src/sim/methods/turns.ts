/** Turns: begun, stopped, compacted; goals; background work. */
import { sleep } from "../../platform/clock.ts";
import { lateBrain } from "../background.ts";
import { compactTurn } from "../compact.ts";
import { BUSY_ANSWER } from "../era.ts";
import { failureError, NO_MODEL } from "../failures.ts";
import { type GoalAction, goalText, goalTurn, pauseForStop, setGoal } from "../goal.ts";
import type { Failure } from "../model.ts";
import type { Live } from "../session.ts";
import { settingsOf, snapshot } from "../snapshot.ts";
import { firstInputTitle } from "../titles.ts";
import { release, runTurn, type TurnSpec } from "../turn.ts";
import type { ModelSelection, Obj } from "../types.ts";
import { RpcError, UNAVAILABLE } from "../wire.ts";
import { parsePrompt } from "../words/parse.ts";
import type { World } from "../world.ts";
import { askPreferences } from "./session.ts";
import type { Handlers, Reply } from "./types.ts";

const NO_START_MS = 20;

function send(world: World, params: Obj): Reply {
  const live = world.pool.get(params.sessionId as string);
  const { era } = world;
  const expected = params.expectedRevision as number | undefined;
  if (expected !== undefined && expected !== live.revision) {
    throw new RpcError(-32009, "Revision mismatch", {
      actualRevision: live.revision,
      expectedRevision: expected,
    });
  }
  if (live.lock) {
    if (!era.foldsSends || live.folded || !live.turn) throw new RpcError(era.busy.code, era.busy.message);
    // Old builds fold the first such send into the turn, where its words get lost.
    live.folded = true;
    return {
      result: { sessionId: live.id, accepted: true, stateRevision: live.revision },
      after: () => {
        live.turn?.event("turn.steerQueued", {});
        live.turn?.event("turn.steerDrained", {});
      },
    };
  }
  if (live.turn && era.busyInNotice) throw new RpcError(BUSY_ANSWER.code, BUSY_ANSWER.message);
  world.registry.lend(params.runtimeModel as Obj | undefined);
  const selection = params.modelSelection as ModelSelection | undefined;
  if (selection) {
    world.registry.check(selection, true);
    live.data.model = selection;
  }
  const { model } = live.data;
  if (model && !world.registry.find(model)) {
    throw new RpcError(UNAVAILABLE, "历史任务使用的模型已不可用 (ZCODE_RUNTIME_MODEL_UNAVAILABLE)");
  }
  const content = params.content as string;
  const inputId = params.inputId as string | undefined;
  live.toolDenylistOfTurn = (params.toolDenylist as string[] | undefined) ?? live.denylist;
  live.lock = "prompt";
  live.stopEarly = false;
  live.stateUpdated("prompt_started", { status: "running" });
  const after = () => {
    if (live.turn) queueBehind(live, content, inputId);
    else void begin(live, content, inputId, (params.attachments as Obj[] | undefined) ?? []);
  };
  return { result: { sessionId: live.id, accepted: true, stateRevision: live.revision }, after };
}

/** Behind a notification's turn an input waits; it is drained into that turn, or gets its own. */
function queueBehind(live: Live, text: string, inputId: string | undefined): void {
  const pendingInputId = `pending_${live.world.ids.uuid()}`;
  live.held = false;
  live.pendingInputs.push({
    pendingInputId,
    text,
    delivery: "queue",
    locks: true,
    ...(inputId ? { inputId } : {}),
  });
  live.turn!.event("turn.steerQueued", {
    pendingInputId,
    ...(inputId ? { inputId } : {}),
    input: text,
    inputPreview: text.slice(0, 200),
    inputSize: text.length,
    delivery: "queue",
    targetTurnId: live.turn!.id,
    queueLength: live.pendingInputs.length,
  });
}

/** A person's turn, from the preferences that it needs to its end. */
async function begin(
  live: Live,
  content: string,
  inputId: string | undefined,
  attachments: Obj[],
): Promise<void> {
  const { world, data } = live;
  data.prompted = true;
  const broken = cannotStart(live, content);
  if (broken) {
    await sleep(world.clock, NO_START_MS);
    failBeforeTurn(live, broken, inputId);
    return;
  }
  if (world.era.preferences === "both" && !live.askedUserExecution) {
    live.askedUserExecution = true;
    await askPreferences(live, "user-execution");
  }
  if (data.titleSource === "default" && data.title === "")
    live.setTitle(firstInputTitle(content), "first_input");
  const parts = attachments.map(attachmentPart).filter((part) => part !== undefined);
  await runTurn(live, {
    kind: "prompt",
    input: content,
    ...(inputId ? { inputId } : {}),
    message: { parts },
    brain: lateBrain(live, content),
  });
}

/** Kinds that are not known vanish without a word. */
function attachmentPart(attachment: Obj): Obj | undefined {
  const { kind, mimeType, dataBase64, localPath, textContent, filename } = attachment;
  if (!["image", "pdf", "video", "file", "audio"].includes(String(kind))) return undefined;
  const mime = String(mimeType ?? (kind === "image" ? "image/png" : "text/plain"));
  const data =
    dataBase64 ?? (typeof textContent === "string" ? Buffer.from(textContent).toString("base64") : undefined);
  const url =
    data === undefined ? `file://${String(localPath ?? "")}` : `data:${mime};base64,${String(data)}`;
  return { type: "file", mime, url, ...(filename ? { filename } : {}) };
}

/** What keeps a turn from starting at all. */
function cannotStart(live: Live, content: string): Failure | undefined {
  const { world, data } = live;
  if (!data.model) return NO_MODEL;
  if (world.failures.left > 0 && world.failures.kind === "config") {
    world.failures.left--;
    return NO_MODEL;
  }
  const config = parsePrompt(content)?.find((each) => each.word === "fail" && each.rest.startsWith("config"));
  if (config) {
    world.failures = { kind: "config", left: Number(config.rest.split(/\s+/)[1] ?? 1) - 1, by: "" };
    return NO_MODEL;
  }
  try {
    world.registry.check(data.model, true);
  } catch (error) {
    return {
      type: "UNKNOWN_ERROR",
      code: "invalid_model_request",
      message: (error as Error).message,
      turnPhase: "model_creation",
    };
  }
  return undefined;
}

/** A failure without a turn: there is no `turn.started` before it. */
function failBeforeTurn(live: Live, failure: Failure, inputId: string | undefined): void {
  const { shown, kept } = failureError(failure, live.world.era);
  live.lastError = kept;
  live.status = "error";
  const turnPhase = failure.turnPhase ?? "model_creation";
  const seq = live.event("turn.failed", { error: shown, turnPhase, ...(inputId ? { inputId } : {}) });
  if (live.world.era.modern) {
    live.telemetry("turn.terminal", seq, {
      status: "failed",
      errorCode: failure.code,
      errorMessage: failure.message,
      turnPhase,
    });
  }
  live.save();
  release(live, { kind: "prompt", input: "" }, "failed");
}

/** Stops what `session/stop` reaches: everything but a notification's turn. */
function stop(world: World, params: Obj): Reply {
  const live = world.pool.get(params.sessionId as string);
  if (world.settings.deafStop) return { result: {} };
  const { turn } = live;
  if (turn && turn.kind === "background") return { result: {} };
  return {
    result: {},
    after: () => {
      if (turn) turn.abort.abort();
      else if (live.lock) live.stopEarly = true;
      if (turn) pauseForStop(live);
    },
  };
}

function compact(world: World, params: Obj): Reply {
  const live = world.pool.get(params.sessionId as string);
  if (live.lock === "compact") {
    return { result: { response: "", snapshot: snapshot(live), compact: { state: "already_running" } } };
  }
  if (live.lock) throw new RpcError(BUSY_ANSWER.code, "Cannot compact while a prompt is running");
  live.lock = "compact";
  live.stateUpdated("compact_started", { status: "running" });
  return {
    result: {
      response: "",
      snapshot: snapshot(live),
      compact: { state: "accepted", inputId: `input_${world.ids.uuid()}` },
    },
    after: () => void runWhenFree(live, compactTurn(live)),
  };
}

/** A turn that holds the lock already begins when a notification's turn is over. */
export async function runWhenFree(live: Live, spec: TurnSpec): Promise<void> {
  while (live.turn) await sleep(live.world.clock, 20);
  await runTurn(live, spec);
}

function goal(world: World, params: Obj): Reply {
  const live = world.pool.get(params.sessionId as string);
  const action = params.action as GoalAction;
  if (live.lock && action !== "pause")
    throw new RpcError(BUSY_ANSWER.code, "Cannot manage goals while a prompt is running");
  if (action !== "show") setGoal(live, action, params.objective as string | undefined);
  const starts = action === "set" || action === "replace" || action === "resume";
  const result = {
    response: goalText(action, live.data.goal),
    snapshot: snapshot(live, { full: true }),
    startedTurn: starts,
  };
  if (!starts) return { result };
  live.lock = "goal";
  live.data.prompted = true;
  return { result, after: () => void runWhenFree(live, goalTurn(live)) };
}

export async function cancelTask(world: World, live: Live, taskId: string): Promise<Obj> {
  const task = live.tasks.get(taskId);
  if (!task) return { cancelled: false, reason: "background_task_not_found", status: "lost", taskId };
  if (!task.running)
    return { cancelled: false, reason: "background_task_not_running", status: task.status, taskId };
  const cancelRequestedAt = new Date(world.clock.now()).toISOString();
  const asked = { ...task.snapshot(), cancellable: false, cancelRequestedAt };
  live.event("session.updated", asked);
  if (task.kind === "bash") task.facts = { ...task.facts, cancellable: false, cancelRequestedAt };
  await task.stop();
  live.stateUpdated("background_task_cancelled", settingsOf(live, false));
  return { cancelled: true, snapshot: task.snapshot(), status: task.status, taskId };
}

export const turnHandlers: Handlers = {
  "session/send": send,
  "session/stop": stop,
  "session/compact": compact,
  "session/goal": goal,
  "session/cancelBackgroundTask": async (world, params) => ({
    result: await cancelTask(world, world.pool.get(params.sessionId as string), params.taskId as string),
  }),
  "session/steer": (world, params) => send(world, params),
  "session/rewind": (world, params) => ({
    result: { sessionId: world.pool.get(params.sessionId as string).id },
  }),
};
