/** Short hands for the tests of words. */
import type { Obj } from "../../src/sim/types.ts";
import { type Driver, inProcess, tempDir } from "./driver.ts";

/** A session in a directory of its own; both are gone afterwards. */
export async function within(
  run: (sim: Driver, id: string, dir: string) => Promise<void>,
  options: Parameters<typeof inProcess>[0] = {},
  create: Obj = {},
  env: Record<string, string> = {},
): Promise<void> {
  using dir = tempDir();
  const sim = inProcess(options, { env });
  const id = await sim.open(dir.path, create);
  await run(sim, id, dir.path);
  await sim.close();
}

/** Payloads of `tool.updated` of one kind. */
export const tools = (sim: Driver, kind: string) =>
  sim
    .events("tool.updated")
    .map((event) => event.payload as Obj)
    .filter((payload) => payload.kind === kind);
/** The n-th result of a tool. */
export const result = (sim: Driver, at = 0) => tools(sim, "result")[at]?.result as Obj;
export const fast = { ZCODE_ACP_INTERNAL_TIME_SCALE: "50" };
