/**
 * The stored conversation, whole or by pages. A resume brings the whole, and what came since is read as it is asked for;
 * a page further back asks for twice as much as the one before, and what was read for it serves the pages behind it, of
 * whoever asks: all pages together cost as much as the whole twice over.
 */

import { errors } from "../errors/index.ts";
import { type Clock, sleep, type Timer } from "../platform/clock.ts";
import { list, type Obj, obj } from "../platform/json.ts";
import { batchStart, counted, type Item, transcript } from "../translate/transcript.ts";
import type { ToolCard, Update } from "../translate/updates.ts";
import { isRunning } from "../turn/machine.ts";
import type { Conversation, Reader } from "./conversation.ts";
import { cursorOf, type Place, placeOf } from "./cursor.ts";
import {
  BRING_UP_TRIES,
  EARLIER_MS,
  PREFIX_READS,
  PREFIX_WAIT_MS,
  RESTORE_MS,
  TURN_SLACK,
} from "./limits.ts";
import { batchOver } from "./readers.ts";
import { isEvicted, type Residence } from "./residence.ts";
import { idOf, Tally, type Totals } from "./tally.ts";
import { isCut, launchedCards, unshown } from "./underway.ts";

/** What is told of a batch. */
export interface ReplayMeta {
  readonly cursor: string | null;
  readonly hasMore: boolean;
  readonly replayedMessages: number;
  readonly replayedTurns: number;
  readonly totalMessages: number;
  readonly totalTurns: number;
  readonly turnActive: boolean;
}

export interface Batch {
  readonly items: readonly Item[];
  /** Cards of commands that run on in the background, by the call that launched each. */
  readonly running: ReadonlyMap<string, ToolCard>;
  /** What the running turn has shown, behind the items. */
  readonly live: readonly Update[];
  readonly meta: ReplayMeta;
}

/** The newest part of a history. */
interface Window {
  readonly items: readonly Item[];
  /** Nothing that shows stands before it. */
  readonly complete: boolean;
  readonly totals: Totals;
  readonly raw: number;
}

/** What was read for a page: all but the last turn of then, which may have grown since. */
export interface Earlier {
  readonly items: readonly Item[];
  readonly complete: boolean;
  /** The history as it was then: where another is known, or an old message was written again, it serves nobody. */
  readonly tally: Tally;
  readonly rewritten: number;
  readonly timer: Timer;
}

export class History {
  /** Histories that were looked through, as long as their answers live. */
  private readonly wholes = new WeakMap<readonly unknown[], Window>();

  constructor(
    private readonly deps: { readonly clock: Clock },
    private readonly residence: Residence,
  ) {}

  /**
   * @param limit messages, of which the oldest brings the whole of its turn; undefined for all.
   * @param reader of the client that is shown them, and needs no part of them besides.
   * @param signal it does not wait for them any more.
   */
  async load(
    conversation: Conversation,
    limit: number | undefined,
    reader: Reader,
    signal: AbortSignal,
  ): Promise<Batch> {
    const leave = () => batchOver(conversation, reader, false);
    signal.addEventListener("abort", leave, { once: true });
    try {
      if (conversation.backendId === undefined) return this.batch(conversation, NOTHING, limit, true);
      for (let attempt = 1; ; attempt++) {
        const snapshot = await this.residence.of(conversation);
        if (snapshot)
          return this.batch(conversation, this.whole(conversation, list(snapshot.messages)), limit, true);
        try {
          const window = await this.settled(conversation, limit);
          // All that was said up to this answer is in it, or in what is known of the running turn.
          reader.covered = reader.held.length;
          return this.batch(conversation, window, limit, false);
        } catch (error) {
          // Dropped since it was last heard of: the resume that brings it back brings the whole.
          if (!isEvicted(error) || attempt >= BRING_UP_TRIES) throw error;
        }
      }
    } catch (error) {
      leave();
      throw error;
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  /**
   * One page of what stands before a cursor.
   * @throws where the cursor is none of this history as it is now, or its session is not there: nothing is resumed for it.
   */
  async earlier(conversation: Conversation, cursor: string, limit: number): Promise<Batch> {
    // Somebody else may be bringing it up.
    await conversation.opening?.catch(() => {});
    const { backendId } = conversation;
    if (backendId === undefined) throw errors.cursorExpired();
    if (!this.residence.isResident(conversation)) throw errors.notAttached(conversation.id);
    try {
      // What was read before is worth something where a look at the newest messages finds what was known.
      let want = this.kept(conversation) ? TURN_SLACK : 0;
      for (;;) {
        const { raw = 0, first: begun } = conversation.tally ?? {};
        const { at = 0 } = placeOf(cursor, backendId, begun) ?? {};
        const reach = 2 * Math.max(0, raw - at) + limit + TURN_SLACK;
        if (want === 0) want = reach;
        const window = await this.window(conversation, want);
        const place = placeOf(cursor, backendId, conversation.tally?.first);
        if (!place || !stands(conversation, window, place)) throw errors.cursorExpired();
        const kept = this.kept(conversation);
        const page =
          (kept && this.cut(conversation, kept, window, place, limit)) ??
          this.cut(conversation, window, window, place, limit);
        if (page) return page;
        if (window.complete) throw errors.cursorExpired();
        want = want < reach ? reach : want * 4;
      }
    } catch (error) {
      throw isEvicted(error) ? errors.notAttached(conversation.id) : error;
    }
  }

  /** The page before `place`, where it is in what was read; what was read is kept for the next. */
  private cut(
    conversation: Conversation,
    read: Pick<Window, "items" | "complete">,
    window: Window,
    place: Place,
    limit: number,
  ): Batch | undefined {
    const { items, complete } = read;
    const end = endOf(items, read === window ? window.raw : undefined, place);
    if (end === undefined) return undefined;
    const start = batchStart(items, end, limit);
    if (start === undefined && !complete) return undefined;
    this.keep(conversation, read);
    const from = start ?? 0;
    const { totals, raw } = window;
    return {
      items: items.slice(from, end),
      running: launchedCards(conversation),
      live: [],
      meta: metaOf(conversation, { items, complete, totals, raw }, from, end),
    };
  }

  /** What was read for a page before, where it is what is there still. */
  private kept({ earlier, tally }: Conversation): Earlier | undefined {
    return earlier && earlier.tally === tally && earlier.rewritten === tally?.rewritten ? earlier : undefined;
  }

  private keep(conversation: Conversation, { items, complete }: Pick<Window, "items" | "complete">): void {
    const { tally, earlier } = conversation;
    if (!tally) return;
    const last = items === earlier?.items ? items.length : items.findIndex(({ at }) => at >= tally.lastTurn);
    forgetEarlier(conversation);
    conversation.earlier = {
      items: last < 0 || last === items.length ? items : items.slice(0, last),
      complete,
      tally,
      rewritten: tally.rewritten,
      timer: this.deps.clock.after(EARLIER_MS, () => forgetEarlier(conversation)),
    };
  }

  /** What a resume has brought is the whole. */
  whole(conversation: Conversation, messages: readonly unknown[]): Window {
    const known = this.wholes.get(messages);
    if (known) return known;
    conversation.restoredAt = this.deps.clock.mono();
    const window = this.counted(conversation, messages, conversation.tally?.newest);
    this.wholes.set(messages, window);
    return window;
  }

  /**
   * @param messages the whole, as it was read.
   * @param newest the last message that was known before it was asked for.
   */
  private counted(
    conversation: Conversation,
    messages: readonly unknown[],
    newest: string | undefined,
  ): Window {
    const { tally: known } = conversation;
    const { tally, items, totals } = Tally.of(messages);
    const window = { items, complete: true, totals, raw: tally.raw };
    const whole = newest === undefined || holds(messages, newest);
    // Another has been told more meanwhile.
    if (whole && known?.newest !== undefined && known.newest !== newest && !holds(messages, known.newest))
      return window;
    if (!whole) conversation.cuts++;
    conversation.tally = tally;
    return window;
  }

  /** What a turn has said that ended while it was read may be neither in it nor known of the running turn any more. */
  private async settled(conversation: Conversation, limit: number | undefined): Promise<Window> {
    for (let attempt = 1; ; attempt++) {
      const { ends } = conversation;
      const window = await this.newest(conversation, limit);
      if (conversation.ends === ends || attempt >= BRING_UP_TRIES) return window;
    }
  }

  private async newest(conversation: Conversation, limit: number | undefined): Promise<Window> {
    if (limit === undefined) return this.readWhole(conversation);
    for (let want = limit + TURN_SLACK; ; want *= 4) {
      const window = await this.window(conversation, want);
      const { items, complete } = window;
      const begins = batchStart(items, items.length, limit) !== undefined;
      if (complete || (begins && !(limit > 0 && isCut(conversation, items)))) return window;
    }
  }

  /** The newest `want` messages as they are stored, and what is in all of them. */
  private async window(conversation: Conversation, want: number): Promise<Window> {
    const { tally } = conversation;
    // Of a conversation that was made here nothing was brought yet.
    if (!tally) return this.readWhole(conversation);
    const { raw, newest, compactions } = tally;
    const messages = await this.read(conversation, { limit: want });
    // Another has read the whole meanwhile.
    if (conversation.tally !== tally) return this.window(conversation, want);
    // Fewer than were asked for are all, where they are not a part of what is restored.
    if (messages.length < want)
      return newest === undefined || holds(messages, newest)
        ? this.counted(conversation, messages, newest)
        : this.readWhole(conversation);
    let offset = tally.offsetOf(messages, raw);
    if (offset === undefined || offset > tally.settled)
      offset = await this.gap(conversation, tally, messages);
    if (conversation.tally !== tally) return this.window(conversation, want);
    if (offset === undefined) return this.readWhole(conversation);
    if (tally.learn(messages, offset)) return this.readWhole(conversation);
    const items = transcript(messages, offset, tally.before(offset));
    const totals = tally.count(items);
    // It may have taken the place of what it sums up.
    if (totals.compactions > compactions) return this.readWhole(conversation);
    return { items, complete: offset === 0 || isAll(items, totals), totals, raw: tally.raw };
  }

  /**
   * What came since what was counted is more than was asked for.
   * @returns where `messages` begin; undefined where they are not the end of what came since.
   */
  private async gap(
    conversation: Conversation,
    tally: Tally,
    messages: readonly unknown[],
  ): Promise<number | undefined> {
    const { raw, anchor, settled } = tally;
    if (anchor === undefined) return undefined;
    const since = await this.read(conversation, { afterMessageId: anchor });
    const skipped = since.length - messages.length;
    if (!tally.agrees(since, settled, raw) || skipped < 0 || idOf(since.at(-1)) !== idOf(messages.at(-1)))
      return undefined;
    if (tally.learn(since, settled)) return undefined;
    tally.count(transcript(since, settled, tally.before(settled)));
    return settled + skipped;
  }

  private async readWhole(conversation: Conversation): Promise<Window> {
    const newest = conversation.tally?.newest;
    let messages = await this.read(conversation, {});
    // A session that is just being restored may give a part of what it has, and the same part several times; later two
    // reads that agree are enough.
    for (let reads = 0; reads < PREFIX_READS; reads++) {
      if (newest === undefined || holds(messages, newest)) break;
      await sleep(this.deps.clock, PREFIX_WAIT_MS);
      const before = messages;
      messages = await this.read(conversation, {});
      const same = messages.length === before.length && idOf(messages.at(-1)) === idOf(before.at(-1));
      if (same && this.deps.clock.mono() - conversation.restoredAt > RESTORE_MS) break;
    }
    return this.counted(conversation, messages, newest);
  }

  private async read(conversation: Conversation, params: Obj): Promise<readonly unknown[]> {
    const { backendId } = conversation;
    const answer = await this.residence.ask(
      conversation,
      "session/messages",
      { sessionId: backendId, ...params },
      ["limit", "afterMessageId"],
    );
    return list(obj(answer).messages);
  }

  /** @param late whether something may have been said since the history was taken: that comes behind it. */
  private batch(conversation: Conversation, window: Window, limit: number | undefined, late: boolean): Batch {
    const { items } = window;
    const running = launchedCards(conversation);
    const begin = limit === undefined ? 0 : (batchStart(items, items.length, limit) ?? 0);
    const { start, stored, live } =
      late || limit === 0
        ? { start: begin, stored: items.slice(begin), live: [] }
        : unshown(conversation, items, begin, running);
    return { items: stored, running, live, meta: metaOf(conversation, window, start, items.length) };
  }
}

/** The history is not what it was, or nobody asks for more of it. */
export function forgetEarlier(conversation: Conversation): void {
  conversation.earlier?.timer.cancel();
  conversation.earlier = undefined;
}

/** The session was compacted: nothing that is known of its history holds. */
export function historyCompacted(conversation: Conversation): void {
  forgetEarlier(conversation);
  conversation.tally = undefined;
  conversation.cuts++;
}

const NOTHING: Window = {
  items: [],
  complete: true,
  totals: { messages: 0, turns: 0, compactions: 0 },
  raw: 0,
};

function metaOf(
  conversation: Conversation,
  { items, complete, totals, raw }: Window,
  start: number,
  end: number,
): ReplayMeta {
  const replayed = counted(items, start, end);
  const { backendId, tally, cuts, turns } = conversation;
  const place = {
    id: items[start]?.id,
    at: items[start]?.at ?? raw,
    compactions: totals.compactions,
    cuts,
    first: tally?.first,
  };
  return {
    cursor: backendId === undefined ? null : cursorOf(backendId, place),
    hasMore: !complete || counted(items, 0, start).messages > 0,
    replayedMessages: replayed.messages,
    replayedTurns: replayed.turns,
    totalMessages: totals.messages,
    totalTurns: totals.turns,
    turnActive: isRunning(turns),
  };
}

/** True where all that shows is among these; what may be a prompt tried again has its first try before them. */
function isAll(items: readonly Item[], totals: Totals): boolean {
  const prompt = items.find(({ words, files }) => words !== "" || files.length > 0);
  return counted(items).messages === totals.messages && (prompt === undefined || prompt.starts);
}

function holds(messages: readonly unknown[], id: string): boolean {
  return messages.some((message) => idOf(message) === id);
}

/** True where nothing has happened to the history since that makes a place in it void. */
function stands({ cuts }: Conversation, { totals }: Window, place: Place): boolean {
  return totals.compactions === place.compactions && cuts === place.cuts;
}

/**
 * The end of what stands before a cursor: the place of its message; undefined where that is not there.
 * @param raw how many messages there are, where the items reach to the last of them.
 */
function endOf(items: readonly Item[], raw: number | undefined, { id, at }: Place): number | undefined {
  if (id === undefined) {
    // Behind the last message, as it was then.
    const place = items.findIndex((item) => item.at >= at);
    return place >= 0 ? place : raw !== undefined && raw >= at ? items.length : undefined;
  }
  const place = items.findIndex((item) => item.id === id);
  return place >= 0 ? place : undefined;
}
