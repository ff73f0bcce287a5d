/** Work for quiet times: done once nothing has happened for a while, and not again before something has. */

import type { Clock, Timer } from "./clock.ts";

export interface RestDeps {
  readonly clock: Clock;
  /** How long nothing may have happened, in milliseconds; at most twice that passes. */
  readonly ms: number;
  /** True while something is going on of which nothing may be heard for longer than that. */
  readonly busy: () => boolean;
  readonly work: () => void;
}

export class Rest {
  private timer: Timer | undefined;
  private stirred = false;
  private ended = false;

  constructor(private readonly deps: RestDeps) {}

  /** Something has happened. Costs next to nothing, so that it may be told of every message. */
  stir(): void {
    this.stirred = true;
    if (this.timer === undefined && !this.ended) this.wait();
  }

  end(): void {
    this.ended = true;
    this.timer?.cancel();
    this.timer = undefined;
  }

  private wait(): void {
    this.timer = this.deps.clock.after(this.deps.ms, () => {
      this.timer = undefined;
      if (this.stirred || this.deps.busy()) {
        this.stirred = false;
        this.wait();
      } else {
        this.deps.work();
      }
    });
  }
}
