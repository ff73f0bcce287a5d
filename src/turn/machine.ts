/**
 * The rules of one conversation's turns, as a pure reducer: (state, input) to (state, effects). It knows no
 * socket, no file and no clock; waits are effects, and their end comes back as an input.
 *
 * Words: a *prompt* is what a client asked and waits for; a *turn* is what the backend runs. The *lock* is the
 * backend's prompt lock: a send is only taken while it is free, and it stays held for a moment after a turn's end.
 */

import { phrase } from "../locale/index.ts";
import { isPassing } from "../translate/failure.ts";
import {
  BUSY_BUDGET_MS,
  BUSY_NOTIFICATION_BUDGET_MS,
  BUSY_RETRY_MS,
  BUSY_TOLD_MS,
  FREED_EARLY_MS,
  FROZEN_MS,
  MAX_WAITING,
  QUIET_LOCK_MS,
  REMEMBERED_ENDS,
  RETRY_MS,
  STOP_ESCALATION_MS,
} from "./limits.ts";
import { cancelled, outcomeOf } from "./outcome.ts";
import type { Active, TurnState } from "./state.ts";
import type { Effect, Input, Notice, Outcome, TimerName, TurnEnd, TurnStarted, Wait } from "./types.ts";

export { newTurnState, type TurnState } from "./state.ts";
export type * from "./types.ts";

/** True while a turn of any kind runs, or a prompt is on its way to one. */
export function isRunning(state: TurnState): boolean {
  return state.turn !== undefined || state.active !== undefined;
}

/** True where nothing runs, waits or holds the lock. */
export function isIdle(state: TurnState): boolean {
  const { waiting, lockHeld, stopping } = state;
  return !isRunning(state) && waiting.length === 0 && !lockHeld && !stopping;
}

export function reduce(state: TurnState, input: Input): { state: TurnState; effects: readonly Effect[] } {
  const step = new Step(state);
  step.apply(input);
  step.pump();
  const effects = step.effects;
  const running = isRunning(step.state);
  // A turn's end is told before the prompt's answer lets a client send the next one.
  if (isRunning(state) !== running) effects.unshift({ type: "running", running });
  return { state: step.state, effects };
}

/** The end of a turn of which only the lock's word is known. */
const DONE: TurnEnd = { kind: "completed", resultType: "success", usage: undefined };
const REFUSED: TurnEnd = {
  kind: "failed",
  failure: { kind: "other", message: phrase("reason.refused", {}) },
};

/** The lock's word says no more than how it ended; a turn's end that was told before it says more. */
function inWordsOf(told: TurnEnd | undefined, end: TurnEnd): TurnEnd {
  if (!told || told === DONE || told === REFUSED) return end;
  return end === REFUSED && told.kind !== "failed" ? REFUSED : told;
}

type TurnEnded = Extract<Input, { type: "turnEnded" }>;

class Step {
  readonly effects: Effect[] = [];

  constructor(public state: TurnState) {}

  apply(input: Input): void {
    switch (input.type) {
      case "prompt":
        return this.prompt(input.key);
      case "accepted":
        if (this.state.active?.key === input.key) {
          const { active } = this.state;
          // An older build took it and said in the same breath that it was busy: it is sent again.
          if (active.busy) return;
          this.set({ active: { ...active, accepted: true }, lockHeld: true });
          this.clear("busy");
          this.clear("quiet");
          this.awaitBeginning();
        } else if (this.state.stopping && !this.state.stopping.sent) {
          // The prompt was cancelled on its way: the lock is about to be held for a turn that nobody wants.
          this.set({ lockHeld: true });
          this.sendStop();
        }
        return;
      case "refused":
        return this.refused(input);
      case "started":
        return this.started(input.turn);
      case "steered":
        return this.steered(input.inputId, input.targetTurnId);
      case "turnEnded":
        return this.turnEnded(input);
      case "compact":
        if (isIdle(this.state)) this.set({ lockHeld: true, compacting: "asked" });
        return;
      case "compactAnswered":
        if (this.state.compacting === "asked") this.set({ lockHeld: false, compacting: undefined });
        return;
      case "lockTaken":
        this.set({ lockHeld: true, ...(input.compaction ? { compacting: "runs" } : {}) });
        this.clear("quiet");
        // Whatever ended before, it was not the prompt that begins now.
        if (this.state.active?.freed && !input.compaction)
          this.set({ active: { ...this.state.active, freed: undefined } });
        // Taken for nothing of ours: what holds it may have gone without a word, and prompts wait for it.
        if (!this.state.active && !this.state.turn)
          this.effects.push({ type: "timer", name: "lock", ms: FROZEN_MS });
        return this.sendStop();
      case "lockFree":
        return this.lockFree(input.failed ? REFUSED : DONE);
      case "cancel":
        return this.cancel(input.key);
      case "timer":
        return this.timer(input.name);
      case "silent":
        return this.silent();
      case "gone":
        return this.gone();
      case "lost":
        return this.lost(input.error);
    }
  }

  /** Sends the next waiting prompt where nothing is in its way. */
  pump(): void {
    const { active, turn, lockHeld, waiting, stopping } = this.state;
    if (turn || lockHeld || stopping) return;
    if (active?.retry === "due") {
      const inputId = `${this.inputId(active.key)}.${active.attempt}`;
      this.clear("quiet");
      this.set({ active: { ...active, inputId, freed: undefined, retry: undefined } });
      this.effects.push({ type: "send", key: active.key, inputId, attempt: active.attempt });
    }
    const [key, ...rest] = waiting;
    if (key === undefined || active) return;
    const inputId = this.inputId(key);
    // A quiet second that began before this send says nothing of it.
    this.clear("quiet");
    this.set({
      waiting: rest,
      active: {
        key,
        inputId,
        accepted: false,
        turnId: undefined,
        busyFor: 0,
        busy: false,
        attempt: 0,
        freed: undefined,
        retry: undefined,
      },
    });
    this.effects.push({ type: "send", key, inputId, attempt: 0 });
  }

  private prompt(key: number): void {
    if (this.state.waiting.length >= MAX_WAITING) {
      this.settle(key, { kind: "queue-full" });
      return;
    }
    const { turn, compacting, waiting } = this.state;
    this.set({ waiting: [...waiting, key] });
    if (turn?.notification || compacting) {
      if (waiting.length === 0) this.tellWait(key, compacting ? "compaction" : "task");
      return;
    }
    // The first one runs as soon as the running turn is stopped; whatever is behind it waits for a whole turn.
    if (waiting.length === 1) this.tellWait(key, "prompts");
    this.preempt();
    if (this.state.stopping) this.effects.push({ type: "timer", name: "told", ms: BUSY_TOLD_MS });
  }

  /** One line about the wait of a prompt, whatever it turns out to wait for in the end. */
  private tellWait(key: number, behind: Wait): void {
    if (key <= this.state.waitTold) return;
    this.set({ waitTold: key });
    this.tell({ kind: "waiting", behind });
  }

  /** Ends the running prompt as cancelled and asks the backend to stop its turn. */
  private preempt(): void {
    const { active, turn, stopping, compacting } = this.state;
    if (stopping) return;
    if (active) {
      this.settle(active.key, cancelled);
      this.set({ active: undefined });
      this.clear("busy");
      this.clear("retry");
      // Between two tries nothing of it runs.
      if (!active.retry && !active.busy) this.beginStop(active.inputId);
    } else if (turn && !turn.notification && !compacting) {
      if (turn.goal) this.tell({ kind: "goalPaused" });
      this.beginStop(turn.inputId);
    }
  }

  private beginStop(inputId: string | undefined, givenUp = false): void {
    this.set({ stopping: { sent: false, inputId, givenUp } });
    this.effects.push({ type: "abandon" });
    this.effects.push({ type: "timer", name: "stop", ms: STOP_ESCALATION_MS });
    this.sendStop();
  }

  /** A stop before the turn holds the lock is ignored by the backend, so it is kept until it can be heard. */
  private sendStop(): void {
    const { stopping, lockHeld, turn, compacting } = this.state;
    if (!stopping || stopping.sent || compacting) return;
    if (turn?.notification ? !stopping.givenUp : !lockHeld) return;
    this.set({ stopping: { ...stopping, sent: true } });
    this.effects.push({ type: "timer", name: "stop", ms: STOP_ESCALATION_MS });
    this.effects.push({ type: "stop", foregroundExecutionId: turn?.foregroundExecutionId });
  }

  private refused({ key, busy, error, took = 0 }: Extract<Input, { type: "refused" }>): void {
    const { active, stopping } = this.state;
    if (active?.key !== key) {
      // Cancelled on its way and never taken: there is nothing to stop. A further try's id begins with the first one's.
      const { turn } = this.state;
      const itsOwn = turn && !turn.compaction && !turn.notification;
      const [first] = stopping?.inputId?.split(".") ?? [];
      if (first === this.inputId(key) && !itsOwn) this.stopped();
      return;
    }
    const { turn, compacting } = this.state;
    // A turn that began while it was on its way, a goal's, is in the way of any arriving prompt, and stopped by it.
    const met = turn !== undefined && !turn.notification && active.turnId === undefined;
    if (busy && (compacting || met)) {
      this.set({ active: undefined, waiting: [key, ...this.state.waiting] });
      if (!compacting) this.preempt();
      return;
    }
    if (busy) {
      const budget = turn?.notification ? BUSY_NOTIFICATION_BUDGET_MS : BUSY_BUDGET_MS;
      if (active.busyFor < budget) {
        // Whatever came before the first busy answer was no wait for a busy agent.
        const busyFor = active.busyFor + BUSY_RETRY_MS + (active.busyFor > 0 ? took : 0);
        this.set({ active: { ...active, busyFor, busy: true } });
        if (busyFor >= BUSY_TOLD_MS) this.tellWait(key, turn?.notification ? "task" : "busy");
        this.effects.push({ type: "timer", name: "busy", ms: BUSY_RETRY_MS });
        return;
      }
    }
    this.settle(key, { kind: "lost", error });
    this.set({ active: undefined, lockHeld: compacting !== undefined });
  }

  private started(turn: TurnStarted): void {
    const { active } = this.state;
    // A build that echoes no input id: the first turn of a person's own kind after the accepted send is ours.
    const ours =
      active !== undefined &&
      active.turnId === undefined &&
      (turn.inputId !== undefined ? turn.inputId === active.inputId : !turn.notification && !turn.own);
    this.clear("quiet");
    this.set({
      turn: {
        turnId: turn.turnId,
        inputId: turn.inputId ?? (ours ? active.inputId : undefined),
        foregroundExecutionId: turn.foregroundExecutionId,
        notification: turn.notification,
        goal: turn.goal === true,
        compaction: !ours && this.state.compacting !== undefined && !turn.notification,
      },
    });
    if (ours) this.set({ active: { ...active, turnId: turn.turnId, freed: undefined } });
    const { stopping } = this.state;
    if (stopping && !turn.notification) {
      // Told without a guard before the turn had a name; told again now that the turn that is meant has one.
      this.set({ lockHeld: true, stopping: { ...stopping, sent: false } });
      this.sendStop();
    }
  }

  private steered(inputId: string | undefined, targetTurnId: string | undefined): void {
    const { active } = this.state;
    if (!active || inputId === undefined || inputId !== active.inputId || active.turnId !== undefined) return;
    this.set({ active: { ...active, turnId: targetTurnId } });
    this.tell({ kind: "steered" });
  }

  private turnEnded(input: TurnEnded): void {
    const { active, turn, ended, stopping } = this.state;
    if (input.turnId !== undefined && ended.includes(input.turnId)) return;
    if (this.isRefusal(input)) return;
    const isRunningTurn =
      turn !== undefined &&
      (input.turnId === undefined || turn.turnId === undefined || turn.turnId === input.turnId);
    // Without a turn id, or before any turn began, the end belongs to the prompt that holds the lock.
    const isActive =
      active !== undefined &&
      (input.turnId === undefined
        ? !turn?.notification
        : active.turnId === input.turnId ||
          (active.turnId === undefined && input.inputId !== undefined && input.inputId === active.inputId));
    this.seenEnd(input.turnId);
    if (isRunningTurn) this.set({ turn: undefined });
    if (isActive) this.finish(active, input.end);
    else if (!isRunningTurn) this.freedEarly(input.end);
    if (isRunningTurn && turn.notification) {
      // A notification turn frees its lock with its end and says nothing more.
      this.set({ lockHeld: this.state.compacting !== undefined });
      // What was spent on waiting for it is not taken from the shorter time without it.
      if (this.state.active) this.set({ active: { ...this.state.active, busyFor: 0 } });
      // It may have come between another turn's end and the sign that its lock is free.
      if (stopping) this.effects.push({ type: "timer", name: "quiet", ms: QUIET_LOCK_MS });
      else this.awaitBeginning();
      return;
    }
    if (isRunningTurn || isActive) {
      if (stopping) this.clear("stop");
      this.effects.push({ type: "timer", name: "quiet", ms: QUIET_LOCK_MS });
    }
  }

  /** @returns whether it was a refusal of the sent prompt, which came as the end of a turn that never was. */
  private isRefusal({ turnId, inputId, busy }: TurnEnded): boolean {
    const { active, turn } = this.state;
    if (!busy || !active || active.turnId !== undefined || active.retry || active.busy) return false;
    if (inputId !== undefined && inputId !== active.inputId) return false;
    if (turnId !== undefined && turnId === turn?.turnId) return false;
    this.seenEnd(turnId);
    this.set({ active: { ...active, accepted: false, freed: undefined } });
    this.refused({ type: "refused", key: active.key, busy: true, error: busy });
    return true;
  }

  /** What may be the end of the prompt, told before its turn began, and may be a late word of an earlier turn. */
  private freedEarly(end: TurnEnd): void {
    const { active } = this.state;
    if (!active || active.retry || active.busy || active.turnId !== undefined) return;
    this.set({ active: { ...active, freed: end } });
    this.awaitBeginning();
  }

  /** Where nothing of a prompt comes now whose end was told before its beginning, nothing will. */
  private awaitBeginning(): void {
    const { active, turn } = this.state;
    if (active?.accepted && active.freed && active.turnId === undefined && !turn)
      this.effects.push({ type: "timer", name: "quiet", ms: FREED_EARLY_MS });
  }

  private seenEnd(turnId: string | undefined): void {
    if (turnId !== undefined) this.set({ ended: [...this.state.ended.slice(1 - REMEMBERED_ENDS), turnId] });
  }

  /** The end of the active prompt's turn: its answer, or one more try. */
  private finish(active: Active, end: TurnEnd): void {
    const ms = RETRY_MS[active.attempt];
    if (end.kind === "failed" && isPassing(end.failure) && ms !== undefined) {
      const attempt = active.attempt + 1;
      this.set({ active: { ...active, accepted: false, turnId: undefined, attempt, retry: "waits" } });
      this.tell({ kind: "retry", attempt, attempts: RETRY_MS.length, ms, failure: end.failure });
      this.effects.push({ type: "timer", name: "retry", ms });
      return;
    }
    this.set({ active: undefined });
    this.settle(active.key, outcomeOf(end));
  }

  /** @param end what its word says of the prompt that held it. */
  private lockFree(end: TurnEnd): void {
    const { active, turn } = this.state;
    this.clear("quiet");
    this.set({ lockHeld: false, compacting: undefined });
    if (turn && !turn.notification) {
      this.seenEnd(turn.turnId);
      this.set({ turn: undefined });
    }
    const worded = inWordsOf(active?.freed, end);
    if (!this.state.active?.accepted) this.freedEarly(worded);
    const others = turn?.notification && (active?.turnId === undefined || active.turnId !== turn.turnId);
    if ((active?.accepted || active?.turnId !== undefined) && !others) {
      // The lock went without an end of our turn: nothing more can come of it.
      this.finish(active, worded);
    }
    this.stopped();
  }

  private cancel(key: number | undefined): void {
    if (key !== undefined && this.state.active?.key !== key) {
      if (!this.state.waiting.includes(key)) return;
      this.set({ waiting: this.state.waiting.filter((other) => other !== key) });
      this.settle(key, cancelled);
      return;
    }
    if (key === undefined) {
      const waiting = this.state.waiting;
      this.set({ waiting: [] });
      for (const other of waiting) this.settle(other, cancelled);
    }
    this.preempt();
  }

  private timer(name: TimerName): void {
    const { active, stopping, turn } = this.state;
    if (name === "busy") {
      if (active?.busy && active.turnId === undefined) {
        const { key, inputId, attempt } = active;
        this.set({ active: { ...active, busy: false } });
        this.effects.push({ type: "send", key, inputId, attempt });
      }
    } else if (name === "retry") {
      if (active?.retry) this.set({ active: { ...active, retry: "due" } });
    } else if (name === "told") {
      // The turn before it does not stop as soon as one does.
      const [first] = this.state.waiting;
      if (stopping && first !== undefined) this.tellWait(first, "busy");
    } else if (name === "quiet") {
      this.lockFree(active?.freed ?? DONE);
    } else if (name === "lock") {
      if (this.state.lockHeld && !turn && !active && !stopping) this.lockFree(DONE);
    } else if (stopping && turn?.notification && !stopping.givenUp) {
      // What is to be stopped comes behind it, and closing the session would end it.
      this.effects.push({ type: "timer", name: "stop", ms: STOP_ESCALATION_MS });
    } else if (stopping) {
      this.effects.push({ type: "reset", turnId: turn?.turnId });
      this.set({ turn: undefined, lockHeld: false, compacting: undefined });
      this.stopped();
    }
  }

  private silent(): void {
    const { active, turn, stopping } = this.state;
    if ((stopping && (stopping.givenUp || !turn?.notification)) || (!active && !turn)) return;
    if (active) {
      this.tell({ kind: "silent" });
      this.settle(active.key, { kind: "ended", stopReason: "end_turn", usage: undefined });
      this.set({ active: undefined });
    }
    if (!stopping) return this.beginStop(active?.inputId ?? turn?.inputId, true);
    this.set({ stopping: { ...stopping, givenUp: true } });
    this.effects.push({ type: "timer", name: "stop", ms: STOP_ESCALATION_MS });
    this.sendStop();
  }

  /** A session that was dropped runs nothing: the turn that was taken to run has ended without a word. */
  private gone(): void {
    const { active, turn, compacting } = this.state;
    const ran = active?.accepted || active?.turnId !== undefined;
    if (!turn && !ran) return;
    this.clear("quiet");
    this.seenEnd(turn?.turnId);
    // A compaction that was asked for is on its way to the session that is back.
    const asked = compacting === "asked" ? compacting : undefined;
    this.set({ turn: undefined, lockHeld: asked !== undefined, compacting: asked });
    this.stopped();
    if (!active || !ran) return;
    this.set({ active: undefined });
    this.settle(active.key, { kind: "ended", stopReason: "end_turn", usage: undefined });
  }

  private lost(error: Error): void {
    const { active, waiting } = this.state;
    this.set({ active: undefined, turn: undefined, lockHeld: false, compacting: undefined });
    this.clear("busy");
    this.clear("retry");
    this.clear("quiet");
    this.stopped();
    if (active) this.settle(active.key, { kind: "lost", error });
    this.set({ waiting });
  }

  private stopped(): void {
    if (!this.state.stopping) return;
    this.set({ stopping: undefined });
    this.clear("stop");
  }

  private inputId(key: number): string {
    return `${this.state.idPrefix}-${key}`;
  }

  private set(change: Partial<TurnState>): void {
    this.state = { ...this.state, ...change };
  }

  private tell(notice: Notice): void {
    this.effects.push({ type: "notice", notice });
  }

  private settle(key: number, outcome: Outcome): void {
    this.effects.push({ type: "settle", key, outcome });
  }

  private clear(name: TimerName): void {
    this.effects.push({ type: "clearTimer", name });
  }
}
