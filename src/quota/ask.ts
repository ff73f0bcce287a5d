/**
 * One request to a provider that may answer anything: bounded in time and size, and never redirected to another host,
 * which would be handed the credential.
 */

import { type Phrase, phrase } from "../locale/index.ts";
import type { Clock } from "../platform/clock.ts";
import { BODY_BYTES, REDIRECTS } from "./limits.ts";

export interface Question {
  readonly url: string;
  readonly method?: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly deadlineMs: number;
  /** Past every proxy: what is on this machine is no proxy's business, nor is its token. */
  readonly direct?: true;
  /** Where a redirect is an answer in itself. */
  readonly stopAt?: (url: URL) => boolean;
}

export interface Reply {
  readonly status: number;
  readonly text: string;
  /** Where a redirect that was not followed leads. */
  readonly location: URL | undefined;
}

/** Why there is no reply that can be shown, in words that hold nothing of the request. */
export class AskError extends Error {
  constructor(readonly reason: Phrase) {
    super(reason.key);
  }
}

export type Fetch = (url: string, init: BunFetchRequestInit) => Promise<Response>;

export interface Web {
  readonly clock: Clock;
  readonly fetch: Fetch;
}

/** @throws AskError where no whole reply came. */
export async function ask(web: Web, question: Question): Promise<Reply> {
  const ending = new AbortController();
  const timer = web.clock.after(question.deadlineMs, () => ending.abort());
  try {
    return await follow(web, question, ending.signal);
  } catch (error) {
    if (error instanceof AskError) throw error;
    if (ending.signal.aborted)
      throw new AskError(phrase("quota.reason.deadline", { seconds: question.deadlineMs / 1000 }));
    const code = codeOf(error);
    throw new AskError(
      code === undefined
        ? phrase("quota.reason.noConnection", {})
        : phrase("quota.reason.connection", { code }),
    );
  } finally {
    timer.cancel();
    // A body that is not read to its end would keep its connection.
    ending.abort();
  }
}

/** The engine takes the proxy from the environment where the option is missing or empty; its types do not know `false`. */
const NO_PROXY = { proxy: false } as unknown as BunFetchRequestInit;

async function follow(web: Web, question: Question, signal: AbortSignal): Promise<Reply> {
  let url = new URL(question.url);
  for (let hop = 0; ; hop++) {
    const response = await web.fetch(url.href, {
      method: question.method ?? "GET",
      headers: { "accept-encoding": "gzip", ...question.headers },
      // The engine would write about what it cannot unpack to stderr, past everything here.
      decompress: false,
      redirect: "manual",
      signal,
      ...(question.direct ? NO_PROXY : {}),
      ...(question.body === undefined ? {} : { body: question.body }),
    });
    const location = redirectOf(response, url);
    if (!location || location.origin !== url.origin || question.stopAt?.(location)) {
      const text = location ? "" : await textOf(response);
      return { status: response.status, text, location };
    }
    if (hop >= REDIRECTS) throw new AskError(phrase("quota.reason.redirects", {}));
    await response.body?.cancel();
    url = location;
  }
}

function redirectOf(response: Response, from: URL): URL | undefined {
  if (response.status < 300 || response.status > 399) return undefined;
  const location = response.headers.get("location");
  if (!location) return undefined;
  try {
    return new URL(location, from);
  } catch {
    return undefined;
  }
}

/** Also what was not asked for: some answer in one way whatever they are asked. */
const PACKINGS: Readonly<Record<string, Bun.CompressionFormat>> = {
  gzip: "gzip",
  "x-gzip": "gzip",
  deflate: "deflate",
  br: "brotli",
  zstd: "zstd",
};

/** @throws AskError where the body is too large, packed or not, or cannot be unpacked. */
async function textOf({ body, headers }: Response): Promise<string> {
  const bytes = await bounded(body ?? []);
  const packing = headers.get("content-encoding")?.trim().toLowerCase() || "identity";
  return new TextDecoder().decode(packing === "identity" ? bytes : await unpacked(bytes, packing));
}

async function unpacked(bytes: Uint8Array<ArrayBuffer>, packing: string): Promise<Uint8Array> {
  const format = Object.hasOwn(PACKINGS, packing) ? PACKINGS[packing] : undefined;
  if (!format) throw new AskError(phrase("quota.reason.packed", {}));
  try {
    return await bounded(new Blob([bytes]).stream().pipeThrough(new DecompressionStream(format)));
  } catch (error) {
    throw error instanceof AskError ? error : new AskError(phrase("quota.reason.packed", {}));
  }
}

async function bounded(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<Uint8Array<ArrayBuffer>> {
  const kept: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > BODY_BYTES) throw new AskError(phrase("quota.reason.large", {}));
    kept.push(chunk);
  }
  return Buffer.concat(kept);
}

/** The system's code of a failed connection: its message may hold the address. */
function codeOf(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "string" && /^[A-Za-z_]{1,40}$/.test(code) ? code : undefined;
}

/** A body as JSON. @throws AskError where it is none. */
export function jsonOf(reply: Reply): unknown {
  try {
    return JSON.parse(reply.text);
  } catch {
    throw new AskError(phrase(/^\s*</.test(reply.text) ? "quota.reason.page" : "quota.reason.notJson", {}));
  }
}
