/**
 * Reading what was kept on disk, by hand and without anything else: a status bar wants its line in the time that a process
 * takes to start.
 */

import { statSync } from "node:fs";
import { join } from "node:path";
import type { Phrase } from "../locale/index.ts";
import { readRegular } from "../platform/files.ts";
import { isObj, num, type Obj, obj, str, text } from "../platform/json.ts";
import { FAILURE_FRESH_MS, FRESH_MS, KEPT_BYTES } from "./limits.ts";
import { type Answer, PROVIDERS, type ProviderName } from "./types.ts";

/** An answer, and when it was given; epoch ms. */
export interface Dated<Name extends ProviderName = ProviderName> {
  readonly at: number;
  readonly answer: Answer<Name>;
}

export const VERSION = 1;
/** Tells when all providers were asked last. */
export const REFRESHED = "quota-refreshed.json";

/** How long an answer counts, in ms. */
export interface Freshness {
  readonly successMs: number;
  readonly failureMs: number;
}

export const FRESHNESS: Freshness = { successMs: FRESH_MS, failureMs: FAILURE_FRESH_MS };

/** True while `dated` need not be asked again. A time to come is a clock that was set back. */
export function isFresh({ at, answer }: Dated, now: number, { successMs, failureMs }: Freshness): boolean {
  const age = now - at;
  return age >= 0 && age < (answer.section.kind === "success" ? successMs : failureMs);
}

export function keptPath(dir: string, name: ProviderName): string {
  return join(dir, `quota-${name}.json`);
}

/** The file of one provider, whatever it says; undefined where it says nothing. */
export function keptFile(dir: string, name: ProviderName): Obj | undefined {
  try {
    const path = keptPath(dir, name);
    // Nothing that we have kept is that large.
    if (statSync(path).size > KEPT_BYTES) return undefined;
    const value: unknown = JSON.parse(readRegular(path));
    return isObj(value) ? value : undefined;
  } catch {
    // Not there, or half of something: asking anew is all that is needed.
    return undefined;
  }
}

/**
 * The last answer that was kept for this account, however old.
 * @param of stands for the account: another one's numbers are nobody's business.
 */
export function readKept<Name extends ProviderName>(
  dir: string,
  name: Name,
  of: string,
): Dated<Name> | undefined {
  const file = keptFile(dir, name);
  const at = num(file?.at);
  if (!file || file.v !== VERSION || file.of !== of || at === undefined || !isSection(name, file.section)) {
    return undefined;
  }
  const reason = phraseOf(file.reason);
  const section = file.section as unknown as Answer<Name>["section"];
  return { at, answer: { section, ...(reason ? { reason } : {}) } };
}

/** Failures that may pass: the numbers before one are still worth something. */
export const PASSING: ReadonlySet<string> = new Set(["unavailable", "rate_limited"]);

/**
 * The last numbers that were kept for this account, also from before a failure that may pass; any other answer as it is.
 */
export function readLastGood<Name extends ProviderName>(
  dir: string,
  name: Name,
  of: string,
): Dated<Name> | undefined {
  const kept = readKept(dir, name, of);
  if (!kept || !PASSING.has(kept.answer.section.kind)) return kept;
  const good = obj(keptFile(dir, name)?.good);
  const at = num(good.at);
  if (at === undefined || !isSection(name, good.section)) return kept;
  return { at, answer: { section: good.section as unknown as Answer<Name>["section"] } };
}

/** What a file keeps of the numbers before a failure, for `readLastGood`. */
export function goodBefore(before: Obj | undefined, of: string, answer: Answer): Obj | undefined {
  if (!before || before.of !== of || !PASSING.has(answer.section.kind)) return undefined;
  const good = obj(before.section).kind === "success" ? before : obj(before.good);
  return good.section === undefined ? undefined : { at: good.at, section: good.section };
}

const FAILURES: Readonly<Record<ProviderName, readonly string[]>> = {
  glm: ["auth_error", "rate_limited", "unavailable"],
  opencode: ["not_configured", "auth_error", "unavailable"],
  ollama: ["not_configured", "auth_error", "unavailable"],
};

/** What is drawn of a section is what it must be; whatever else it holds is not looked at. */
function isSection(name: ProviderName, value: unknown): value is Obj {
  const section = obj(value);
  if (section.kind !== "success") return FAILURES[name].includes(str(section.kind) ?? "");
  const glm = name === "glm";
  const windows = glm ? section.items : section.windows;
  return (
    Array.isArray(windows) &&
    windows.map(obj).every((window) => isWindow(window, glm)) &&
    isAbsentOr(section.level, isText) &&
    isAbsentOr(section.spend, (spend) => isCount(obj(spend).usd) && isText(obj(spend).range))
  );
}

function isWindow(window: Obj, glm: boolean): boolean {
  const percent = num(glm ? window.usedPercent : window.usagePercent);
  return (
    isText(window.label) &&
    percent !== undefined &&
    percent >= 0 &&
    percent <= 100 &&
    isAbsentOr(glm ? window.nextResetTime : window.resetsAt, isTime) &&
    isAbsentOr(window.usedCount, isCount) &&
    isAbsentOr(window.totalCount, isCount) &&
    isAbsentOr(window.detail, isDetail)
  );
}

function isDetail(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.map(obj).every(({ modelCode, usage }) => isText(modelCode) && isCount(usage))
  );
}

function isAbsentOr(value: unknown, is: (value: unknown) => boolean): boolean {
  return value === undefined || is(value);
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}

function isCount(value: unknown): boolean {
  return (num(value) ?? -1) >= 0;
}

/** A number that a date can hold. */
function isTime(value: unknown): boolean {
  return isCount(value) && !Number.isNaN(new Date(Number(value)).getTime());
}

/** A reason in the shape of one; whether its sentence is known, this room does not know. */
function phraseOf(value: unknown): Phrase | undefined {
  const key = text(obj(value).key);
  const params = obj(obj(value).params);
  const plain = Object.values(params).every((each) => typeof each === "string" || typeof each === "number");
  if (key === undefined || !plain) return undefined;
  return { key, params } as Phrase;
}

/** True where all providers were asked for these accounts so lately that a status bar need not have them asked. */
export function wasRefreshed(dir: string, of: string, now: number): boolean {
  try {
    const { at, of: whose } = obj(JSON.parse(readRegular(join(dir, REFRESHED))));
    const age = now - (num(at) ?? Number.NaN);
    return whose === of && age >= 0 && age < FRESH_MS;
  } catch {
    return false;
  }
}

export interface AccountFiles {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly zcodeHome: string;
  readonly configFile: string;
}

const VARIABLES: Readonly<Record<ProviderName, readonly string[]>> = {
  glm: ["ZCODE_PROVIDER", "ZCODE_ACP_GLM_ORIGIN"],
  opencode: ["OPENCODE_GO_WORKSPACE_ID", "OPENCODE_GO_AUTH_COOKIE", "ZCODE_ACP_OPENCODE_ORIGIN"],
  ollama: ["OLLAMA_API_KEY", "ZCODE_ACP_OLLAMA_ORIGIN"],
};

/**
 * Tells a provider's accounts apart without naming one, and without reading a key: it changes with every variable and
 * file that its key may come from, and with nothing else, so that processes of different environments know that they ask
 * for the same. Nothing can be made of it.
 */
export function accountStamp(name: ProviderName, { env, home, zcodeHome, configFile }: AccountFiles): string {
  const own = {
    glm: [join(zcodeHome, "v2", "config.json")],
    opencode: [join(home, ".pi", "agent", "opencode-go.json")],
    ollama: [],
  };
  const hash = new Bun.CryptoHasher("sha256");
  for (const variable of VARIABLES[name]) hash.update(`${variable}=${env[variable] ?? ""}\0`);
  for (const path of [configFile, ...own[name]]) hash.update(`${path}=${stampOf(path)}\0`);
  return hash.digest("hex").slice(0, 12);
}

/** The same of all providers' accounts together. */
export function accountsStamp(files: AccountFiles): string {
  return PROVIDERS.map((name) => accountStamp(name, files)).join("-");
}

function stampOf(path: string): string {
  try {
    const { mtimeMs, size, ino } = statSync(path);
    return `${mtimeMs}:${size}:${ino}`;
  } catch {
    return "-";
  }
}
