/** The turn rules under thousands of random sequences: what must hold whatever comes, and in whatever order. */

import { describe, expect, test } from "bun:test";
import { MAX_WAITING } from "../../src/turn/limits.ts";
import {
  type Effect,
  type Input,
  newTurnState,
  type Outcome,
  reduce,
  type TimerName,
  type TurnState,
} from "../../src/turn/machine.ts";
import { eachSeed, type Random } from "../support/random.ts";

const ERROR = new Error("x");

/** Feeds a machine and holds each step against what was seen from outside. */
class Judge {
  state: TurnState = newTurnState("t");
  readonly asked: number[] = [];
  readonly settled = new Map<number, Outcome>();
  readonly sent: number[] = [];
  readonly armed = new Set<TimerName>();
  readonly trail: string[] = [];
  running = false;
  /** Refused while the context was compacted, or for a turn that began meanwhile: back at the head of the queue. */
  readonly putBack = new Set<number>();

  /** @param hostile what comes may contradict itself, so that only what must hold in spite of it is judged. */
  constructor(private readonly hostile = false) {}

  feed(input: Input): readonly Effect[] {
    const before = this.state;
    this.trail.push(JSON.stringify(input));
    if (input.type === "prompt") this.asked.push(input.key);
    if (input.type === "timer") this.armed.delete(input.name);
    const { state, effects } = reduce(before, input);
    this.state = state;
    const met = before.turn && !before.turn.notification && before.active?.turnId === undefined;
    if (
      input.type === "refused" &&
      input.busy &&
      (before.compacting || met) &&
      before.active?.key === input.key
    )
      this.putBack.add(input.key);
    for (const effect of effects) this.effect(effect, input);
    const live = [...(state.active ? [state.active.key] : []), ...state.waiting];
    expect(new Set(live).size).toBe(live.length);
    expect(state.waiting.length).toBeLessThanOrEqual(MAX_WAITING + this.putBack.size);
    for (const key of live) expect(this.settled.has(key)).toBe(false);
    // Every prompt is waiting, active or settled: none is lost between.
    expect(live.length + this.settled.size).toBe(this.asked.length);
    expect(this.running).toBe(state.turn !== undefined || state.active !== undefined);
    // A stop has an end in sight: a sign of its lock, which a quiet second stands for, or the last resort.
    if (state.stopping && !state.turn && !this.hostile && input.type !== "lockTaken")
      expect(this.armed.has("stop") || this.armed.has("quiet")).toBe(true);
    return effects;
  }

  private effect(effect: Effect, input: Input): void {
    switch (effect.type) {
      case "send": {
        expect(this.settled.has(effect.key)).toBe(false);
        expect(this.state.active?.key).toBe(effect.key);
        expect(effect.inputId).toBe(`t-${effect.key}`);
        if (this.putBack.delete(effect.key)) {
          // It met a compaction, which is waited for, or a turn, which is stopped.
          expect(this.state.compacting).toBeUndefined();
        } else if (this.sent.includes(effect.key)) {
          // Only a busy answer is sent again.
          expect(input).toEqual({ type: "timer", name: "busy" });
          return;
        }
        expect(this.state.turn).toBeUndefined();
        expect(this.state.lockHeld).toBe(false);
        expect(this.state.stopping).toBeUndefined();
        // In the order in which they came.
        expect(this.sent.every((key) => key <= effect.key)).toBe(true);
        this.sent.push(effect.key);
        return;
      }
      case "settle":
        expect(this.asked).toContain(effect.key);
        expect(this.settled.has(effect.key)).toBe(false);
        this.settled.set(effect.key, effect.outcome);
        if (effect.outcome.kind === "queue-full") expect(input).toEqual({ type: "prompt", key: effect.key });
        // What was never sent ends only by a cancel, or by there being too many.
        if (!this.sent.includes(effect.key)) {
          if (effect.outcome.kind !== "queue-full") expect(input.type).toBe("cancel");
        }
        return;
      case "timer":
        this.armed.add(effect.name);
        return;
      case "clearTimer":
        this.armed.delete(effect.name);
        return;
      case "running":
        expect(effect.running).toBe(!this.running);
        this.running = effect.running;
        return;
      case "stop":
      case "reset":
      case "abandon":
        return;
    }
  }
}

function judged(body: (judge: Judge) => void, hostile = false): void {
  const judge = new Judge(hostile);
  try {
    body(judge);
  } catch (error) {
    throw new Error(
      `${error instanceof Error ? error.message : error}\nafter ${judge.trail.slice(-25).join("\n")}`,
    );
  }
}

describe("whatever comes", () => {
  const turnIds = ["a", "b", "c", undefined];

  function someInput(random: Random, judge: Judge): Input {
    const key = random.int(1, Math.max(1, judge.asked.length));
    const inputId = random.pick([undefined, `t-${key}`, "other"]);
    const turnId = random.pick(turnIds);
    switch (random.int(0, 11)) {
      case 0:
      case 1:
        return { type: "prompt", key: judge.asked.length + 1 };
      case 2:
        return { type: "accepted", key: judge.state.active?.key ?? key };
      case 3:
        return {
          type: "refused",
          key: random.chance(0.5) ? (judge.state.active?.key ?? key) : key,
          busy: random.chance(0.5),
          error: ERROR,
        };
      case 4:
      case 5:
        return {
          type: "started",
          turn: {
            turnId,
            inputId,
            foregroundExecutionId: random.pick([undefined, "fg"]),
            notification: random.chance(0.2),
            own: random.chance(0.3),
          },
        };
      case 6:
        return {
          type: "turnEnded",
          turnId,
          inputId,
          end: random.chance(0.5)
            ? {
                kind: "completed",
                resultType: random.pick(["success", "cancelled", "odd"]),
                usage: undefined,
              }
            : { kind: "failed", failure: { kind: "other", message: "no" } },
        };
      case 7:
        return random.chance(0.5)
          ? { type: "lockTaken", compaction: random.chance(0.3) }
          : { type: "lockFree", failed: random.chance(0.3) };
      case 8:
        return random.chance(0.7) ? { type: "cancel", key } : { type: "cancel" };
      case 9:
        return judge.armed.size > 0
          ? { type: "timer", name: random.pick([...judge.armed]) }
          : { type: "steered", inputId, targetTurnId: turnId };
      case 10:
        return random.chance(0.5) ? { type: "compact" } : { type: "compactAnswered" };
      default:
        return random.chance(0.2)
          ? { type: "lost", error: ERROR }
          : { type: "steered", inputId, targetTurnId: turnId };
    }
  }

  test("M4 B16 B22 each prompt settles once at most, none is lost, sends keep their order and wait for turn and lock", () => {
    eachSeed(3_000, (random) => {
      judged((judge) => {
        for (let n = 0; n < 60; n++) judge.feed(someInput(random, judge));
        // A process that died frees everything; from there each prompt that waits gets its turn.
        judge.feed({ type: "lost", error: ERROR });
        for (let n = 0; judge.state.active && n < 100; n++) {
          const { key, inputId } = judge.state.active;
          const turnId = `end-${n}`;
          judge.feed({ type: "lockTaken" });
          judge.feed({ type: "accepted", key });
          judge.feed({
            type: "started",
            turn: { turnId, inputId, foregroundExecutionId: "fg", notification: false, own: false },
          });
          judge.feed({
            type: "turnEnded",
            turnId,
            end: { kind: "completed", resultType: "success", usage: undefined },
          });
          judge.feed({ type: "lockFree", failed: false });
        }
        expect(judge.settled.size).toBe(judge.asked.length);
        expect(judge.running).toBe(false);
      }, true);
    });
  });

  test("B16 a flood of prompts is bounded, and cancelling it answers each", () => {
    judged((judge) => {
      for (let key = 1; key <= 500; key++) judge.feed({ type: "prompt", key });
      expect([...judge.settled.values()].filter((outcome) => outcome.kind === "queue-full").length).toBe(
        500 - MAX_WAITING - 1,
      );
      judge.feed({ type: "cancel" });
      expect(judge.settled.size).toBe(500);
    });
  });
});

/**
 * A backend that keeps its word, of either era: it takes one prompt at a time, tells of its lock or does not,
 * answers before or after its events, runs turns of its own, and stops when it is told to.
 */
class PlayedBackend {
  /** What is under way, each a list of inputs that come in this order; the lists interleave. */
  private readonly lanes: Input[][] = [];
  private turns = 0;
  private lock: { turnId: string; notification: boolean } | undefined;
  /** A stop that was heard: the running turn ends as cancelled. */
  private stopped = false;
  readonly taken: number[] = [];
  private queued: { turnId: string; inputId: string } | undefined;

  constructor(
    private readonly random: Random,
    private readonly tells: boolean,
    private readonly echoes: boolean,
    /** Takes a prompt while a notification turn runs, as newer builds do. */
    private readonly queues: boolean,
  ) {}

  hear(effects: readonly Effect[]): void {
    for (const effect of effects) {
      if (effect.type === "send") this.send(effect.key, effect.inputId);
      if (effect.type === "stop" && this.lock && !this.lock.notification) this.stopped = true;
      if (effect.type === "reset") {
        // The session was closed: nothing of its turn comes any more.
        this.lanes.length = 0;
        this.queued = undefined;
        this.lock = undefined;
      }
    }
  }

  /** Starts a turn of the backend's own, if it is free. */
  own(notification: boolean): void {
    if (this.lock || this.lanes.length > 0) return;
    const turnId = `own-${++this.turns}`;
    this.lock = { turnId, notification };
    const lane: Input[] = [];
    if (this.tells && !notification) lane.push({ type: "lockTaken" });
    lane.push({
      type: "started",
      turn: { turnId, inputId: undefined, foregroundExecutionId: `fg-${turnId}`, notification, own: true },
    });
    this.lanes.push([...lane, ...this.end(turnId, notification)]);
  }

  /** The next input, or undefined where nothing is under way. */
  next(): Input | undefined {
    const lane = this.random.pick(this.lanes);
    if (!lane) return undefined;
    let input = lane.shift()!;
    if (lane.length === 0) this.lanes.splice(this.lanes.indexOf(lane), 1);
    if (input.type === "turnEnded" && input.turnId === this.lock?.turnId && this.stopped) {
      input = { ...input, end: { kind: "completed", resultType: "cancelled", usage: undefined } };
    }
    // Builds that tell nothing of the lock free it with the end of the turn.
    const frees =
      input.type === "lockFree" || (input.type === "turnEnded" && (!this.tells || this.lock?.notification));
    if (frees) {
      this.lock = undefined;
      this.stopped = false;
      this.startQueued();
    }
    return input;
  }

  private send(key: number, inputId: string): void {
    const notification = this.lanes.find((lane) =>
      lane.some((input) => input.type === "turnEnded" && input.turnId === this.lock?.turnId),
    );
    if (this.lock?.notification && notification && this.queues) {
      // Taken behind a turn of the backend's own: drained into it, or given one of its own after it.
      this.taken.push(key);
      notification.unshift({ type: "accepted", key });
      if (this.random.chance(0.5)) {
        notification.splice(1, 0, { type: "steered", inputId, targetTurnId: this.lock.turnId });
      } else {
        const turnId = `turn-${++this.turns}`;
        this.queued = { turnId, inputId };
      }
      return;
    }
    if (this.lock) {
      this.lanes.push([{ type: "refused", key, busy: true, error: ERROR }]);
      return;
    }
    this.taken.push(key);
    const turnId = `turn-${++this.turns}`;
    this.lock = { turnId, notification: false };
    const accepted: Input = { type: "accepted", key };
    const started: Input = {
      type: "started",
      turn: {
        turnId,
        inputId: this.echoes ? inputId : undefined,
        foregroundExecutionId: `fg-${turnId}`,
        notification: false,
        own: false,
      },
    };
    const events = this.random.chance(0.9) ? [started, ...this.end(turnId, false)] : this.end(turnId, false);
    // The answer comes once the lock is taken, among the events that follow.
    if (this.tells) {
      const place = this.random.int(0, 1);
      this.lanes.push([{ type: "lockTaken" }, ...events.slice(0, place), accepted, ...events.slice(place)]);
    } else this.lanes.push([accepted, ...events]);
  }

  private startQueued(): void {
    if (!this.queued) return;
    const { turnId, inputId } = this.queued;
    this.queued = undefined;
    this.lock = { turnId, notification: false };
    const started: Input = {
      type: "started",
      turn: {
        turnId,
        inputId,
        foregroundExecutionId: `fg-${turnId}`,
        notification: false,
        own: false,
      },
    };
    this.lanes.push([{ type: "lockTaken" }, started, ...this.end(turnId, false)]);
  }

  private end(turnId: string, notification: boolean): Input[] {
    const end: Input = {
      type: "turnEnded",
      turnId,
      end: this.random.chance(0.8)
        ? { kind: "completed", resultType: "success", usage: undefined }
        : { kind: "failed", failure: { kind: "other", message: "no" } },
    };
    const again = this.random.chance(0.2) ? [end] : [];
    return this.tells && !notification
      ? [end, ...again, { type: "lockFree", failed: this.random.chance(0.3) }]
      : [end, ...again];
  }
}

describe("with a backend that keeps its word", () => {
  for (const tells of [true, false]) {
    for (const echoes of [true, false]) {
      const name = `${tells ? "tells of its lock" : "tells nothing of its lock"}, ${echoes ? "echoes input ids" : "echoes none"}`;

      test(`M4 B16 B22 one that ${name}: every prompt is answered, and waiting ones are only ever cancelled by a cancel`, () => {
        eachSeed(800, (random) => {
          judged((judge) => {
            const backend = new PlayedBackend(random, tells, echoes, tells && echoes && random.chance(0.5));
            let cancels = 0;
            const feed = (input: Input) => backend.hear(judge.feed(input));
            for (let n = 0; n < 40; n++) {
              const roll = random.next();
              if (roll < 0.2 && judge.asked.length < 12)
                feed({ type: "prompt", key: judge.asked.length + 1 });
              else if (roll < 0.25) {
                cancels++;
                feed(
                  random.chance(0.5)
                    ? { type: "cancel" }
                    : { type: "cancel", key: random.int(1, judge.asked.length + 1) },
                );
              } else if (roll < 0.3) backend.own(random.chance(0.6));
              else {
                const input = backend.next();
                if (input) feed(input);
              }
            }
            // From here on nothing new is asked: what is under way ends, and timers fire when nothing else comes.
            for (let n = 0; n < 2_000; n++) {
              const input = backend.next();
              if (input) feed(input);
              else {
                const name = (["quiet", "busy", "stop"] as const).find((timer) => judge.armed.has(timer));
                if (!name) break;
                feed({ type: "timer", name });
              }
            }
            expect([...judge.asked].filter((key) => !judge.settled.has(key))).toEqual([]);
            expect(judge.running).toBe(false);
            expect(judge.state.stopping).toBeUndefined();
            if (cancels === 0) {
              // Each was sent, in order, and only one that was running can have been cut off by the next.
              expect(judge.sent).toEqual(judge.asked);
            }
            for (const [key, outcome] of judge.settled) {
              if (outcome.kind === "ended" && outcome.stopReason !== "cancelled")
                expect(backend.taken).toContain(key);
            }
          });
        });
      });
    }
  }
});

describe("B22 B6 M4 sequences that once went wrong", () => {
  const end = (turnId: string): Input => ({
    type: "turnEnded",
    turnId,
    end: { kind: "completed", resultType: "cancelled", usage: undefined },
  });
  const started = (turnId: string, notification: boolean): Input => ({
    type: "started",
    turn: { turnId, inputId: undefined, foregroundExecutionId: undefined, notification, own: notification },
  });

  test("a notification turn in the quiet second after a stopped turn leaves the queue moving", () => {
    const judge = new Judge();
    judge.feed({ type: "prompt", key: 1 });
    judge.feed({ type: "accepted", key: 1 });
    judge.feed(started("a", false));
    judge.feed({ type: "cancel" });
    judge.feed(end("a"));
    judge.feed(started("n", true));
    judge.feed({ type: "prompt", key: 2 });
    judge.feed(end("n"));
    for (const name of [...judge.armed]) judge.feed({ type: "timer", name });
    expect(judge.sent).toEqual([1, 2]);
  });

  test("a turn that goes on after a stopped one is stopped with the last resort in sight", () => {
    const judge = new Judge();
    judge.feed({ type: "prompt", key: 1 });
    judge.feed({ type: "lockTaken" });
    judge.feed({ type: "accepted", key: 1 });
    judge.feed(started("a", false));
    judge.feed({ type: "cancel" });
    judge.feed(end("a"));
    judge.feed({ type: "lockTaken" });
    judge.feed(started("b", false));
    expect(judge.state.stopping).toBeDefined();
    expect(judge.armed.has("stop")).toBe(true);
  });

  test("a quiet second that began before a send does not end the prompt that was sent", () => {
    const judge = new Judge();
    judge.feed(started("goal", false));
    judge.feed(end("goal"));
    judge.feed({ type: "prompt", key: 1 });
    judge.feed({ type: "accepted", key: 1 });
    if (judge.armed.has("quiet")) judge.feed({ type: "timer", name: "quiet" });
    expect(judge.settled.size).toBe(0);
  });

  test("a late refusal of one prompt does not withdraw the stop of another", () => {
    const judge = new Judge();
    judge.feed({ type: "prompt", key: 1 });
    judge.feed({ type: "cancel" });
    judge.feed({ type: "lockFree", failed: false });
    judge.feed({ type: "prompt", key: 2 });
    judge.feed({ type: "cancel" });
    judge.feed({ type: "refused", key: 1, busy: true, error: ERROR });
    const effects = judge.feed({ type: "lockTaken" });
    expect(effects.map((effect) => effect.type)).toContain("stop");
  });
});
