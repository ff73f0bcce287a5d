/**
 * Lines of a client to messages, and back. One place where inbound frames are looked at before anything else sees
 * them; nothing is repaired here, only what is no message at all is answered or passed over.
 */

import type { AnyMessage } from "@agentclientprotocol/sdk/unstable";
import { LineSplitter } from "../platform/lines.ts";
import type { Log } from "../platform/log.ts";
import type { LineWriter } from "../platform/writer.ts";

/** Who takes the messages of a client. */
export interface Receiver {
  /** @param line the message as it came, without its newline. */
  message(message: AnyMessage, line: string): void;
  /** No message follows. */
  end(): void;
}

/** The way in and out of one client. */
export interface Transport {
  /** Starts delivery; called once. */
  listen(receiver: Receiver): void;
  /** Sends one serialised message. */
  send(message: string): void;
  /** Resolves when little waits for the client to read it; undefined where that is so. */
  room(): Promise<void> | undefined;
}

const PARSE_ERROR = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`;

/**
 * @param bytes what the client writes.
 * @param out how it is answered: whole messages, in order.
 */
export function lineTransport(
  bytes: ReadableStream<Uint8Array>,
  out: Pick<LineWriter, "write" | "room">,
  log: Log,
): Transport {
  const send = (message: string) => out.write(message);
  const splitter = new LineSplitter((size) => {
    log.once("client-line:long", "warn", `a client sent a line longer than any message (${size} bytes)`);
    send(PARSE_ERROR);
  });
  const deliver = (lines: readonly string[], receiver: Receiver) => {
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
      receiver.message(message, line);
    }
  };
  const read = async (receiver: Receiver) => {
    try {
      for await (const chunk of bytes) deliver(splitter.push(chunk), receiver);
    } catch {
      // A client whose pipe breaks is a client that is gone.
    }
    deliver(splitter.end(), receiver);
    receiver.end();
  };
  return { listen: (receiver) => void read(receiver), send, room: () => out.room() };
}
