/** A batch of history on its way to the one client that asked for it: at once, so that nothing comes between. */

import type { Client } from "../clients/client.ts";
import type { Clients } from "../clients/clients.ts";
import type { Clock } from "../platform/clock.ts";
import { num, type Obj, obj, str } from "../platform/json.ts";
import type { Conversation, Reader } from "../session/conversation.ts";
import type { Batch } from "../session/history.ts";
import { cardAsItIs } from "../session/live.ts";
import { batchOver, expectBatch } from "../session/readers.ts";
import type { Sessions } from "../session/sessions.ts";
import { planShown } from "../translate/events.ts";
import { planned, replay } from "../translate/transcript.ts";
import type { Update } from "../translate/updates.ts";
import { MAX_REPLAY, PAGE_MESSAGES, STRETCH_LOOK, STRETCH_MS } from "./limits.ts";

/** `_meta.zcode.limit` of a load; undefined for the whole conversation. */
export function replayLimit(params: Obj): number | undefined {
  const { limit } = obj(obj(params._meta).zcode);
  // A number that is too large for one has become infinite.
  if (typeof limit !== "number" || Number.isNaN(limit)) return undefined;
  return Math.min(Math.max(0, Math.trunc(limit)), MAX_REPLAY);
}

/** `limit` of a page. */
export function pageLimit(params: Obj): number {
  return Math.min(Math.max(1, Math.trunc(num(params.limit) ?? PAGE_MESSAGES)), MAX_REPLAY);
}

/**
 * Shows a batch to one client. What takes long is shown in stretches, so that nobody else is held up; what is said of
 * the conversation meanwhile waits until it is over.
 * @param reader what waits for it; from here on it can be made to end at once.
 * @param newest whether it ends with what is there now: then plan and usage belong to it.
 * @param goesOn false as soon as nobody is shown it any more.
 */
export async function showBatch(
  { clients, clock }: { readonly clients: Clients; readonly clock: Clock },
  client: Client,
  conversation: Conversation,
  batch: Batch,
  reader: Reader,
  newest: boolean,
  goesOn: () => boolean,
): Promise<void> {
  const { id } = conversation;
  const updates = batchUpdates(conversation, batch, newest);
  /** @returns whether there is more. */
  const stretch = (ms: number): boolean => {
    const until = clock.mono() + ms;
    for (let count = 1; ; count++) {
      const { value, done } = updates.next();
      if (done || !goesOn()) return false;
      clients.publishTo(client, id, value);
      if (count % STRETCH_LOOK === 0 && clock.mono() >= until) return true;
    }
  };
  reader.finish = () => void stretch(Number.POSITIVE_INFINITY);
  while (stretch(STRETCH_MS)) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    // Who does not read is not sent more than it could.
    await client.outlet.room();
  }
}

function* batchUpdates(
  conversation: Conversation,
  { items, running, live }: Batch,
  newest: boolean,
): Generator<Update> {
  const { cwd, translate } = conversation;
  yield* replay(items, cwd, translate.language, (call) => {
    const card = running.get(call);
    return card && cardAsItIs(card);
  });
  yield* live;
  if (!newest || conversation.backendId === undefined) return;
  yield* planShown(translate, planned(items));
  const { lastUsed: used, contextWindow: size } = translate;
  if (used > 0 && size > 0) yield { kind: "usage", used, size };
}

/** Loads that have come and are not begun with: what is said meanwhile belongs behind the history that they bring. */
export class Loads {
  private readonly waiting = new Map<string, Reader[]>();
  /** What takes each back, by request. */
  private readonly undo = new Map<unknown, () => void>();

  constructor(
    private readonly sessions: Sessions,
    private readonly client: Client,
  ) {}

  /** To be told of each `session/load` as it comes. */
  came(request: unknown, params: Obj): void {
    const id = str(params.sessionId) ?? "";
    const conversation = this.sessions.registry.find(id);
    if (!conversation || this.undo.has(request)) return;
    const reader = expectBatch(conversation, this.client, replayLimit(params) === 0);
    const waiting = this.waiting.get(id) ?? [];
    this.waiting.set(id, waiting);
    waiting.push(reader);
    this.undo.set(request, () => {
      const place = waiting.indexOf(reader);
      if (place >= 0) waiting.splice(place, 1);
      if (waiting.length === 0 && this.waiting.get(id) === waiting) this.waiting.delete(id);
      batchOver(conversation, reader, false);
    });
  }

  /** The next load of a session is begun with. */
  begin(id: string): Reader | undefined {
    return this.waiting.get(id)?.shift();
  }

  /** The client is gone. */
  end(): void {
    for (const request of [...this.undo.keys()]) this.answered(request);
  }

  /** To be told of every answer: one that was refused before it was begun with waits no longer. */
  answered(request: unknown): void {
    this.undo.get(request)?.();
    this.undo.delete(request);
  }
}
