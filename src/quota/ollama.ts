/** Ollama Cloud, from its usage API. Two answers are in use: shares of a plan's windows, or money spent. */

import { z } from "zod";
import { phrase } from "../locale/index.ts";
import { AskError, ask, jsonOf, type Reply, type Web } from "./ask.ts";
import { OLLAMA_SESSION_MS, PAGE_DEADLINE_MS } from "./limits.ts";
import type { Answer, Window } from "./types.ts";
import { checked, count, epochMs, isBadKey, share } from "./values.ts";

export interface OllamaSource {
  readonly apiKey: string | undefined;
  readonly origin: string | undefined;
}

const ORIGIN = "https://ollama.com";
const RANGE = "30d";
/** USD of credit a month, by plan. */
const CREDIT: ReadonlyMap<string, number> = new Map([
  ["pro", 60],
  ["max", 300],
  ["team", 1000],
]);
const WEEK_MS = 7 * 24 * 60 * 60 * 1000;
/** The first Monday after the epoch, 00:00 UTC. */
const FIRST_MONDAY_MS = 4 * 24 * 60 * 60 * 1000;

/** A share of 1 above 1 is another unit, which nobody has described. */
const Share = z.looseObject({ usage: z.number().min(0).max(1) }).nullish();

const UsageBody = z.looseObject({
  limits: z.looseObject({ session: Share, weekly: Share, monthly: Share }).nullish(),
  totals: z.looseObject({ usage_usd: count }).nullish(),
});

const Me = z.looseObject({
  Plan: z.string().nullish(),
  plan: z.string().nullish(),
  CreatedAt: z.string().nullish(),
  SubscriptionPeriodEnd: z
    .looseObject({ Time: z.string().nullish(), Valid: z.boolean().nullish() })
    .nullish(),
});

export interface Account {
  readonly plan: string | undefined;
  /** Epoch ms. */
  readonly periodEnd: number | undefined;
  readonly createdAt: number | undefined;
}

/** The answer where there is nothing to ask with. */
export function missingOllama({ apiKey }: OllamaSource): Answer<"ollama"> | undefined {
  if (!apiKey) return { section: { kind: "not_configured" }, unset: true };
  if (!isBadKey(apiKey)) return undefined;
  return { section: { kind: "auth_error" }, reason: phrase("quota.reason.badKey", {}) };
}

export async function askOllama(web: Web, source: OllamaSource): Promise<Answer<"ollama">> {
  const { apiKey } = source;
  const missing = missingOllama(source);
  if (missing) return missing;
  const origin = source.origin ?? ORIGIN;
  const headers = { authorization: `Bearer ${apiKey}`, accept: "application/json" };
  try {
    const [usage, me] = await Promise.all([
      ask(web, { url: `${origin}/api/usage?range=${RANGE}`, headers, deadlineMs: PAGE_DEADLINE_MS }),
      // Plan and period make the numbers more telling, and are no reason to show none.
      ask(web, {
        url: `${origin}/api/me`,
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: "{}",
        deadlineMs: PAGE_DEADLINE_MS,
      }).catch((error: unknown) => (error instanceof AskError ? undefined : Promise.reject(error))),
    ]);
    return readOllama(usage, accountOf(me), web.clock.now());
  } catch (error) {
    if (!(error instanceof AskError)) throw error;
    return { section: { kind: "unavailable" }, reason: error.reason };
  }
}

/**
 * @param now epoch ms.
 * @throws AskError where the reply cannot be understood.
 */
export function readOllama(reply: Reply, account: Account, now: number): Answer<"ollama"> {
  if (reply.status === 401 || reply.status === 403) {
    return {
      section: { kind: "auth_error" },
      reason: phrase("quota.reason.status", { status: reply.status }),
    };
  }
  if (reply.location) throw new AskError(phrase("quota.reason.elsewhere", {}));
  if (reply.status >= 400) throw new AskError(phrase("quota.reason.status", { status: reply.status }));
  const { limits, totals } = checked(UsageBody, jsonOf(reply));
  const monthEnd = monthlyReset(account, now);
  const windows: Window[] = [];
  const add = (key: string, label: string, usagePercent: number, resetsAt: number | undefined) =>
    windows.push({ key, label, usagePercent, ...(resetsAt === undefined ? {} : { resetsAt }) });
  if (limits?.session)
    add("session", "5h", share(limits.session.usage, 1), nextMultiple(now, OLLAMA_SESSION_MS, 0));
  if (limits?.weekly)
    add("weekly", "Week", share(limits.weekly.usage, 1), nextMultiple(now, WEEK_MS, FIRST_MONDAY_MS));
  if (limits?.monthly) add("monthly", "Month", share(limits.monthly.usage, 1), monthEnd);
  if (windows.length > 0) return { section: { kind: "success", windows } };
  if (!totals) throw new AskError(phrase("quota.reason.noUsage", {}));
  const credit = CREDIT.get(account.plan?.toLowerCase() ?? "");
  if (credit === undefined) {
    return { section: { kind: "success", windows: [], spend: { usd: totals.usage_usd, range: RANGE } } };
  }
  add("monthly", "Month", share(totals.usage_usd, credit), monthEnd);
  return { section: { kind: "success", windows } };
}

const UNKNOWN: Account = { plan: undefined, periodEnd: undefined, createdAt: undefined };

/** What `/api/me` says; whatever is wrong with it, nothing. */
export function accountOf(reply: Reply | undefined): Account {
  if (reply?.status !== 200) return UNKNOWN;
  let value: unknown;
  try {
    value = JSON.parse(reply.text);
  } catch {
    return UNKNOWN;
  }
  const me = Me.safeParse(value);
  if (!me.success) return UNKNOWN;
  const { Plan, plan, SubscriptionPeriodEnd: end, CreatedAt } = me.data;
  return {
    plan: Plan ?? plan ?? undefined,
    periodEnd: end?.Valid === true ? timeOf(end.Time) : undefined,
    createdAt: timeOf(CreatedAt),
  };
}

function timeOf(value: string | null | undefined): number | undefined {
  if (!value) return undefined;
  // More than three digits of a second are more than a date can hold.
  const time = Date.parse(value.replace(/(\.\d{3})\d+/, "$1"));
  return epochMs.safeParse(time).success ? time : undefined;
}

function nextMultiple(now: number, step: number, from: number): number {
  return from + (Math.floor((now - from) / step) + 1) * step;
}

function monthlyReset({ periodEnd, createdAt }: Account, now: number): number | undefined {
  if (periodEnd !== undefined && periodEnd > now) return periodEnd;
  return createdAt === undefined ? undefined : nextAnniversary(createdAt, now);
}

/** The next time that the day of the month and the time of day of `start` come round; a short month has its last day. */
export function nextAnniversary(start: number, now: number): number {
  const first = new Date(start);
  const today = new Date(now);
  for (let ahead = 0; ; ahead++) {
    const month = today.getUTCMonth() + ahead;
    const days = new Date(Date.UTC(today.getUTCFullYear(), month + 1, 0)).getUTCDate();
    const day = Math.min(first.getUTCDate(), days);
    const time =
      Date.UTC(today.getUTCFullYear(), month, day) +
      (start - Date.UTC(first.getUTCFullYear(), first.getUTCMonth(), first.getUTCDate()));
    if (time > now) return time;
  }
}
