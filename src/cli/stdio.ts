/**
 * `zcode-acp stdio`: what editors launch. ACP over this process's stdin and stdout; the bridge lives and dies with
 * its client. Nothing but ACP frames reaches stdout.
 */

import { versionReader } from "../backend/version.ts";
import { createBridge } from "../bridge/bridge.ts";
import { CLOSE_DEADLINE_MS, FLUSH_DEADLINE_MS, IDLE_SHRINK_MS, JIT_MS } from "../bridge/limits.ts";
import { groupSpawner } from "../bridge/spawn.ts";
import { lineTransport } from "../bridge/transport.ts";
import { loadConfig } from "../config/index.ts";
import { createBlackBox } from "../platform/blackbox.ts";
import { awakeClock, type Clock, scaledClock, sleep, systemClock, withDeadline } from "../platform/clock.ts";
import { createLog } from "../platform/log.ts";
import { resolvePaths } from "../platform/paths.ts";
import { createGuard } from "../platform/process.ts";
import { createRecorder } from "../platform/recorder.ts";
import { WindowTitle } from "../platform/windowTitle.ts";
import { LineWriter } from "../platform/writer.ts";
import { startFolders } from "./folders.ts";
import { programWords, VERSION } from "./program.ts";

export interface StdioFlags {
  /** `sim` for the built-in simulator; undefined for what the configuration says. */
  readonly backend?: "auto" | "sim" | undefined;
}

/** Exit codes by how the bridge ended. */
const EXIT = { stdinEnd: 0, SIGTERM: 143, SIGINT: 130, SIGHUP: 129 } as const;

/** Runs until the client is gone; does not return before. */
export async function run(flags: StdioFlags): Promise<void> {
  const clock = awakeClock(systemClock());
  const env = process.env;
  const paths = resolvePaths(env, process.platform);
  const log = createLog({ dir: paths.stateDir, clock, env, name: `stdio-${process.pid}` });
  silenceConsole(log);
  const config = loadConfig(env, paths, { backend: flags.backend });
  for (const problem of config.problems)
    log.once(`config:${problem.code}:${problem.sentence}`, "warn", problem.sentence);
  const blackbox = createBlackBox({ dir: paths.stateDir, clock, name: `stdio-${process.pid}` });
  const recorder =
    config.record === undefined
      ? undefined
      : createRecorder({ dir: config.record, name: `stdio-${process.pid}`, clock, log });
  const guard = createGuard(clock);
  const folders = startFolders(paths.home);
  const window = process.platform === "win32" ? undefined : new WindowTitle(clock, env, log);
  const bridge = createBridge({
    config,
    env,
    paths,
    platform: process.platform,
    self: programWords(),
    version: VERSION,
    clock,
    rules: scaledClock(clock, config.timeScale),
    log,
    blackbox,
    recorder,
    // What a turn or a replay took would else be held until the next one needs it.
    atRest: () => Bun.gc(true),
    ...(window ? { windowTitle: (title: string) => window.set(title) } : {}),
    spawn: groupSpawner(guard, folders, log),
    versionOf: versionReader(guard, folders, env),
  });

  const out = new LineWriter(Bun.stdout.writer(), () => stop(EXIT.stdinEnd));
  let stopping = false;
  const stop = (code: number) => {
    if (stopping) return;
    stopping = true;
    void shutdown(bridge, out, clock).then(() => process.exit(code));
  };
  process.on("SIGTERM", () => stop(EXIT.SIGTERM));
  process.on("SIGINT", () => stop(EXIT.SIGINT));
  process.on("SIGHUP", () => stop(EXIT.SIGHUP));
  process.on("SIGUSR1", () => blackbox.write(bridge.live()));
  const fatal = (error: unknown) => {
    log.once(`fatal:${error instanceof Error ? error.message : error}`, "error", errorText(error));
    blackbox.write(bridge.live());
  };
  process.on("uncaughtException", fatal);
  process.on("unhandledRejection", fatal);

  const connection = bridge.connect(lineTransport(Bun.stdin.stream(), out, log));
  // The build keeps code in the interpreter, which starts faster; from here on it is worth compiling.
  clock.after(JIT_MS, () => Bun.unsafe.setJITPolicy(1));
  clock.after(IDLE_SHRINK_MS, () => {
    Bun.gc(true);
    Bun.shrink();
  });
  await connection.closed;
  stop(EXIT.stdinEnd);
  await new Promise(() => {});
}

/** Answers what is open, lets it leave, and takes the backend along; all of it within a second. */
async function shutdown(
  bridge: ReturnType<typeof createBridge>,
  out: LineWriter,
  clock: Clock,
): Promise<void> {
  const closed = bridge.close();
  const flushed = withDeadline(clock, FLUSH_DEADLINE_MS, "the last answers", closedThenIdle(out, clock));
  await Promise.allSettled([withDeadline(clock, CLOSE_DEADLINE_MS, "closing", closed), flushed]);
}

async function closedThenIdle(out: LineWriter, clock: Clock): Promise<void> {
  // Answers of prompts that the close settled are written some microtasks later.
  await sleep(clock, 0);
  await out.idle();
}

/** Anything that a dependency prints goes to the log: one stray line on stdout breaks an editor. */
function silenceConsole(log: { write(level: "warn" | "info", message: string): void }): void {
  for (const name of ["log", "info", "debug", "warn", "error", "trace"] as const) {
    console[name] = (...words: unknown[]) => {
      log.write(name === "warn" || name === "error" ? "warn" : "info", words.map(String).join(" "));
    };
  }
}

function errorText(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
