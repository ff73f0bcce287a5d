/**
 * Stored messages as a person counts them: which of them show something, and where turns begin. A replay of any part
 * begins at a turn, so that pages joined are the whole.
 */

import type { Language } from "../locale/index.ts";
import { type Obj, text } from "../platform/json.ts";
import { closeOpenCards, newTranslateState } from "./events.ts";
import { assistantPart, failedInPassing, latestById, type Message, toolCallIdOf } from "./history.ts";
import { type Fold, isHidden, isSummary, personSaid, type SentFile, textOf } from "./plumbing.ts";
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
}

/**
 * @param messages `{info, parts}` in order; the latest of several with one id counts, at the first one's place.
 * @param offset how many stand before these.
 * @param standsBefore tells of a message's id whether it stands before these: then it is not one of these.
 */
export function transcript(
  messages: readonly unknown[],
  offset = 0,
  standsBefore?: (id: string) => boolean,
): Item[] {
  const items: Item[] = [];
  /** The person's last words, where nothing answered them yet, or a failure that is tried again. */
  let tried: string | undefined;
  let last: string | undefined;
  for (const message of latestById(messages, offset, standsBefore)) {
    const { info, parts } = message;
    if (info.role === "user") {
      const { words, files, folds } = personSaid(info, parts);
      const again = words !== "" && words === tried;
      if (words !== "") {
        last = words;
        // A try that failed before the model said anything may leave no answer at all.
        tried = words;
      }
      const starts = (words !== "" || files.length > 0) && !again;
      items.push({
        ...message,
        words,
        files,
        folds,
        starts,
        again,
        shows: starts || folds.length > 0,
      });
      continue;
    }
    const hidden = isHidden(info);
    const folds: Fold[] = isSummary(info) ? [{ kind: "compact", text: textOf(parts) }] : [];
    if (!hidden) tried = failedInPassing(info) ? last : undefined;
    const shows = folds.length > 0 || (!hidden && parts.some(shown));
    items.push({ ...message, words: "", files: [], folds, starts: false, again: false, shows });
  }
  return items;
}

function shown(part: Obj): boolean {
  if (part.type === "text") return text(part.text) !== undefined;
  if (part.type === "reasoning") return (text(part.text) ?? text(part.content)) !== undefined;
  return part.type === "tool" && text(part.tool) !== undefined;
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
 * Updates in order, each to be rendered before the next is taken: a card is one object that changes as it goes.
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
  for (const { at, id, info, parts, words, files, folds, again } of items) {
    for (const [index, fold] of folds.entries()) {
      const card = `histfold_${id ?? at}${index === 0 ? "" : `_${index}`}`;
      yield {
        kind: "fold",
        id: card,
        fold: fold.kind,
        text: fold.text,
        language,
      };
    }
    if (info.role === "user") {
      if (words === "" && files.length === 0) continue;
      for (const each of Object.values(repeats)) each.begin(again);
      if (again) continue;
      if (words !== "") yield { kind: "text", role: "user", messageId: id, text: words };
      for (const file of files) yield { kind: "file", messageId: id, file };
      continue;
    }
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
