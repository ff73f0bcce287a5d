/** A running program under measurement, and how values are put together and shown. */
import { readdirSync, readFileSync } from "node:fs";
import { mono } from "./mono.ts";

export const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: 1, clientCapabilities: {} },
};

/** One running program: lines in, bytes out, all of them seen. */
export class Program {
  readonly child;
  onLine: (line: string, at: number) => void = () => {};
  /** Told of raw blocks instead of lines where it is set: splitting costs time that is not the program's. */
  onBytes: ((bytes: Uint8Array) => void) | undefined;

  constructor(argv: readonly string[], dir: string, env: Record<string, string> = {}) {
    this.child = Bun.spawn([...argv], {
      cwd: dir,
      env: { PATH: process.env.PATH ?? "", HOME: dir, ...env },
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
    });
    void this.read();
  }

  send(message: unknown): void {
    this.child.stdin.write(`${JSON.stringify(message)}\n`);
    this.child.stdin.flush();
  }

  /** Sends a request and resolves with its answer. */
  ask(message: { id?: number }): Promise<{ result?: Record<string, unknown> }> {
    return new Promise((resolve) => {
      this.onLine = (line) => {
        if (!line.includes(`"id":${message.id}`)) return;
        const frame = JSON.parse(line) as { id?: number; method?: string };
        if (frame.id === message.id && frame.method === undefined)
          resolve(frame as { result?: Record<string, unknown> });
      };
      this.send(message);
    });
  }

  async end(): Promise<void> {
    this.child.stdin.end();
    await this.child.exited;
  }

  /** Proportional set size in KiB; Linux. */
  pss(): number {
    const rollup = readFileSync(`/proc/${this.child.pid}/smaps_rollup`, "utf8");
    return Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1]);
  }

  /** Milliseconds of processor time that its living threads have had; Linux. */
  cpu(): number {
    const tasks = `/proc/${this.child.pid}/task`;
    let nanoseconds = 0;
    for (const task of readdirSync(tasks))
      nanoseconds += Number(readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ")[0]);
    return nanoseconds / 1e6;
  }

  private async read(): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of this.child.stdout) {
      if (this.onBytes) {
        this.onBytes(chunk);
        continue;
      }
      const at = mono();
      rest += decoder.decode(chunk, { stream: true });
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.onLine(line, at);
    }
  }
}

export const median = (values: readonly number[]) => quantile(values, 0.5);
export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}

export function report(what: string, ours: number, other: number, unit: string, goal: string): void {
  console.log(
    `${what.padEnd(46)} ${ours.toFixed(2).padStart(10)} ${other.toFixed(2).padStart(10)} ${unit.padEnd(6)} ${(ours / other).toFixed(2).padStart(6)}  ${goal}`,
  );
}
