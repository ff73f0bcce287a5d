/**
 * Starting a backend as the leader of its own group, and ending it with everything it started.
 * The watchdog (`processGuard.ts`) does the same when this process itself is killed.
 */
import { type Clock, sleep } from "./clock.ts";
import {
  KILL_CLEAN_PASSES,
  KILL_DEADLINE_MS,
  KILL_PAUSE_MS,
  TERM_GRACE_MS,
  TOOL_DEADLINE_MS,
} from "./limits.ts";
import { type Guard, TREE_VARIABLE } from "./processGuard.ts";
import { bornOf, membersOf, type ProcessRow, processTable, rowKey } from "./processTable.ts";

export { createGuard, type Guard, TREE_VARIABLE } from "./processGuard.ts";

/** How a process ended: by itself with `code`, or by `signal`. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

export interface SpawnOptions {
  /** Program and arguments; the program is looked up on `env.PATH` unless it is a path. */
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The whole environment; the marker is added to it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Called once, when the leader has ended. Whatever it left behind is killed at the same time. */
  readonly onExit?: (exit: Exit) => void;
}

export interface Child {
  readonly pid: number;
  readonly stdin: Bun.FileSink;
  readonly stdout: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly stderr: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** Resolves when the leader has ended; never rejects. */
  readonly exited: Promise<Exit>;
  /** How the leader ended, once it has. */
  readonly exit: Exit | undefined;
  /** What `killTree` needs to recognise the tree. */
  readonly tree: ProcessTree;
}

interface ProcessTree {
  readonly clock: Clock;
  readonly marker: string;
  readonly born: string | undefined;
  killing: Promise<boolean> | undefined;
}

/**
 * Starts `argv` as the leader of a new session and group, known to the watchdog before it exists.
 * @throws the system's error when the program cannot be started (`code` is `ENOENT`, `EACCES`, …).
 */
export function spawnGroup(options: SpawnOptions, guard: Guard): Child {
  const marker = guard.marker();
  guard.arm();
  const outer = options.env[TREE_VARIABLE];
  const process_ = Bun.spawn([...options.argv], {
    cwd: options.cwd,
    env: { ...options.env, [TREE_VARIABLE]: outer ? `${outer},${marker}` : marker },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
    detached: process.platform !== "win32",
    windowsHide: true,
  });
  const born = bornOf(process_.pid);
  guard.add(process_.pid, born);
  const child = new GroupChild(process_, { clock: guard.clock, marker, born, killing: undefined });
  void child.exited.then(async (exit) => {
    options.onExit?.(exit);
    // A tree that could not be emptied stays registered, so that the watchdog has another try.
    if (await killTree(child)) guard.remove(child.pid);
  });
  return child;
}

class GroupChild implements Child {
  readonly pid: number;
  readonly stdin: Bun.FileSink;
  readonly stdout: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly stderr: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly exited: Promise<Exit>;
  exit: Exit | undefined;

  constructor(
    process_: Bun.Subprocess<"pipe", "pipe", "pipe">,
    readonly tree: ProcessTree,
  ) {
    this.pid = process_.pid;
    this.stdin = process_.stdin;
    this.stdout = process_.stdout;
    this.stderr = process_.stderr;
    this.exited = process_.exited
      .catch(() => {})
      .then(() => {
        const { exitCode, signalCode } = process_;
        const exit: Exit = { code: exitCode, signal: signalCode === null ? null : String(signalCode) };
        this.exit = exit;
        return exit;
      });
  }
}

/**
 * Ends a child and everything that it started: end of its stdin and SIGTERM to all of them, `graceMs` for
 * the leader to end by itself, then SIGKILL, until none is left. A second call joins the first.
 * @returns whether nothing was left within `graceMs` and the deadline for killing; never rejects.
 */
export function killTree(child: Child, graceMs: number = TERM_GRACE_MS): Promise<boolean> {
  const { tree } = child;
  tree.killing ??= (
    process.platform === "win32" ? killWindows(child, graceMs) : killUnix(child, graceMs)
  ).catch(() => false);
  return tree.killing;
}

async function killUnix(child: Child, graceMs: number): Promise<boolean> {
  const { clock } = child.tree;
  const known = new Set<string>();
  if (!child.exit) {
    endStdin(child);
    signalAll(child, await look(child, known), "SIGTERM");
    await exitWithin(child, graceMs);
  }
  const deadline = clock.mono() + KILL_DEADLINE_MS;
  for (let clean = 0; ; ) {
    const members = await look(child, known);
    clean = members.length === 0 && child.exit ? clean + 1 : 0;
    if (clean >= KILL_CLEAN_PASSES) return true;
    if (clock.mono() >= deadline) return false;
    signalAll(child, members, "SIGKILL");
    await sleep(clock, KILL_PAUSE_MS);
  }
}

/** The tree's living members now; all of them are remembered in `known`. */
async function look(child: Child, known: Set<string>): Promise<ProcessRow[]> {
  const { marker, born } = child.tree;
  const rows = await processTable(marker, born);
  const members = membersOf(rows, { pid: child.pid, born, ended: child.exit !== undefined }, known);
  for (const row of members) known.add(rowKey(row));
  return members;
}

function signalAll(child: Child, members: readonly ProcessRow[], signal: "SIGTERM" | "SIGKILL"): void {
  // The group first: it is one call, and reaches members that were born since the look.
  if (members.some((row) => row.pgid === child.pid)) send(-child.pid, signal);
  for (const row of members) {
    if (row.pgid === child.pid) continue;
    const born = bornOf(row.pid);
    if (born === undefined ? process.platform !== "linux" : born === row.born) send(row.pid, signal);
  }
}

function send(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone already, or not ours to kill.
  }
}

async function killWindows(child: Child, graceMs: number): Promise<boolean> {
  // There is no SIGTERM to hand out, and taskkill finds the tree only while its root lives.
  if (child.exit) return true;
  endStdin(child);
  const taskkill = Bun.spawn(["taskkill", "/T", "/F", "/PID", String(child.pid)], {
    stdio: ["ignore", "ignore", "ignore"],
    windowsHide: true,
    timeout: TOOL_DEADLINE_MS,
  });
  await taskkill.exited;
  return exitWithin(child, graceMs);
}

function endStdin(child: Child): void {
  try {
    void Promise.resolve(child.stdin.end()).catch(() => {});
  } catch {
    // Its reader has gone.
  }
}

/** Whether the leader ended within `ms`. */
async function exitWithin(child: Child, ms: number): Promise<boolean> {
  const abort = new AbortController();
  await Promise.race([child.exited, sleep(child.tree.clock, ms, abort.signal)]);
  abort.abort();
  return child.exit !== undefined;
}
