/** Errors that a person can see, made by name; nothing else in the product writes such a sentence itself. */
import { type Language, type Params, sentence } from "../locale/index.ts";
import { maskSecrets } from "../platform/mask.ts";
import { ERRORS, type ErrorKind, type ErrorName } from "./table.ts";

export { ERRORS, type ErrorKind, type ErrorName } from "./table.ts";

type Values = Readonly<Record<string, string | number>>;

export class ProductError extends Error {
  override name = "ProductError";
  /** Stable, `ZACP-` and a number. */
  readonly code: string;
  readonly kind: ErrorKind;
  /** What happened, in English. */
  readonly sentence: string;
  /** What to do next, in English. */
  readonly hint: string;

  /** @param data what the sentence was filled with; secrets are masked already. */
  constructor(
    readonly id: ErrorName,
    readonly data: Values,
  ) {
    const text = textOf(id, data, "en");
    super(text.sentence);
    this.code = ERRORS[id].code;
    this.kind = ERRORS[id].kind;
    this.sentence = text.sentence;
    this.hint = text.hint;
  }

  /** Sentence and hint in a person's language. */
  text(language: Language): { sentence: string; hint: string } {
    return textOf(this.id, this.data, language);
  }
}

function textOf(id: ErrorName, data: Values, language: Language): { sentence: string; hint: string } {
  return {
    sentence: sentence(`error.${id}`, data, language),
    hint: sentence(`error.${id}.hint`, data, language),
  };
}

/** The values that sentence and hint need together, checked when the product is compiled. */
type ErrorParams<Name extends ErrorName> = Params<`error.${Name}`> & Params<`error.${Name}.hint`>;

function make<Name extends ErrorName>(name: Name, params: ErrorParams<Name>): ProductError {
  const masked: Record<string, string | number> = {};
  for (const [key, value] of Object.entries<string | number>(params)) {
    masked[key] = typeof value === "string" ? maskSecrets(value) : value;
  }
  return new ProductError(name, masked);
}

/** Why a provider ended a turn, apart from missing credentials (`notSignedIn`). */
export type PromptFailure =
  | "captcha"
  | "quota"
  | "rate"
  | "overloaded"
  | "network"
  | "context"
  | "model"
  | "other";

const PROMPT_FAILURES = {
  captcha: "promptCaptcha",
  quota: "promptQuota",
  rate: "promptRate",
  overloaded: "promptOverloaded",
  network: "promptNetwork",
  context: "promptContext",
  model: "promptModel",
  other: "promptFailed",
} as const satisfies Record<PromptFailure, ErrorName>;

/** What a value from outside looks like in a sentence: short, one line, never an object's dump. */
function shown(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
  return text.length <= 120 ? text : `${text.slice(0, 120)}…`;
}

export const errors = {
  /** @param looked each place that was looked at, with what was wrong there. */
  backendNotFound: (looked: readonly string[]) => make("backendNotFound", { looked: looked.join(", ") }),
  backendTooOld: (found: string, needed: string) => make("backendTooOld", { found, needed }),
  /** @param why the system's words, or how it exited and its last lines of stderr. */
  backendFailed: (entry: string, why: string) => make("backendFailed", { entry, why }),
  /** @param tail its last lines of stderr; may be empty. */
  backendDied: (tail: string) => make("backendDied", { tail: tail ? ` Its last words: ${tail}` : "" }),
  backendSilent: (method: string) => make("backendSilent", { method }),
  backendAnswered: (method: string, message: string) => make("backendAnswered", { method, message }),
  unsupported: (what: string, needs: string) => make("unsupported", { what, needs }),
  bridgeClosing: () => make("bridgeClosing", {}),

  sessionUnknown: (id: string) => make("sessionUnknown", { id: shown(id) }),
  sessionBusy: () => make("sessionBusy", {}),
  queueFull: () => make("queueFull", {}),
  badPath: (path: unknown) => make("badPath", { path: shown(path) }),
  badOption: (option: string, value: unknown) =>
    make("badOption", { option: shown(option), value: shown(value) }),

  notSignedIn: (message: string) => make("notSignedIn", { message }),
  /** @param files the credential files that were looked at, each with what it lacked. */
  nothingSignedIn: (files: readonly string[]) => make("nothingSignedIn", { files: files.join(", ") }),
  /** @param message the provider's own words. */
  promptFailed: (why: PromptFailure, message: string) => make(PROMPT_FAILURES[why], { message }),

  notInRelease: (command: string) => make("notInRelease", { command }),
  unknownCommand: (name: string, nearest: string) => make("unknownCommand", { name: shown(name), nearest }),
  unknownFlag: (command: string, flag: string, nearest: string) =>
    make("unknownFlag", { command, flag: shown(flag), nearest }),
  badFlagValue: (command: string, flag: string, value: string, why: string) =>
    make("badFlagValue", { command, flag, value: shown(value), why }),
  /** @param where a variable's name, or a file with the key in it. */
  badConfig: (where: string, why: string) => make("badConfig", { where, why }),
  badConfigFile: (path: string, why: string) => make("badConfigFile", { path, why }),
  loginFailed: (why: string) => make("loginFailed", { why }),
  /** @param name the class of the exception; its message may hold content and stays in the log. */
  internal: (name: string) => make("internal", { name }),
} as const;
