/** What lies under a world: its HOME, the files in it that faults are about, and the processes of its bridges. */
import { Database } from "bun:sqlite";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Agent, BINARY } from "../support/agent.ts";
import { alive, markedPids, pidsByArguments, until } from "../support/processes.ts";
import { tempDir } from "../support/temp.ts";

/** The rules' waits are so many times shorter. With ten times more, what is slow on a busy machine is given up. */
const SCALE = "20";
/** Nothing is left so long after a bridge's end, in ms. */
export const GONE_MS = 5_000;

/** What is wrong around a bridge during its life. */
export interface Conditions {
  /** Files may not grow beyond so many blocks of 512 bytes. */
  readonly fileBlocks?: number;
  /** HOME is a place where nothing can be written. */
  readonly nowhere?: boolean;
  /** A file stands where the folder of logs should be. */
  readonly noState?: boolean;
}

export class Ground {
  readonly dir = tempDir("c");
  readonly home = join(this.dir, "home");
  readonly workspace = join(this.dir, "work");
  readonly bin = join(this.dir, "bin");
  private readonly index = join(this.home, ".zcode", "v2", "tasks-index.sqlite");
  /** The bridge keeps its list of conversations here. */
  private readonly folder = join(this.home, ".zcode", "v2");
  private lock: Database | undefined;

  constructor() {
    for (const dir of [this.folder, this.workspace, this.bin]) mkdirSync(dir, { recursive: true });
    writeFileSync(join(this.workspace, "notes.txt"), "one\ntwo\n");
    makeIndex(this.index);
  }

  /** A bridge that finds `zcode` at that path. */
  launch(conditions: Conditions, zcode: string): Agent {
    const state = join(this.home, ".local", "state", "zcode-acp");
    rmSync(state, { recursive: true, force: true });
    if (conditions.noState) {
      mkdirSync(join(state, ".."), { recursive: true });
      writeFileSync(state, "");
    }
    this.restoreFolder();
    const { fileBlocks } = conditions;
    const limit = fileBlocks === undefined ? "" : `ulimit -S -f ${fileBlocks}; `;
    const child = Bun.spawn(["/bin/sh", "-c", `${limit}exec "$@"`, "sh", BINARY, "stdio"], {
      cwd: this.workspace,
      env: {
        PATH: process.env.PATH ?? "",
        HOME: conditions.nowhere ? "/proc/self/no-such-home" : this.home,
        ZCODE_BIN: zcode,
        ZCODE_ACP_INTERNAL_TIME_SCALE: SCALE,
        // By it all that was started is found, wherever its HOME is.
        CHAOS_WORLD: this.dir,
      },
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
    return new Agent(child, this.home, this.workspace);
  }

  /** The living processes of this world. */
  pids(): Promise<number[]> {
    return markedPids(this.dir);
  }

  /** @returns the processes that are left `GONE_MS` after the end of a bridge; they are ended then. */
  async left(): Promise<number[]> {
    await until("nothing is left", GONE_MS, async () => (await this.pids()).length === 0).catch(() => {});
    return this.endAll();
  }

  /** Ends what there is. */
  async endAll(): Promise<number[]> {
    const pids = await this.pids();
    for (const pid of pids) tryKill(pid, "SIGKILL");
    return pids;
  }

  /** Lets everything go on that was stopped. */
  async awake(): Promise<void> {
    for (const pid of await this.pids()) tryKill(pid, "SIGCONT");
  }

  /** Takes the app's list, as the app does while it writes. */
  lockIndex(): boolean {
    if (this.lock || !existsSync(this.index)) return false;
    const database = new Database(this.index);
    database.run("PRAGMA busy_timeout = 2000");
    try {
      database.run("BEGIN EXCLUSIVE");
    } catch {
      database.close();
      return false;
    }
    this.lock = database;
    return true;
  }

  unlockIndex(): void {
    this.lock?.run("COMMIT");
    this.lock?.close();
    this.lock = undefined;
  }

  get folderIsLost(): boolean {
    return existsSync(`${this.folder}.away`);
  }

  /** Puts a file where the folder is; until the next bridge. */
  loseFolder(): void {
    this.unlockIndex();
    renameSync(this.folder, `${this.folder}.away`);
    for (;;) {
      try {
        writeFileSync(this.folder, "", { flag: "wx" });
        return;
      } catch {
        // A bridge that was about to write has made it anew.
        rmSync(this.folder, { recursive: true, force: true });
      }
    }
  }

  private restoreFolder(): void {
    if (!this.folderIsLost) return;
    rmSync(this.folder, { recursive: true, force: true });
    renameSync(`${this.folder}.away`, this.folder);
  }
}

/** The watchdogs of a bridge; more than one process for a moment, while it detaches. */
export function watchdogsOf(bridge: number): number[] {
  return pidsByArguments("zcode-acp-watchdog", String(bridge)).filter(alive);
}

export function tryKill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has gone by itself.
  }
}

/** The app's own list, as the app makes it. */
function makeIndex(path: string): void {
  const database = new Database(path, { create: true });
  database.run("PRAGMA journal_mode = WAL");
  database.run(`CREATE TABLE tasks (
    workspace_key TEXT NOT NULL, workspace_path TEXT NOT NULL, workspace_identity TEXT, task_id TEXT NOT NULL,
    title TEXT NOT NULL DEFAULT '', task_status TEXT, provider TEXT, mode TEXT NOT NULL DEFAULT 'build', model TEXT,
    migration_source TEXT, forked_from_task_id TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    unread_at INTEGER, last_unread_at INTEGER NOT NULL DEFAULT 0, pinned INTEGER NOT NULL DEFAULT 0,
    archived INTEGER NOT NULL DEFAULT 0, deleted INTEGER NOT NULL DEFAULT 0,
    title_overridden INTEGER NOT NULL DEFAULT 0, meta_json TEXT NOT NULL DEFAULT '{}',
    searchable_text TEXT NOT NULL DEFAULT '', cron_automation_id TEXT, off_peak_task_id TEXT,
    PRIMARY KEY (workspace_key, task_id))`);
  database.close();
}
