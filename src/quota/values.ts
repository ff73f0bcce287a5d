/** What numbers of a provider may be. Everything else makes its answer one that cannot be shown. */

import { z } from "zod";
import { phrase } from "../locale/index.ts";
import { AskError } from "./ask.ts";

/** A count of something. */
export const count = z.number().min(0);
/** A percentage that a provider reports. */
export const percent = z.number().min(0).max(100);
/** Epoch ms: seconds, or a date before 2001, are a mistake, and so is one after 2200. */
export const epochMs = z.number().min(1e12).max(7.3e12);

/** True where no request could carry it: a header holds neither line breaks nor other scripts. */
export function isBadKey(key: string): boolean {
  return /[^\x20-\x7e]/.test(key);
}

/** @throws AskError naming the place that is wrong, and nothing of what stood there. */
export function checked<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const place =
    issue?.path
      .map(String)
      .filter((key) => /^[\w-]{1,40}$/.test(key))
      .join(".") || "*";
  throw new AskError(phrase("quota.reason.nonsense", { place }));
}

/** A percentage that is derived from two numbers, with two digits at most. */
export function share(part: number, whole: number): number {
  return Math.min(100, Math.round((part / whole) * 10_000) / 100);
}
