/** One attached ACP client: what it said it can do, how it wants things rendered, and the way out to it. */

import { type Obj, obj, str } from "../platform/json.ts";
import type { Style } from "./render.ts";

/** The way out to one client. */
export interface Outlet {
  /** Sends one serialised JSON-RPC message. */
  send(message: string): void;
  /**
   * A request to the client; an abort sends `$/cancel_request`.
   * @throws the client's error, or the connection's end.
   */
  request(method: string, params: Obj, signal: AbortSignal): Promise<unknown>;
}

export class Client {
  /** `clientInfo.name`; empty where the client did not say. */
  name = "";
  capabilities: Obj = {};
  style: Style = { terminal: false };
  initialized = false;
  /** The id under which this client knows a conversation, by the conversation's first id. */
  readonly ids = new Map<string, string>();

  constructor(readonly outlet: Outlet) {}

  /** Takes an `initialize` request's words; again at each one. */
  introduce(params: Obj): void {
    this.initialized = true;
    this.name = str(obj(params.clientInfo).name) ?? "";
    this.capabilities = obj(params.clientCapabilities);
    this.style = { terminal: obj(this.capabilities._meta).terminal_output === true };
  }

  /** True where the client offers to run a sign-in in a terminal of its own. */
  get terminalAuth(): boolean {
    return obj(this.capabilities.auth).terminal === true;
  }
}
