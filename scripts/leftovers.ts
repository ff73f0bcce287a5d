/** What a run has left on the machine: processes that know its folder, and files below it. */
import { readdirSync, readFileSync, readlinkSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { processTable } from "../src/platform/processTable.ts";

export interface Leftovers {
  readonly processes: readonly { readonly pid: number; readonly words: string }[];
  /** Relative to the folder. */
  readonly files: readonly string[];
}

/** The living processes whose environment or working directory names `dir`, without this one. */
export async function processesOf(dir: string): Promise<number[]> {
  const rows = await processTable(dir);
  return rows
    .filter((row) => row.pid !== process.pid && !row.zombie && (row.marked || worksIn(row.pid, dir)))
    .map((row) => row.pid);
}

function worksIn(pid: number, dir: string): boolean {
  try {
    // Also one whose folder is gone: the system says so behind its name.
    return readlinkSync(`/proc/${pid}/cwd`).startsWith(dir);
  } catch {
    return false;
  }
}

/** What lies in `dir` and in its folders that are `expected`, without those themselves. */
export function filesOf(dir: string, expected: readonly string[]): string[] {
  return readdirSync(dir).flatMap((name) => {
    if (!expected.includes(name)) return [name];
    const path = join(dir, name);
    return statSync(path).isDirectory() ? readdirSync(path).map((inner) => join(name, inner)) : [];
  });
}

/** The command line of a process, as far as this system tells it. */
function wordsOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
  } catch {
    return "";
  }
}

/** Looks until nothing is left, for `ms` at most; what then is left is removed and told. */
export async function clearUp(dir: string, expected: readonly string[], ms: number): Promise<Leftovers> {
  const deadline = performance.now() + ms;
  for (;;) {
    const pids = await processesOf(dir);
    if (pids.length > 0 && performance.now() < deadline) {
      await Bun.sleep(100);
      continue;
    }
    const files = filesOf(dir, expected);
    const processes = pids.map((pid) => ({ pid, words: wordsOf(pid) }));
    for (const pid of pids) end(pid);
    rmSync(dir, { recursive: true, force: true });
    return { processes, files };
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It went by itself.
  }
}
