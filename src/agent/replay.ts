/** A batch of history on its way to the one client that asked for it: at once, so that nothing comes between. */

import type { Client } from "../clients/client.ts";
import type { Clients } from "../clients/clients.ts";
import { num, type Obj, obj, str } from "../platform/json.ts";
import type { Conversation, Reader } from "../session/conversation.ts";
import type { Batch } from "../session/history.ts";
import type { Sessions } from "../session/sessions.ts";
import { planShown } from "../translate/events.ts";
import { planned, replay } from "../translate/transcript.ts";
import { MAX_REPLAY, PAGE_MESSAGES } from "./limits.ts";

/** `_meta.zcode.limit` of a load; undefined for the whole conversation. */
export function replayLimit(params: Obj): number | undefined {
  const limit = num(obj(obj(params._meta).zcode).limit);
  return limit === undefined ? undefined : Math.min(Math.max(0, Math.trunc(limit)), MAX_REPLAY);
}

/** `limit` of a page. */
export function pageLimit(params: Obj): number {
  return Math.min(Math.max(1, Math.trunc(num(params.limit) ?? PAGE_MESSAGES)), MAX_REPLAY);
}

/** @param newest whether it ends with what is there now: then plan and usage belong to it. */
export function showBatch(
  clients: Clients,
  client: Client,
  conversation: Conversation,
  { items, live }: Batch,
  newest: boolean,
): void {
  const { id, cwd, translate } = conversation;
  for (const update of replay(items, cwd, translate.language)) clients.publishTo(client, id, update);
  for (const update of live) clients.publishTo(client, id, update);
  if (!newest || conversation.backendId === undefined) return;
  for (const update of planShown(translate, planned(items))) clients.publishTo(client, id, update);
  const { lastUsed: used, contextWindow: size } = translate;
  if (used > 0 && size > 0) clients.publishTo(client, id, { kind: "usage", used, size });
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
    const { history, registry } = this.sessions;
    const conversation = registry.find(id);
    if (!conversation || this.undo.has(request)) return;
    const follows = this.client.knownId(conversation.id) !== undefined;
    const reader = history.expect(conversation, this.client, replayLimit(params), follows);
    const waiting = this.waiting.get(id) ?? [];
    this.waiting.set(id, waiting);
    waiting.push(reader);
    this.undo.set(request, () => {
      const place = waiting.indexOf(reader);
      if (place >= 0) waiting.splice(place, 1);
      if (waiting.length === 0 && this.waiting.get(id) === waiting) this.waiting.delete(id);
      history.unexpect(conversation, reader, false);
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
