/** One attached ACP client: what it said it can do, how it wants things rendered, and the way out to it. */

import { type Obj, obj, str } from "../platform/json.ts";
import type { Style } from "./render.ts";

/** The way out to one client. */
export interface Outlet {
  /** Sends one serialised JSON-RPC message. */
  send(message: string): void;
  /** Resolves when little waits for the client to read it; undefined where that is so. */
  room(): Promise<void> | undefined;
  /**
   * A request to the client; an abort sends `$/cancel_request`.
   * @throws the client's error, or the connection's end.
   */
  request(method: string, params: Obj, signal: AbortSignal): Promise<unknown>;
}

/** What a connection needs to send; requests are its own. */
export type Sender = Pick<Outlet, "send" | "room">;

export class Client {
  /** `clientInfo.name`; empty where the client did not say. */
  name = "";
  capabilities: Obj = {};
  style: Style = { terminal: false };
  initialized = false;
  /** The id under which this client knows a conversation, by the conversation's first id. */
  private readonly ids = new Map<string, string>();
  /** The serialised start of each conversation's updates, up to the `update` field. */
  private readonly heads = new Map<string, string>();

  constructor(readonly outlet: Outlet) {}

  /** Takes an `initialize` request's words; again at each one. */
  introduce(params: Obj): void {
    this.initialized = true;
    this.name = str(obj(params.clientInfo).name) ?? "";
    this.capabilities = obj(params.clientCapabilities);
    this.style = { terminal: obj(this.capabilities._meta).terminal_output === true };
  }

  /** This client's id of a conversation; the conversation's first one where it never named it. */
  idOf(conversationId: string): string {
    return this.ids.get(conversationId) ?? conversationId;
  }

  /** The id under which this client has named a conversation; undefined where it never did. */
  knownId(conversationId: string | undefined): string | undefined {
    return conversationId === undefined ? undefined : this.ids.get(conversationId);
  }

  /** The client names a conversation by `id`; the first name stays where `again` is not set. */
  knowAs(conversationId: string, id: string, again: boolean): void {
    const known = this.ids.get(conversationId);
    if (known === id || (!again && known !== undefined)) return;
    this.ids.set(conversationId, id);
    this.heads.delete(conversationId);
  }

  forget(conversationId: string): void {
    this.ids.delete(conversationId);
    this.heads.delete(conversationId);
  }

  /** `session/update` up to its `update` field; the caller adds that and two closing braces. */
  updateHead(conversationId: string): string {
    let head = this.heads.get(conversationId);
    if (head === undefined) {
      const id = JSON.stringify(this.idOf(conversationId));
      head = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":${id},"update":`;
      this.heads.set(conversationId, head);
    }
    return head;
  }

  /** A terminal client: of a permission it draws the title alone, and the title of its window is the agent's to set. */
  get isMartty(): boolean {
    return this.name.toLowerCase().includes("martty");
  }

  /** An editor that groups commands by their first sign, and is listed skills with theirs. */
  get signsSkills(): boolean {
    return /^zed\b/i.test(this.name);
  }

  /** True where the client offers to run a sign-in in a terminal of its own. */
  get terminalAuth(): boolean {
    return obj(this.capabilities.auth).terminal === true;
  }
}
