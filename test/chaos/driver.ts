/**
 * One seeded driver over the built binary: steps of actions and faults, checked after each one. Which steps are taken
 * follows from the seed alone; how they fall into each other is chance, so a failure may need its seed more than once.
 */
import { ACTIONS, type Row } from "./actions.ts";
import { afterStep, allSettled, atRest, judge } from "./checks.ts";
import { FAULTS } from "./faults.ts";
import { ChaosError, World } from "./world.ts";

export interface ChaosReport {
  readonly seed: number;
  readonly steps: number;
  readonly conversations: number;
  readonly prompts: number;
  readonly seconds: number;
  /** How often each action, fault and kind of answer came. */
  readonly counts: Readonly<Record<string, number>>;
}

/** How many steps in a hundred are faults. */
const FAULTS_IN_100 = 20;
/** All comes to rest so often. */
const REST_EVERY = 60;
/** More open requests than this are not piled up. */
const MOST_OPEN = 10;
const SHOWN_STEPS = 30;
const SHOWN_FRAMES = 30;

const ACTION_BAG = bag(ACTIONS);
const FAULT_BAG = bag(FAULTS);

function bag(rows: readonly Row[]): readonly Row[] {
  return rows.flatMap((row) => Array.from({ length: row.weight }, () => row));
}

export interface ChaosOptions {
  readonly seed: number;
  /** Ends after so many steps. */
  readonly steps: number;
  /** Ends before the step that would begin later than this, in ms from its beginning. */
  readonly ms?: number;
  /** How many of the last steps a failure tells. */
  readonly shown?: number | undefined;
}

/**
 * Plays one world.
 * @throws an error whose message replays it, and tells how it came.
 */
export async function chaos({
  seed,
  steps,
  ms = Number.POSITIVE_INFINITY,
  shown = SHOWN_STEPS,
}: ChaosOptions): Promise<ChaosReport> {
  const began = performance.now();
  const world = await World.make(seed);
  try {
    while (world.step < steps && performance.now() - began < ms) {
      world.next();
      await step(world);
      afterStep(world);
      if (world.step % REST_EVERY === 0) await atRest(world);
    }
    await atRest(world);
    await allSettled(world);
    await world.end();
    judge(world);
  } catch (error) {
    throw new Error(story(world, steps, shown, error), { cause: error });
  } finally {
    await world.destroy();
  }
  return {
    seed,
    steps: world.step,
    conversations: world.conversations.length,
    prompts: world.prompts.size,
    seconds: (performance.now() - began) / 1000,
    counts: {
      ...world.counts,
      ...Object.fromEntries(
        Object.entries(world.relays.did).map(([name, times]) => [`done: ${name}`, times]),
      ),
    },
  };
}

async function step(world: World): Promise<void> {
  for (let i = 0; i < world.stuck.length; i++) {
    const { prompt, until } = world.stuck[i]!;
    if (until > world.step) continue;
    world.stuck.splice(i--, 1);
    if (prompt.outcome === undefined) world.cancel(prompt.conversation);
  }
  while (world.peer.open.size > MOST_OPEN) {
    const free = [...world.peer.open.values()].find((sent) => {
      const conversation = world.conversationOf(sent);
      return !conversation || !world.isStuck(conversation);
    });
    if (!free) break;
    await world.settled(free);
  }
  const { random } = world;
  const row = random.pick(random.int(1, 100) <= FAULTS_IN_100 ? FAULT_BAG : ACTION_BAG);
  const pause = random.pick([0, 0, 0, 0, 5, 20]);
  // Before it is done as well: what it waits for may be what never comes.
  world.note(row.name);
  const told = await row.run(world);
  if (told === undefined) {
    world.log[world.log.length - 1] += " – nothing to do it to";
    return;
  }
  world.log[world.log.length - 1] += ` ${told}`;
  world.count(row.name);
  await Bun.sleep(pause);
}

/** The command that plays a seed again. */
export function replayCommand(seed: number, steps: number): string {
  return `npm run chaos -- --seed ${seed} --steps ${steps}`;
}

function story(world: World, steps: number, shown: number, error: unknown): string {
  const what = error instanceof Error ? error.message : String(error);
  const session = error instanceof ChaosError ? error.session : undefined;
  const conversation = world.conversations.find((each) => each.id === session);
  return [
    `${what}${conversation ? ` (conversation ${conversation.index}, ${conversation.id})` : ""}`,
    `replay: ${replayCommand(world.seed, steps)}`,
    "last steps:",
    ...world.log.slice(-shown).map((line) => `  ${line}`),
    session === undefined ? "last frames:" : "last frames of the conversation:",
    ...world.peer.frames(session, SHOWN_FRAMES).map((line) => `  ${line}`),
  ].join("\n");
}

/** What was done, for a person. */
export function told(report: ChaosReport): string {
  const counts = Object.entries(report.counts)
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([name, times]) => `${times} ${name}`);
  return [
    `seed ${report.seed}: ${report.steps} steps, ${report.conversations} conversations, ${report.prompts} prompts, ${report.seconds.toFixed(1)} s`,
    `  ${counts.join(", ")}`,
  ].join("\n");
}
