/** What a session's history holds and no event has told: shown once the session is back, in the history's order. */

import { type Obj, obj } from "../platform/json.ts";
import { isOpen } from "./cards.ts";
import { closeOpenCards, type TranslateState } from "./events.ts";
import { assistantPart, latestById, messageIdOf, toolCallIdOf } from "./history.ts";
import { isHidden, isSummary, personSaid } from "./plumbing.ts";
import type { Update } from "./updates.ts";

/** The id of the last of these messages; one that is stored again stands where it stood first. */
export function lastMessageId(messages: readonly unknown[]): string | undefined {
  return latestById(messages).findLast(({ id }) => id !== undefined)?.id;
}

/**
 * Updates in order, each to be rendered before the next is taken. Cards that were cut off get the end that is stored.
 * Nothing comes where the history does not hold the place up to which everything was shown: then it cannot be told.
 * @param messages the whole history, `{info, parts}` in order.
 */
export function* missedUpdates(state: TranslateState, messages: readonly unknown[]): Generator<Update> {
  const { shown } = state;
  const all = latestById(messages);
  let from = 0;
  if (shown.blind) return;
  if (shown.anchor !== undefined) {
    from = all.findIndex(({ info }) => messageIdOf(info) === shown.anchor) + 1;
    if (from === 0) from = all.findIndex(({ info }) => shown.names(messageIdOf(info)));
    if (from < 0) return;
  }
  // Of the anchor's own turn nothing is missing, and of one that was given up nothing is wanted.
  let { givenUp } = shown;
  let dropped = givenUp || (shown.ended && from > 0);
  const unnamed = { ...shown.unnamed };
  for (const { info, parts } of all.slice(from)) {
    const id = messageIdOf(info);
    if (isHidden(info)) {
      // What the agent was told of its own accord begins a turn as well.
      if (info.role === "user") dropped = givenUp;
      continue;
    }
    if (info.role === "user") {
      const { words } = personSaid(info, parts);
      const ours = words === "" || shown.takePrompt(id, words);
      givenUp &&= ours;
      dropped = givenUp;
      if (ours) continue;
      yield { kind: "text", role: "user", messageId: id, text: words };
    } else if (!dropped && !isSummary(info)) {
      const known = shown.of(id);
      yield* answer(state, parts, id, known ? { ...known } : unnamed);
    }
  }
  yield* closeOpenCards(state);
}

/** @param received characters that were shown already; they are taken off as they are met. */
function* answer(
  state: TranslateState,
  parts: readonly Obj[],
  id: string | undefined,
  received: { agent: number; thought: number },
): Generator<Update> {
  const drawn = new Set<string>();
  for (const part of parts) {
    if (part.type === "tool" && !isNews(state, part)) continue;
    for (const update of assistantPart(state, part, id, drawn)) {
      if (update.kind !== "text" || update.role === "user") {
        yield update;
        continue;
      }
      const known = Math.min(received[update.role], update.text.length);
      received[update.role] -= known;
      const rest = update.text.slice(known);
      if (rest !== "") yield { ...update, text: rest };
    }
  }
}

/** True for a call that was never heard of, or whose card was cut off and has its end stored; that card is opened again. */
function isNews(state: TranslateState, part: Obj): boolean {
  const id = toolCallIdOf(part);
  const card = id === undefined ? undefined : state.cards.get(id);
  if (!card || isOpen(card)) return true;
  const { status } = obj(part.state);
  if (!card.cut || (status !== "completed" && status !== "error")) return false;
  card.cut = false;
  card.status = "in_progress";
  return true;
}
