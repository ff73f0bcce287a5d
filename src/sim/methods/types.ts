/** What the handlers of methods have in common. */
import type { Obj } from "../types.ts";
import type { World } from "../world.ts";

export interface Reply {
  result: Obj;
  /** Runs when the answer has been written. */
  after?: () => void;
}

/** @throws RpcError */
export type Handler = (world: World, params: Obj) => Reply | Promise<Reply>;

export type Handlers = Record<string, Handler>;
