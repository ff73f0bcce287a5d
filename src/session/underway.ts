/** What a client that opens a conversation in mid-turn is shown of that turn: what is stored of it, and what was said. */

import { openCards } from "../tasks/background.ts";
import { thoughtId } from "../translate/events.ts";
import { failedInPassing, toolCallIdOf } from "../translate/history.ts";
import { type Item, replay } from "../translate/transcript.ts";
import type { ToolCard, Update } from "../translate/updates.ts";
import { typedWords } from "../translate/wording.ts";
import type { Conversation } from "./conversation.ts";
import { cardAsItIs, type Shown } from "./live.ts";

/** Of commands in the background, by the call that launched each: their cards stay open. */
export function launchedCards({ tasks }: Conversation): ReadonlyMap<string, ToolCard> {
  return new Map(openCards(tasks).map((card) => [card.id, card]));
}

/**
 * What the running turn has shown is known better here than in the store, which has parts of it at best; what it has
 * stored and not shown, such as words that a person put in, is shown as stored, in its place.
 * @param items the newest stored ones.
 * @param begin the first of these that is to be shown.
 * @returns the first that is: what begins in the middle of the running turn begins with that.
 */
export function unshown(
  conversation: Conversation,
  items: readonly Item[],
  begin: number,
): { start: number; stored: readonly Item[]; live: Update[] } {
  const { cwd, translate } = conversation;
  const open = [...launchedCards(conversation).values()];
  const { from, prompt } = begins(conversation, items);
  // Words that were put into the running turn begin none of their own.
  const start = Math.min(begin, prompt === undefined && items[from - 1]?.starts ? from - 1 : from);
  const stored = items.slice(start, from);
  const drawn = drawnIn(stored);
  const said = saidIn(conversation).filter(({ card }) => card === undefined || notIn(drawn)(card));
  const updates: Update[] = prompt ? [prompt] : [];
  let next = 0;
  // On builds that name no message nothing that the agent said can be told from what was shown.
  const unnamed = said.some(({ messageId, card }) => messageId === undefined && card === undefined);
  for (const item of items.slice(from)) {
    const last = said.findLastIndex(({ messageId, card }) => isOf(item, messageId, card));
    for (; next <= last; next++) updates.push(...said[next]!.updates);
    if (last < 0 && item.shows && (item.info.role === "user" || !unnamed))
      updates.push(...replay([item], cwd, translate.language));
  }
  for (; next < said.length; next++) updates.push(...said[next]!.updates);
  const shown = new Set([...drawn, ...said.flatMap(({ card }) => card?.id ?? [])]);
  updates.push(...open.filter(notIn(shown)).flatMap(cardAsItIs));
  return { start, stored, live: updates };
}

/** True where these begin in the middle of the running turn. */
export function isCut(conversation: Conversation, items: readonly Item[]): boolean {
  const { asked } = conversation.translate.shown;
  if (asked !== undefined && items.some(({ id }) => id === asked)) return false;
  const first = items.findIndex((item) => isOfTurn(item, saidIn(conversation)));
  return first >= 0 && !items.slice(0, first).some(({ starts }) => starts);
}

/** What the running turn has shown; between two tries of a prompt none runs, and what the first one said is stored. */
function saidIn({ turns, live }: Conversation): Shown[] {
  return turns.turn ? [...live.entries()] : [];
}

/**
 * Where the running turn begins among the stored items.
 * @returns its prompt as well, where that is not among them.
 */
function begins(
  conversation: Conversation,
  items: readonly Item[],
): { from: number; prompt: Update | undefined } {
  const { turns, translate, prompts } = conversation;
  const { asked } = translate.shown;
  const said = saidIn(conversation);
  const named = asked === undefined || !turns.turn ? -1 : items.findLastIndex(({ id }) => id === asked);
  if (named >= 0) return { from: named + 1, prompt: undefined };
  const own = turns.active?.accepted === true && !turns.turn?.notification ? turns.active : undefined;
  const words = own && typedWords(prompts.get(own.key)?.prompt.content ?? "").trim();
  const first = items.findIndex((item) => isOfTurn(item, said));
  const behind = first < 0 ? items.length : first;
  if (!words) return { from: behind, prompt: undefined };
  const last = items.slice(0, behind).findLastIndex(({ info }) => info.role === "user");
  // Words that were answered before are an earlier prompt's, but for tries that failed, and where nothing tells whose it is.
  const nameless = said.some(({ messageId, card }) => messageId === undefined && card === undefined);
  const unanswered = items
    .slice(last + 1, behind)
    .every(({ shows, info }) => !shows || nameless || failedInPassing(info));
  if (last >= 0 && unanswered && items[last]?.words.trim() === words)
    return { from: last + 1, prompt: undefined };
  return { from: behind, prompt: { kind: "text", role: "user", messageId: asked, text: words } };
}

function isOfTurn(item: Item, said: readonly Shown[]): boolean {
  return said.some(({ messageId, card }) => isOf(item, messageId, card, true));
}

/** @param words whether a card alone is not enough: it may have been launched by an earlier turn. */
function isOf(item: Item, messageId: string | undefined, card: ToolCard | undefined, words = false): boolean {
  if (card === undefined)
    return item.id !== undefined && (messageId === item.id || messageId === thoughtId(item.id));
  if (words && item.parts.some(({ type }) => type === "text")) return false;
  return item.parts.some((part) => part.type === "tool" && toolCallIdOf(part) === card.id);
}

function drawnIn(items: readonly Item[]): ReadonlySet<string> {
  return new Set(
    items.flatMap(({ parts }) =>
      parts.flatMap((part) => (part.type === "tool" ? (toolCallIdOf(part) ?? []) : [])),
    ),
  );
}

const notIn = (ids: ReadonlySet<string>) => (card: ToolCard) => !ids.has(card.id);
