/**
 * What a `turn.failed` means to a person. The cause may stand in `attribution`, in the `underlying…` fields, in an
 * older build's nested `cause`, or in the message alone; codes decide, texts only where there is no code.
 */

import type { FailureKind } from "../errors/index.ts";
import { type Phrase, phrase } from "../locale/index.ts";
import { num, type Obj, obj, text } from "../platform/json.ts";

export interface TurnFailure {
  readonly kind: FailureKind;
  /** The backend's own words, which may name a provider, never a key; ours where it has none. */
  readonly message: string | Phrase;
}

const QUOTA = new Set(
  "1113 1005 1304 1308 1309 1310 1311 1313 1314 1315 1316 1317 1318 1319 1320 1321 1008 2056 20097 3008 3009 3010 insufficient_quota credit_balance_exhausted exceeded_current_quota_error".split(
    " ",
  ),
);
const RATE = new Set(
  "1302 1303 1305 3002 429 rate_limit_error rate_limit_reached_error rate_limited model_rate_limited MODEL_RATE_LIMITED".split(
    " ",
  ),
);
const OVERLOADED = new Set(
  "1312 529 overloaded_error engine_overloaded_error provider_overloaded 500 502 503 504 1120 1230 2007 server_error".split(
    " ",
  ),
);
const NETWORK = new Set(
  "1234 network_error timeout stream_idle_timeout stale_connection proxy_error tls_error model_request_timeout".split(
    " ",
  ),
);
const AUTH = new Set(
  "auth_failed provider_not_configured model_request_auth_missing 401 403 1006".split(" "),
);
const CONTEXT = new Set(
  "model_context_exceeded context_exceeded 1261 MEDIA_BUDGET_CURRENT_IMAGE_TOO_LARGE MEDIA_BUDGET_CURRENT_VIDEO_TOO_LARGE MEDIA_BUDGET_CURRENT_ATTACHMENT_TOO_LARGE".split(
    " ",
  ),
);
const MODEL = new Set(
  "CONFIGURATION_ERROR ZCODE_RUNTIME_MODEL_UNAVAILABLE ModelProtocolError invalid_model_selection model_config_missing provider_not_found model_not_found".split(
    " ",
  ),
);
/** Families of codes whose members differ between providers. */
const LIMITS = /^(?:organization|project)_\w*(?:spend|usage)\w*/;
const SERVER_STATUS = /^5\d\d$/;
/** Older builds say that a prompt is running with a number that is a quota's elsewhere. */
const BUSY = "prompt is running";

/** True where the same prompt may well succeed a moment later. */
export function isPassing(failure: TurnFailure): boolean {
  return failure.kind === "rate" || failure.kind === "overloaded" || failure.kind === "network";
}

/** A refusal rather than a failure: another prompt runs. Every build that has it tells it by these words. */
export function saysBusy(error: unknown): boolean {
  return obj(error).message === BUSY || error === BUSY;
}

/** @param error `turn.failed.error`, or an RPC error's `{code, message, data}`. */
export function turnFailure(error: unknown): TurnFailure {
  const signs = [...signsOf(obj(error), 0)];
  const message =
    text(obj(error).message) ??
    text(obj(error).underlyingErrorMessage) ??
    text(obj(obj(error).cause).message) ??
    text(error) ??
    phrase("reason.turnFailed", {});
  if (saysBusy(error)) return { kind: "other", message };
  const words = [...wordsOf(obj(error), 0)];
  const has = (set: ReadonlySet<string>) => signs.some((sign) => set.has(sign));
  const kind: FailureKind = signs.includes("3007")
    ? "captcha"
    : has(QUOTA) || signs.some((sign) => LIMITS.test(sign))
      ? "quota"
      : has(AUTH) || words.some((each) => /missing an API key/i.test(each))
        ? "auth"
        : has(CONTEXT)
          ? "context"
          : has(RATE)
            ? "rate"
            : has(OVERLOADED) || signs.some((sign) => SERVER_STATUS.test(sign))
              ? "overloaded"
              : has(NETWORK) || words.some((each) => each.startsWith("Network connection failed"))
                ? "network"
                : has(MODEL) || words.some((each) => each.startsWith("Provider Registry 中不存在"))
                  ? "model"
                  : "other";
  return { kind, message };
}

/** Messages of an error and of what caused it: older builds say the same of every failure, and what it was below. */
function* wordsOf(error: Obj, depth: number): Generator<string> {
  for (const value of [error.message, error.underlyingErrorMessage]) if (text(value)) yield String(value);
  if (depth < 3)
    for (const inner of [error.cause, error.data, error.detail]) yield* wordsOf(obj(inner), depth + 1);
}

/** Codes, reasons and statuses wherever a build puts them, the deepest nesting seen being three. */
function* signsOf(error: Obj, depth: number): Generator<string> {
  const attribution = obj(error.attribution);
  for (const value of [
    error.code,
    error.type,
    error.name,
    attribution.reason,
    attribution.statusCode,
    attribution.providerErrorCode,
  ]) {
    const sign = text(value) ?? (num(value) === undefined ? undefined : String(value));
    if (sign !== undefined) yield sign;
  }
  if (depth < 3)
    for (const inner of [error.cause, error.data, error.detail]) yield* signsOf(obj(inner), depth + 1);
}
