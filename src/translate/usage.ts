/**
 * A turn's billing-grade usage, from the backend's names to ACP's. The backend counts cached tokens into
 * `inputTokens`; clients compute hit rates from an input that leaves them out, so they are taken out here.
 */

import { num, type Obj, obj, text } from "../platform/json.ts";

/** ACP's `usage` of a prompt. */
export interface PromptUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  readonly cachedReadTokens?: number;
  readonly cachedWriteTokens?: number;
  readonly thoughtTokens?: number;
}

export interface TurnUsage {
  readonly usage: PromptUsage;
  /** What ACP has no field for; goes into `_meta.zcode.usage`. */
  readonly meta: Obj;
}

/**
 * A count as the protocol takes it, a whole number from 0 up: clients refuse the whole message for any other.
 * @returns undefined for what is no finite number.
 */
export function tokens(value: unknown): number | undefined {
  const count = num(value);
  return count === undefined ? undefined : Math.min(Math.max(0, Math.round(count)), Number.MAX_SAFE_INTEGER);
}

/** @param value `turn.completed.usage`; undefined where no model call reported any. */
export function turnUsage(value: unknown): TurnUsage | undefined {
  const usage = obj(value);
  const input = tokens(usage.inputTokens);
  const output = tokens(usage.outputTokens);
  const total = tokens(usage.totalTokens);
  if (input === undefined && output === undefined && total === undefined) return undefined;
  const read = tokens(usage.cacheReadTokens);
  const write = tokens(usage.cacheWriteTokens);
  const thought = tokens(usage.reasoningTokens);
  const raw = input ?? 0;
  const inputTokens = Math.max(0, raw - (read ?? 0) - (write ?? 0));
  const meta: Record<string, unknown> = {};
  const source = text(usage.source);
  if (source !== undefined) meta.source = source;
  for (const key of ["modelRequestCount", "webFetchRequests", "webSearchRequests"]) {
    const count = num(usage[key]);
    if (count !== undefined) meta[key] = count;
  }
  if (inputTokens !== raw) meta.rawInputTokens = raw;
  return {
    usage: {
      inputTokens,
      outputTokens: output ?? 0,
      totalTokens: total ?? tokens(raw + (output ?? 0)) ?? 0,
      ...(read === undefined ? {} : { cachedReadTokens: read }),
      ...(write === undefined ? {} : { cachedWriteTokens: write }),
      ...(thought === undefined ? {} : { thoughtTokens: thought }),
    },
    meta,
  };
}
