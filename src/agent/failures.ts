/** Every failure that leaves over ACP goes through here: a code, a sentence, a hint, and never a stack. */

import { RequestError } from "@agentclientprotocol/sdk/unstable";
import { RpcError } from "../backend/rpc.ts";
import { errors, ProductError } from "../errors/index.ts";
import { errorName, maskSecrets } from "../platform/log.ts";
import { isBusy } from "../session/residence.ts";
import { type TurnFailure, turnFailure } from "../translate/failure.ts";

/** ACP's code for "sign in first"; editors offer the sign-in at it. */
const AUTH_REQUIRED = -32000;
const INVALID_PARAMS = -32602;
const NOT_FOUND = -32002;
const INTERNAL = -32603;

/** @returns what the client is answered; any error at all becomes one. */
export function requestError(error: unknown): RequestError {
  if (error instanceof RequestError) return error;
  if (error instanceof ProductError) return productError(error);
  if (isBusy(error)) return productError(errors.sessionBusy());
  if (error instanceof RpcError)
    return failureError(turnFailure({ code: error.code, message: error.message, data: error.data }));
  return productError(errors.internal(errorName(error)));
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
export function failureError(failure: TurnFailure): RequestError {
  const message = maskSecrets(failure.message);
  return productError(
    failure.kind === "auth" ? errors.notSignedIn(message) : errors.promptFailed(failure.kind, message),
  );
}

function productError(error: ProductError): RequestError {
  const sentence = /[.!?:…。！？]$/.test(error.sentence) ? error.sentence : `${error.sentence}.`;
  const message = error.hint ? `${sentence} ${error.hint}` : sentence;
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
