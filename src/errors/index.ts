/**
 * Every error that a person can see: a stable code, a sentence and a hint. The sentences are in `locale/`; the codes
 * are listed in `README.md` here and never change their meaning.
 */

import { type Language, type Params, type SentenceKey, t } from "../locale/index.ts";

/** What kind of answer an error becomes where a protocol has kinds of its own. */
export type ErrorKind = "auth" | "params" | "notFound" | "usage" | "internal";

interface Entry {
  readonly code: string;
  readonly key: SentenceKey & `error.${string}`;
  readonly kind: ErrorKind;
}

const entry = (code: string, key: Entry["key"], kind: ErrorKind = "internal"): Entry => ({ code, key, kind });

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
  sessionUnknown: entry("ZACP-201", "error.sessionUnknown", "notFound"),
  queueFull: entry("ZACP-202", "error.queueFull"),
  badPath: entry("ZACP-203", "error.badPath", "params"),
  badOption: entry("ZACP-204", "error.badOption", "params"),
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
  internal: entry("ZACP-901", "error.internal"),
} as const satisfies Record<string, Entry>;

export type ErrorName = keyof typeof TABLE;

export class ProductError extends Error {
  override name = "ProductError";
  /** Stable, such as `ZACP-101`. */
  readonly code: string;
  readonly kind: ErrorKind;

  constructor(
    readonly which: ErrorName,
    readonly params: Params,
  ) {
    super(t(TABLE[which].key, params, "en"));
    this.code = TABLE[which].code;
    this.kind = TABLE[which].kind;
  }

  /** What happened. */
  get sentence(): string {
    return this.inLanguage("en").sentence;
  }

  /** What to do next; empty where there is nothing to do. */
  get hint(): string {
    return this.inLanguage("en").hint;
  }

  inLanguage(language: Language): { sentence: string; hint: string } {
    const { key } = TABLE[this.which];
    return {
      sentence: t(key, this.params, language).trim(),
      hint: t(`${key}.hint` as SentenceKey, this.params, language),
    };
  }
}

type FailureKind = "captcha" | "quota" | "rate" | "overloaded" | "network" | "context" | "model" | "other" | "auth";

const FAILURES: Readonly<Record<FailureKind, ErrorName>> = {
  captcha: "promptFailedCaptcha",
  quota: "promptFailedQuota",
  rate: "promptFailedRate",
  overloaded: "promptFailedOverloaded",
  network: "promptFailedNetwork",
  context: "promptFailedContext",
  model: "promptFailedModel",
  other: "promptFailedOther",
  auth: "notSignedIn",
};

const make = (which: ErrorName, params: Params = {}) => new ProductError(which, params);

/** The errors by name; texts given here must hold no secret. */
export const errors = {
  backendNotFound: (looked: readonly string[]) => make("backendNotFound", { looked: looked.join(", ") }),
  backendTooOld: (found: string, needed: string) => make("backendTooOld", { found, needed }),
  backendFailed: (entry: string, reason: string) => make("backendFailed", { entry, reason }),
  backendDied: (tail: string) => make("backendDied", { tail }),
  backendSilent: (method: string) => make("backendSilent", { method }),
  backendAnswered: (method: string, reason: string) => make("backendAnswered", { method, reason }),
  bridgeClosing: () => make("bridgeClosing"),
  unsupported: (what: string) => make("unsupported", { what }),
  sessionUnknown: (id: string) => make("sessionUnknown", { id }),
  queueFull: () => make("queueFull"),
  badPath: (path: string) => make("badPath", { path }),
  badOption: (option: string, value: string) => make("badOption", { option, value }),
  notSignedIn: (message: string) => make("notSignedIn", { message }),
  nothingSignedIn: (files: readonly string[]) => make("nothingSignedIn", { files: files.join(", ") }),
  promptFailed: (kind: FailureKind, message: string) => make(FAILURES[kind], { message }),
  badConfig: (name: string, problem: string) => make("badConfig", { name, problem }),
  notBuilt: (command: string) => make("notBuilt", { command }),
  unknownCommand: (word: string, nearest: string) => make("unknownCommand", { word, nearest }),
  unknownFlag: (word: string, nearest: string) => make("unknownFlag", { word, nearest }),
  internal: (name: string) => make("internal", { name }),
} as const;
