/**
 * Every error that a person can see: a stable code, a sentence and a hint. The sentences are in `locale/`; the codes
 * are listed in `README.md` here and never change their meaning. `message` is English, for logs; what a person is told is
 * said by `inLanguage`.
 */

import {
  type Language,
  listOf,
  type Params,
  type ParamsOf,
  type Phrase,
  phrase,
  type SentenceKey,
  said,
  sentence,
  type Value,
} from "../locale/index.ts";
import { cut } from "../platform/cut.ts";
import { NO_FILE } from "../platform/files.ts";
import { maskSecrets } from "../platform/mask.ts";

/** What kind of answer an error becomes where a protocol has kinds of its own. */
export type ErrorKind = "auth" | "params" | "notFound" | "busy" | "usage" | "internal";

interface Entry<Key extends SentenceKey = SentenceKey> {
  readonly code: string;
  readonly key: Key;
  readonly kind: ErrorKind;
}

/** Only for keys that have a hint beside them. */
function entry<Key extends SentenceKey>(
  code: string,
  key: `${Key}.hint` extends SentenceKey ? Key : never,
  kind: ErrorKind = "internal",
): Entry<Key> {
  return { code, key, kind };
}

/** Code and sentence of each error, by name. */
export const TABLE = {
  backendNotFound: entry("ZACP-101", "error.backendNotFound"),
  backendTooOld: entry("ZACP-102", "error.backendTooOld"),
  backendFailed: entry("ZACP-103", "error.backendFailed"),
  backendDied: entry("ZACP-104", "error.backendDied"),
  backendSilent: entry("ZACP-105", "error.backendSilent"),
  backendAnswered: entry("ZACP-106", "error.backendAnswered"),
  bridgeClosing: entry("ZACP-107", "error.bridgeClosing"),
  unsupported: entry("ZACP-108", "error.unsupported"),
  backendMute: entry("ZACP-109", "error.backendMute"),
  backendRefused: entry("ZACP-110", "error.backendRefused"),
  sessionUnknown: entry("ZACP-201", "error.sessionUnknown", "notFound"),
  queueFull: entry("ZACP-202", "error.queueFull", "busy"),
  badPath: entry("ZACP-203", "error.badPath", "params"),
  badOption: entry("ZACP-204", "error.badOption", "params"),
  sessionBusy: entry("ZACP-205", "error.sessionBusy", "busy"),
  sessionSetAside: entry("ZACP-207", "error.sessionSetAside", "busy"),
  badCursor: entry("ZACP-208", "error.badCursor", "params"),
  cursorExpired: entry("ZACP-210", "error.cursorExpired", "params"),
  notAttached: entry("ZACP-211", "error.notAttached", "notFound"),
  notDeleted: entry("ZACP-209", "error.notDeleted"),
  taskUnknown: entry("ZACP-206", "error.taskUnknown", "params"),
  notSignedIn: entry("ZACP-301", "error.notSignedIn", "auth"),
  nothingSignedIn: entry("ZACP-302", "error.nothingSignedIn", "auth"),
  promptFailedCaptcha: entry("ZACP-311", "error.promptFailed.captcha"),
  promptFailedQuota: entry("ZACP-312", "error.promptFailed.quota"),
  promptFailedRate: entry("ZACP-313", "error.promptFailed.rate"),
  promptFailedOverloaded: entry("ZACP-314", "error.promptFailed.overloaded"),
  promptFailedNetwork: entry("ZACP-315", "error.promptFailed.network"),
  promptFailedContext: entry("ZACP-316", "error.promptFailed.context"),
  promptFailedModel: entry("ZACP-317", "error.promptFailed.model"),
  promptFailedOther: entry("ZACP-319", "error.promptFailed.other"),
  badConfig: entry("ZACP-401", "error.badConfig", "usage"),
  notBuilt: entry("ZACP-402", "error.notBuilt", "usage"),
  unknownCommand: entry("ZACP-403", "error.unknownCommand", "usage"),
  unknownFlag: entry("ZACP-404", "error.unknownFlag", "usage"),
  badConfigFile: entry("ZACP-405", "error.badConfigFile", "usage"),
  badFlagValue: entry("ZACP-406", "error.badFlagValue", "usage"),
  loginFailed: entry("ZACP-407", "error.loginFailed", "usage"),
  unexpectedWord: entry("ZACP-408", "error.unexpectedWord", "usage"),
  missingFlagValue: entry("ZACP-409", "error.missingFlagValue", "usage"),
  badRecording: entry("ZACP-410", "error.badRecording", "usage"),
  notWritable: entry("ZACP-411", "error.notWritable"),
  flagsTogether: entry("ZACP-412", "error.flagsTogether", "usage"),
  flagNeeds: entry("ZACP-413", "error.flagNeeds", "usage"),
  outputFailed: entry("ZACP-414", "error.outputFailed"),
  internal: entry("ZACP-901", "error.internal"),
} as const satisfies Record<string, Entry>;

export type ErrorName = keyof typeof TABLE;

export class ProductError extends Error {
  override name = "ProductError";
  /** Stable, such as `ZACP-101`. */
  readonly code: string;
  readonly kind: ErrorKind;
  /** What the sentence was filled with, for output that programs read; secrets are masked. */
  readonly data: Readonly<Record<string, string | number>>;
  private readonly params: Params;

  constructor(
    readonly which: ErrorName,
    params: Params,
  ) {
    const clean = masked(params);
    super(sentence(TABLE[which].key, clean, "en").trim());
    this.code = TABLE[which].code;
    this.kind = TABLE[which].kind;
    this.params = clean;
    this.data = Object.fromEntries(
      Object.entries(clean).map(([name, value]) => [
        name,
        typeof value === "number" ? value : said(value, "en"),
      ]),
    );
  }

  /** What happened, for the log. */
  get sentence(): string {
    return this.inLanguage("en").sentence;
  }

  /** What to do next, for the log. */
  get hint(): string {
    return this.inLanguage("en").hint;
  }

  /** Both for a person. */
  inLanguage(language: Language): { sentence: string; hint: string } {
    const { key } = TABLE[this.which];
    return {
      sentence: sentence(key, this.params, language).trim(),
      hint: sentence(`${key}.hint`, this.params, language).trim(),
    };
  }
}

function masked(params: Params): Params {
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, maskedValue(value)]));
}

function maskedValue(value: Value): Value {
  if (typeof value === "string") return maskSecrets(value);
  return typeof value === "object" ? { ...value, params: masked(value.params) } : value;
}

const FAILURES = {
  captcha: "promptFailedCaptcha",
  quota: "promptFailedQuota",
  rate: "promptFailedRate",
  overloaded: "promptFailedOverloaded",
  network: "promptFailedNetwork",
  context: "promptFailedContext",
  model: "promptFailedModel",
  other: "promptFailedOther",
  auth: "notSignedIn",
} as const satisfies Record<string, ErrorName>;

/** What a failed turn may mean to a person. */
export type FailureKind = keyof typeof FAILURES;

/** The values that an error's sentence and hint need. */
type Needs<Name extends ErrorName> = ParamsOf<
  (typeof TABLE)[Name]["key"] | (`${(typeof TABLE)[Name]["key"]}.hint` & SentenceKey)
>;

const make = <Name extends ErrorName>(which: Name, params: Needs<Name>) => new ProductError(which, params);

/** A value from outside as a sentence shows it: short. */
const short = (value: string) => cut(value, 120);

/** Why a file could not be read, by the code of `readRegular`: the system's stand as they are. */
export const fileProblem = (code: string): Value => (code === NO_FILE ? phrase("problem.noFile", {}) : code);

const suggestion = (nearest: string | undefined) =>
  nearest === undefined ? "" : phrase("suggestion", { nearest });

/** The errors by name. Secrets in what is given here are masked, prompts and code must not be given at all. */
export const errors = {
  backendNotFound: (looked: readonly Value[]) => make("backendNotFound", { looked: listOf(looked) }),
  backendTooOld: (found: string, needed: string) => make("backendTooOld", { found, needed }),
  /** @param reason the system's words, or how it exited and its last lines of stderr. */
  backendFailed: (entry: string, reason: Value) => make("backendFailed", { entry, reason }),
  backendDied: (tail: string) => make("backendDied", { tail }),
  backendSilent: (method: string) => make("backendSilent", { method }),
  backendAnswered: (method: string, reason: Phrase) => make("backendAnswered", { method, reason }),
  bridgeClosing: () => make("bridgeClosing", {}),
  backendMute: (entry: string) => make("backendMute", { entry }),
  /** @param message the backend's own words. */
  backendRefused: (message: string) => make("backendRefused", { message }),
  unsupported: (what: string) => make("unsupported", { what }),
  sessionUnknown: (id: string) => make("sessionUnknown", { id: short(id) }),
  sessionBusy: () => make("sessionBusy", {}),
  sessionSetAside: (id: string) => make("sessionSetAside", { id }),
  taskUnknown: (id: string) => make("taskUnknown", { id }),
  badCursor: (cursor: string) => make("badCursor", { cursor: short(cursor) }),
  cursorExpired: () => make("cursorExpired", {}),
  notAttached: (id: string) => make("notAttached", { id: short(id) }),
  notDeleted: (path: string) => make("notDeleted", { path }),
  queueFull: () => make("queueFull", {}),
  badPath: (path: string) => make("badPath", { path: short(path) }),
  badOption: (option: string, value: string) =>
    make("badOption", { option: short(option), value: short(value) }),
  notSignedIn: (message: string) => make("notSignedIn", { message }),
  nothingSignedIn: (files: readonly Value[]) => make("nothingSignedIn", { files: listOf(files) }),
  /** @param message the provider's own words, or ours where it had none. */
  promptFailed: (kind: FailureKind, message: string | Phrase) => make(FAILURES[kind], { message }),
  /** @param name a variable, or a key and its file. @param problem such as "`x` is not one of a, b". */
  badConfig: (name: string, problem: Phrase) => make("badConfig", { name, problem }),
  badConfigFile: (path: string, problem: Phrase) => make("badConfigFile", { path, problem }),
  notBuilt: (command: string) => make("notBuilt", { command }),
  /** @param nearest what was probably meant, where something is near. */
  unknownCommand: (word: string, nearest: string | undefined) =>
    make("unknownCommand", { word: short(word), suggestion: suggestion(nearest) }),
  /** @param command with the program's name before it, as in `zcode-acp doctor`. */
  unknownFlag: (command: string, word: string, nearest: string | undefined) =>
    make("unknownFlag", { command, word: short(word), suggestion: suggestion(nearest) }),
  unexpectedWord: (command: string, word: string, nearest: string | undefined) =>
    make("unexpectedWord", { command, word: short(word), suggestion: suggestion(nearest) }),
  /** @param expects such as "one of auto, sim". */
  badFlagValue: (command: string, flag: string, value: string, expects: Phrase) =>
    make("badFlagValue", { command, flag, value: short(value), expects }),
  missingFlagValue: (command: string, flag: string, expects: Phrase) =>
    make("missingFlagValue", { command, flag, expects }),
  flagsTogether: (command: string, flags: string) => make("flagsTogether", { command, flags }),
  flagNeeds: (command: string, flag: string, needs: string) => make("flagNeeds", { command, flag, needs }),
  /** @param code the system's. */
  outputFailed: (code: string) => make("outputFailed", { code }),
  badRecording: (path: string, problem: Phrase) => make("badRecording", { path: short(path), problem }),
  notWritable: (path: string) => make("notWritable", { path }),
  loginFailed: (reason: string) => make("loginFailed", { reason }),
  /**
   * @param name the class of what was thrown; its message may hold content and belongs nowhere.
   * @param folder where the log lies, when it is known.
   */
  internal: (name: string, folder: string | Phrase = phrase("place.state", {})) =>
    make("internal", { name, folder }),
} as const;
