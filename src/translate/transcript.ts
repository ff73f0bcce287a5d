/**
 * Stored messages as a person counts them: which of them show something, and where turns begin. A replay of any part
 * begins at a turn, so that pages joined are the whole.
 */

import type { Language } from "../locale/index.ts";
import { type Obj, obj, text } from "../platform/json.ts";
import { closeOpenCards, newTranslateState } from "./events.ts";
import {
  assistantPart,
  type Doubles,
  failedInPassing,
  latestById,
  type Message,
  messageIdOf,
} from "./history.ts";
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
}

/**
 * @param messages `{info, parts}` in order; the latest of several with one id counts, at the first one's place.
 * @param offset how many stand before these.
 * @param doubles of the whole history: one whose first place is before these is not one of these.
 */
export function transcript(messages: readonly unknown[], offset = 0, doubles?: Doubles): Item[] {
  const items: Item[] = [];
  /** What a person said last, where nothing but tries to answer it has come since. */
  let last: PersonSaid | undefined;
  /** Nothing answered it yet, or a failure that is tried again. */
  let open = false;
  for (const { at, id, info, parts } of latestById(messages, offset, doubles)) {
    if (info.role === "user") {
      const said = personSaid(info, parts);
      const speaks = said.words !== "" || said.files.length > 0;
      const again = speaks && open && last !== undefined && isSame(said, last);
      if (speaks) {
        last = said;
        // A try that failed before the model said anything may leave no answer at all.
        open = true;
      } else if (said.folds.length > 0) last = undefined;
      const starts = speaks && !again;
      const shows = starts || (said.folds.length > 0 && !again);
      items.push({ at, id, info, parts, ...said, starts, again, shows });
      continue;
    }
    const hidden = isHidden(info);
    const folds: Fold[] = isSummary(info) ? [{ kind: "compact", text: textOf(parts) }] : [];
    if (folds.length > 0) last = undefined;
    if (!hidden) open = failedInPassing(info);
    const shows = folds.length > 0 || (!hidden && parts.some(shown));
    items.push({ at, id, info, parts, words: "", files: [], folds, starts: false, again: false, shows });
  }
  return items;
}

/** The same prompt: a try is stored as a message of its own, and its files under urls of their own. */
function isSame(one: PersonSaid, other: PersonSaid): boolean {
  return (
    one.words === other.words &&
    one.files.length === other.files.length &&
    one.files.every((file, place) => {
      const { name, mime, url, hash } = other.files[place]!;
      return (
        file.name === name &&
        file.mime === mime &&
        (file.url === url || (hash !== undefined && file.hash === hash))
      );
    }) &&
    one.folds.length === other.folds.length &&
    one.folds.every(({ kind, text }, place) => {
      const fold = other.folds[place]!;
      return kind === fold.kind && text === fold.text;
    })
  );
}

/** Ids that stand several times, each with its first place. */
export function doublesIn(messages: readonly unknown[]): Doubles {
  const first = new Map<string, number>();
  const doubles = new Map<string, number>();
  messages.forEach((value, at) => {
    const id = messageIdOf(obj(obj(value).info));
    if (id === undefined) return;
    const place = first.get(id);
    if (place === undefined) first.set(id, at);
    else doubles.set(id, place);
  });
  return doubles;
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
 * @returns undefined where that is before the first item.
 */
export function batchStart(items: readonly Item[], end: number, limit: number): number | undefined {
  if (limit <= 0) return end;
  let at = end;
  for (let left = limit; at > 0 && left > 0; ) if (items[--at]?.shows) left--;
  while (at > 0 && !items[at]?.starts) at--;
  return items[at]?.starts ? at : undefined;
}

/**
 * Updates in order, and no plan among them. Each is to be rendered before the next is taken: a card is one object that
 * changes as it goes.
 */
export function* replay(items: Iterable<Item>, cwd: string, language: Language): Generator<Update> {
  const state = newTranslateState(cwd, language);
  const drawn = new Set<string>();
  const repeats = { agent: new Repeats(), thought: new Repeats() };
  for (const { at, id, info, parts, words, files, folds, again } of items) {
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
