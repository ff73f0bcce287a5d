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
 * @param running as `launchedCards` gives them.
 * @returns the first that is: what begins in the middle of the running turn begins with that.
 */
export function unshown(
  conversation: Conversation,
  items: readonly Item[],
  begin: number,
  running: ReadonlyMap<string, ToolCard>,
): { start: number; stored: readonly Item[]; live: Update[] } {
  const { cwd, translate } = conversation;
  const whole = new Said(conversation);
  const { from, prompt } = begins(conversation, items, whole);
  // Words that were put into the running turn begin none of their own.
  const start = Math.min(begin, prompt === undefined && items[from - 1]?.starts ? from - 1 : from);
  const stored = items.slice(start, from);
  const drawn = new Set(stored.flatMap(callsIn));
  const updates: Update[] = prompt ? [prompt] : [];
  let next = 0;
  const tell = (end: number) => {
    for (; next < end; next++) {
      const { card, updates: shown } = whole.entries[next]!;
      if (card === undefined || !drawn.has(card.id)) updates.push(...shown);
    }
  };
  for (const item of items.slice(from)) {
    const last = whole.lastOf(item, drawn);
    tell(last + 1);
    // On builds that name no message nothing that the agent said can be told from what was shown.
    if (last < 0 && item.shows && (item.info.role === "user" || !whole.unnamed))
      updates.push(...replay([item], cwd, translate.language));
  }
  tell(whole.entries.length);
  for (const [call, card] of running)
    if (!drawn.has(call) && !whole.cards.has(call)) updates.push(...cardAsItIs(card));
  return { start, stored, live: updates };
}

/** True where these begin in the middle of the running turn. */
export function isCut(conversation: Conversation, items: readonly Item[]): boolean {
  const { asked } = conversation.translate.shown;
  if (asked !== undefined && items.some(({ id }) => id === asked)) return false;
  const said = new Said(conversation);
  const first = items.findIndex((item) => said.isOfTurn(item));
  return first >= 0 && !items.slice(0, first).some(({ starts }) => starts);
}

/** What the running turn has shown; between two tries of a prompt none runs, and what the first one said is stored. */
class Said {
  readonly entries: readonly Shown[];
  /** The last place of each message and of each card. */
  private readonly messages = new Map<string, number>();
  readonly cards = new Map<string, number>();
  /** Something was said that no message's name went with. */
  readonly unnamed: boolean;

  constructor({ turns, live }: Conversation) {
    this.entries = turns.turn ? [...live.entries()] : [];
    let unnamed = false;
    for (const [place, { messageId, card }] of this.entries.entries()) {
      if (card) this.cards.set(card.id, place);
      else if (messageId !== undefined) this.messages.set(messageId, place);
      else unnamed = true;
    }
    this.unnamed = unnamed;
  }

  /** A card alone is not enough where there are words as well: it may have been launched by an earlier turn. */
  isOfTurn(item: Item): boolean {
    if (this.lastWords(item) >= 0) return true;
    return (
      !item.parts.some(({ type }) => type === "text") && callsIn(item).some((call) => this.cards.has(call))
    );
  }

  /**
   * The last of what was shown of a stored message; -1 where nothing was.
   * @param drawn cards that count for nothing.
   */
  lastOf(item: Item, drawn: ReadonlySet<string>): number {
    const calls = callsIn(item).filter((call) => !drawn.has(call));
    return Math.max(this.lastWords(item), ...calls.map((call) => this.cards.get(call) ?? -1));
  }

  private lastWords({ id }: Item): number {
    if (id === undefined) return -1;
    return Math.max(this.messages.get(id) ?? -1, this.messages.get(thoughtId(id)) ?? -1);
  }
}

/**
 * Where the running turn begins among the stored items.
 * @returns its prompt as well, where that is not among them.
 */
function begins(
  conversation: Conversation,
  items: readonly Item[],
  said: Said,
): { from: number; prompt: Update | undefined } {
  const { turns, translate, prompts } = conversation;
  const { asked } = translate.shown;
  const named = asked === undefined || !turns.turn ? -1 : items.findLastIndex(({ id }) => id === asked);
  if (named >= 0) return { from: named + 1, prompt: undefined };
  const own = turns.active?.accepted === true && !turns.turn?.notification ? turns.active : undefined;
  const words = own && typedWords(prompts.get(own.key)?.prompt.content ?? "").trim();
  const first = items.findIndex((item) => said.isOfTurn(item));
  const behind = first < 0 ? items.length : first;
  if (!words) return { from: behind, prompt: undefined };
  const last = items.slice(0, behind).findLastIndex(({ info }) => info.role === "user");
  // Words that were answered before are an earlier prompt's, but for tries that failed, and where nothing tells whose it is.
  const unanswered = items
    .slice(last + 1, behind)
    .every(({ shows, info }) => !shows || said.unnamed || failedInPassing(info));
  if (last >= 0 && unanswered && items[last]?.words.trim() === words)
    return { from: last + 1, prompt: undefined };
  return { from: behind, prompt: { kind: "text", role: "user", messageId: asked, text: words } };
}

/** The calls that a stored message has made. */
function callsIn({ parts }: Item): string[] {
  return parts.flatMap((part) => (part.type === "tool" ? (toolCallIdOf(part) ?? []) : []));
}
