/**
 * What the backend says of its own accord: events, state changes and ends of turns. Each finds its conversation, waits
 * for its place in the order, becomes updates, and is told to the turn rules.
 */

import type { Backend } from "../backend/backend.ts";
import { CODE, RpcError } from "../backend/rpc.ts";
import { list, num, type Obj, obj, str, text } from "../platform/json.ts";
import { errorName, type Log } from "../platform/log.ts";
import { taskUpdated } from "../tasks/background.ts";
import { translateEvent } from "../translate/events.ts";
import { saysBusy, turnFailure } from "../translate/failure.ts";
import type { Update } from "../translate/updates.ts";
import { turnUsage } from "../translate/usage.ts";
import type { TurnEnd } from "../turn/machine.ts";
import type { Conversation } from "./conversation.ts";
import { historyCompacted } from "./history.ts";
import { FILL_DEADLINE_MS, REVISION_STEP } from "./limits.ts";
import type { Registry } from "./registry.ts";
import type { TurnRunner } from "./turns.ts";

export interface IntakeHooks {
  /** The conversation's turn said something. */
  heard(conversation: Conversation): void;
  update(conversation: Conversation, update: Update): void;
  /** A settings patch, to be folded into the record's. */
  settings(conversation: Conversation, patch: Obj): void;
}

export interface IntakeDeps {
  readonly backend: Backend;
  readonly log: Log;
}

export class Intake {
  constructor(
    private readonly deps: IntakeDeps,
    private readonly registry: Registry,
    private readonly turns: TurnRunner,
    private readonly hooks: IntakeHooks,
  ) {}

  /** One `session/event` of the backend. */
  event(params: Obj): void {
    const conversation = this.owner(params);
    if (!conversation || isForeign(conversation, params)) return;
    // Before its session was opened, another record's is heard that was closed; what a snapshot has needs no event.
    if (conversation.residency === 0) return;
    const { order } = conversation;
    const seq = num(params.seq);
    if (order.isNext(seq)) {
      // Nothing is missing, so nothing waits behind.
      return this.process(conversation, params);
    }
    const known = order.missing;
    this.take(conversation, order.accept(seq, params));
    const { missing } = order;
    if (missing !== undefined && missing !== known) void this.fill(conversation, missing);
  }

  /** Events whose turn it is, and then what came behind them and is no event. */
  private take(conversation: Conversation, ready: readonly Obj[]): void {
    for (const params of ready) this.process(conversation, params);
    this.runBehind(conversation);
  }

  private runBehind(conversation: Conversation): void {
    if (conversation.order.missing !== undefined) return;
    for (const run of conversation.behind.splice(0)) run();
  }

  /** Runs at once, or, while events are missing, after those that it came behind. */
  private inTurn(conversation: Conversation, run: () => void): void {
    if (conversation.order.missing === undefined) run();
    else conversation.behind.push(run);
  }

  /** Asks once for the events of a hole; those behind it wait no longer than the answer takes. */
  private async fill(conversation: Conversation, hole: number): Promise<void> {
    const { order, backendId } = conversation;
    let events: { seq: number; params: Obj }[] | undefined;
    try {
      const params = { sessionId: backendId, afterSeq: order.lastSeq };
      const answer = await this.deps.backend.call("session/events", params, [], {
        deadlineMs: FILL_DEADLINE_MS,
      });
      const log = obj(answer).events;
      // Without a list it has not said what it knows.
      if (Array.isArray(log))
        events = log.map(obj).flatMap((event) => {
          const seq = num(event.seq);
          return seq === undefined ? [] : [{ seq, params: { ...event, sessionId: backendId } }];
        });
    } catch (error) {
      this.deps.log.once("call:session/events", "warn", `lost events could not be read: ${errorName(error)}`);
    }
    this.take(conversation, order.fill(hole, events));
  }

  private process(conversation: Conversation, params: Obj): void {
    const type = str(params.type) ?? "";
    const payload = obj(params.payload);
    const turnId = text(params.turnId) ?? text(payload.turnId);
    this.hooks.heard(conversation);
    if (turnId !== undefined && turnId === conversation.muted && !type.startsWith("turn.")) return;
    if (payload.operationId !== undefined && payload.phase === "standalone_turn")
      conversation.compaction = turnId;
    // What a compaction says is the agent's own summary, and no reply.
    if (type === "model.streaming" && isCompaction(conversation, turnId)) return;
    if (type === "turn.started") return this.turnStarted(conversation, turnId, payload);
    const updates =
      type === "session.updated" && payload.taskId !== undefined
        ? taskUpdated(conversation.tasks, conversation.translate, payload)
        : translateEvent(conversation.translate, type, payload);
    for (const update of updates) this.hooks.update(conversation, update);
    const inputId = text(payload.inputId);
    switch (type) {
      case "turn.completed":
        return this.turns.dispatch(conversation, {
          type: "turnEnded",
          turnId,
          inputId,
          end: {
            kind: "completed",
            resultType: str(payload.resultType) ?? "success",
            usage: turnUsage(payload.usage),
          },
        });
      case "turn.failed":
        return this.turns.dispatch(conversation, {
          type: "turnEnded",
          turnId,
          inputId,
          end: { kind: "failed", failure: turnFailure(payload.error) },
          busy: busyFailure(payload.error),
        });
      case "turn.terminal":
        return this.terminal({ ...payload, sessionId: params.sessionId, turnId });
      case "turn.steerQueued": {
        const pending = text(payload.pendingInputId);
        if (pending !== undefined && inputId !== undefined) conversation.queuedInputs.set(pending, inputId);
        return;
      }
      case "turn.steerDrained":
        for (const pending of list(payload.pendingInputIds)) {
          const drained = conversation.queuedInputs.get(String(pending));
          conversation.queuedInputs.delete(String(pending));
          const targetTurnId = text(payload.targetTurnId) ?? turnId;
          this.turns.dispatch(conversation, { type: "steered", inputId: drained, targetTurnId });
        }
        return;
    }
  }

  /** One `state.updated`: the prompt lock, and settings wherever they were changed. */
  state(params: Obj): void {
    const conversation = this.owner(params);
    if (!conversation || conversation.residency === 0 || !isPresent(conversation, num(params.revision)))
      return;
    this.inTurn(conversation, () => {
      // While a session is brought up, what is said of its lock is said of the one before.
      const former = conversation.bringingUp || (conversation.opening && conversation.residentIn === 0);
      const reason = former ? "" : (str(params.reason) ?? "");
      if (reason === "prompt_started" || reason === "compact_started") {
        this.turns.dispatch(conversation, { type: "lockTaken", compaction: reason === "compact_started" });
      } else if (LOCK_FREE.has(reason)) {
        if (reason === "session_compacted") historyCompacted(conversation);
        this.turns.dispatch(conversation, { type: "lockFree", failed: reason === "prompt_failed" });
      }
      this.hooks.settings(conversation, obj(params.patch));
    });
  }

  /** A `turn.terminal`, in either of the ways in which builds send it. */
  terminal(params: Obj): void {
    const conversation = this.owner(params);
    if (!conversation || conversation.residency === 0 || isForeign(conversation, params)) return;
    const resultType = params.status === "interrupted" ? "cancelled" : (str(params.resultType) ?? "success");
    const end: TurnEnd =
      params.status === "failed"
        ? { kind: "failed", failure: turnFailure({ message: params.errorMessage, code: params.errorCode }) }
        : { kind: "completed", resultType, usage: undefined };
    // It tells of an event that says more: where that is late or lost, it is waited for, or asked for.
    const { order } = conversation;
    const known = order.missing;
    const eventSeq = num(params.eventSeq);
    if (eventSeq !== undefined && Number.isSafeInteger(eventSeq)) order.expect(eventSeq);
    this.inTurn(conversation, () =>
      this.turns.dispatch(conversation, { type: "turnEnded", turnId: text(params.turnId), end }),
    );
    const { missing } = order;
    if (missing !== undefined && missing !== known) void this.fill(conversation, missing);
  }

  /** The conversation that a question of the backend belongs to. */
  owner(params: Obj): Conversation | undefined {
    const id = text(params.sessionId);
    return id === undefined ? undefined : this.registry.ofBackend(id);
  }

  private turnStarted(conversation: Conversation, turnId: string | undefined, payload: Obj): void {
    const source = text(payload.inputSource);
    const hidden = payload.inputVisibility === "model-only";
    conversation.prompted = true;
    const notification = source === "background_task" || source === "subagent";
    conversation.translate.shown.turnStarted(text(payload.messageId), notification);
    // What an earlier try of the same prompt has shown, the history holds.
    conversation.live.clear();
    const { stopping } = conversation.turns;
    const inputId = text(payload.inputId);
    // Given up before it began: nobody waits for its words any more.
    if (stopping?.givenUp && !notification && (inputId ?? stopping.inputId) === stopping.inputId) {
      conversation.muted = turnId;
      conversation.translate.shown.givenUp = true;
    }
    this.turns.dispatch(conversation, {
      type: "started",
      turn: {
        turnId,
        inputId,
        foregroundExecutionId: text(payload.foregroundExecutionId),
        notification,
        own: source !== undefined || hidden,
        goal: source?.startsWith("goal") === true,
      },
    });
    if (conversation.turns.turn?.compaction) conversation.compaction = turnId;
  }
}

/** Also where its turn has no name, or its beginning was not heard: while it holds the lock no other turn begins. */
function isCompaction({ compaction, turns }: Conversation, turnId: string | undefined): boolean {
  if (turnId !== undefined && turnId === compaction) return true;
  const { compacting, turn, active } = turns;
  return compacting === "runs" && (turn ? turn.compaction : active?.turnId === undefined);
}

function isForeign(conversation: Conversation, params: Obj): boolean {
  if (conversation.foreign === undefined) return false;
  const turnId = text(params.turnId);
  return turnId !== undefined && conversation.foreign.has(turnId);
}

/**
 * True for a state of the present residency. Revisions count up within one; a state that continues those of the
 * residency before, and not those of this one, is a late word of a session that was closed since.
 */
function isPresent(conversation: Conversation, revision: number | undefined): boolean {
  const { revision: known, formerRevision: former } = conversation;
  if (revision === undefined) return true;
  if (known !== undefined && former !== undefined) {
    const continuesThis = revision > known && revision <= known + REVISION_STEP;
    const continuesFormer = revision > former && revision <= former + REVISION_STEP;
    if (continuesFormer && !continuesThis) return false;
  }
  conversation.revision = Math.max(revision, known ?? revision);
  return true;
}

/** Signs that the backend's prompt lock is free again. */
const LOCK_FREE = new Set([
  "prompt_completed",
  "prompt_failed",
  "session_compacted",
  "session_compact_cancelled",
  "session_compact_failed",
  "goal_continuation_completed",
  "goal_continuation_failed",
]);

/** A failure that means what a busy answer to the send means, as that answer. */
function busyFailure(error: unknown): Error | undefined {
  if (!saysBusy(error)) return undefined;
  return new RpcError("session/send", CODE.busy, str(obj(error).message) ?? "", undefined);
}
