import { describe, expect, test } from "bun:test";
import type { FailureKind } from "../../src/errors/index.ts";
import { said } from "../../src/locale/index.ts";
import { turnFailure } from "../../src/translate/failure.ts";
import { eachSeed, someValue, WRONG_VALUES } from "../support/random.ts";

/** What each code of a provider, of the model layer or of the wire means. */
const MEANINGS: readonly (readonly [FailureKind, string])[] = [
  ["auth", "provider_not_configured auth_failed 401 403 1006 model_request_auth_missing"],
  ["captcha", "3007"],
  [
    "quota",
    "1113 1005 1304 1308 1309 1310 1311 1313 1314 1315 1316 1317 1318 1319 1320 1321 1008 2056 20097 insufficient_quota credit_balance_exhausted organization_spend_limit_exceeded project_spend_limit_exceeded organization_usage_limit_reached project_usage_limit_reached exceeded_current_quota_error 3008 3009 3010",
  ],
  [
    "rate",
    "1302 1303 1305 3002 rate_limit_error rate_limit_reached_error 429 rate_limited model_rate_limited MODEL_RATE_LIMITED",
  ],
  [
    "overloaded",
    "1312 529 overloaded_error engine_overloaded_error provider_overloaded server_error 500 502 503 504 520 599 1120 1230 2007",
  ],
  [
    "network",
    "1234 network_error timeout stream_idle_timeout stale_connection proxy_error tls_error model_request_timeout",
  ],
  [
    "context",
    "model_context_exceeded context_exceeded 1261 MEDIA_BUDGET_CURRENT_IMAGE_TOO_LARGE MEDIA_BUDGET_CURRENT_VIDEO_TOO_LARGE MEDIA_BUDGET_CURRENT_ATTACHMENT_TOO_LARGE",
  ],
  [
    "model",
    "CONFIGURATION_ERROR ZCODE_RUNTIME_MODEL_UNAVAILABLE ModelProtocolError invalid_model_selection model_config_missing provider_not_found model_not_found",
  ],
  [
    "other",
    "UNKNOWN_ERROR TURN_IN_PROGRESS model_request_failed invalid_request offpeak_queued 400 404 99999",
  ],
];

const CASES = MEANINGS.flatMap(([kind, codes]) => codes.split(" ").map((code) => [code, kind] as const));

/** A code as it may be spelt: numbers come as numbers and as strings. */
const spellings = (code: string): (string | number)[] => (/^\d+$/.test(code) ? [code, Number(code)] : [code]);

describe("codes", () => {
  test.each(CASES)("B9 %s means %s wherever a build puts it", (code, kind) => {
    for (const value of spellings(code)) {
      for (const error of [
        { message: "m", code: value },
        { message: "m", attribution: { providerErrorCode: value } },
        { message: "m", attribution: { source: "provider", reason: value } },
        { message: "m", cause: { code: value, message: "inner" } },
        { message: "m", cause: { message: "x", cause: { code: value } } },
        { message: "m", cause: { cause: { cause: { code: value } } } },
        { code: -32603, message: "m", data: { name: "X", code: value } },
        { message: "m", detail: { code: value } },
        {
          code: "model_request_failed",
          type: "ModelError",
          message: "m",
          attribution: { providerErrorCode: value },
        },
      ])
        expect(turnFailure(error).kind).toBe(kind);
    }
  });

  test("B9 an HTTP status decides where there is no business code", () => {
    for (const [statusCode, kind] of [
      [401, "auth"],
      [403, "auth"],
      [429, "rate"],
      [500, "overloaded"],
      [503, "overloaded"],
      [529, "overloaded"],
      [400, "other"],
    ] as const)
      expect(turnFailure({ message: "m", attribution: { statusCode } }).kind).toBe(kind);
  });

  test("B9 a quota's code is stronger than the status that came with it, and the captcha than both", () => {
    const at = (providerErrorCode: unknown, statusCode: number) =>
      turnFailure({ message: "m", attribution: { reason: "rate_limited", statusCode, providerErrorCode } })
        .kind;
    expect(at("1113", 429)).toBe("quota");
    expect(at(1308, 403)).toBe("quota");
    expect(at("3007", 403)).toBe("captcha");
    expect(at("1302", 429)).toBe("rate");
  });
});

test("B9 a choice of model that the backend refused is told by the name of its error", () => {
  const error = {
    code: -32603,
    message: "Reasoning level is required for p/m",
    data: { name: "ModelProtocolError" },
  };
  expect(turnFailure(error).kind).toBe("model");
});

test("P32 the older word for busy is no quota, the same number with other words is", () => {
  expect(turnFailure({ code: 1308, message: "prompt is running" }).kind).toBe("other");
  expect(turnFailure({ code: 1308, message: "usage limit reached" }).kind).toBe("quota");
});

describe("words", () => {
  test.each([
    ["Model provider is missing an API key", "auth"],
    ["Network connection failed for the provider request.", "network"],
    ["Provider Registry 中不存在 Model: p/m", "model"],
    ["Select a model before continuing", "other"],
    ["the number 1113 stands in a sentence", "other"],
  ] as const)("B9 %s is %s without a code", (message, kind) => {
    expect(turnFailure({ type: "Error", message })).toEqual({ kind, message });
  });

  test("B9 the message is the backend's own, else the one below it, and never nothing", () => {
    expect(turnFailure({ message: "own", underlyingErrorMessage: "below" }).message).toBe("own");
    expect(turnFailure({ message: "", underlyingErrorMessage: "below" }).message).toBe("below");
    expect(turnFailure({ cause: { code: 1, message: "inner" } }).message).toBe("inner");
    expect(turnFailure("just words").message).toBe("just words");
    for (const nothing of WRONG_VALUES) expect(turnFailure(nothing).message).not.toBe("");
  });

  test("B9 a message that stands in the underlying error alone decides like any other", () => {
    expect(
      turnFailure({ underlyingErrorMessage: "Network connection failed for the provider request." }).kind,
    ).toBe("network");
  });
});

test("B9 anything at all is some failure, and a cause without end stops", () => {
  eachSeed(2_000, (random) => {
    const { kind, message } = turnFailure({
      message: someValue(random),
      code: someValue(random),
      attribution: someValue(random),
      cause: someValue(random, 4),
      data: someValue(random),
    });
    expect(typeof kind).toBe("string");
    expect(said(message, "en").length).toBeGreaterThan(0);
  });
  const loop: { message: string; cause?: unknown } = { message: "m" };
  loop.cause = loop;
  expect(turnFailure(loop).kind).toBe("other");
});

test("B9 what older builds say of a cause alone, in words, is what the failure is", () => {
  const failure = (message: string) =>
    turnFailure({
      type: "UNKNOWN_ERROR",
      message: "Model request failed",
      cause: { code: "model_request_failed", message },
    });
  expect(failure("Network connection failed for the provider request.").kind).toBe("network");
  expect(failure("The provider is missing an API key.").kind).toBe("auth");
  expect(failure("Nobody knows.").kind).toBe("other");
});
