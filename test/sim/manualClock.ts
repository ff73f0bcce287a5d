/** A clock that stands still until it is moved, for tests of waits. */
import type { Clock, Timer } from "../../src/platform/clock.ts";

interface Waiting {
  at: number;
  order: number;
  run(): void;
}

export class ManualClock implements Clock {
  private time = 0;
  private order = 0;
  private timers: Waiting[] = [];

  constructor(private readonly start = 1_790_000_000_000) {}

  now(): number {
    return this.start + this.time;
  }

  mono(): number {
    return this.time;
  }

  after(ms: number, run: () => void): Timer {
    const timer: Waiting = { at: this.time + Math.max(0, ms), order: ++this.order, run };
    this.timers.push(timer);
    return {
      cancel: () => {
        this.timers = this.timers.filter((each) => each !== timer);
      },
    };
  }

  every(ms: number, run: () => void): Timer {
    let timer: Timer;
    const again = () => {
      timer = this.after(ms, () => {
        again();
        run();
      });
    };
    again();
    return { cancel: () => timer.cancel() };
  }

  /** Milliseconds until the next timer; undefined when there is none. */
  get next(): number | undefined {
    const first = this.first();
    return first ? first.at - this.time : undefined;
  }

  /** Jumps to the next timer and runs it; false when there is none within `within` milliseconds. */
  step(within = Number.POSITIVE_INFINITY): boolean {
    const first = this.first();
    if (!first || first.at - this.time > within) return false;
    this.timers = this.timers.filter((each) => each !== first);
    this.time = Math.max(this.time, first.at);
    first.run();
    return true;
  }

  /** Moves on by `ms`, running what comes due, and lets the work of each timer finish first. */
  async advance(ms: number): Promise<void> {
    const until = this.time + ms;
    await settle();
    while (this.step(until - this.time)) await settle();
    this.time = until;
  }

  private first(): Waiting | undefined {
    return this.timers.reduce<Waiting | undefined>(
      (best, each) =>
        !best || each.at < best.at || (each.at === best.at && each.order < best.order) ? each : best,
      undefined,
    );
  }
}

/** Lets everything that waits for no timer run. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 4; i++) await new Promise((resolve) => setImmediate(resolve));
}
