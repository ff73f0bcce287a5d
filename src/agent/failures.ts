/** Every failure that leaves over ACP goes through here: a code, a sentence, a hint, and never a stack. */

import { RequestError } from "@agentclientprotocol/sdk/unstable";
import { RpcError } from "../backend/rpc.ts";
import { errors, ProductError } from "../errors/index.ts";
import { inOneLine, type Language } from "../locale/index.ts";
import { errorName } from "../platform/log.ts";
import { isBusy } from "../session/residence.ts";
import { type TurnFailure, turnFailure } from "../translate/failure.ts";

/** ACP's code for "sign in first"; editors offer the sign-in at it. */
const AUTH_REQUIRED = -32000;
const INVALID_PARAMS = -32602;
const NOT_FOUND = -32002;
const INTERNAL = -32603;

/** @returns what the client is answered, in a person's language; any error at all becomes one. The SDK's stay as they are. */
export function requestError(error: unknown, language: Language): RequestError {
  if (error instanceof RequestError) return error;
  if (error instanceof ProductError) return productError(error, language);
  if (isBusy(error)) return productError(errors.sessionBusy(), language);
  if (error instanceof RpcError) {
    const { code, message, data } = error;
    return failureError(turnFailure({ code, message, data }), language);
  }
  return productError(errors.internal(errorName(error)), language);
}

/**
 * The answer of a request, or ACP's word for one that its client has cancelled: nothing holds that up, and what the work
 * still comes to is nobody's any more.
 */
export function unlessCancelled<P, R>(
  signal: AbortSignal,
  run: (params: P, signal: AbortSignal) => R | Promise<R>,
  params: P,
): Promise<R> {
  return new Promise((resolve, reject) => {
    const cancel = () => reject(RequestError.requestCancelled());
    if (signal.aborted) return cancel();
    signal.addEventListener("abort", cancel, { once: true });
    (async () => run(params, signal))()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", cancel));
  });
}

/** A turn that failed, in the words of the person who must do something about it. */
export function failureError({ kind, message }: TurnFailure, language: Language): RequestError {
  return productError(errors.promptFailed(kind, message), language);
}

function productError(error: ProductError, language: Language): RequestError {
  const { sentence, hint } = error.inLanguage(language);
  const message = inOneLine([sentence, hint], language);
  return new RequestError(codeOf(error), message, { code: error.code, details: message });
}

function codeOf(error: ProductError): number {
  switch (error.kind) {
    case "auth":
      return AUTH_REQUIRED;
    case "params":
      return INVALID_PARAMS;
    case "notFound":
      return NOT_FOUND;
    default:
      return INTERNAL;
  }
}
