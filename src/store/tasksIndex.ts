/**
 * `tasks-index.sqlite`, the desktop app's own list of conversations. It may be missing, locked, older, read-only or
 * corrupt; none of that may break a turn or stall the loop, so every access is one short transaction that is tried again
 * a few times and then given up. It is never created here.
 *
 * Rows that this bridge adds get their title and search text kept; a row that the app wrote is touched by a person's
 * rename alone, and then in its title only.
 */

import type { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Clock, sleep } from "../platform/clock.ts";
import { isObj, type Obj, obj, str, text } from "../platform/json.ts";
import type { Log } from "../platform/log.ts";

export interface IndexRow {
  readonly taskId: string;
  readonly traceId: string | undefined;
  readonly workspacePath: string;
  readonly title: string;
  readonly mode: string;
  /** `<provider>/<model>`, where one is known. */
  readonly model: string | undefined;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** Waits between tries of a locked database, in milliseconds of real time; then it is left alone. */
const BUSY_MS: readonly number[] = [20, 50, 100, 200, 400, 800];
/** What was asked for so long ago has waited enough, behind others: it is tried once. */
const ASKED_MS = 2_000;
/** Search text is the person's words; more than this is not looked through by anybody. */
const SEARCH_CHARS = 8_000;

/** What stands in `meta_json` of a row that a bridge adds, and what may. */
const META_NAMES =
  "createdAt,mode,provider,status,target,taskId,title,titleOverridden,updatedAt,workspacePath";
const META_OPTIONAL: ReadonlySet<string> = new Set(["traceId", "model"]);

export class TasksIndex {
  readonly path: string;
  private queue: Promise<void> = Promise.resolve();
  /** Rows that a bridge added, with their search text: automatic writes go to these alone. */
  private readonly own = new Map<string, string>();

  /** @param zcodeHome the directory that holds `v2`. */
  constructor(
    zcodeHome: string,
    private readonly log: Log,
    private readonly clock: Clock,
  ) {
    this.path = join(zcodeHome, "v2", "tasks-index.sqlite");
  }

  /** A conversation has a backend session now: it is listed, unless the app lists it already. */
  add(row: IndexRow): Promise<void> {
    return this.change("add", (database, columns) => {
      const known = database.query("SELECT 1 FROM tasks WHERE task_id = ?").get(row.taskId);
      if (known) return;
      const values = Object.entries(rowValues(row)).filter(([name]) => columns.has(name));
      const names = values.map(([name]) => name).join(", ");
      const marks = values.map(() => "?").join(", ");
      database
        .query(`INSERT OR IGNORE INTO tasks (${names}) VALUES (${marks})`)
        .run(...values.map(([, value]) => value));
      this.own.set(row.taskId, "");
    });
  }

  /**
   * A conversation that an earlier bridge made: its row is one of ours where it still is what a bridge adds, and not
   * what the app has put in its place.
   */
  adopt(taskId: string): Promise<void> {
    return this.change("read", (database) => {
      const row = obj(database.query("SELECT * FROM tasks WHERE task_id = ?").get(taskId));
      const meta = parsed(row.meta_json);
      const names = Object.keys(meta).filter((name) => !META_OPTIONAL.has(name));
      if (meta.taskId === taskId && names.toSorted().join() === META_NAMES)
        this.own.set(taskId, str(row.searchable_text) ?? "");
    });
  }

  /** A title that nobody chose, for a row of ours that nobody renamed. */
  autoTitle(taskId: string, title: string): Promise<void> {
    return this.change(
      "title",
      (database, columns) => this.setTitle(database, columns, taskId, title, false),
      () => this.own.has(taskId),
    );
  }

  /** A title that a person chose: on any row, and nothing else in it. */
  rename(taskId: string, title: string): Promise<void> {
    return this.change("rename", (database, columns) =>
      this.setTitle(database, columns, taskId, title, true),
    );
  }

  /** More words of the person, for rows of ours. */
  searchable(taskId: string, words: string): Promise<void> {
    const wanted = () => (this.own.get(taskId)?.length ?? SEARCH_CHARS) < SEARCH_CHARS;
    const write = (database: Database, columns: ReadonlySet<string>) => {
      if (!columns.has("searchable_text")) return;
      const before = this.own.get(taskId) ?? "";
      const text = `${before}${before === "" ? "" : "\n"}${words}`.slice(0, SEARCH_CHARS);
      this.own.set(taskId, text);
      database
        .query("UPDATE tasks SET searchable_text = ?, updated_at = ? WHERE task_id = ?")
        .run(text, this.clock.now(), taskId);
    };
    return this.change("search", write, wanted);
  }

  /** The title of a conversation that a person renamed, by whichever program; undefined where nobody did. */
  async chosenTitle(taskId: string): Promise<string | undefined> {
    let title: string | undefined;
    await this.change("read", (database, columns) => {
      if (!columns.has("title_overridden")) return;
      const row = obj(
        database.query("SELECT title, title_overridden, meta_json FROM tasks WHERE task_id = ?").get(taskId),
      );
      if (row.title_overridden !== 1) return;
      title = str(parsed(row.meta_json).title) || str(row.title) || undefined;
    });
    return title;
  }

  /** True where the list holds a title or words of a conversation: it was used, by whichever program. */
  async wasUsed(taskId: string): Promise<boolean> {
    let used = false;
    await this.change("read", (database) => {
      const row = obj(database.query("SELECT * FROM tasks WHERE task_id = ?").get(taskId));
      used = [row.title, row.searchable_text, parsed(row.meta_json).title].some(
        (each) => text(each) !== undefined,
      );
    });
    return used;
  }

  /** Resolves when everything asked for so far is done or given up. */
  flushed(): Promise<void> {
    return this.queue;
  }

  private setTitle(
    database: Database,
    columns: ReadonlySet<string>,
    taskId: string,
    title: string,
    chosen: boolean,
  ): void {
    const overridden = columns.has("title_overridden");
    const rows = database
      .query(
        `SELECT workspace_key, meta_json${overridden ? ", title_overridden" : ""} FROM tasks WHERE task_id = ?`,
      )
      .all(taskId)
      .map(obj);
    for (const row of rows) {
      if (!chosen && row.title_overridden === 1) continue;
      // The app shows the title of `meta_json` before that of the column, so it goes into both.
      const meta = JSON.stringify({ ...parsed(row.meta_json), title });
      const sets = ["title = ?", "meta_json = ?", ...(chosen && overridden ? ["title_overridden = 1"] : [])];
      database
        .query(`UPDATE tasks SET ${sets.join(", ")} WHERE task_id = ? AND workspace_key = ?`)
        .run(title, meta, taskId, str(row.workspace_key) ?? "");
    }
  }

  /**
   * One change after the other; a locked database is tried again without blocking anything.
   * @param wanted asked when its turn has come: where it says no, the file is not touched.
   */
  private change(
    what: string,
    run: (database: Database, columns: ReadonlySet<string>) => void,
    wanted: () => boolean = () => true,
  ): Promise<void> {
    const until = this.clock.mono() + ASKED_MS;
    const done = this.queue.then(() => (wanted() ? this.attempt(what, run, until) : undefined));
    this.queue = done;
    return done;
  }

  private async attempt(
    what: string,
    run: (database: Database, columns: ReadonlySet<string>) => void,
    until: number,
  ): Promise<void> {
    for (const wait of [...BUSY_MS, undefined]) {
      if (!existsSync(this.path)) return;
      try {
        await this.once(run);
        return;
      } catch (error) {
        const code = str(obj(error).code) ?? "unknown reason";
        const locked = /^SQLITE_(BUSY|LOCKED)/.test(code);
        if (!locked || wait === undefined || this.clock.mono() >= until) {
          this.log.once(
            `index:${what}:${code}`,
            "warn",
            `the app's index could not be used (${what}): ${code}`,
          );
          return;
        }
        await sleep(this.clock, wait);
      }
    }
  }

  private async once(run: (database: Database, columns: ReadonlySet<string>) => void): Promise<void> {
    const { Database } = await import("bun:sqlite");
    // No busy timeout: it would block the loop for its whole length.
    const database = new Database(this.path, { readwrite: true, create: false });
    try {
      const columns = new Set(
        database
          .query("PRAGMA table_info(tasks)")
          .all()
          .flatMap((column) => str(obj(column).name) ?? []),
      );
      if (!columns.has("task_id") || !columns.has("workspace_key") || !columns.has("title")) return;
      database.transaction(() => run(database, columns)).immediate();
    } finally {
      database.close();
    }
  }
}

function parsed(value: unknown): Obj {
  try {
    const found: unknown = JSON.parse(str(value) ?? "{}");
    return isObj(found) ? found : {};
  } catch {
    return {};
  }
}

function rowValues(row: IndexRow): Record<string, string | number | null> {
  const { taskId, traceId, workspacePath, title, mode, model, createdAt } = row;
  const meta = {
    taskId,
    traceId,
    title,
    titleOverridden: false,
    workspacePath,
    createdAt,
    updatedAt: createdAt,
    mode,
    model,
    provider: "glm",
    status: "idle",
    target: null,
  };
  return {
    workspace_key: workspacePath,
    workspace_path: workspacePath,
    task_id: taskId,
    title,
    task_status: "idle",
    provider: "glm",
    mode,
    model: model ?? null,
    created_at: createdAt,
    updated_at: createdAt,
    last_unread_at: 0,
    meta_json: JSON.stringify(meta),
    searchable_text: "",
  };
}
