/**
 * What app 3.12 and newer wants before a plan's models exist: an account snapshot that the host pushes, and
 * the key for each model request. Shapes as the 0.16.9 app-server checks them.
 */

import { createHash } from "node:crypto";
import { readRegular } from "../platform/files.ts";
import { list, num, type Obj, obj, str } from "../platform/json.ts";
import type { Credentials } from "../store/providers.ts";

const PLAN_IDS = /^account:(zai|bigmodel)-(individual-coding-plan|start-plan)$/;
const BUILTIN_IDS = /^builtin:(zai|bigmodel)-(coding-plan|start-plan)$/;
const HEADER_IDS = /^account:(zai|bigmodel)-individual-coding-plan$/;

/** The id under which `v2/config.json` and the plan cache know an account provider. */
export function builtinId(accountId: string): string | undefined {
  const match = PLAN_IDS.exec(accountId);
  if (!match) return undefined;
  return `builtin:${match[1]}-${match[2] === "start-plan" ? "start-plan" : "coding-plan"}`;
}

/** The id under which a newer registry knows a built-in provider; undefined where it knows none. */
export function accountId(builtin: string): string | undefined {
  const match = BUILTIN_IDS.exec(builtin);
  if (!match) return undefined;
  return `account:${match[1]}-${match[2] === "start-plan" ? "start-plan" : "individual-coding-plan"}`;
}

/** True for ids of a plan, whose models stand in no file of a person's. */
export function isPlan(providerId: string): boolean {
  return PLAN_IDS.test(providerId) || BUILTIN_IDS.test(providerId);
}

/** True where both are one provider: older and newer builds spell a plan differently. */
export function sameProvider(a: string, b: string): boolean {
  return a === b || builtinId(a) === b || builtinId(b) === a;
}

/**
 * Entitled plans: what the app's own cache calls available, else an enabled built-in with a key; what the
 * person picked in the settings counts only where neither says anything.
 */
function entitledPlans(credentials: Credentials): Set<string> {
  const known = new Set(credentials.cachedPlans);
  for (const provider of credentials.providers) {
    if (provider.id.startsWith("builtin:") && provider.usable) known.add(provider.id);
  }
  return known.size > 0 ? known : new Set(credentials.selectedPlans);
}

/**
 * The params of `provider/updateAccountConfig`, without `revision`, or undefined where there is nothing to push.
 * @param tablePath the built-in provider table that the app-server was given through its environment: the
 * revision names this path, not the file's bytes.
 */
export function accountSnapshot(
  tablePath: string,
  credentials: Credentials,
  pinned: string | undefined,
): Obj | undefined {
  let table: Obj;
  try {
    table = obj(JSON.parse(readRegular(tablePath)));
  } catch {
    return undefined;
  }
  const entitled = entitledPlans(credentials);
  const ids = list(obj(obj(table.config).providerConfigRules).providerRules)
    .map(obj)
    .filter((rule) => obj(obj(rule.config).access).type === "zhipu-account")
    .flatMap((rule) => str(rule.providerId) ?? [])
    .filter((id) => entitled.has(builtinId(id) ?? ""));
  if (ids.length === 0) return undefined;
  const current = ids.find((id) => id === pinned || builtinId(id) === pinned) ?? ids[0];
  const revision = num(table.revision) ?? str(table.revision) ?? 0;
  return {
    basedOnZCodeBuiltinRevision: `zcode-builtin:${revision}:${createHash("sha256").update(tablePath).digest("hex")}`,
    providers: Object.fromEntries(
      ids.map((id) => [id, { access: { type: "zhipu-account", entitled: true } }]),
    ),
    states: Object.fromEntries(
      ids.map((id) => [id, { availability: "available", entitled: true, current: id === current }]),
    ),
  };
}

/** Why headers were refused; `locale/` has a sentence for each. */
export type HeaderRefusal = "start-plan" | "team-coding-plan" | "off-peak" | "no-key" | "unknown-plan";

/**
 * The key for one model request of an account provider, or why there is none. Only an individual coding plan
 * can be served without the app: the others need a captcha or an account session.
 */
export function headersFor(
  params: Obj,
  credentials: Credentials,
): { apiKey: string } | { refusal: HeaderRefusal } {
  const mode = str(obj(params.accountAccess).mode);
  if (mode === "start-plan" || mode === "team-coding-plan" || mode === "off-peak") return { refusal: mode };
  const providerId = str(params.providerId) ?? "";
  if ((mode !== undefined && mode !== "individual-coding-plan") || !HEADER_IDS.test(providerId)) {
    return { refusal: "unknown-plan" };
  }
  const wanted = builtinId(providerId);
  const apiKey = credentials.providers.find((provider) => provider.id === wanted)?.apiKey;
  return apiKey === undefined ? { refusal: "no-key" } : { apiKey };
}
