/** What goes wrong. A row more is a fault more: its name, how often it comes, and what it is. */
import { alive, until } from "../support/processes.ts";
import type { Row } from "./actions.ts";
import type { Prompt } from "./conversation.ts";
import { type Conditions, tryKill, watchdogsOf } from "./ground.ts";
import { ChaosError, type World } from "./world.ts";

/** Nothing that is stopped stays so for longer, in ms: the rules give up a silence at some hundreds of these. */
const SLEEP_MS = 300;
/** A watchdog is started again so often at most; then a bridge goes on without. */
const WATCHDOGS = 4;
/** How long a process that is to end may take, in ms. */
const END_MS = 5_000;

/**
 * Ends the backend by `how`, and goes on before or after it has gone.
 * @param otherwise tells that it will not go: whoever was to end it could not.
 */
async function endBackend(
  world: World,
  how: () => boolean,
  wait = world.random.chance(0.5),
  otherwise: () => boolean = () => false,
): Promise<string | undefined> {
  const { current } = world.relays;
  if (!current) return undefined;
  // Longer than any of them may take to go: the end itself sets the time anew.
  world.dies(END_MS);
  if (!how()) return undefined;
  if (!wait) return `process ${current.relay}, at once`;
  let gone = false;
  void current.gone.then(() => {
    gone = true;
  });
  await until("the backend is gone", END_MS, () => gone || otherwise());
  return gone ? `process ${current.relay}` : `process ${current.relay} stays`;
}

/** One harm to a frame that comes next. */
function harm(world: World, harm: Parameters<World["relays"]["tell"]>[0]): string | undefined {
  return world.relays.tell(harm) ? "" : undefined;
}

/** Ends the bridge in one way or the other and starts the next one under these conditions. */
async function restart(world: World, conditions: Conditions): Promise<string> {
  const how = world.random.pick(["SIGKILL", "stdin", "SIGTERM"] as const);
  if (how === "SIGKILL") await world.kill();
  else await world.end(how);
  await world.start(conditions);
  return how === "stdin" ? "after the end of its stdin" : `after ${how}`;
}

/** Stops processes, and lets them go on after a while. */
async function sleepOf(world: World, pids: readonly (number | undefined)[]): Promise<string> {
  const ms = world.random.int(50, SLEEP_MS);
  const stopped = pids.filter((pid) => pid !== undefined);
  for (const pid of stopped) tryKill(pid, "SIGSTOP");
  await Bun.sleep(ms);
  for (const pid of stopped) tryKill(pid, "SIGCONT");
  return `${ms} ms`;
}

export const FAULTS: readonly Row[] = [
  {
    name: "kill bridge",
    weight: 2,
    async run(world) {
      await world.kill();
      await world.start({});
      return "and start the next";
    },
  },
  { name: "restart", weight: 1, run: (world) => restart(world, {}) },
  {
    name: "restart: files may not grow",
    weight: 1,
    run: (world) => restart(world, { fileBlocks: world.random.pick([0, 1, 8]) }),
  },
  { name: "restart: no HOME", weight: 1, run: (world) => restart(world, { nowhere: true }) },
  { name: "restart: no folder for logs", weight: 1, run: (world) => restart(world, { noState: true }) },
  {
    name: "kill relay",
    weight: 2,
    run: (world) => endBackend(world, () => kill(world.relays.current?.relay)),
  },
  { name: "kill sim", weight: 2, run: (world) => endBackend(world, () => kill(world.relays.current?.sim)) },
  {
    name: "exit",
    weight: 1,
    run(world) {
      const code = world.random.pick([0, 1, 70]);
      return endBackend(world, () => world.relays.tell({ do: "exit", code }));
    },
  },
  {
    name: "output ends",
    weight: 1,
    run: (world) => endBackend(world, () => world.relays.tell({ do: "mute" })),
  },
  {
    name: "cut frame",
    weight: 2,
    run: (world) => endBackend(world, () => world.relays.tell({ do: "cut", ms: 300 })),
  },
  {
    name: "kill watchdog",
    weight: 2,
    async run(world) {
      if (world.bridge.watchdogKills >= WATCHDOGS) return undefined;
      const pids = watchdogsOf(world.bridge.agent.child.pid);
      // While a backend is being started it has been armed already, and is not again.
      if (pids.length === 0 || !world.relays.current) return undefined;
      world.bridge.watchdogKills++;
      for (const pid of pids) tryKill(pid, "SIGKILL");
      await until("the watchdog is gone", END_MS, () => !pids.some(alive));
      // It is missed when the next backend is started, so that there must be another one then.
      await endBackend(world, () => kill(world.relays.current?.relay), true);
      const conversation = world.someConversation();
      if (!conversation) return "";
      await world.settled(world.prompt(conversation, (tag) => `text ${tag()}`, "now").sent);
      if (world.relays.current && watchdogsOf(world.bridge.agent.child.pid).length === 0)
        throw new ChaosError("a backend runs, and no watchdog beside it");
      return String(pids);
    },
  },
  { name: "half frame", weight: 5, run: (world) => harm(world, { do: "half" }) },
  { name: "doubled frame", weight: 5, run: (world) => harm(world, { do: "double" }) },
  { name: "reordered reply", weight: 5, run: (world) => harm(world, { do: "swap", ms: 60 }) },
  {
    name: "stall",
    weight: 3,
    run: (world) => harm(world, { do: "stall", ms: world.random.int(50, SLEEP_MS) }),
  },
  { name: "sleep of the bridge", weight: 2, run: (world) => sleepOf(world, [world.bridge.agent.child.pid]) },
  {
    name: "sleep of the backend",
    weight: 2,
    run: (world) => sleepOf(world, [world.relays.current?.relay, world.relays.current?.sim]),
  },
  {
    name: "sleep of all",
    weight: 2,
    run: (world) =>
      sleepOf(world, [world.bridge.agent.child.pid, world.relays.current?.relay, world.relays.current?.sim]),
  },
  {
    name: "locked database",
    weight: 3,
    run(world) {
      const ms = world.random.int(100, 3_000);
      if (!world.ground.lockIndex()) return undefined;
      world.after(ms, () => world.ground.unlockIndex());
      return `${ms} ms`;
    },
  },
  {
    name: "folder becomes a file",
    weight: 1,
    async run(world) {
      await world.loseFolder();
      return "until the next bridge";
    },
  },
  {
    name: "crash",
    weight: 2,
    run(world) {
      const conversation = world.someConversation();
      if (!conversation) return undefined;
      let prompt: Prompt | undefined;
      const crash = () => {
        prompt = world.prompt(conversation, (tag) => `text ${tag()}; crash`, "now");
        prompt.sent.touched = true;
        return true;
      };
      // The model may have been told to fail, so that the turn ends before it.
      return endBackend(world, crash, undefined, () => prompt?.outcome === "error");
    },
  },
];

function kill(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  tryKill(pid, "SIGKILL");
  return true;
}
