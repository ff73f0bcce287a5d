/** What is said of a conversation while a client waits for its history: it belongs behind the history, once. */

import type { Conversation, HeldBack, Reader } from "./conversation.ts";

/**
 * A batch of history is on its way to a client: what is said from here on waits for it.
 * @param client that will be shown it.
 * @param nothing whether it brings no message at all; then nothing waits.
 */
export function expectBatch({ readers }: Conversation, client: object, nothing: boolean): Reader {
  const reader: Reader = { client, held: [], covered: 0, finish: undefined };
  if (!nothing) readers.add(reader);
  return reader;
}

/**
 * It is over, or does not come: what waited is told, once, however many batches of this client it waited for.
 * @param shown whether the client was shown the history, and with it what that covers.
 */
export function batchOver({ readers }: Conversation, reader: Reader, shown: boolean): void {
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

/**
 * Nothing of a prompt comes behind its answer: what waits for batches of its client is told now, behind what of them has
 * begun to be shown, and stays in what the others show.
 */
export function tellBefore({ readers }: Conversation, client: object): void {
  for (const reader of readers) {
    if (reader.client !== client) continue;
    const { held, finish } = reader;
    finish?.();
    for (const [place, each] of held.entries()) {
      if (finish ? place >= reader.covered : !each.told) each.tell();
      each.told = true;
    }
    if (finish) reader.covered = held.length;
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
