/** One turn: from the lock to its end, with everything that is told in between, in the order it is told. */
import { sleep } from "../platform/clock.ts";
import { afterTurn } from "./background.ts";
import { failureError } from "./failures.ts";
import { type AssistantMessage, addUserMessage } from "./messages.ts";
import { type Brain, type FileChange, type StepOutcome, Stopped, TurnFailed } from "./model.ts";
import type { Live, PendingInput } from "./session.ts";
import { contextWindowOf, settingsOf } from "./snapshot.ts";
import { runStep } from "./step.ts";
import { titleAfterTurn } from "./titles.ts";
import { addUsage, emptyUsage, type Obj, type Usage } from "./types.ts";

export interface TurnSpec {
  kind: "prompt" | "background" | "goal" | "compact";
  input: string;
  inputId?: string;
  /** Further keys of `turn.started`. */
  started?: Obj;
  /** How the input is kept in the conversation; `user_prompt` by default. */
  message?: { kind?: string; hidden?: boolean; source?: string; parts?: Obj[]; metadata?: Obj };
  /** Reasons of the `state.updated` that frees the lock; none for a background turn. */
  reasons?: { completed: string; failed: string; cancelled: string };
  completed?: Obj;
  brain?: Brain;
  /** Runs instead of a brain; compaction has its own way. */
  run?: (turn: Turn) => Promise<void>;
}

export class Turn {
  readonly id: string;
  readonly foregroundExecutionId: string;
  readonly messageId: string;
  readonly abort = new AbortController();
  readonly startedAt: number;
  readonly usage: Usage = emptyUsage();
  readonly kind: TurnSpec["kind"];
  requests = 0;
  iteration = 0;
  toolCalls = 0;
  response = "";
  /** The message of the step that runs. */
  assistant: AssistantMessage | undefined;
  /** A refused plan ends the turn before the model is asked again. */
  over = false;
  private readonly changes = new Map<string, FileChange & { toolNames: string[]; writeCount: number }>();

  constructor(
    readonly live: Live,
    readonly spec: TurnSpec,
  ) {
    const { ids, clock } = live.world;
    this.kind = spec.kind;
    this.id = `turn_${ids.uuid()}`;
    this.foregroundExecutionId = `fg_${ids.uuid()}`;
    this.messageId = `msg_${ids.uuid()}`;
    this.startedAt = clock.now();
  }

  get signal(): AbortSignal {
    return this.abort.signal;
  }

  event(type: string, payload: Obj): number {
    return this.live.event(type, payload, this.id);
  }

  /** Notes what a tool did to files; the last word of the model comes with the sum. */
  noteChanges(toolName: string, changes: FileChange[]): void {
    for (const { path, additions, deletions } of changes) {
      const known = this.changes.get(path) ?? {
        additions: 0,
        deletions: 0,
        path,
        toolNames: [],
        writeCount: 0,
      };
      known.additions += additions;
      known.deletions += deletions;
      if (!known.toolNames.includes(toolName)) known.toolNames.push(toolName);
      known.writeCount++;
      this.changes.set(path, known);
    }
  }

  /** `fileChanges` of the model's last word; undefined when no file was touched. */
  get fileChanges(): Obj | undefined {
    const items = [...this.changes.values()];
    if (items.length === 0) return undefined;
    const sum = (key: "additions" | "deletions") => items.reduce((total, item) => total + item[key], 0);
    return { additions: sum("additions"), deletions: sum("deletions"), files: items.length, items };
  }

  /** Waits, and throws `Stopped` when the turn is stopped before or meanwhile. */
  async wait(ms: number): Promise<void> {
    if (!(await sleep(this.live.world.clock, ms, this.signal))) throw new Stopped();
  }

  /** @throws Stopped */
  check(): void {
    if (this.signal.aborted) throw new Stopped();
  }
}

const STOPPED = { errorCode: "USER_INTERRUPT", errorMessage: "Interrupted by the user" };

/** Runs a turn to its end; never rejects. The lock is the caller's to take and this function's to free. */
export async function runTurn(live: Live, spec: TurnSpec): Promise<void> {
  const { world, data } = live;
  const turn = new Turn(live, spec);
  live.turn = turn;
  live.status = "running";
  live.lastError = undefined;
  if (live.stopEarly) turn.abort.abort();
  live.stopEarly = false;
  live.folded = false;
  data.turnCount++;
  turn.event("turn.started", {
    turnNumber: data.turnCount,
    input: spec.input,
    messageId: turn.messageId,
    ...(spec.inputId ? { inputId: spec.inputId } : {}),
    executionStartedAt: turn.startedAt - 0.5,
    foregroundExecutionId: turn.foregroundExecutionId,
    queryId: `query_${world.ids.uuid()}`,
    ...spec.started,
  });
  if (world.era.modern) {
    live.telemetry("turn.started", live.seq, { turnId: turn.id });
    live.operation("turn-started", { turnId: turn.id });
  }
  addUserMessage(live, turn.id, spec.input, { ...spec.message, id: turn.messageId });
  // What a person has said is kept even when the process dies in the turn.
  live.save();
  let end: "completed" | "cancelled" | "failed" = "completed";
  try {
    if (spec.run) await spec.run(turn);
    else if (spec.brain) await drive(turn, spec.brain);
    turn.check();
    complete(turn, "success");
  } catch (error) {
    await spec.brain?.return().catch(() => {});
    if (error instanceof Stopped || turn.signal.aborted) {
      end = "cancelled";
      turn.assistant?.finish("cancelled", undefined, {
        name: "MessageAbortedError",
        data: { message: STOPPED.errorMessage, turnResult: "cancelled" },
      });
      complete(turn, "cancelled");
    } else {
      end = "failed";
      fail(turn, error);
    }
  }
  live.turn = undefined;
  live.activeTools = [];
  live.pendingPermissions = [];
  if (!world.settings.stuckStatus) live.status = end === "failed" ? "error" : "idle";
  live.save();
  release(live, spec, end);
  if (spec.kind === "prompt" && end === "completed") await titleAfterTurn(live, turn);
}

/** Frees the lock and starts what waited for it. */
export function release(live: Live, spec: TurnSpec, end: "completed" | "cancelled" | "failed"): void {
  const reasons =
    spec.reasons ??
    (live.lock === "prompt"
      ? { completed: "prompt_completed", failed: "prompt_failed", cancelled: "prompt_failed" }
      : undefined);
  const modern = live.world.era.modern;
  // An input that waits for a turn of its own keeps the lock that its send took.
  const waiting = !live.held && live.pendingInputs.some((input) => input.locks);
  if (reasons && live.lock && !waiting) {
    live.lock = undefined;
    const reason = end === "cancelled" && !modern ? reasons.completed : reasons[end];
    live.stateUpdated(reason, modern ? settingsOf(live, false) : { status: "idle" });
  }
  afterTurn(live);
}

/** Asks the model step by step until it has nothing more to do, taking in what was queued meanwhile. */
async function drive(turn: Turn, first: Brain): Promise<void> {
  let brain: Brain | undefined = first;
  let outcome: StepOutcome = { tools: [] };
  while (brain) {
    const next: IteratorResult<undefined | Parameters<typeof runStep>[1], void> = await brain.next(outcome);
    if (next.done || !next.value) {
      brain = drain(turn);
      outcome = { tools: [] };
      continue;
    }
    outcome = await runStep(turn, next.value);
    turn.live.save();
    if (turn.over) {
      turn.response = "";
      return;
    }
    const feedback = outcome.tools.find((tool) => tool.kind === "denied" && tool.feedback !== undefined);
    // The same model goes on, with the person's words before it.
    if (feedback) takeIn(turn, (input) => input.delivery === "guide");
  }
}

/** The brain that answers what was queued meanwhile, if anything was. */
function drain(turn: Turn): Brain | undefined {
  const { live } = turn;
  if (live.held || live.world.settings.ownTurn) return undefined;
  const text = takeIn(turn, () => true);
  return text === undefined ? undefined : live.world.think(text, live, turn);
}

/** Takes queued inputs into this turn; their text. */
function takeIn(turn: Turn, fits: (input: PendingInput) => boolean): string | undefined {
  const { live } = turn;
  const inputs = live.pendingInputs.filter(fits);
  if (inputs.length === 0) return undefined;
  live.pendingInputs = live.pendingInputs.filter((input) => !inputs.includes(input));
  const drained = inputs.map((input) => ({
    pendingInputId: input.pendingInputId,
    messageId: addUserMessage(live, turn.id, input.text).info.id,
    text: input.text,
    delivery: input.delivery,
  }));
  turn.event("turn.steerDrained", {
    pendingInputIds: drained.map((each) => each.pendingInputId),
    targetTurnId: turn.id,
    injectedMessageIds: drained.map((each) => each.messageId),
    drainedInputs: drained,
  });
  return inputs.map((input) => input.text).join("\n");
}

function complete(turn: Turn, resultType: "success" | "cancelled"): void {
  const { live, spec } = turn;
  const { world, data } = live;
  const cancelled = resultType === "cancelled";
  const duration = world.clock.now() - turn.startedAt;
  const tokenCount = cancelled ? 0 : turn.usage.totalTokens;
  const toolCallCount = cancelled ? 0 : turn.toolCalls;
  const rounds = data.turnCount;
  const usage =
    turn.requests > 0
      ? {
          usage: {
            source: "provider",
            modelRequestCount: turn.requests,
            ...turn.usage,
            webFetchRequests: 0,
            webSearchRequests: 0,
            ...(world.era.contextWindowInUsage ? { contextWindow: contextWindowOf(live) } : {}),
          },
        }
      : {};
  const cached = turn.usage.cacheReadTokens;
  if (world.era.modern) live.operation("turn-completed", { turnId: turn.id });
  const seq = turn.event("turn.completed", {
    response: cancelled ? "" : turn.response,
    tokenCount,
    ...usage,
    toolCallCount,
    historyRoundCount: rounds,
    duration,
    ...(spec.inputId ? { inputId: spec.inputId } : {}),
    resultType,
    ...(cancelled
      ? {}
      : {
          cacheStats: {
            totalMessages: rounds * 2,
            cachedMessages: 0,
            lastCacheHit: cached > 0,
            ...(cached > 0 ? { cacheReadTokens: cached } : {}),
          },
        }),
    ...spec.completed,
  });
  addUsage(data.totals, turn.usage);
  data.totals.modelRequestCount += turn.requests;
  if (data.goal) data.goal.tokensUsed += turn.usage.totalTokens;
  terminal(turn, seq, {
    status: cancelled ? "interrupted" : "success",
    resultType,
    durationMs: duration,
    tokenCount,
    toolCallCount,
    ...(cancelled ? STOPPED : {}),
  });
}

function fail(turn: Turn, error: unknown): void {
  const { live } = turn;
  const { world, data } = live;
  const failure =
    error instanceof TurnFailed
      ? error.failure
      : { type: "UNKNOWN_ERROR", code: "UNKNOWN_ERROR", message: String((error as Error).message ?? error) };
  const { shown, kept } = failureError(failure, world.era);
  const turnPhase = ("turnPhase" in failure && failure.turnPhase) || "model_request";
  turn.assistant?.finish("error", undefined, {
    name: "ModelError",
    data: { message: failure.message, code: failure.code },
  });
  if (world.era.modern) live.operation("turn-failed", { turnId: turn.id });
  live.lastError = kept;
  data.totals.modelErrorCount++;
  const { inputId } = turn.spec;
  const seq = turn.event("turn.failed", { error: shown, turnPhase, ...(inputId ? { inputId } : {}) });
  const retryable = "attribution" in failure ? failure.attribution?.retryable : undefined;
  terminal(turn, seq, {
    status: "failed",
    errorCode: failure.code,
    errorMessage: failure.message,
    ...(retryable === undefined ? {} : { errorRetryable: retryable }),
    turnPhase,
  });
}

/** Tells of the end once more; old builds do it in the session's stream, with `end_turn` for a success. */
function terminal(turn: Turn, seq: number, facts: Obj): void {
  const { live } = turn;
  if (!live.world.era.terminalAsEvent) {
    live.telemetry("turn.terminal", seq, { turnId: turn.id, ...facts });
    return;
  }
  if (facts.status === "failed") return;
  turn.event("turn.terminal", {
    kind: "turn.terminal",
    status: facts.status,
    resultType: facts.resultType === "success" ? "end_turn" : facts.resultType,
    durationMs: facts.durationMs,
    inputTokens: turn.usage.inputTokens,
    outputTokens: turn.usage.outputTokens,
    totalTokens: turn.usage.totalTokens,
  });
}
