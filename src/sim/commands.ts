/**
 * Commands that really run. They stay in the simulator's process group, as the app-server's do, so that whoever
 * ends the group ends them; a stop of the turn ends the command with everything it has started.
 */
import { readdirSync, readFileSync } from "node:fs";
import type { Clock, Timer } from "../platform/clock.ts";
import { PROGRESS_MS, TAIL_CHARS } from "./limits.ts";

export interface CommandEnd {
  exitCode: number;
  output: string;
  stdout: string;
  stderr: string;
  outputBytes: number;
  firstOutputMs: number | undefined;
  runMs: number;
}

/** What is told of a running command. Tails are cumulative, cut at their beginning. */
export interface CommandProgress {
  elapsedMs: number;
  pid: number;
  stdoutBytes: number;
  stderrBytes: number;
  outputBytes: number;
  stdoutTail: string;
  stderrTail: string;
}

/** A running command; the tests put their own in its place. */
export interface RunningCommand {
  pid: number;
  done: Promise<CommandEnd>;
  kill(): void;
}

export class Commands {
  private readonly running = new Set<RunningCommand>();

  /** @param clock real time: how long a process takes does not scale. */
  constructor(
    private readonly clock: Clock,
    private readonly env: Record<string, string | undefined>,
  ) {}

  run(command: string, cwd: string, onProgress: (progress: CommandProgress) => void): RunningCommand {
    const begun = this.clock.mono();
    const child = Bun.spawn(["/bin/sh", "-c", command], {
      cwd,
      env: this.env,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const stdout = new Tail();
    const stderr = new Tail();
    let firstOutputMs: number | undefined;
    let timer: Timer | undefined;
    const elapsed = () => Math.round(this.clock.mono() - begun);
    const tell = () => {
      timer = undefined;
      onProgress({
        elapsedMs: elapsed(),
        pid: child.pid,
        stdoutBytes: stdout.bytes,
        stderrBytes: stderr.bytes,
        outputBytes: stdout.bytes + stderr.bytes,
        stdoutTail: stdout.text,
        stderrTail: stderr.text,
      });
    };
    const read = async (stream: ReadableStream<Uint8Array>, tail: Tail) => {
      for await (const chunk of stream) {
        firstOutputMs ??= elapsed();
        tail.push(chunk);
        timer ??= this.clock.after(PROGRESS_MS, tell);
      }
      tail.end();
    };
    const reads = Promise.all([read(child.stdout, stdout), read(child.stderr, stderr)]);
    const finish = async (): Promise<CommandEnd> => {
      const code = await child.exited;
      // A child that lives on may hold the pipe; what it writes later is nobody's.
      await Promise.race([reads, new Promise((resolve) => this.clock.after(200, () => resolve(undefined)))]);
      timer?.cancel();
      this.running.delete(entry);
      const output = [stdout.all, stderr.all].filter(Boolean).join(stdout.all.endsWith("\n") ? "" : "\n");
      return {
        exitCode: child.signalCode ? 128 + signalNumber(String(child.signalCode)) : code,
        output: output.replace(/\n+$/, ""),
        stdout: stdout.text,
        stderr: stderr.text,
        outputBytes: stdout.bytes + stderr.bytes,
        firstOutputMs,
        runMs: elapsed(),
      };
    };
    const entry: RunningCommand = { pid: child.pid, kill: () => killTree(child.pid), done: finish() };
    this.running.add(entry);
    return entry;
  }

  /**
   * A child that nobody ends: it stands for a server that a command has left behind.
   * @param own it leads a session of its own (setsid), out of reach of the group.
   */
  leave(command: string, cwd: string, own: boolean): number {
    const child = Bun.spawn(["/bin/sh", "-c", command], {
      cwd,
      env: this.env,
      stdin: "ignore",
      stdout: "ignore",
      stderr: "ignore",
      detached: own,
    });
    child.unref();
    return child.pid;
  }

  killAll(): void {
    for (const command of this.running) command.kill();
  }
}

function signalNumber(name: string): number {
  return { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 }[name] ?? 0;
}

/** Output that is kept whole up to a bound, and its end. */
class Tail {
  bytes = 0;
  all = "";
  private readonly decoder = new TextDecoder();

  get text(): string {
    return this.all.slice(-TAIL_CHARS);
  }

  push(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    this.add(this.decoder.decode(chunk, { stream: true }));
  }

  end(): void {
    this.add(this.decoder.decode());
  }

  private add(text: string): void {
    this.all += text;
    if (this.all.length > MOST_CHARS) this.all = this.all.slice(-MOST_CHARS);
  }
}

const MOST_CHARS = 8 * 1024 * 1024;

/** Ends a process, then its descendants as they were before. */
function killTree(pid: number): void {
  const children = childrenOf();
  const kill = (each: number) => {
    try {
      process.kill(each, "SIGKILL");
    } catch {
      // It is gone already.
    }
    for (const child of children.get(each) ?? []) kill(child);
  };
  kill(pid);
}

/** pid → children, from /proc where there is one, else from ps. */
function childrenOf(): Map<number, number[]> {
  const children = new Map<number, number[]>();
  const add = (pid: number, parent: number) => {
    const list = children.get(parent);
    if (list) list.push(pid);
    else children.set(parent, [pid]);
  };
  if (process.platform === "linux") {
    for (const name of readdirSync("/proc")) {
      if (!/^\d+$/.test(name)) continue;
      try {
        const stat = readFileSync(`/proc/${name}/stat`, "utf8");
        add(Number(name), Number(stat.slice(stat.lastIndexOf(")") + 4).split(" ")[0]));
      } catch {
        // It ended while the list was read.
      }
    }
    return children;
  }
  const list = Bun.spawnSync(["ps", "-A", "-o", "pid=,ppid="]).stdout.toString();
  for (const line of list.split("\n")) {
    const [pid, parent] = line.trim().split(/\s+/).map(Number);
    if (pid && parent) add(pid, parent);
  }
  return children;
}
