/**
 * Lines of a client to messages for the SDK, and back. One place where inbound frames are looked at before the SDK
 * sees them; nothing is repaired here, only what is no message at all is answered or passed over.
 */

import type { AnyMessage } from "@agentclientprotocol/sdk/unstable";
import { LineSplitter } from "../platform/lines.ts";
import type { Log } from "../platform/log.ts";

/** The way in and out of one client. */
export interface Transport {
  readonly readable: ReadableStream<AnyMessage>;
  /** Sends one serialised message. */
  send(message: string): void;
}

const PARSE_ERROR = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`;

/**
 * @param bytes what the client writes.
 * @param send how it is answered.
 */
export function lineTransport(
  bytes: ReadableStream<Uint8Array>,
  send: (message: string) => void,
  log: Log,
): Transport {
  const splitter = new LineSplitter((size) => {
    log.once("client-line:long", "warn", `a client sent a line longer than any message (${size} bytes)`);
    send(PARSE_ERROR);
  });
  const messages = (lines: readonly string[], controller: ReadableStreamDefaultController<AnyMessage>) => {
    for (const line of lines) {
      let message: AnyMessage;
      try {
        message = JSON.parse(line);
      } catch {
        log.once(
          "client-line:json",
          "warn",
          `a client sent a line that is not JSON (${line.length} characters)`,
        );
        send(PARSE_ERROR);
        continue;
      }
      controller.enqueue(message);
    }
  };
  const reader = bytes.getReader();
  const readable = new ReadableStream<AnyMessage>({
    async pull(controller) {
      // Every pull brings at least one message or the end, so that the SDK is never left waiting for the next pull.
      for (let before = controller.desiredSize; controller.desiredSize === before; ) {
        const { done, value } = await reader.read().catch(() => ({ done: true as const, value: undefined }));
        if (done) {
          messages(splitter.end(), controller);
          controller.close();
          return;
        }
        messages(splitter.push(value), controller);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return { readable, send };
}
