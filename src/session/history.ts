/**
 * The stored conversation, whole or by pages. The backend gives the newest messages, or those behind one, and no count;
 * so what a resume has brought is counted then, what came since is counted as it is read, and a page further back asks for
 * twice as much as the one before: all pages together cost as much as the whole twice over.
 */

import { createHash } from "node:crypto";
import { errors } from "../errors/index.ts";
import { type Clock, sleep, type Timer } from "../platform/clock.ts";
import { list, type Obj, obj } from "../platform/json.ts";
import { type Doubles, messageIdOf, toolCallIdOf } from "../translate/history.ts";
import {
  batchStart,
  type Counted,
  counted,
  doublesIn,
  type Item,
  transcript,
} from "../translate/transcript.ts";
import type { Update } from "../translate/updates.ts";
import { isRunning } from "../turn/machine.ts";
import type { Conversation, HeldBack, Reader } from "./conversation.ts";
import { EARLIER_MS, PREFIX_READS, PREFIX_WAIT_MS, TURN_SLACK } from "./limits.ts";
import type { Residence } from "./residence.ts";

/** What is known of a history up to the turn before the last: that one may still grow. */
export interface Tally extends Counted {
  /** Messages as they are stored, doubled ones included. */
  readonly raw: number;
  readonly compactions: number;
  readonly firstId: string | undefined;
  /** The last of them; undefined where there is none, or none that has an id. */
  readonly lastId: string | undefined;
  readonly doubles: Doubles;
}

/** Older messages that were read with a page and not shown yet. */
export interface Earlier {
  readonly cursor: string;
  readonly items: readonly Item[];
  readonly complete: boolean;
  readonly totals: Totals;
  readonly timer: Timer;
}

interface Totals extends Counted {
  readonly raw: number;
  readonly compactions: number;
}

/** What a client is told of a batch. */
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
  /** What the running turn has shown, behind the items. */
  readonly live: readonly Update[];
  readonly meta: ReplayMeta;
}

/** The newest part of a history. */
interface Window {
  readonly items: readonly Item[];
  /** Nothing stands before it. */
  readonly complete: boolean;
  readonly totals: Totals;
}

const NO_TALLY: Tally = {
  raw: 0,
  messages: 0,
  turns: 0,
  compactions: 0,
  firstId: undefined,
  lastId: undefined,
  doubles: new Map(),
};

export class History {
  /** Histories that were looked through, as long as their answers live. */
  private readonly wholes = new WeakMap<readonly unknown[], Window>();

  constructor(
    private readonly deps: { readonly clock: Clock },
    private readonly residence: Residence,
  ) {}

  /**
   * A load is on its way: what is said from here on waits for it, unless it brings no message at all, or is for who
   * follows the conversation anyway.
   * @param client that will be shown the history.
   * @param limit as `load` takes it.
   * @param follows whether the client has it open already.
   */
  expect(conversation: Conversation, client: object, limit: number | undefined, follows: boolean): Reader {
    const reader: Reader = { client, held: [], covered: 0 };
    const { readers } = conversation;
    const loads = [...readers].some((each) => each.client === client);
    // Of a session that is away a resume may bring what was not told yet.
    const told = follows && !loads && this.residence.isResident(conversation);
    if (limit !== 0 && !told) readers.add(reader);
    return reader;
  }

  /**
   * It is over, or does not come: what waited is told, once, however many loads of this client it waited for.
   * @param shown whether the client was shown the history, and with it what that covers.
   */
  unexpect(conversation: Conversation, reader: Reader, shown: boolean): void {
    const { readers } = conversation;
    if (!readers.delete(reader)) return;
    const others = [...readers].filter(({ client }) => client === reader.client);
    const [next] = others;
    if (!shown && next) {
      // What was said before the next one came is in the history that it brings.
      const known = new Set(next.held);
      const more = reader.held.filter((each) => !known.has(each));
      next.held.unshift(...more);
      next.covered += more.length;
      return;
    }
    for (const [place, each] of reader.held.entries()) {
      if (shown ? place >= reader.covered : !each.told) each.tell();
      each.told = true;
    }
    if (shown) for (const { held } of others) for (const each of held) each.told = true;
  }

  /** Nothing of a prompt comes behind its answer: what waits for loads of its client is told now, and stays in what they show. */
  tellBefore({ readers }: Conversation, client: object): void {
    for (const { client: of, held } of readers) {
      if (of !== client) continue;
      for (const each of held) {
        if (!each.told) each.tell();
        each.told = true;
      }
    }
  }

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
    const leave = () => this.unexpect(conversation, reader, false);
    signal.addEventListener("abort", leave, { once: true });
    try {
      if (conversation.backendId === undefined) return this.batch(conversation, NOTHING, limit, reader);
      const snapshot = await this.residence.of(conversation);
      if (snapshot) {
        const window = this.whole(conversation, list(snapshot.messages));
        return this.batch(conversation, window, limit, reader);
      }
      const window = await this.newest(conversation, limit);
      // All that was said up to this answer is in it, or in what is known of the running turn.
      reader.covered = reader.held.length;
      return this.batch(conversation, window, limit, undefined);
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
    const place = placeOf(cursor, conversation);
    if (!place || conversation.backendId === undefined) throw errors.cursorExpired();
    const kept = conversation.earlier;
    if (kept?.cursor === cursor) {
      const start = batchStart(kept.items, kept.items.length, limit);
      if (start !== undefined || kept.complete)
        return this.page(conversation, kept, start ?? 0, kept.items.length);
    }
    if (!this.residence.holds(conversation)) throw errors.notAttached(conversation.id);
    const tally = conversation.tally ?? NO_TALLY;
    let want = 2 * Math.max(0, tally.raw - place.at) + limit + TURN_SLACK;
    for (;;) {
      const window = await this.window(conversation, want);
      if (window.totals.compactions !== place.compactions) throw errors.cursorExpired();
      const end = endOf(window, place);
      if (end === undefined && window.complete) throw errors.cursorExpired();
      const start = end === undefined ? undefined : batchStart(window.items, end, limit);
      if (end !== undefined && (start !== undefined || window.complete))
        return this.page(conversation, window, start ?? 0, end);
      want *= 4;
    }
  }

  /** What a resume has brought is the whole. */
  whole(conversation: Conversation, messages: readonly unknown[]): Window {
    const known = this.wholes.get(messages);
    if (known) return known;
    forgetEarlier(conversation);
    const items = transcript(messages);
    conversation.tally = tallied(NO_TALLY, items, messages, doublesIn(messages));
    const window = { items, complete: true, totals: totalsOf(items, messages.length) };
    this.wholes.set(messages, window);
    return window;
  }

  private async newest(conversation: Conversation, limit: number | undefined): Promise<Window> {
    if (limit === undefined) return this.readWhole(conversation);
    for (let want = limit + TURN_SLACK; ; want *= 4) {
      const window = await this.window(conversation, want);
      const start = batchStart(window.items, cutOf(conversation, window.items), limit);
      if (window.complete || start !== undefined) return window;
    }
  }

  private async readWhole(conversation: Conversation): Promise<Window> {
    let messages = await this.read(conversation, {});
    const { tally } = conversation;
    // A session that is just being restored may give a part of what it has: then two reads have to agree.
    if (tally?.lastId !== undefined && messages.length < tally.raw && !holds(messages, tally.lastId)) {
      for (let reads = 0; reads < PREFIX_READS; reads++) {
        await sleep(this.deps.clock, PREFIX_WAIT_MS);
        const before = messages.length;
        messages = await this.read(conversation, {});
        if (messages.length === before) break;
      }
    }
    return this.whole(conversation, messages);
  }

  /** The newest `want` messages as they are stored, and what is in all of them. */
  private async window(conversation: Conversation, want: number): Promise<Window> {
    const { tally } = conversation;
    if (tally?.lastId === undefined) return this.readWhole(conversation);
    const messages = await this.read(conversation, { limit: want });
    let since: readonly unknown[];
    const place = placeIn(messages, tally.lastId);
    if (place >= 0) since = messages.slice(place + 1);
    else {
      since = await this.read(conversation, { afterMessageId: tally.lastId });
      // A message that is not there any more counts as none, and everything is behind it.
      const [first] = since;
      if (since.length > 0 && messageIdOf(obj(obj(first).info)) === tally.firstId)
        return this.readWhole(conversation);
    }
    const raw = tally.raw + since.length;
    const items = transcript(messages, Math.max(0, raw - messages.length), tally.doubles);
    const appended =
      place >= 0 ? items.filter(({ at }) => at >= tally.raw) : transcript(since, tally.raw, tally.doubles);
    const more = totalsOf(appended, since.length);
    conversation.tally = tallied(tally, appended, since, tally.doubles);
    return {
      items,
      complete: messages.length < want,
      totals: {
        raw,
        messages: tally.messages + more.messages,
        turns: tally.turns + more.turns,
        compactions: tally.compactions + more.compactions,
      },
    };
  }

  private async read(conversation: Conversation, params: Obj): Promise<readonly unknown[]> {
    const { backendId } = conversation;
    const answer = await this.residence.call(
      conversation,
      "session/messages",
      { sessionId: backendId, ...params },
      ["limit", "afterMessageId"],
    );
    return list(obj(answer).messages);
  }

  /** @param late there where something may have been said since the history was taken. */
  private batch(
    conversation: Conversation,
    window: Window,
    limit: number | undefined,
    late: Reader | undefined,
  ): Batch {
    const end = late ? window.items.length : cutOf(conversation, window.items);
    const start = limit === undefined ? 0 : (batchStart(window.items, end, limit) ?? 0);
    const items = window.items.slice(start, end);
    const drawn = new Set(
      items.flatMap(({ parts }) =>
        parts.flatMap((part) => (part.type === "tool" ? (toolCallIdOf(part) ?? []) : [])),
      ),
    );
    const live = limit === 0 || late ? [] : [...conversation.live.updates(drawn)];
    const { hasMore, cursor } = this.before(conversation, window, start);
    return {
      items,
      live,
      meta: metaOf(conversation, window.totals, items, cursor, hasMore),
    };
  }

  private page(
    conversation: Conversation,
    window: Pick<Window, "items" | "complete" | "totals">,
    start: number,
    end: number,
  ): Batch {
    const items = window.items.slice(start, end);
    const { hasMore, cursor } = this.before(conversation, window, start);
    forgetEarlier(conversation);
    if (hasMore && cursor !== null && start > 0) {
      const timer = this.deps.clock.after(EARLIER_MS, () => forgetEarlier(conversation));
      const { complete, totals } = window;
      conversation.earlier = { cursor, items: window.items.slice(0, start), complete, totals, timer };
    }
    return { items, live: [], meta: metaOf(conversation, window.totals, items, cursor, hasMore) };
  }

  private before(
    conversation: Conversation,
    { items, complete, totals }: Pick<Window, "items" | "complete" | "totals">,
    start: number,
  ): { hasMore: boolean; cursor: string | null } {
    const hasMore = !complete || counted(items, 0, start).messages > 0;
    const at = items[start]?.at ?? totals.raw;
    return { hasMore, cursor: cursorOf(conversation, items[start]?.id, at, totals.compactions) };
  }
}

/**
 * Keeps an update for those who are about to be shown the history.
 * @param hold what tells it to one client.
 * @returns the clients that it is kept for.
 */
export function holdBack(
  { readers }: Conversation,
  hold: (client: object) => () => void,
): ReadonlySet<object> {
  const kept = new Map<object, HeldBack>();
  for (const { client, held } of readers) {
    const known = kept.get(client) ?? { tell: hold(client), told: false };
    kept.set(client, known);
    held.push(known);
  }
  return new Set(kept.keys());
}

/** The history is not what it was, or nobody asks for more of it. */
export function forgetEarlier(conversation: Conversation): void {
  conversation.earlier?.timer.cancel();
  conversation.earlier = undefined;
}

const NOTHING: Window = {
  items: [],
  complete: true,
  totals: { raw: 0, messages: 0, turns: 0, compactions: 0 },
};

function metaOf(
  conversation: Conversation,
  totals: Totals,
  items: readonly Item[],
  cursor: string | null,
  hasMore: boolean,
): ReplayMeta {
  const replayed = counted(items);
  return {
    cursor,
    hasMore,
    replayedMessages: replayed.messages,
    replayedTurns: replayed.turns,
    totalMessages: totals.messages,
    totalTurns: totals.turns,
    turnActive: isRunning(conversation.turns),
  };
}

/** Where the running turn's own messages begin: what it has shown is known better here than in the store. */
function cutOf({ turns, translate, live }: Conversation, items: readonly Item[]): number {
  if (!turns.turn || live.isEmpty) return items.length;
  const { asked } = translate.shown;
  const place = asked === undefined ? -1 : items.findLastIndex(({ id }) => id === asked);
  const last = place >= 0 ? place : items.findLastIndex(({ starts }) => starts);
  return last < 0 ? items.length : last + 1;
}

function totalsOf(items: readonly Item[], raw: number): Totals {
  return { raw, ...counted(items), compactions: compactionsIn(items) };
}

function compactionsIn(items: readonly Item[]): number {
  return items.filter(({ folds }) => folds.some(({ kind }) => kind === "compact")).length;
}

/** What is known after `items`, which `messages` are, but for the last turn in them. */
function tallied(
  before: Tally,
  items: readonly Item[],
  messages: readonly unknown[],
  doubles: Doubles,
): Tally {
  const firstId = before.firstId ?? messageIdOf(obj(obj(messages[0]).info));
  const last = items.findLastIndex(({ starts }) => starts);
  const behind = items[last];
  if (!behind) return { ...before, firstId, doubles };
  const lastId = messageIdOf(obj(obj(messages[behind.at - before.raw - 1]).info));
  if (lastId === undefined) return { ...before, firstId, doubles };
  const more = counted(items, 0, last);
  return {
    raw: behind.at,
    messages: before.messages + more.messages,
    turns: before.turns + more.turns,
    compactions: before.compactions + compactionsIn(items.slice(0, last)),
    firstId,
    lastId,
    doubles,
  };
}

function holds(messages: readonly unknown[], id: string): boolean {
  return placeIn(messages, id) >= 0;
}

function placeIn(messages: readonly unknown[], id: string): number {
  return messages.findLastIndex((message) => messageIdOf(obj(obj(message).info)) === id);
}

/** The end of what stands before a cursor: the place of its message; undefined where that is not there. */
function endOf({ items, totals }: Pick<Window, "items" | "totals">, { id, at }: Place): number | undefined {
  if (id === undefined) {
    // Behind the last message, as it was then.
    const place = items.findIndex((item) => item.at >= at);
    return place >= 0 ? place : totals.raw === at ? items.length : undefined;
  }
  const place = items.findIndex((item) => item.id === id);
  return place >= 0 ? place : undefined;
}

interface Place {
  /** The oldest message that was shown; undefined where none was. */
  readonly id: string | undefined;
  readonly at: number;
  readonly compactions: number;
}

function cursorOf(
  conversation: Conversation,
  id: string | undefined,
  at: number,
  compactions: number,
): string | null {
  if (conversation.backendId === undefined) return null;
  const value = [markOf(conversation.backendId), at, compactions, id ?? null];
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** @returns undefined for what is no cursor of this conversation. */
function placeOf(cursor: string, { backendId }: Conversation): Place | undefined {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(cursor, "base64url").toString());
  } catch {
    return undefined;
  }
  const [mark, at, compactions, id] = list(value);
  const whole = (each: unknown): each is number => Number.isSafeInteger(each) && Number(each) >= 0;
  if (backendId === undefined || mark !== markOf(backendId)) return undefined;
  if (!whole(at) || !whole(compactions) || (id !== null && typeof id !== "string")) return undefined;
  return { at, compactions, id: id ?? undefined };
}

/** Tells one session's cursors from another's. */
function markOf(backendId: string): string {
  return createHash("sha256").update(backendId).digest("base64url").slice(0, 8);
}
