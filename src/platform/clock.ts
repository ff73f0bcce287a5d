/**
 * The only source of time in `src`. A `Clock` is handed down from the entry point; nothing else reads
 * `Date.now`, `performance.now` or sets a timer, so that every rule can be tested with a manual clock.
 */

/** A pending call; cancelling one that has already run does nothing. */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Wall time, milliseconds since the epoch. */
  now(): number;
  /** Monotonic time in milliseconds; only differences mean something. */
  mono(): number;
  /** Calls `run` once, `ms` milliseconds from now. */
  after(ms: number, run: () => void): Timer;
  /** Calls `run` each `ms` milliseconds until cancelled. */
  every(ms: number, run: () => void): Timer;
}

/** Stops this whole process for `ms` milliseconds: for its last words alone, where nothing else may run any more. */
export function haltFor(ms: number): void {
  Bun.sleepSync(ms);
}

/** The real clock. */
export function systemClock(): Clock {
  return {
    now: () => Date.now(),
    mono: () => performance.now(),
    after(ms, run) {
      const id = setTimeout(run, ms);
      return { cancel: () => clearTimeout(id) };
    },
    every(ms, run) {
      const id = setInterval(run, ms);
      return { cancel: () => clearInterval(id) };
    },
  };
}

/**
 * A clock that runs `factor` times faster than `base`, for the waits of rules (retry, silence, busy, back-off)
 * in end-to-end tests. Deadlines on real processes, sockets and files keep the base clock. Wall time stays true.
 */
export function scaledClock(base: Clock, factor: number): Clock {
  if (!(factor > 0) || factor === 1) return base;
  return {
    now: () => base.now(),
    mono: () => base.mono() * factor,
    after: (ms, run) => base.after(ms / factor, run),
    every: (ms, run) => base.every(ms / factor, run),
  };
}

/** How far apart the looks for a sleep of the machine are, while anything waits; milliseconds. */
const TICK_MS = 10_000;
/** A look that comes this much too late means that the process did not run meanwhile; milliseconds. */
const SLEPT_MS = 30_000;

/** A longer wait would be none: what the engine's timers hold; milliseconds. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * A clock whose `mono` and `after` leave out the time in which the machine slept or the process was stopped, so that
 * nothing is found overdue at waking that had no chance to happen. `every` keeps its beat, since its calls only look;
 * what they look at is `mono`. Costs one timer, and that only while something waits or is repeated.
 */
export function awakeClock(base: Clock): Clock {
  interface Waiting {
    due: number;
    readonly run: () => void;
    timer: Timer;
  }
  const waiting = new Set<Waiting>();
  let repeated = 0;
  let asleep = 0;
  /** When the process was last seen running; undefined while nobody looks. */
  let seen: number | undefined;
  let tick: Timer | undefined;
  /** Milliseconds awake, by `base.mono`. */
  const awake = () => {
    const real = base.mono();
    if (seen !== undefined) {
      // When exactly it fell asleep nobody saw: what waits is given too much rather than too little.
      if (real - seen > TICK_MS + SLEPT_MS) asleep += real - seen;
      seen = real;
    }
    return real - asleep;
  };
  const look = () => {
    awake();
    tick = base.after(TICK_MS, look);
  };
  const arm = (entry: Waiting, ms: number) => {
    entry.timer = base.after(Math.min(ms, LONGEST_MS), () => {
      const left = entry.due - awake();
      // Timers may come a little early; what is left after a sleep is more than that.
      if (left > SLEPT_MS / 1000) return arm(entry, left);
      drop(entry);
      entry.run();
    });
  };
  const begin = () => {
    if (tick) return;
    seen = base.mono();
    tick = base.after(TICK_MS, look);
  };
  const end = () => {
    if (waiting.size > 0 || repeated > 0) return;
    tick?.cancel();
    tick = seen = undefined;
  };
  const drop = (entry: Waiting) => {
    waiting.delete(entry);
    end();
  };
  return {
    now: () => base.now(),
    mono: awake,
    after(ms, run) {
      begin();
      const entry: Waiting = { due: awake() + ms, run, timer: { cancel: () => {} } };
      waiting.add(entry);
      arm(entry, ms);
      return {
        cancel: () => {
          entry.timer.cancel();
          drop(entry);
        },
      };
    },
    every(ms, run) {
      begin();
      repeated++;
      const timer = base.every(ms, run);
      let over = false;
      return {
        cancel: () => {
          timer.cancel();
          if (over) return;
          over = true;
          repeated--;
          end();
        },
      };
    },
  };
}

/** Resolves after `ms`, or at once with `false` when the signal aborts; never rejects. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve(false);
    const stop = () => {
      timer.cancel();
      resolve(false);
    };
    const timer = clock.after(ms, () => {
      signal?.removeEventListener("abort", stop);
      resolve(true);
    });
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** What `withDeadline` rejects with. */
export class DeadlineError extends Error {
  override name = "DeadlineError";
  constructor(
    readonly what: string,
    readonly ms: number,
  ) {
    super(`${what} took longer than ${ms} ms`);
  }
}

/** `work`, or a rejection with `DeadlineError` after `ms`. The work itself goes on. */
export function withDeadline<T>(clock: Clock, ms: number, what: string, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(ms, () => reject(new DeadlineError(what, ms)));
    work.then(
      (value) => {
        timer.cancel();
        resolve(value);
      },
      (error) => {
        timer.cancel();
        reject(error);
      },
    );
  });
}
