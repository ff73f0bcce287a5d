/** Where a batch of history began, as clients carry it: opaque to them, and good for one session as it is now. */

import { createHash } from "node:crypto";
import { list } from "../platform/json.ts";

export interface Place {
  /** The oldest message that was shown; undefined where it has no id, or none was shown. */
  readonly id: string | undefined;
  readonly at: number;
  /** Compactions that stand in the history. */
  readonly compactions: number;
  /** How often this bridge has seen it become another one. */
  readonly cuts: number;
  /** The history's first message; undefined where it had none. */
  readonly first: string | undefined;
}

export function cursorOf(session: string, { id, at, compactions, cuts, first }: Place): string {
  const value = [markOf(session), at, compactions, cuts, id ?? null, first ? markOf(first) : null];
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/**
 * @param first the first message of the session's history.
 * @returns undefined for what is no cursor of this session, or of another beginning of it.
 */
export function placeOf(cursor: string, session: string, first: string | undefined): Place | undefined {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(cursor, "base64url").toString());
  } catch {
    return undefined;
  }
  const [mark, at, compactions, cuts, id, begin] = list(value);
  const whole = (each: unknown): each is number => Number.isSafeInteger(each) && Number(each) >= 0;
  if (mark !== markOf(session)) return undefined;
  if (!whole(at) || !whole(compactions) || !whole(cuts)) return undefined;
  if (id !== null && typeof id !== "string") return undefined;
  if (begin !== null && (first === undefined || begin !== markOf(first))) return undefined;
  return { at, compactions, cuts, id: id ?? undefined, first };
}

function markOf(id: string): string {
  return createHash("sha256").update(id).digest("base64url").slice(0, 8);
}
