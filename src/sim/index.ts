/** The entry: puts the parts together and runs until stdin ends or the process is told to go. */
import { existsSync } from "node:fs";
import { type Clock, scaledClock } from "../platform/clock.ts";
import { LineSplitter } from "../platform/lines.ts";
import { type ByteSink, LineWriter } from "../platform/writer.ts";
import { Commands } from "./commands.ts";
import { eraOf } from "./era.ts";
import { type FaultOptions, Faults } from "./faults.ts";
import { Ids } from "./ids.ts";
import { Interactions } from "./interactions.ts";
import { DRAIN_MS, IDLE_MS, PACE_MS, RESIDENTS_HIGH, RESIDENTS_LOW, TODO_MS } from "./limits.ts";
import type { BrainMaker } from "./model.ts";
import { type Provider, Registry } from "./models.ts";
import { Out } from "./out.ts";
import { faultPlan } from "./plan.ts";
import { Pool } from "./pool.ts";
import { playScript } from "./script.ts";
import { Server } from "./server.ts";
import { startNotices } from "./start.ts";
import { memoryStore, openStore, type Store, storeDir } from "./store.ts";
import { madeTitle } from "./titles.ts";
import { wordsBrain } from "./words/brain.ts";
import type { World } from "./world.ts";

/** Everything that the flags of `sim` can say; all of it may be left out. */
export interface SimOptions extends FaultOptions {
  /** `0.15`, `0.16.5`, `3.12` or `0.16.9` (default). */
  era?: string;
  seed?: number;
  /** Directory of the sessions; `false` keeps them in memory. */
  store?: string | false;
  /** Only account models. */
  plan?: boolean;
  expectKey?: string;
  /** Milliseconds between two pieces of text. */
  pace?: number;
  /** Seconds without a call after which a session leaves memory, subscribed or not. */
  evictAfter?: number;
  /** Residents above which the oldest leave. */
  residents?: number;
  slowCreate?: number;
  deafStop?: boolean;
  deafV4Stop?: boolean;
  ownTurn?: boolean;
  prefixReads?: number;
  duplicates?: boolean;
  stuckStatus?: boolean;
  /** `METHOD[,METHOD]` and `METHOD:NUMBER[,…]`. */
  silent?: string;
  missing?: string;
  refuse?: string;
  slow?: string;
  /** Junk on stdout before the first frame, and noise on stderr. */
  noise?: boolean;
  /** Ends at once with this code and a line on stderr. */
  failStart?: number;
  /** Does not go when stdin ends, nor on SIGTERM. */
  stubborn?: boolean;
  /** A recorded stream to play instead of the simulator's own rules. */
  script?: string;
}

/** What tests put in place of the simulator's own. */
export interface SimParts {
  think?: BrainMaker;
  makeTitle?: (input: string) => string;
  providers?: Provider[];
  store?: Store;
  pickModel?: boolean;
  todoDelay?: number;
  /** No `startup/storageState` before the first request. */
  quietStart?: boolean;
}

export interface SimIo {
  stdin: ReadableStream<Uint8Array>;
  sink: ByteSink;
  env: Record<string, string | undefined>;
  /** Real time; the scale of the environment is put on it here. */
  clock: Clock;
  /** Ends the process; in tests it notes the code. */
  exit(code: number): void;
  stderr?: (line: string) => void;
  /** Calls back with the exit code that a signal asks for. */
  onSignal?: (run: (code: number) => void) => void;
}

/** Runs one simulated app-server; resolves when it has ended, after `exit` was called. */
export async function runSim(options: SimOptions, io: SimIo, parts: SimParts = {}): Promise<void> {
  const { env } = io;
  const warn = (line: string) => io.stderr?.(line);
  if (options.failStart !== undefined) {
    warn("The simulator was told not to start.");
    io.exit(options.failStart);
    return;
  }
  const era = eraOf(options.era ?? "0.16.9");
  const table = env.ZCODE_BUILTIN_PROVIDER_CONFIG_FILE;
  if (era.modern && table && !existsSync(table)) {
    warn(`无法定位 CLI ZCode Built-in Provider Config: ${table}`);
    io.exit(1);
    return;
  }
  const clock = scaledClock(io.clock, Number(env.ZCODE_ACP_INTERNAL_TIME_SCALE ?? 1));
  let ended: (() => void) | undefined;
  const end = new Promise<void>((resolve) => {
    ended = resolve;
  });
  let code: number | undefined;
  const exit = (value: number) => {
    if (code !== undefined) return;
    code = value;
    commands.killAll();
    pool.close();
    store.close();
    io.exit(value);
    ended?.();
  };
  const commands = new Commands(io.clock, env);
  if (options.script) {
    const player = new LineWriter(io.sink, () => io.exit(0));
    await playScript(options.script, { stdin: io.stdin, writer: player, clock, warn, exit: io.exit });
    return;
  }
  const writer = new LineWriter(io.sink, () => exit(0));
  const faults = new Faults(options, (tail) => {
    void writer.idle().then(async () => {
      if (tail) {
        await io.sink.write(tail);
        await io.sink.flush();
      }
      exit(1);
    });
  });
  const out = new Out(writer, faults);
  const store = parts.store ?? chosenStore(options, io, warn);
  const pool = new Pool(clock, {
    idleMs: options.evictAfter === undefined ? IDLE_MS : options.evictAfter * 1000,
    high: options.residents ?? RESIDENTS_HIGH,
    low: options.residents === undefined ? RESIDENTS_LOW : Math.max(1, options.residents >> 1),
    subscribedToo: era.evictsSubscribed || options.evictAfter !== undefined,
  });
  let hung = false;
  const world: World = {
    era,
    clock,
    ids: new Ids(options.seed ?? 1, store.generation),
    out,
    interactions: new Interactions(era, out, clock),
    registry: new Registry({
      plan: options.plan ?? false,
      personal: era.modern,
      env,
      ...(parts.providers ? { fixed: parts.providers } : {}),
    }),
    store,
    pool,
    commands,
    env,
    settings: {
      pace: options.pace ?? PACE_MS,
      expectKey: options.expectKey,
      deafStop: options.deafStop ?? false,
      deafV4Stop: options.deafV4Stop ?? false,
      slowCreate: options.slowCreate ?? 0,
      ownTurn: options.ownTurn ?? false,
      prefixReads: options.prefixReads ?? 0,
      stuckStatus: options.stuckStatus ?? false,
      duplicates: options.duplicates ?? false,
      pickModel: parts.pickModel ?? true,
      todoDelay: parts.todoDelay ?? TODO_MS,
    },
    think: parts.think ?? wordsBrain,
    makeTitle: parts.makeTitle ?? madeTitle,
    failures: { kind: "", left: 0, by: "" },
    exit,
    hang: () => {
      hung = true;
      out.hush();
    },
    warn,
  };
  if (options.noise) {
    warn("(node:1) ExperimentalWarning: noise of the simulator");
    out.line("noise before the first frame");
  }
  if (!parts.quietStart) startNotices(world);
  const server = new Server(world, faultPlan(options));
  const splitter = new LineSplitter((bytes) => warn(`A line of ${bytes} bytes was dropped.`));
  io.onSignal?.((value) => {
    if (!options.stubborn) exit(value);
  });
  const take = (lines: string[]) => {
    for (const line of lines) if (!hung) server.take(line);
  };
  const reading = (async () => {
    for await (const chunk of io.stdin) {
      if (code !== undefined) return;
      take(splitter.push(chunk));
    }
    take(splitter.end());
    if (options.stubborn || hung) {
      // Something must keep the process there.
      io.clock.every(60_000, () => {});
      return end;
    }
    // What is written may still leave, but a reader that is gone is not waited for.
    const drained = Promise.race([
      writer.idle(),
      new Promise<void>((done) => io.clock.after(DRAIN_MS, done)),
    ]);
    await drained;
    exit(0);
  })();
  await Promise.race([reading, end]);
}

function chosenStore(options: SimOptions, io: SimIo, warn: (line: string) => void): Store {
  // Without a store nothing keeps processes apart but their time, unless a seed asks for the same ids.
  const generation = options.seed === undefined ? io.clock.now() : 1;
  if (options.store === false) return memoryStore(generation);
  return openStore(options.store ?? storeDir(io.env), options.store !== undefined, generation, warn);
}
