/** The queue: requests one after another; stops, responses and a few others go past it. */

import { sleep } from "../platform/clock.ts";
import { catalogueHandlers } from "./methods/catalogues.ts";
import { sessionHandlers } from "./methods/session.ts";
import { settingsHandlers } from "./methods/settings.ts";
import { turnHandlers } from "./methods/turns.ts";
import type { Handler } from "./methods/types.ts";
import { v4Handlers } from "./methods/v4.ts";
import { checkParams, paramSchemas } from "./params.ts";
import type { FaultPlan } from "./plan.ts";
import type { Obj } from "./types.ts";
import { type FrameId, INTERNAL, RpcError, readFrame } from "./wire.ts";
import type { World } from "./world.ts";

/** Methods that do not wait for those before them. */
const AHEAD = new Set(["session/stop", "workspace/cancelGenerateText"]);

const HANDLERS: Record<string, Handler> = {
  ...sessionHandlers,
  ...turnHandlers,
  ...settingsHandlers,
  ...catalogueHandlers,
  ...v4Handlers,
};

export class Server {
  private readonly schemas: ReturnType<typeof paramSchemas>;
  private queue: Promise<void> = Promise.resolve();

  constructor(
    private readonly world: World,
    private readonly plan: FaultPlan,
  ) {
    this.schemas = paramSchemas(world.era);
  }

  /** Takes one line. */
  take(line: string): void {
    const { world } = this;
    const frame = readFrame(line);
    switch (frame.kind) {
      case "refused":
        world.out.error(frame.id, { code: frame.code, message: frame.message });
        return;
      case "notification":
        world.warn(`notification ignored: ${frame.method}`);
        return;
      case "response":
        world.interactions.answer(
          frame.id,
          frame.error ? { kind: "error", ...frame.error } : { kind: "result", result: frame.result },
        );
        return;
    }
    const { id, method, params } = frame;
    if (AHEAD.has(method) || method.startsWith("mcp/ui")) void this.handle(id, method, params);
    else this.queue = this.queue.then(() => this.handle(id, method, params));
  }

  private async handle(id: FrameId, method: string, params: unknown): Promise<void> {
    const { world, plan } = this;
    try {
      if (plan.silent.has(method)) return;
      const delay = plan.slow.get(method);
      if (delay) await sleep(world.clock, delay * 1000);
      if (plan.refuse.has(method))
        throw new RpcError(plan.refuse.get(method)!, `Refused by a flag: ${method}`);
      const schema = plan.missing.has(method) ? undefined : this.schemas.get(method);
      const handler = HANDLERS[method];
      if (!schema || !handler) throw new RpcError(-32601, `Method not found: ${method}`);
      const reply = await handler(world, checkParams(schema, params) as Obj);
      world.out.result(id, reply.result);
      reply.after?.();
    } catch (error) {
      if (error instanceof RpcError) return world.out.error(id, error);
      const { name, message, stack } = error as Error;
      world.out.error(id, new RpcError(INTERNAL, message, { name, message, stack: String(stack) }));
    }
  }
}
