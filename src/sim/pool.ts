/** The resident sessions of this process, and when they are put out of memory. */
import type { Clock, Timer } from "../platform/clock.ts";
import type { Live } from "./session.ts";
import { NOT_ACTIVE, RpcError } from "./wire.ts";

export interface PoolLimits {
  /** Milliseconds without a call after which a session leaves. */
  idleMs: number;
  /** Above this many residents the ones used longest ago leave, down to `low`. */
  high: number;
  low: number;
  /** Subscribed sessions leave too. */
  subscribedToo: boolean;
}

interface Entry {
  live: Live;
  usedAt: number;
  timer: Timer | undefined;
}

export class Pool {
  private readonly entries = new Map<string, Entry>();

  constructor(
    private readonly clock: Clock,
    private readonly limits: PoolLimits,
  ) {}

  get size(): number {
    return this.entries.size;
  }

  all(): Live[] {
    return [...this.entries.values()].map((entry) => entry.live);
  }

  peek(sessionId: string): Live | undefined {
    return this.entries.get(sessionId)?.live;
  }

  /** @throws -32004 for what is not resident. */
  get(sessionId: string): Live {
    const entry = this.entries.get(sessionId);
    if (!entry) throw new RpcError(NOT_ACTIVE, `Session is not active: ${sessionId}`);
    this.touch(entry);
    return entry.live;
  }

  add(live: Live): void {
    const entry: Entry = { live, usedAt: this.clock.mono(), timer: undefined };
    this.entries.set(live.id, entry);
    this.touch(entry);
    if (this.entries.size <= this.limits.high) return;
    const byAge = [...this.entries.values()].sort((a, b) => a.usedAt - b.usedAt);
    for (const old of byAge) {
      if (this.entries.size <= this.limits.low) return;
      if (old !== entry && this.mayLeave(old)) this.remove(old.live.id);
    }
  }

  remove(sessionId: string): Live | undefined {
    const entry = this.entries.get(sessionId);
    entry?.timer?.cancel();
    this.entries.delete(sessionId);
    return entry?.live;
  }

  /** No timer keeps the process alive any more. */
  close(): void {
    for (const entry of this.entries.values()) entry.timer?.cancel();
  }

  private mayLeave(entry: Entry): boolean {
    return !entry.live.busy && (this.limits.subscribedToo || !entry.live.subscribed);
  }

  private touch(entry: Entry): void {
    entry.usedAt = this.clock.mono();
    entry.timer?.cancel();
    entry.timer = this.clock.after(this.limits.idleMs, () => {
      entry.timer = undefined;
      if (this.entries.get(entry.live.id) !== entry) return;
      if (this.mayLeave(entry)) this.remove(entry.live.id);
      else this.touch(entry);
    });
  }
}
