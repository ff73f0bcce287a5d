/**
 * The short way for prompts. The SDK asks every handler in turn and checks each message against a schema of the whole
 * protocol; for the one request that a person waits for, that takes longer than all of the bridge's own work. So a
 * well-formed `session/prompt`, and the cancels that belong to it, are taken here, with the same handler and the same
 * answers, and everything else goes to the SDK. The SDK starts what it has in an order of its own, so order is kept
 * here: a prompt waits until the SDK has answered what this client asked of the same session before, and anything else
 * until the SDK has begun with it.
 */

import { type AnyMessage, RequestError } from "@agentclientprotocol/sdk/unstable";
import type { Client } from "../clients/client.ts";
import type { Language } from "../locale/index.ts";
import { isObj, type Obj, str } from "../platform/json.ts";
import { requestError } from "./failures.ts";

type Id = string | number;

export interface LaneHandlers {
  /** @param cancellable is given what cancels this prompt, before anything is awaited. */
  prompt(params: Obj, cancellable: (cancel: () => void) => void): Promise<Obj>;
  cancel(params: Obj): void;
}

const CANCELLED = { result: { stopReason: "cancelled" } } as const;

interface Held {
  readonly session: string;
  readonly params: Obj;
  /** There where it is the SDK's, and came behind something that waits or has not begun. */
  readonly behind?: AnyMessage;
}

export class PromptLane {
  /** Requests that the SDK has and has not answered, with the session that each names. */
  private readonly withSdk = new Map<Id, string | undefined>();
  /** What the SDK has been given of each session and has not begun with: its chain of handlers takes its time. */
  private readonly starting = new Map<string, Id>();
  private idleWaiters: (() => void)[] = [];
  private ended = false;
  /** Prompts that wait for the SDK's answers, and what came behind them, by request id, in their order. */
  private readonly held = new Map<Id, Held>();
  /** What cancels each prompt that is being answered. */
  private readonly open = new Map<Id, () => void>();

  /**
   * @param send sends the serialised answer of a request to the client.
   * @param forward gives a message to the SDK that had to wait.
   */
  constructor(
    private readonly client: Client,
    private readonly handlers: LaneHandlers,
    private readonly send: (id: Id, message: string) => void,
    private readonly forward: (message: AnyMessage) => void,
    private readonly language: Language,
  ) {}

  /** @returns true where the message was taken; false where it is the SDK's. */
  take(sent: AnyMessage): boolean {
    const message: unknown = sent;
    if (!isObj(message) || message.jsonrpc !== "2.0") return false;
    const { method } = message;
    const id = requestId(message.id);
    const params = isObj(message.params) ? message.params : undefined;
    if (method === "$/cancel_request" && params) {
      const cancelled = requestId(params.requestId) ?? "";
      if (this.held.has(cancelled)) {
        this.drop(cancelled);
        return true;
      }
      const cancel = this.open.get(cancelled);
      cancel?.();
      return cancel !== undefined;
    }
    if (this.client.initialized && params && typeof params.sessionId === "string") {
      if (method === "session/cancel" && !("id" in message)) {
        for (const [waiting, { session, behind }] of this.held)
          if (session === params.sessionId && behind === undefined) this.drop(waiting);
        this.handlers.cancel(params);
        this.release(params.sessionId);
        return true;
      }
      const known = id !== undefined && (this.open.has(id) || this.held.has(id));
      if (method === "session/prompt" && id !== undefined && !known && isPrompt(params)) {
        if (this.ended) this.answer(id, CANCELLED);
        else if (this.isAhead(params.sessionId)) this.held.set(id, { session: params.sessionId, params });
        else void this.run(id, params);
        return true;
      }
      if (
        id !== undefined &&
        !known &&
        !this.withSdk.has(id) &&
        (this.starting.has(params.sessionId) || this.isHeld(params.sessionId))
      ) {
        // A close must not overtake the prompts that came before it, say, nor a load the close before it.
        this.held.set(id, { session: params.sessionId, params, behind: sent });
        return true;
      }
    }
    if (typeof method === "string" && id !== undefined) this.given(id, str(params?.sessionId));
    return false;
  }

  /** To be told, before anything is awaited, of each request of a session that the SDK begins with. */
  started(session: string): void {
    if (this.starting.delete(session)) this.release(session);
  }

  /** To be told of every message that the SDK sends. */
  sent(message: AnyMessage): void {
    if ("method" in message || !("id" in message)) return;
    const id = requestId(message.id) ?? "";
    const session = this.withSdk.get(id);
    this.withSdk.delete(id);
    if (session !== undefined) {
      // One that the SDK refuses never begins.
      if (this.starting.get(session) === id) this.starting.delete(session);
      this.release(session);
    }
    if (this.withSdk.size > 0 || this.held.size > 0) return;
    for (const wake of this.idleWaiters.splice(0)) wake();
  }

  /** Resolves when the SDK has answered every request that it was given. */
  answered(): Promise<void> {
    if (this.withSdk.size === 0 && this.held.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.idleWaiters.push(resolve));
  }

  /** The client is gone, or the bridge ends: prompts that still wait are not handed on any more. */
  end(): void {
    this.ended = true;
    for (const [id, { behind }] of this.held) if (behind === undefined) this.drop(id);
  }

  /** True while the SDK has something of a session that a prompt must not overtake. */
  private isAhead(session: string): boolean {
    for (const other of this.withSdk.values()) if (other === session) return true;
    return false;
  }

  private given(id: Id, session: string | undefined): void {
    this.withSdk.set(id, session);
    if (session !== undefined) this.starting.set(session, id);
  }

  private isHeld(session: string): boolean {
    for (const waiting of this.held.values()) if (waiting.session === session) return true;
    return false;
  }

  /** Hands on what waited of a session, up to what still has to wait. */
  private release(session: string): void {
    for (const [id, { session: of, params, behind }] of this.held) {
      if (of !== session) continue;
      if (behind === undefined ? this.isAhead(session) : this.starting.has(session)) return;
      this.held.delete(id);
      if (behind === undefined) void this.run(id, params);
      else {
        this.given(id, session);
        this.forward(behind);
      }
    }
  }

  /** Answers what was cancelled before it was handed on. */
  private drop(id: Id): void {
    const isPrompt = this.held.get(id)?.behind === undefined;
    this.held.delete(id);
    const { code, message } = RequestError.requestCancelled();
    this.answer(id, isPrompt ? CANCELLED : { error: { code, message } });
  }

  private answer(id: Id, answer: Obj): void {
    this.send(id, JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
  }

  private async run(id: Id, params: Obj): Promise<void> {
    let answer: Obj;
    try {
      answer = { result: await this.handlers.prompt(params, (cancel) => this.open.set(id, cancel)) };
    } catch (error) {
      const { code, message, data } = requestError(error, this.language);
      answer = { error: { code, message, ...(data === undefined ? {} : { data }) } };
    }
    this.open.delete(id);
    this.answer(id, answer);
  }
}

function requestId(value: unknown): Id | undefined {
  return typeof value === "string" || (typeof value === "number" && Number.isFinite(value))
    ? value
    : undefined;
}

/** What the protocol's schema asks of a prompt; anything less goes to the SDK, which says what is wrong. */
function isPrompt(params: Obj): boolean {
  return typeof params.sessionId === "string" && Array.isArray(params.prompt) && params.prompt.every(isBlock);
}

function isBlock(value: unknown): boolean {
  if (!isObj(value)) return false;
  switch (value.type) {
    case "text":
      return str(value.text) !== undefined;
    case "image":
    case "audio":
      return str(value.data) !== undefined && str(value.mimeType) !== undefined;
    case "resource_link":
      return str(value.uri) !== undefined && str(value.name) !== undefined;
    case "resource":
      return (
        isObj(value.resource) &&
        str(value.resource.uri) !== undefined &&
        (str(value.resource.text) ?? str(value.resource.blob)) !== undefined
      );
    default:
      return false;
  }
}
