/**
 * Stored messages as a person counts them: which of them show something, and where turns begin. A replay of any part
 * begins at a turn, so that pages joined are the whole.
 */

import type { Language } from "../locale/index.ts";
import { type Obj, text } from "../platform/json.ts";
import { closeOpenCards, newTranslateState } from "./events.ts";
import { assistantPart, failedInPassing, latestById, type Message, toolCallIdOf } from "./history.ts";
import {
  type Fold,
  isHidden,
  isSummary,
  type PersonSaid,
  personSaid,
  type SentFile,
  textOf,
} from "./plumbing.ts";
import { Repeats } from "./repeat.ts";
import type { Update } from "./updates.ts";

export interface Item extends Message {
  /** What a person said in it; empty for everything else. */
  readonly words: string;
  readonly files: readonly SentFile[];
  readonly folds: readonly Fold[];
  /** A turn of a person's begins with it. */
  readonly starts: boolean;
  /** It shows something, and counts. */
  readonly shows: boolean;
  /** The same prompt as before, tried again: what it repeats is shown once. */
  readonly again: boolean;
  /** What is tried before it; undefined where that is not known. */
  readonly behind: Tried | undefined;
}

/** By which a prompt is known as one that is tried again. */
export interface Tried {
  /** What a person said last, or what stands for it, where nothing but tries to answer it have come since. */
  readonly last: PersonSaid | bigint | undefined;
  /** Nothing answered it yet, or a failure that is tried again. */
  readonly open: boolean;
}

/** What is known of the messages that stand before some. */
export interface Before {
  /** True for a message whose first place is there. */
  has(id: string): boolean;
  /** What is tried before the message at this place. */
  readonly at: number;
  readonly tried: Tried;
}

/** The same of a few bytes: nothing keeps what a person said. */
export function triedBriefly({ last, open }: Tried): Tried {
  return { last: typeof last === "object" ? markOf(last) : last, open };
}

/**
 * @param messages `{info, parts}` in order; the latest of several with one id counts, at the first one's place.
 * @param offset how many stand before these.
 * @param before what is known of those. Whether the first of these is a prompt tried again may be unknown: it begins no
 * turn then.
 */
export function transcript(messages: readonly unknown[], offset = 0, before?: Before): Item[] {
  const items: Item[] = [];
  let { last, open }: Tried = NOTHING_TRIED;
  /** What was said last is known, and where it is not, whether something answered it. */
  let sure = offset === 0;
  let answered = false;
  for (const message of latestById(messages, offset, before && ((id) => before.has(id)))) {
    const { info, parts } = message;
    if (before && message.at === before.at) {
      ({ last, open } = before.tried);
      sure = true;
    }
    const behind = sure ? { last, open } : undefined;
    if (info.role === "user") {
      const said = personSaid(info, parts);
      const speaks = said.words !== "" || said.files.length > 0;
      const again = speaks && open && last !== undefined && isSame(said, last);
      if (speaks) {
        last = said;
        // A try that failed before the model said anything may leave no answer at all.
        open = true;
      } else if (said.folds.length > 0) last = undefined;
      const shows = (speaks || said.folds.length > 0) && !again;
      items.push({
        ...message,
        ...said,
        starts: speaks && !again && (sure || answered),
        again,
        shows,
        behind,
      });
      sure ||= shows;
      continue;
    }
    const hidden = isHidden(info);
    const folds: Fold[] = isSummary(info) ? [{ kind: "compact", text: textOf(parts) }] : [];
    if (folds.length > 0) last = undefined;
    if (!hidden) open = failedInPassing(info);
    sure ||= folds.length > 0;
    if (!hidden) answered = !open;
    const shows = folds.length > 0 || (!hidden && parts.some(shown));
    items.push({ ...message, words: "", files: [], folds, starts: false, again: false, shows, behind });
  }
  return items;
}

const NOTHING_TRIED: Tried = { last: undefined, open: false };

/** The same prompt: a try is stored as a message of its own, and its files under urls of their own. */
function isSame(said: PersonSaid, last: PersonSaid | bigint): boolean {
  if (typeof last === "object" && said.words !== last.words) return false;
  return markOf(said) === (typeof last === "object" ? markOf(last) : last);
}

function markOf({ words, files, folds }: PersonSaid): bigint {
  const sent = files.map(({ name, mime, url, hash }) => [name, mime, hash ?? url]);
  return BigInt(Bun.hash(JSON.stringify([words, sent, folds])));
}

function shown(part: Obj): boolean {
  if (part.type === "text") return text(part.text) !== undefined;
  if (part.type === "reasoning") return (text(part.text) ?? text(part.content)) !== undefined;
  return part.type === "tool" && text(part.tool) !== undefined;
}

/** True where something was planned in these, whatever became of it. */
export function planned(items: readonly Item[]): boolean {
  return items.some(({ parts }) => parts.some(({ type, tool }) => type === "tool" && tool === "TodoWrite"));
}

export interface Counted {
  readonly messages: number;
  readonly turns: number;
}

export function counted(items: readonly Item[], from = 0, to = items.length): Counted {
  let messages = 0;
  let turns = 0;
  for (let i = from; i < to; i++) {
    if (items[i]?.shows) messages++;
    if (items[i]?.starts) turns++;
  }
  return { messages, turns };
}

/**
 * Where a batch of `limit` messages that ends before `end` begins: at the start of the turn that the oldest of them is in.
 * @returns undefined where that is before the first item, or there are not so many.
 */
export function batchStart(items: readonly Item[], end: number, limit: number): number | undefined {
  if (limit <= 0) return end;
  let at = end;
  let left = limit;
  while (at > 0 && left > 0) if (items[--at]?.shows) left--;
  if (left > 0) return undefined;
  while (at > 0 && !items[at]?.starts) at--;
  return items[at]?.starts ? at : undefined;
}

/**
 * Updates in order, and no plan among them; each is to be rendered before the next is taken: a card is one object that
 * changes as it goes.
 * @param running draws the card of a call that runs on in the background: what is stored says no more than its launch.
 */
export function* replay(
  items: Iterable<Item>,
  cwd: string,
  language: Language,
  running: (toolCallId: string) => readonly Update[] | undefined = () => undefined,
): Generator<Update> {
  const state = newTranslateState(cwd, language);
  const drawn = new Set<string>();
  const repeats = { agent: new Repeats(), thought: new Repeats() };
  for (const { at, id, info, parts, words, files, folds, starts, again } of items) {
    // Some models number the calls of each turn anew.
    if (starts) drawn.clear();
    if (again) {
      for (const each of Object.values(repeats)) each.begin(true);
      continue;
    }
    if (words !== "" || files.length > 0) {
      for (const each of Object.values(repeats)) each.begin(false);
      if (words !== "") yield { kind: "text", role: "user", messageId: id, text: words };
      for (const file of files) yield { kind: "file", messageId: id, file };
    }
    for (const [index, fold] of folds.entries()) {
      const card = `histfold_${id ?? at}${index === 0 ? "" : `_${index}`}`;
      yield { kind: "fold", id: card, fold: fold.kind, text: fold.text, language };
    }
    if (info.role === "user") continue;
    if (isHidden(info) || isSummary(info)) continue;
    for (const part of parts) {
      const call = part.type === "tool" ? toolCallIdOf(part) : undefined;
      const card = call === undefined || drawn.has(call) ? undefined : running(call);
      if (call !== undefined && card) {
        drawn.add(call);
        yield* card;
        continue;
      }
      for (const update of assistantPart(state, part, id, drawn)) {
        // What was planned then is not what is planned now.
        if (update.kind === "plan") continue;
        if (update.kind !== "text" || update.role === "user") yield update;
        else {
          const rest = repeats[update.role].filter(update.text);
          if (rest !== "") yield { ...update, text: rest };
        }
      }
    }
    yield* closeOpenCards(state);
  }
}
