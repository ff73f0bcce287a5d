/**
 * What was kept on disk, and for whom: everything about it but the reading. A status bar wants its line in the time that a
 * process takes to start, so nothing here loads any of the runtime's own modules, and the loops are plain: each method of
 * arrays and each pattern has its price the first time that a process uses it, a hundredth of the whole.
 */

import type { Phrase } from "../locale/index.ts";
import { isObj, num, type Obj, obj, str, text } from "../platform/json.ts";
import { under } from "../platform/paths.ts";
import { FAILURE_FRESH_MS, FRESH_MS } from "./limits.ts";
import type { Answer, ProviderName } from "./types.ts";

/** An answer, and when it was given; epoch ms. */
export interface Dated<Name extends ProviderName = ProviderName> {
  readonly at: number;
  readonly answer: Answer<Name>;
}

export const VERSION = 1;

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
  return under(dir, `quota-${name}.json`);
}

/** Tells when all providers were asked last. */
export function refreshedPath(dir: string): string {
  return under(dir, "quota-refreshed.json");
}

/** The object that a kept file holds; undefined where it is half of something. */
export function objectIn(text: string): Obj | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObj(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** What a file holds for one account: the last that asked stands in front, those before it in `others`. */
function entryOf(file: Obj | undefined, of: string): Obj | undefined {
  if (!file || file.of === of) return file;
  const other = obj(file.others)[of];
  return isObj(other) ? { ...other, v: file.v, of } : undefined;
}

/**
 * The answer that a file holds, however old.
 * @param of stands for the account: another one's numbers are nobody's business.
 */
export function answerIn<Name extends ProviderName>(
  kept: Obj | undefined,
  name: Name,
  of: string,
): Dated<Name> | undefined {
  const file = entryOf(kept, of);
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
 * The last numbers that a file holds for this account, also from before a failure that may pass; any other answer as it is.
 */
export function lastGoodIn<Name extends ProviderName>(
  file: Obj | undefined,
  name: Name,
  of: string,
): Dated<Name> | undefined {
  const kept = answerIn(file, name, of);
  if (!kept || !PASSING.has(kept.answer.section.kind)) return kept;
  const good = obj(entryOf(file, of)?.good);
  const at = num(good.at);
  if (at === undefined || !isSection(name, good.section)) return kept;
  return { at, answer: { section: good.section as unknown as Answer<Name>["section"] } };
}

/** What a file keeps of the numbers before a failure, for `readLastGood`. */
export function goodBefore(file: Obj | undefined, of: string, answer: Answer): Obj | undefined {
  const before = entryOf(file, of);
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
  return (
    isListOf(glm ? section.items : section.windows, glm ? isItem : isWindow) &&
    isAbsentOr(section.level, isText) &&
    isAbsentOr(section.spend, (spend) => isCount(obj(spend).usd) && isText(obj(spend).range))
  );
}

function isListOf(value: unknown, is: (each: Obj) => boolean): boolean {
  if (!Array.isArray(value)) return false;
  for (const each of value) if (!is(obj(each))) return false;
  return true;
}

/** A window of GLM's. */
function isItem(item: Obj): boolean {
  return (
    isText(item.label) &&
    isPercent(item.usedPercent) &&
    isAbsentOr(item.nextResetTime, isTime) &&
    isAbsentOr(item.usedCount, isCount) &&
    isAbsentOr(item.totalCount, isCount) &&
    isAbsentOr(item.detail, isDetail)
  );
}

function isWindow(window: Obj): boolean {
  return isText(window.label) && isPercent(window.usagePercent) && isAbsentOr(window.resetsAt, isTime);
}

function isDetail(value: unknown): boolean {
  return isListOf(value, ({ modelCode, usage }) => isText(modelCode) && isCount(usage));
}

function isPercent(value: unknown): boolean {
  const percent = num(value);
  return percent !== undefined && percent >= 0 && percent <= 100;
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
  if (key === undefined) return undefined;
  const plain = Object.values(params).every((each) => typeof each === "string" || typeof each === "number");
  if (!plain) return undefined;
  return { key, params } as Phrase;
}

/** True where all providers were asked for these accounts so lately that a status bar need not have them asked. */
export function isRefreshed(file: Obj | undefined, of: string, now: number): boolean {
  const at = file?.of === of ? file.at : obj(file?.others)[of];
  const age = now - (num(at) ?? Number.NaN);
  return age >= 0 && age < FRESH_MS;
}

export interface AccountFiles {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly zcodeHome: string;
  readonly configFile: string;
}

/** The files that keys may come from. */
export function keyFiles({ home, zcodeHome, configFile }: AccountFiles): Readonly<Record<KeyFile, string>> {
  return {
    config: configFile,
    glm: under(zcodeHome, "v2/config.json"),
    opencode: under(home, ".pi/agent/opencode-go.json"),
  };
}

export type KeyFile = "config" | "glm" | "opencode";

/** What changes with a file, without a look into it. */
export interface Mark {
  readonly mark: string;
  /** A time in whole seconds is one that was set, for several files at once perhaps: only the inode tells those apart. */
  readonly whole: boolean;
}

/** Of a file that is not there, the engine's own numbers for that. */
export function markOf(path: string): Mark {
  const { lastModified, size } = Bun.file(path);
  return { mark: `${lastModified}:${size}`, whole: lastModified % 1000 === 0 };
}

const VARIABLES: Readonly<Record<ProviderName, readonly string[]>> = {
  glm: ["ZCODE_PROVIDER", "ZCODE_ACP_GLM_ORIGIN"],
  opencode: ["OPENCODE_GO_WORKSPACE_ID", "OPENCODE_GO_AUTH_COOKIE", "ZCODE_ACP_OPENCODE_ORIGIN"],
  ollama: ["OLLAMA_API_KEY", "ZCODE_ACP_OLLAMA_ORIGIN"],
};

/**
 * Tells each provider's accounts apart without naming one, and without reading a key: it changes with every variable and
 * file that its key may come from, and with nothing else, so that processes of different environments know that they ask
 * for the same. Nothing can be made of it.
 */
export function stampsOf(
  { env }: AccountFiles,
  paths: Readonly<Record<KeyFile, string>>,
  marks: Readonly<Record<KeyFile, string>>,
): Readonly<Record<ProviderName, string>> {
  const stamp = (name: ProviderName, own: "glm" | "opencode" | undefined) => {
    let text = "";
    for (const variable of VARIABLES[name]) text += `${variable}=${env[variable] ?? ""}\0`;
    text += `${paths.config}=${marks.config}\0`;
    if (own) text += `${paths[own]}=${marks[own]}\0`;
    return Bun.SHA256.hash(text, "hex").slice(0, 12);
  };
  return {
    glm: stamp("glm", "glm"),
    opencode: stamp("opencode", "opencode"),
    ollama: stamp("ollama", undefined),
  };
}

/** All of them as one. */
export function togetherStamp({ glm, opencode, ollama }: Readonly<Record<ProviderName, string>>): string {
  return `${glm}-${opencode}-${ollama}`;
}
