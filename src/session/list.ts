/** The sessions that the backend stores, as a client lists them: newest first, in pages that skip and repeat nothing. */

import { isAbsolute } from "node:path";
import type { Backend } from "../backend/backend.ts";
import { errors } from "../errors/index.ts";
import type { Clock } from "../platform/clock.ts";
import { list, num, type Obj, obj, str, text } from "../platform/json.ts";
import type { Remembered } from "../store/remembered.ts";
import { typedTitle } from "../translate/wording.ts";
import { LIST_LIMIT, MAX_WALKS, PAGE, WALK_AGE_MS } from "./limits.ts";

/** One entry of `session/list`, in the backend's own words. */
export interface ListedSession {
  readonly sessionId: string;
  readonly cwd: string;
  readonly title: string;
  /** Milliseconds since the epoch. */
  readonly updatedAt: number;
}

export interface Page {
  readonly sessions: readonly ListedSession[];
  /** Where the next page begins; undefined behind the last one. */
  readonly nextCursor: string | undefined;
}

/** A list whose pages somebody is reading: what changes meanwhile neither moves nor repeats an entry. */
interface Walk {
  readonly sessions: readonly ListedSession[];
  readonly cwd: string | undefined;
  /** Monotonic milliseconds. */
  readonly at: number;
}

/** What a cursor says: the place in a walk, and, for when that is forgotten, the entry before it. */
interface Place {
  readonly walk: string;
  readonly from: number;
  readonly last: Pick<ListedSession, "updatedAt" | "sessionId">;
}

export interface ListDeps {
  readonly backend: Backend;
  readonly remembered: Remembered;
  readonly clock: Clock;
  readonly newId: () => string;
}

export class SessionList {
  private readonly walks = new Map<string, Walk>();

  constructor(private readonly deps: ListDeps) {}

  /** All of them; of one workspace, where one is named. Those that a person has deleted are left out. */
  async list(cwd: string | undefined): Promise<ListedSession[]> {
    const workspace = cwd === undefined ? {} : { workspace: { workspacePath: cwd, workspaceKey: cwd } };
    const params = { ...workspace, limit: LIST_LIMIT };
    const answer = await this.deps.backend.call("session/list", params, ["limit"]);
    const hidden = this.deps.remembered.hidden();
    const found = new Map<string, ListedSession>();
    for (const entry of list(obj(answer).sessions).map(obj)) {
      const listed = entryOf(entry, cwd);
      if (listed && !hidden.has(listed.sessionId)) found.set(listed.sessionId, listed);
    }
    return [...found.values()].sort(inOrder);
  }

  /**
   * @param cursor of the page before; undefined for the first page.
   * @throws where the cursor is none of ours.
   */
  async page(cwd: string | undefined, cursor: string | undefined): Promise<Page> {
    const place = cursor === undefined ? undefined : placeOf(cursor);
    const walk = place && this.walks.get(place.walk);
    const now = this.deps.clock.mono();
    if (place && walk && walk.cwd === cwd && now - walk.at < WALK_AGE_MS)
      return this.pageOf(place.walk, walk.sessions, place.from);
    const sessions = await this.list(cwd);
    // Of a walk that is forgotten, after a restart for one, the order goes on behind the last entry.
    const from = place ? sessions.findIndex((entry) => inOrder(place.last, entry) < 0) : 0;
    if (from < 0) return { sessions: [], nextCursor: undefined };
    if (sessions.length - from <= PAGE) return { sessions: sessions.slice(from), nextCursor: undefined };
    const id = this.deps.newId();
    this.walks.set(id, { sessions, cwd, at: now });
    for (const old of [...this.walks.keys()].slice(0, -MAX_WALKS)) this.walks.delete(old);
    return this.pageOf(id, sessions, from);
  }

  private pageOf(walk: string, all: readonly ListedSession[], from: number): Page {
    const hidden = this.deps.remembered.hidden();
    const page = all.slice(from, from + PAGE);
    const last = page.at(-1);
    const more = last !== undefined && from + PAGE < all.length;
    return {
      sessions: page.filter(({ sessionId }) => !hidden.has(sessionId)),
      nextCursor: more ? cursorOf({ walk, from: from + PAGE, last }) : undefined,
    };
  }
}

function entryOf(entry: Obj, cwd: string | undefined): ListedSession | undefined {
  const sessionId = text(entry.sessionId);
  const path = text(obj(entry.workspace).workspacePath) ?? cwd;
  if (sessionId === undefined || path === undefined || !isAbsolute(path)) return undefined;
  if (num(entry.archivedAt) !== undefined) return undefined;
  const updatedAt = num(entry.updatedAt) ?? num(entry.createdAt) ?? 0;
  return { sessionId, cwd: path, title: typedTitle(str(entry.title) ?? ""), updatedAt };
}

/** Newest first; of two of one moment by their ids, so that each has one place. */
function inOrder(a: Place["last"], b: Place["last"]): number {
  if (a.updatedAt !== b.updatedAt) return b.updatedAt - a.updatedAt;
  return a.sessionId < b.sessionId ? -1 : a.sessionId > b.sessionId ? 1 : 0;
}

function cursorOf({ walk, from, last }: Place): string {
  return Buffer.from(JSON.stringify([walk, from, last.updatedAt, last.sessionId])).toString("base64url");
}

function placeOf(cursor: string): Place {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(cursor, "base64url").toString());
  } catch {
    value = undefined;
  }
  const [walk, from, updatedAt, sessionId] = list(value);
  if (
    typeof walk !== "string" ||
    typeof from !== "number" ||
    !Number.isSafeInteger(from) ||
    from < 0 ||
    typeof updatedAt !== "number" ||
    typeof sessionId !== "string"
  )
    throw errors.badCursor(cursor);
  return { walk, from, last: { updatedAt, sessionId } };
}
