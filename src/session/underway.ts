/** What a client that opens a conversation in mid-turn is shown of that turn: what is stored of it, and what was said. */

import { openCards } from "../tasks/background.ts";
import { thoughtId } from "../translate/events.ts";
import { toolCallIdOf } from "../translate/history.ts";
import { type Item, replay } from "../translate/transcript.ts";
import type { ToolCard, Update } from "../translate/updates.ts";
import { typedWords } from "../translate/wording.ts";
import type { Conversation } from "./conversation.ts";
import { cardAsItIs } from "./live.ts";

/** Of commands in the background, by the call that launched each: their cards stay open. */
export function launchedCards({ tasks }: Conversation): ReadonlyMap<string, ToolCard> {
  return new Map(openCards(tasks).map((card) => [card.id, card]));
}

/**
 * What the running turn has shown is known better here than in the store, which has parts of it at best; what it has
 * stored and not shown, such as words that a person put in, is shown as stored, in its place.
 * @param items the newest stored ones.
 */
export function unshown(
  conversation: Conversation,
  items: readonly Item[],
): { stored: readonly Item[]; live: Update[] } {
  const { turns, live, cwd, translate } = conversation;
  const open = [...launchedCards(conversation).values()];
  if (!turns.turn) return { stored: items, live: open.filter(notIn(drawnIn(items))).flatMap(cardAsItIs) };
  const { from, prompt } = begins(conversation, items);
  const stored = items.slice(0, from);
  const drawn = drawnIn(stored);
  const said = [...live.entries()].filter(({ card }) => card === undefined || notIn(drawn)(card));
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
  return { stored, live: updates };
}

/**
 * Where the running turn begins among the stored items.
 * @returns its prompt as well, where that is not among them.
 */
function begins(
  { turns, translate, live, prompts }: Conversation,
  items: readonly Item[],
): { from: number; prompt: Update | undefined } {
  const { asked } = translate.shown;
  const said = [...live.entries()];
  const ofTurn = (item: Item) => said.some(({ messageId, card }) => isOf(item, messageId, card, true));
  const named = asked === undefined ? -1 : items.findLastIndex(({ id }) => id === asked);
  if (named >= 0) return { from: named + 1, prompt: undefined };
  const own = turns.active?.accepted === true && !turns.turn?.notification ? turns.active : undefined;
  const words = own && typedWords(prompts.get(own.key)?.prompt.content ?? "").trim();
  const first = items.findIndex(ofTurn);
  const behind = first < 0 ? items.length : first;
  if (!words) return { from: behind, prompt: undefined };
  const last = items.slice(0, behind).findLastIndex(({ info }) => info.role === "user");
  // Words that were answered before are an earlier prompt's.
  const unanswered = items.slice(last + 1, behind).every(({ shows }) => !shows);
  if (last >= 0 && unanswered && items[last]?.words.trim() === words)
    return { from: last + 1, prompt: undefined };
  return { from: behind, prompt: { kind: "text", role: "user", messageId: asked, text: words } };
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
