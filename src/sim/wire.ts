/** Frames: one JSON object per line, without a `jsonrpc` key, nothing beside the four shapes. */
import { isObj, type Obj } from "./types.ts";

export type FrameId = string | number;

/** An answer to a request that is an error; thrown by method handlers. */
export class RpcError extends Error {
  override name = "RpcError";
  constructor(
    readonly code: number,
    message: string,
    readonly data?: Obj,
  ) {
    super(message);
  }
}

export const NOT_ACTIVE = -32004;
export const BUSY = -32010;
export const BAD_PARAMS = -32602;
export const INTERNAL = -32603;
export const UNAVAILABLE = -32031;

/** An `-32603` whose data has the name of the class and a stack, as the app-server gives it. */
export function internal(message: string, name = "Error", code?: string): RpcError {
  return new RpcError(INTERNAL, message, { name, stack: "Error\n    at sim", ...(code ? { code } : {}) });
}

export type Frame =
  | { kind: "request"; id: FrameId; method: string; params: unknown }
  | { kind: "notification"; method: string }
  | { kind: "response"; id: FrameId; result?: unknown; error?: { code: number; message: string } }
  | { kind: "refused"; id: "parse-error" | "invalid-message"; code: number; message: string };

const REQUEST_KEYS = new Set(["id", "method", "params", "trace"]);

/** Sorts one line into its shape; what fits none is `refused` with the id and code of its answer. */
export function readFrame(line: string): Frame {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return { kind: "refused", id: "parse-error", code: -32700, message: "Parse error" };
  }
  const bad: Frame = { kind: "refused", id: "invalid-message", code: -32600, message: "Invalid message" };
  if (!isObj(value)) return bad;
  const keys = Object.keys(value);
  const id = value.id;
  const idIsGood = typeof id === "string" || Number.isInteger(id);
  if ("method" in value) {
    if (typeof value.method !== "string" || keys.some((key) => !REQUEST_KEYS.has(key))) return bad;
    if (!("id" in value)) return { kind: "notification", method: value.method };
    if (!idIsGood) return bad;
    return { kind: "request", id: id as FrameId, method: value.method, params: value.params };
  }
  if (!idIsGood || keys.length !== 2) return bad;
  if ("result" in value) return { kind: "response", id: id as FrameId, result: value.result };
  const error = value.error;
  if (isObj(error) && Number.isInteger(error.code) && typeof error.message === "string") {
    return {
      kind: "response",
      id: id as FrameId,
      error: { code: error.code as number, message: error.message },
    };
  }
  return bad;
}
