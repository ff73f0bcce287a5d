/** What tests need to know about real processes (Linux; elsewhere `ps`). */
import { readdirSync, readFileSync } from "node:fs";
import { processTable } from "../../src/platform/processTable.ts";

/** Polls `condition` every few ms; throws with `what` after `ms`. */
export async function until<T>(
  what: string,
  ms: number,
  condition: () => T | Promise<T>,
): Promise<NonNullable<T>> {
  const deadline = performance.now() + ms;
  for (;;) {
    const value = await condition();
    if (value !== undefined && value !== null && value !== false) return value as NonNullable<T>;
    if (performance.now() > deadline) throw new Error(`not within ${ms} ms: ${what}`);
    await Bun.sleep(5);
  }
}

/** Whether `pid` runs (a zombie does not). */
export function alive(pid: number): boolean {
  if (process.platform === "linux") {
    try {
      const text = readFileSync(`/proc/${pid}/stat`, "latin1");
      return !/^[ZX]/.test(text.slice(text.lastIndexOf(")") + 2));
    } catch {
      return false;
    }
  }
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The pids of living processes whose environment holds `marker`. */
export async function markedPids(marker: string): Promise<number[]> {
  return (await processTable(marker)).filter((row) => row.marked && !row.zombie).map((row) => row.pid);
}

/** The pids whose command line holds all of `words`, as whole arguments. */
export function pidsByArguments(...words: string[]): number[] {
  const found: number[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const args = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
      if (words.every((word) => args.includes(word))) found.push(Number(name));
    } catch {
      // Gone meanwhile.
    }
  }
  return found;
}
