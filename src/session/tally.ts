/**
 * What is known of a stored history without keeping it. The backend gives the newest messages, or those behind one, and
 * no count; so where each message stands is noted as it is first seen, and what was appended is told from what was there.
 */

import { obj } from "../platform/json.ts";
import { messageIdOf } from "../translate/history.ts";
import {
  type Before,
  type Counted,
  counted,
  type Item,
  type Tried,
  transcript,
  triedBriefly,
} from "../translate/transcript.ts";

export interface Totals extends Counted {
  readonly compactions: number;
}

const NONE: Totals = { messages: 0, turns: 0, compactions: 0 };

export class Tally {
  /** Where each message stands first, by its id; a number for each id, since the ids themselves are many times its size. */
  private readonly places = new Map<number, number>();
  /** Places at which a message stands again. */
  private readonly doubled = new Set<number>();
  /** Messages as they are stored, those that stand several times included. */
  raw = 0;
  /** What stands before this place is counted; the answer behind it may still grow. */
  settled = 0;
  private counts = NONE;
  /** What is tried at that place. */
  private tried: Tried = { last: undefined, open: false };
  /** The last message that is counted: behind it everything is asked for. */
  anchor: string | undefined;
  /** Where the last turn begins: what is stored of it changes while it runs. */
  lastTurn = 0;
  /** A history that is not what it was begins or ends with another one. */
  first: string | undefined;
  newest: string | undefined;
  /** Messages that stood there and were written again since. */
  rewritten = 0;
  /** Compactions in the whole, as it was counted last. */
  compactions = 0;

  /** @returns what is in a whole history, message by message, and what is known of it from then on. */
  static of(messages: readonly unknown[]): { tally: Tally; items: Item[]; totals: Totals } {
    const tally = new Tally();
    const items = transcript(messages);
    tally.learn(messages, 0);
    const totals = tally.count(items);
    tally.rewritten = 0;
    return { tally, items, totals };
  }

  /** Where the newest messages begin; undefined where they are not what was known, with something behind it. */
  offsetOf(messages: readonly unknown[], raw: number): number | undefined {
    // A message that was written again stands further back as well, which makes it no later place.
    let offset = -1;
    for (const [at, message] of messages.entries()) {
      const place = this.placeOf(message);
      if (place !== undefined) offset = Math.max(offset, place - at);
    }
    return offset >= 0 && this.agrees(messages, offset, raw) ? offset : undefined;
  }

  /** True where each of the `raw` messages that were known is where it was, as far back as these begin. */
  agrees(messages: readonly unknown[], offset: number, raw: number): boolean {
    if (offset + messages.length < raw) return false;
    for (let at = offset; at < raw; at++) {
      const message = messages[at - offset];
      const place = this.placeOf(message);
      const there = place === undefined ? idOf(message) === undefined : place < at && this.doubled.has(at);
      if (place !== at && !there) return false;
    }
    return true;
  }

  /** What is known of the messages before `offset`. */
  before(offset: number): Before {
    return {
      has: (id) => (this.places.get(numberOf(id)) ?? offset) < offset,
      at: this.settled,
      tried: this.tried,
    };
  }

  /**
   * Notes where messages stand that begin at `offset`.
   * @returns whether one that was counted was written again: what it counts for may be another now.
   */
  learn(messages: readonly unknown[], offset: number): boolean {
    let recount = false;
    if (offset === 0) this.first = idOf(messages[0]);
    for (let at = Math.max(this.raw, offset); at < offset + messages.length; at++) {
      const id = idOf(messages[at - offset]);
      if (id !== undefined) {
        const number = numberOf(id);
        const place = this.places.get(number);
        if (place !== undefined) {
          if (place < this.settled) recount = true;
          this.doubled.add(at);
          this.rewritten++;
        } else this.places.set(number, at);
      }
      this.newest = id;
    }
    this.raw = Math.max(this.raw, offset + messages.length);
    return recount;
  }

  /**
   * @param items all that is not counted yet, or more.
   * @returns what is in the whole.
   */
  count(items: readonly Item[]): Totals {
    const turn = items.findLast(({ starts }) => starts);
    if (turn) this.lastTurn = turn.at;
    const from = items.findIndex(({ at }) => at >= this.settled);
    if (from < 0) return this.counts;
    const totals = this.with(items, from, items.length);
    this.compactions = totals.compactions;
    // The last answer may still grow, and behind a message without an id nothing can be asked for.
    let to = items.findLastIndex(({ info }) => info.role !== "user");
    while (to > from && !(items[to]?.behind && items[to]?.before !== undefined)) to--;
    const next = items[to];
    if (to > from && next?.behind) {
      this.counts = this.with(items, from, to);
      this.settled = next.at;
      this.anchor = next.before;
      this.tried = triedBriefly(next.behind);
    }
    return totals;
  }

  private with(items: readonly Item[], from: number, to: number): Totals {
    const more = counted(items, from, to);
    return {
      messages: this.counts.messages + more.messages,
      turns: this.counts.turns + more.turns,
      compactions: this.counts.compactions + compactionsIn(items.slice(from, to)),
    };
  }

  private placeOf(message: unknown): number | undefined {
    const id = idOf(message);
    return id === undefined ? undefined : this.places.get(numberOf(id));
  }
}

export function idOf(message: unknown): string | undefined {
  return messageIdOf(obj(obj(message).info));
}

/** Bits of a hash: more than any history has messages, many times over. */
function numberOf(id: string): number {
  return Number(BigInt.asUintN(53, BigInt(Bun.hash(id))));
}

function compactionsIn(items: readonly Item[]): number {
  return items.filter(({ folds }) => folds.some(({ kind }) => kind === "compact")).length;
}
