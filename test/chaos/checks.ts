/** What must hold after every step, and what is looked at when all has come to rest. */
import { readFileSync } from "node:fs";
import { until } from "../support/processes.ts";
import { ANSWER_MS, ChaosError, type World } from "./world.ts";

/** What a bridge may hold more than at its first rest, in MiB. */
const GROWTH_MIB = 60;
/** How long it rests before its memory is looked at, in ms. */
const REST_MS = 100;
/** A question that nobody waits for is taken back within this, in ms. */
const WITHDRAWN_MS = 3_000;

/** What the driver has seen to be wrong so far. */
export function judge(world: World): void {
  const { agent, peer } = world.bridge;
  const [first] = world.wrong;
  if (first) throw new ChaosError(first.what, first.session);
  const [wrong] = peer.wrong;
  if (wrong !== undefined) throw new ChaosError(wrong);
  const [stray] = agent.strays;
  if (stray !== undefined) throw new ChaosError(`a line that is no message: ${stray.slice(0, 200)}`);
}

/** Cheap enough for every step: what was seen, whether the bridge is there, and what has waited for too long. */
export function afterStep(world: World): void {
  judge(world);
  const { agent, peer } = world.bridge;
  if (agent.child.exitCode !== null || agent.child.signalCode !== null)
    throw new ChaosError(
      `the bridge has ended (${agent.child.signalCode ?? agent.child.exitCode}): ${agent.stderr.slice(-400)}`,
    );
  const late = performance.now() - ANSWER_MS;
  for (const sent of peer.open.values()) {
    const conversation = world.conversationOf(sent);
    if (conversation?.running.some((prompt) => prompt.sent.waitsForPerson)) continue;
    if (sent.since < late)
      throw new ChaosError(
        `no answer to ${sent.method} (request ${sent.id}) for ${ANSWER_MS} ms`,
        sent.session,
      );
  }
}

/** All that is asked is answered, every conversation that was used is what its history says, and memory is bound. */
export async function atRest(world: World): Promise<void> {
  const { peer } = world;
  for (const { prompt } of world.stuck.splice(0))
    if (prompt.outcome === undefined) world.cancel(prompt.conversation);
  await allSettled(world);
  // Of a question of a turn that has ended nothing can come.
  await until("questions that nobody waits for are taken back", WITHDRAWN_MS, () =>
    peer.asked.every((asked) => asked.answered || asked.withdrawn),
  );
  peer.asked.length = 0;
  for (const conversation of world.usable) {
    if (!conversation.used) continue;
    const sent = world.load(conversation);
    await world.settled(sent);
    conversation.used = sent.touched;
    afterStep(world);
  }
  await lookAtMemory(world);
}

export async function allSettled(world: World): Promise<void> {
  while (world.peer.open.size > 0) {
    for (const sent of [...world.peer.open.values()]) await world.settled(sent);
  }
}

/**
 * Single looks at a garbage-collected process swing by 20 MiB, and a conversation that is open takes some tens of KiB:
 * the bound tells a leak, in which every frame is kept, from that.
 */
async function lookAtMemory(world: World): Promise<void> {
  await Bun.sleep(REST_MS);
  const mib = pssOf(world.bridge.agent.child.pid);
  if (mib === undefined) return;
  world.bridge.firstLook ??= mib;
  world.note(`at rest: ${mib.toFixed(0)} MiB, ${world.conversations.length} conversations`);
  if (mib > world.bridge.firstLook + GROWTH_MIB)
    throw new ChaosError(`PSS grew from ${world.bridge.firstLook.toFixed(0)} to ${mib.toFixed(0)} MiB`);
}

/** Proportional set size of `pid` in MiB; undefined where the system does not tell. */
export function pssOf(pid: number): number | undefined {
  try {
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
    return Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1]) / 1024;
  } catch {
    return undefined;
  }
}
