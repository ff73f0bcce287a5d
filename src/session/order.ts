/**
 * The order of one conversation's events: `seq` counts them within one residency of the backend's session. A doubled
 * event is dropped, a late one is waited for, a lost one is asked for once; nothing is taken out of turn.
 */

import type { Obj } from "../platform/json.ts";
import { MAX_HOLE } from "./limits.ts";

interface Held {
  readonly seq: number;
  readonly params: Obj;
}

export class EventOrder {
  private last = 0;
  /** Where the numbers begin was told; else the first one that comes is the first. */
  private told = false;
  private held: Held[] = [];
  /** Counts the holes, so that an answer about one that has closed meanwhile is not taken for another's. */
  private hole = 0;
  private open = false;
  /** The event behind the hole that was seen first. */
  private opener = 0;
  /** Up to here events are known to be there; 0 where nothing but events has told of any. */
  private expected = 0;
  /** This build leaves numbers out: a missing one is not worth asking for. */
  private sparse = false;

  /** The last event taken within this residency. */
  get lastSeq(): number {
    return this.last;
  }

  /** A new residency begins, or the present one is known up to here; undefined where the build does not say. */
  reset(lastSeq: number | undefined): void {
    this.last = lastSeq ?? 0;
    this.told = lastSeq !== undefined;
    this.held = [];
    this.expected = 0;
    this.open = false;
    this.sparse = false;
  }

  /** The usual case, without more ado: true where this is the very next event and nothing is missing, and takes it. */
  isNext(seq: number | undefined): boolean {
    if (this.open || seq !== this.last + 1) return false;
    this.last = seq;
    return true;
  }

  /**
   * One event as it came.
   * @returns the events whose turn it is now, in order.
   */
  accept(seq: number | undefined, params: Obj): Obj[] {
    if (seq === undefined || !Number.isSafeInteger(seq) || seq > this.last + MAX_HOLE) return [params];
    if (seq <= this.last || this.held.some((entry) => entry.seq === seq)) return [];
    if (!this.open && (seq === this.last + 1 || this.sparse || (this.last === 0 && !this.told))) {
      this.last = seq;
      return [params];
    }
    if (!this.open) {
      this.open = true;
      this.opener = seq;
      this.hole++;
    }
    this.held.push({ seq, params });
    this.held.sort((a, b) => a.seq - b.seq);
    return this.drain(false);
  }

  /** True where the number has a place behind the last event: what a log tells without one has none. */
  hasPlace(seq: number | undefined): boolean {
    return Number.isSafeInteger(seq) && Number(seq) > this.last && Number(seq) <= this.last + MAX_HOLE;
  }

  /** Something else has told of this event: where it was not taken yet, it is missing. */
  expect(seq: number): void {
    if (!this.hasPlace(seq)) return;
    this.expected = Math.max(seq, this.expected);
    if (this.open) return;
    this.open = true;
    this.opener = 0;
    this.hole++;
  }

  /** The hole that waits to be asked for; undefined where there is none. */
  get missing(): number | undefined {
    return this.open ? this.hole : undefined;
  }

  /**
   * @param events what the backend has after `lastSeq` in this residency; undefined where it could not say. Its word is
   * the last one: an event that opened the hole and that it does not know belongs to a residency that is over.
   * @returns the events whose turn it is now: with this answer nothing is waited for any longer.
   */
  fill(hole: number, events: readonly Held[] | undefined): Obj[] {
    if (!this.open || hole !== this.hole) return [];
    if (events) {
      const listed = new Set(events.map((event) => event.seq));
      this.held = this.held.filter(({ seq }) => seq !== this.opener || listed.has(seq));
    }
    const wanted = this.last + 1;
    for (const event of events ?? []) {
      if (this.hasPlace(event.seq) && !this.held.some((entry) => entry.seq === event.seq))
        this.held.push(event);
    }
    this.expected = 0;
    this.held.sort((a, b) => a.seq - b.seq);
    this.sparse = this.held.length > 0 && this.held[0]?.seq !== wanted;
    return this.drain(true);
  }

  private drain(all: boolean): Obj[] {
    const ready: Obj[] = [];
    while (this.held.length > 0) {
      const next = this.held[0]!;
      if (!all && next.seq !== this.last + 1) break;
      this.held.shift();
      this.last = next.seq;
      ready.push(next.params);
    }
    if (this.held.length === 0 && this.last >= this.expected) this.open = false;
    return ready;
  }
}
