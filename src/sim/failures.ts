/** How the model fails, by kind, and the shapes that a failed turn shows. */
import type { Era } from "./era.ts";
import type { Failure } from "./model.ts";
import type { ModelSelection, Obj } from "./types.ts";

/** A kind of failure, and how often the backend tries by itself before it gives up. */
interface Kind {
  attempts: number;
  make(): Omit<Failure, "attribution" | "type"> & { type?: string };
  source?: "provider" | "network" | "runtime";
  reason: string;
  phase?: string;
  exception?: string;
  status?: number;
  business?: string;
  retryable: boolean;
}

const KINDS: Record<string, Kind> = {
  network: {
    attempts: 2,
    source: "network",
    reason: "network_error",
    phase: "connect",
    exception: "transport",
    retryable: true,
    make: () => ({
      code: "model_request_failed",
      message: "Network connection failed for the provider request.",
      underlyingErrorMessage: "connect ECONNREFUSED",
      underlyingErrorDetail: "ECONNREFUSED",
    }),
  },
  rate: {
    attempts: 2,
    reason: "rate_limited",
    status: 429,
    retryable: true,
    make: () => ({
      code: "model_rate_limited",
      message: "The provider wants to be asked less often.",
      underlyingErrorMessage: "Too many requests",
    }),
  },
  overload: {
    attempts: 2,
    reason: "provider_overloaded",
    status: 529,
    business: "1312",
    retryable: true,
    make: () => ({
      code: "model_request_failed",
      message: "The provider has too much to do.",
      underlyingErrorMessage: "overloaded_error",
    }),
  },
  server: {
    attempts: 2,
    reason: "server_error",
    status: 503,
    retryable: true,
    make: () => ({ code: "model_request_failed", message: "The provider has a fault." }),
  },
  auth: {
    attempts: 1,
    reason: "auth_failed",
    status: 401,
    retryable: false,
    make: () => ({
      code: "provider_not_configured",
      message: "The provider refuses this key.",
      underlyingErrorMessage: "invalid key",
    }),
  },
  quota: {
    attempts: 1,
    reason: "rate_limited",
    exception: "provider_business",
    status: 429,
    business: "1308",
    retryable: false,
    make: () => ({
      code: "1308",
      message: "The quota of these five hours is spent; it starts anew at 18:00.",
    }),
  },
  context: {
    attempts: 1,
    reason: "context_exceeded",
    status: 400,
    retryable: false,
    make: () => ({
      type: "MODEL_CONTEXT_EXCEEDED",
      code: "model_context_exceeded",
      message: "The request does not fit into the context of this model.",
      detail: "239000 of 200000 tokens",
    }),
  },
  captcha: {
    attempts: 1,
    reason: "auth_failed",
    exception: "provider_business",
    status: 403,
    business: "3007",
    retryable: false,
    make: () => ({ code: "3007", message: "The provider wants a check in a browser." }),
  },
};

/** @returns undefined for a kind that is not known. */
export function failureOf(
  kind: string,
  model: ModelSelection,
): { failure: Failure; attempts: number } | undefined {
  const known = KINDS[kind];
  if (!known) return undefined;
  const made = known.make();
  return {
    attempts: known.attempts,
    failure: {
      ...made,
      type: made.type ?? "UNKNOWN_ERROR",
      attribution: {
        source: known.source ?? "provider",
        reason: known.reason,
        errorPhase: known.phase ?? "response",
        exceptionKind: known.exception ?? "api_call",
        providerId: model.providerId,
        modelId: model.modelId,
        providerKind: "openai-compatible",
        transport: "sse",
        ...(known.status ? { statusCode: known.status } : {}),
        ...(known.business ? { providerErrorCode: known.business } : {}),
        retryable: known.retryable,
      },
    },
  };
}

/** What a turn cannot begin with: no model was chosen. */
export const NO_MODEL: Failure = {
  type: "CONFIGURATION_ERROR",
  code: "CONFIGURATION_ERROR",
  message: "Select a model before continuing",
  turnPhase: "model_creation",
};

/** `error` of `turn.failed`, and the shorter form that the projection keeps. */
export function failureError(failure: Failure, era: Era): { shown: Obj; kept: Obj } {
  const { type, code, message, attribution } = failure;
  const kept: Obj = { type, code, message, ...(attribution ? { attribution } : {}) };
  if (!era.modern) {
    return { shown: { type, message: "Model request failed", cause: { code, message } }, kept };
  }
  const { underlyingErrorMessage, underlyingErrorDetail, detail } = failure;
  return {
    kept,
    shown: {
      type,
      ...(attribution ? { attribution } : {}),
      code,
      message,
      ...(underlyingErrorMessage ? { underlyingErrorMessage } : {}),
      ...(underlyingErrorDetail ? { underlyingErrorDetail } : {}),
      ...(detail ? { detail } : {}),
      stack: "Error\n    at sim",
    },
  };
}
