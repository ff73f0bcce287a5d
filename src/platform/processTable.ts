/**
 * One look at the processes of this machine, and which of them belong to a tree that we started.
 *
 * A descendant may leave its group (setsid) or lose its parent (double fork), so membership is decided by
 * any of: the group, the chain of parents, a marker variable that every descendant inherits, or having been
 * seen as a member before. A pid alone proves nothing, since pids come round again: it counts together with
 * the time of birth.
 */
import { readdirSync, readFileSync } from "node:fs";
import { TOOL_DEADLINE_MS } from "./limits.ts";

export interface ProcessRow {
  readonly pid: number;
  readonly ppid: number;
  readonly pgid: number;
  /** When it was born, in a unit of the platform; comparable for equality only. */
  readonly born: string;
  /** Dead, but not yet collected by its parent. */
  readonly zombie: boolean;
  /** Whether its environment holds the marker that was asked for. */
  readonly marked: boolean;
}

export interface TreeRoot {
  /** The leader's pid, which is also the id of its group. */
  readonly pid: number;
  /** The leader's birth; absent where it could not be read. */
  readonly born?: string | undefined;
  /** Whether the leader has ended, so that a process with its pid is somebody else. */
  readonly ended: boolean;
}

/** Identity of a row across looks. */
export function rowKey(row: Pick<ProcessRow, "pid" | "born">): string {
  return `${row.pid}/${row.born}`;
}

/**
 * The living members of a tree. Pure.
 * @param known keys (`rowKey`) of processes seen in this tree by an earlier look.
 */
export function membersOf(
  rows: readonly ProcessRow[],
  root: TreeRoot,
  known: ReadonlySet<string>,
): ProcessRow[] {
  const taken = rows.some(
    (row) =>
      row.pid === root.pid && (root.ended ? !row.zombie : root.born !== undefined && row.born !== root.born),
  );
  const children = new Map<number, ProcessRow[]>();
  const found: ProcessRow[] = [];
  for (const row of rows) {
    if (row.pid <= 1 || row.pid === process.pid) continue;
    const siblings = children.get(row.ppid);
    if (siblings) siblings.push(row);
    else children.set(row.ppid, [row]);
    if (row.marked || known.has(rowKey(row)) || (!taken && (row.pid === root.pid || row.pgid === root.pid)))
      found.push(row);
  }
  const seen = new Set(found.map((row) => row.pid));
  for (let i = 0; i < found.length; i++) {
    for (const row of children.get(found[i]!.pid) ?? []) {
      if (seen.has(row.pid)) continue;
      seen.add(row.pid);
      found.push(row);
    }
  }
  return found.filter((row) => !row.zombie);
}

/**
 * All processes, with `marked` set where the environment holds `marker`. Processes that vanish meanwhile or
 * may not be read are left out or unmarked.
 * @param since on Linux, environments of processes born before this are not read.
 */
export async function processTable(marker: string, since?: string): Promise<ProcessRow[]> {
  return process.platform === "linux" ? linuxTable(marker, since) : psTable(marker);
}

/** When `pid` was born, where that costs no process; otherwise `undefined`. */
export function bornOf(pid: number): string | undefined {
  if (process.platform !== "linux") return undefined;
  return readStat(pid)?.born;
}

function linuxTable(marker: string, since: string | undefined): ProcessRow[] {
  const rows: ProcessRow[] = [];
  const earliest = since === undefined ? 0 : Number(since);
  for (const name of readdirSync("/proc")) {
    const first = name.charCodeAt(0);
    if (first < 48 || first > 57) continue;
    const stat = readStat(Number(name));
    if (!stat) continue;
    const marked = !stat.zombie && Number(stat.born) >= earliest && environHolds(stat.pid, marker);
    rows.push({ ...stat, marked });
  }
  return rows;
}

function readStat(pid: number): Omit<ProcessRow, "marked"> | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return undefined;
  }
  // The name in parentheses may itself hold spaces and parentheses: what follows the last one is fixed.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const born = fields[19];
  if (born === undefined) return undefined;
  return {
    pid,
    ppid: Number(fields[1]),
    pgid: Number(fields[2]),
    born,
    zombie: fields[0] === "Z" || fields[0] === "X",
  };
}

function environHolds(pid: number, marker: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`).includes(marker);
  } catch {
    return false;
  }
}

const PS_ROW = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\S+)\s+(.*)$/;

async function psTable(marker: string): Promise<ProcessRow[]> {
  const columns = ["pid=", "ppid=", "pgid=", "stat=", "lstart=", "command="].flatMap((name) => ["-o", name]);
  try {
    const ps = Bun.spawn(["ps", "-axEww", ...columns], {
      cwd: "/",
      stdin: "ignore",
      stdout: "pipe",
      stderr: "ignore",
      env: { PATH: "/bin:/usr/bin", LC_ALL: "C" },
      timeout: TOOL_DEADLINE_MS,
      killSignal: "SIGKILL",
    });
    const text = await new Response(ps.stdout).text();
    return parsePs(text, marker, ps.pid);
  } catch {
    return [];
  }
}

/** The rows of `ps -axEww -o pid=,ppid=,pgid=,stat=,lstart=,command=`, without the row of `ps` itself. */
export function parsePs(text: string, marker: string, own: number): ProcessRow[] {
  const rows: ProcessRow[] = [];
  for (const line of text.split("\n")) {
    const match = PS_ROW.exec(line);
    if (!match) continue;
    const pid = Number(match[1]);
    if (pid === own) continue;
    rows.push({
      pid,
      ppid: Number(match[2]),
      pgid: Number(match[3]),
      zombie: match[4]!.startsWith("Z"),
      born: match[5]!.replace(/\s+/g, " "),
      marked: match[6]!.includes(marker),
    });
  }
  return rows;
}
