/** How messages reach the SDK, and how its own become lines. */

import type { AnyMessage, Stream } from "@agentclientprotocol/sdk/unstable";
import { num, obj, str } from "../platform/json.ts";

/** A message as a line. What the SDK echoes of a hostile request may be nested deeper than can be written again. */
export function serialised(message: AnyMessage): string {
  try {
    return JSON.stringify(message);
  } catch (error) {
    if ("method" in message || !("id" in message)) throw error;
    const { code, message: words } = obj(obj(message).error);
    return JSON.stringify({
      jsonrpc: "2.0",
      id: message.id,
      error: { code: num(code) ?? -32603, message: str(words) ?? "Internal error" },
    });
  }
}

/** The SDK's stream over an outlet of ours: messages in from a readable, out through one joining writer. */
export function sdkStream(readable: ReadableStream<AnyMessage>, send: (message: AnyMessage) => void): Stream {
  // The SDK asks nothing of the writable but `getWriter`, `write` and `releaseLock`; a test keeps that true.
  const writer = {
    write: (message: AnyMessage) => {
      send(message);
      return Promise.resolve();
    },
    releaseLock: () => {},
  };
  return { readable, writable: { getWriter: () => writer } as unknown as WritableStream<AnyMessage> };
}
