/** OpenCode Go, from the page that a person sees: there is no API. */

import { phrase } from "../locale/index.ts";
import { AskError, ask, type Reply, type Web } from "./ask.ts";
import { PAGE_DEADLINE_MS } from "./limits.ts";
import type { Answer, Window } from "./types.ts";
import { checked, count, epochMs, percent } from "./values.ts";

export interface OpencodeSource {
  readonly workspaceId: string | undefined;
  readonly authCookie: string | undefined;
  readonly origin: string | undefined;
}

const ORIGIN = "https://opencode.ai";
/** The page is made for browsers, and turns others away. */
const BROWSER =
  "Mozilla/5.0 (X11; Linux x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";
const LOGIN = /(?:^|[./])(?:login|signin|sign-in|auth|authorize|oauth)(?:[./]|$)/i;

const WINDOWS = [
  { name: "rollingUsage", key: "rolling", label: "5h" },
  { name: "weeklyUsage", key: "weekly", label: "Week" },
  { name: "monthlyUsage", key: "monthly", label: "Month" },
] as const;

/** The answer where there is nothing to ask with. */
export function missingOpencode(source: OpencodeSource): Answer<"opencode"> | undefined {
  const { workspaceId, authCookie } = source;
  if (!workspaceId && !authCookie) return { section: { kind: "not_configured" }, unset: true };
  if (!workspaceId)
    return { section: { kind: "not_configured" }, reason: phrase("quota.reason.noWorkspace", {}) };
  if (!authCookie)
    return { section: { kind: "not_configured" }, reason: phrase("quota.reason.noCookie", {}) };
  // A header holds no line break, and one cookie is no other.
  if (/[\0-\x1f\x7f;]/.test(authCookie)) {
    return { section: { kind: "auth_error" }, reason: phrase("quota.reason.badCookie", {}) };
  }
  return undefined;
}

export async function askOpencode(web: Web, source: OpencodeSource): Promise<Answer<"opencode">> {
  const { workspaceId = "", authCookie = "" } = source;
  const missing = missingOpencode(source);
  if (missing) return missing;
  try {
    const reply = await ask(web, {
      url: `${source.origin ?? ORIGIN}/workspace/${encodeURIComponent(workspaceId)}/go`,
      headers: { cookie: `auth=${authCookie}`, "user-agent": BROWSER, accept: "text/html" },
      deadlineMs: PAGE_DEADLINE_MS,
      stopAt: isLogin,
    });
    return readOpencode(reply, web.clock.now());
  } catch (error) {
    if (!(error instanceof AskError)) throw error;
    return { section: { kind: "unavailable" }, reason: error.reason };
  }
}

/**
 * @param now epoch ms at which the page was read: it counts down from there.
 * @throws AskError where the page cannot be understood.
 */
export function readOpencode(reply: Reply, now: number): Answer<"opencode"> {
  if (reply.status === 401 || reply.status === 403) {
    return {
      section: { kind: "auth_error" },
      reason: phrase("quota.reason.status", { status: reply.status }),
    };
  }
  if (reply.location) {
    if (isLogin(reply.location)) {
      return { section: { kind: "auth_error" }, reason: phrase("quota.reason.signIn", {}) };
    }
    throw new AskError(phrase("quota.reason.elsewhere", {}));
  }
  if (reply.status >= 400) throw new AskError(phrase("quota.reason.status", { status: reply.status }));
  const windows = WINDOWS.flatMap(({ name, key, label }): Window[] => {
    const fields = fieldsOf(reply.text, name);
    if (!fields) return [];
    const usagePercent = checked(percent, fields.usagePercent);
    if (fields.resetInSec === undefined) return [{ key, label, usagePercent }];
    const resetsAt = Math.round(now + checked(count, fields.resetInSec) * 1000);
    return [{ key, label, usagePercent, resetsAt: checked(epochMs, resetsAt) }];
  });
  if (windows.length === 0) throw new AskError(phrase("quota.reason.noUsage", {}));
  return { section: { kind: "success", windows } };
}

function isLogin({ hostname, pathname }: URL): boolean {
  return LOGIN.test(hostname) || LOGIN.test(pathname);
}

/** The numbers of one window in the page's script: `name:$R[12]={status:"ok",resetInSec:3600,usagePercent:5}`. */
function fieldsOf(page: string, name: string): { usagePercent?: number; resetInSec?: number } | undefined {
  const found = new RegExp(`\\b${name}"?\\s*:\\s*(?:\\$R\\[\\d+\\]\\s*=\\s*)?\\{([^{}]{0,400})\\}`).exec(
    page,
  );
  if (!found?.[1]) return undefined;
  const number = (field: string) => {
    const match = new RegExp(`(?:^|[,{\\s"])${field}"?\\s*:\\s*"?([^,"}]*)`).exec(found[1]!);
    return match?.[1] === undefined ? undefined : match[1].trim() === "" ? Number.NaN : Number(match[1]);
  };
  const usagePercent = number("usagePercent");
  const resetInSec = number("resetInSec");
  if (usagePercent === undefined) return undefined;
  return { usagePercent, ...(resetInSec === undefined ? {} : { resetInSec }) };
}
