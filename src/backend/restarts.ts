/** When a backend that died is started again: more and more slowly, and at once where it was quiet for long. */

import { type Clock, sleep } from "../platform/clock.ts";
import { QUIET_RESET_MS, RESTART_MS } from "./limits.ts";

export class Restarts {
  /** Ends of a working process, less than the quiet time apart. */
  private deaths = 0;
  private diedAt = Number.NEGATIVE_INFINITY;

  /** @param rules the scaled clock of the rules. */
  constructor(private readonly rules: Clock) {}

  noteDeath(): void {
    const now = this.rules.mono();
    this.deaths = now - this.diedAt > QUIET_RESET_MS ? 1 : this.deaths + 1;
    this.diedAt = now;
  }

  async backOff(ending: AbortSignal): Promise<void> {
    if (this.deaths === 0) return;
    const wait = RESTART_MS[Math.min(this.deaths, RESTART_MS.length) - 1] ?? 0;
    const left = this.diedAt + wait - this.rules.mono();
    if (left > 0) await sleep(this.rules, left, ending);
  }
}
