/**
 * Requests and responses with one app-server process. The wire is line-delimited JSON without a `jsonrpc`
 * key; frames are told apart by `id` and `method`. Ids of the server restart with each process, so one `Rpc`
 * lives exactly as long as one process and is never reused.
 */

import type { Clock } from "../platform/clock.ts";
import { isObj, num, type Obj, obj, str } from "../platform/json.ts";
import { REQUEST_DEADLINE_MS } from "./limits.ts";

export type FrameId = number | string;

/** A request that the app-server sends and that must be answered once. */
export interface ServerRequest {
  readonly id: FrameId;
  readonly method: string;
  readonly params: Obj;
}

/** An error answer of the app-server: `{code, message, data?}`. */
export class RpcError extends Error {
  override name = "RpcError";
  constructor(
    readonly method: string,
    readonly code: number,
    message: string,
    readonly data: unknown,
  ) {
    super(message);
  }
}

/** The process went away, or did not answer in time, before a request was answered. */
export class LostError extends Error {
  override name = "LostError";
  constructor(
    readonly method: string,
    readonly why: "closed" | "deadline",
  ) {
    super(
      why === "closed" ? `the app-server ended during ${method}` : `the app-server did not answer ${method}`,
    );
  }
}

export interface RpcHooks {
  /** A request of the server; answer it with `respond` or `respondError`. */
  onRequest(request: ServerRequest): void;
  onNotification(method: string, params: Obj): void;
  /** A line that is no frame: `what` names its kind, never its content. */
  onBadLine(what: string, bytes: number): void;
  /** Every frame, for the black box: direction, method or kind, id, session, characters. */
  onFrame?(
    direction: "in" | "out",
    what: string,
    id: FrameId | undefined,
    session: string,
    size: number,
  ): void;
  /** Every frame whole, where a person asked for a recording. */
  onLine?(direction: "in" | "out", line: string): void;
}

export interface RequestOptions {
  /** Milliseconds until the request is given up. */
  readonly deadlineMs?: number;
}

interface Pending {
  readonly method: string;
  resolve(result: unknown): void;
  reject(error: Error): void;
  cancel(): void;
}

export const CODE = {
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  notResident: -32004,
  busy: -32010,
  modelUnavailable: -32031,
} as const;

export class Rpc {
  private nextId = 1;
  private readonly pending = new Map<FrameId, Pending>();
  private closed = false;

  /**
   * @param write sends one line, given without its newline.
   * @param clock the unscaled clock: a deadline on a process is real time.
   */
  constructor(
    private readonly write: (line: string) => void,
    private readonly hooks: RpcHooks,
    private readonly clock: Clock,
  ) {}

  /** Sends a request and answers its `result`; rejects with `RpcError` or `LostError`. */
  request(method: string, params: Obj, options: RequestOptions = {}): Promise<unknown> {
    if (this.closed) return Promise.reject(new LostError(method, "closed"));
    const id = this.nextId++;
    // On its way first: no answer can come before this function has returned.
    this.send({ id, method, params }, method, id, str(params.sessionId) ?? "");
    return new Promise((resolve, reject) => {
      const timer = this.clock.after(options.deadlineMs ?? REQUEST_DEADLINE_MS, () => {
        this.pending.delete(id);
        reject(new LostError(method, "deadline"));
      });
      this.pending.set(id, { method, resolve, reject, cancel: () => timer.cancel() });
    });
  }

  respond(id: FrameId, result: Obj): void {
    this.send({ id, result }, "result", id, "");
  }

  respondError(id: FrameId, code: number, message: string): void {
    this.send({ id, error: { code, message } }, "error", id, "");
  }

  /**
   * One line from the server.
   * @returns true where it answered a request of ours, whose sender has not gone on yet.
   */
  receive(line: string): boolean {
    let frame: unknown;
    try {
      frame = JSON.parse(line);
    } catch {
      this.hooks.onBadLine("not JSON", line.length);
      return false;
    }
    this.hooks.onLine?.("in", line);
    if (!isObj(frame)) {
      this.hooks.onBadLine(
        Array.isArray(frame) ? "an array" : `a bare ${frame === null ? "null" : typeof frame}`,
        line.length,
      );
      return false;
    }
    const method = str(frame.method);
    const id = frameId(frame.id);
    if (method !== undefined) {
      const params = obj(frame.params);
      this.hooks.onFrame?.("in", str(params.type) ?? method, id, str(params.sessionId) ?? "", line.length);
      if (id === undefined) this.hooks.onNotification(method, params);
      else this.hooks.onRequest({ id, method, params });
      return false;
    }
    if (id === undefined) {
      this.hooks.onBadLine("neither a request nor an answer", line.length);
      return false;
    }
    return this.settle(id, frame, line.length);
  }

  /** Rejects all that waits; nothing is sent any more. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    const waiting = [...this.pending.values()];
    this.pending.clear();
    for (const entry of waiting) {
      entry.cancel();
      entry.reject(new LostError(entry.method, "closed"));
    }
  }

  /** How many requests of ours wait for an answer. */
  get open(): number {
    return this.pending.size;
  }

  private settle(id: FrameId, frame: Obj, size: number): boolean {
    // Newer builds echo our integer; a build that turned it into a string is still the same request.
    const key = this.pending.has(id) ? id : typeof id === "string" ? Number(id) : id;
    const entry = this.pending.get(key);
    this.hooks.onFrame?.("in", entry ? `answer ${entry.method}` : "answer", id, "", size);
    if (!entry) {
      this.hooks.onBadLine("an answer to nothing", size);
      return false;
    }
    this.pending.delete(key);
    entry.cancel();
    // Whatever stands in an error's place is one; an answer of nothing at all is none either.
    const failed = (frame.error !== undefined && frame.error !== null) || frame.result === undefined;
    if (failed) {
      const error = isObj(frame.error) ? frame.error : { message: str(frame.error) };
      entry.reject(
        new RpcError(entry.method, num(error.code) ?? CODE.internal, str(error.message) ?? "", error.data),
      );
    } else {
      entry.resolve(frame.result);
    }
    return true;
  }

  private send(frame: Obj, what: string, id: FrameId, session: string): void {
    if (this.closed) return;
    const line = JSON.stringify(frame);
    this.write(line);
    this.hooks.onLine?.("out", line);
    this.hooks.onFrame?.("out", what, id, session, line.length);
  }
}

function frameId(value: unknown): FrameId | undefined {
  return typeof value === "string" || typeof value === "number" ? value : undefined;
}
