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
