/** The app's index in every state in which it may be found. */

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/platform/clock.ts";
import { type IndexRow, TasksIndex } from "../../src/store/tasksIndex.ts";
import { tempDir } from "../support/temp.ts";

const SCHEMA = `CREATE TABLE tasks (
  workspace_key TEXT NOT NULL, workspace_path TEXT NOT NULL, workspace_identity TEXT, task_id TEXT NOT NULL,
  title TEXT NOT NULL DEFAULT '', task_status TEXT, provider TEXT, mode TEXT NOT NULL DEFAULT 'build', model TEXT,
  migration_source TEXT, forked_from_task_id TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  unread_at INTEGER, last_unread_at INTEGER NOT NULL DEFAULT 0, pinned INTEGER NOT NULL DEFAULT 0,
  archived INTEGER NOT NULL DEFAULT 0, deleted INTEGER NOT NULL DEFAULT 0, title_overridden INTEGER NOT NULL DEFAULT 0,
  meta_json TEXT NOT NULL DEFAULT '{}', searchable_text TEXT NOT NULL DEFAULT '', cron_automation_id TEXT,
  off_peak_task_id TEXT, PRIMARY KEY (workspace_key, task_id))`;
/** What an older app had. */
const OLDER = `CREATE TABLE tasks (workspace_key TEXT NOT NULL, workspace_path TEXT NOT NULL, task_id TEXT NOT NULL,
  title TEXT NOT NULL DEFAULT '', mode TEXT NOT NULL DEFAULT 'build', created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL, meta_json TEXT NOT NULL DEFAULT '{}', PRIMARY KEY (workspace_key, task_id))`;

const row: IndexRow = {
  taskId: "s1",
  traceId: "t",
  workspacePath: "/w",
  title: "",
  mode: "build",
  model: "p/m",
  createdAt: 5,
};

function setup(schema?: string) {
  const home = tempDir("index");
  mkdirSync(join(home, "v2"));
  const said: string[] = [];
  const log = {
    write: (_: string, message: string) => said.push(message),
    once: (_: string, __: string, message: string) => said.push(message),
  };
  const index = new TasksIndex(home, log, systemClock());
  if (schema) {
    const database = new Database(index.path, { create: true });
    database.run("PRAGMA journal_mode = WAL");
    database.run(schema);
    database.close();
  }
  const rows = () => {
    const database = new Database(index.path, { readonly: true });
    const found = database.query("SELECT * FROM tasks ORDER BY task_id").all() as Record<string, unknown>[];
    database.close();
    return found.map(
      (entry) =>
        ({ ...entry, meta: JSON.parse(String(entry.meta_json)) as Record<string, unknown> }) as Record<
          string,
          unknown
        > & { meta: Record<string, unknown> },
    );
  };
  const sql = (text: string) => {
    const database = new Database(index.path);
    database.run(text);
    database.close();
  };
  return { home, index, said, rows, sql };
}

test("B13 a row is added once, then title and search text of it are kept, in both places of the title", async () => {
  const { index, rows, said } = setup(SCHEMA);
  await index.add(row);
  await index.add({ ...row, title: "again" });
  await index.autoTitle("s1", "First words");
  await index.searchable("s1", "first words of the person");
  await index.searchable("s1", "and more");
  expect(rows()).toHaveLength(1);
  expect(rows()[0]).toMatchObject({
    workspace_key: "/w",
    title: "First words",
    provider: "glm",
    model: "p/m",
    title_overridden: 0,
    searchable_text: "first words of the person\nand more",
    meta: {
      taskId: "s1",
      traceId: "t",
      title: "First words",
      titleOverridden: false,
      workspacePath: "/w",
      provider: "glm",
      target: null,
    },
  });
  expect(said).toEqual([]);
});

test("B13 P34 automatic writes touch neither a row that the app wrote nor one that a person renamed", async () => {
  const { index, rows, sql } = setup(SCHEMA);
  sql(
    `INSERT INTO tasks (workspace_key, workspace_path, task_id, title, created_at, updated_at, meta_json, searchable_text) VALUES ('/w', '/w', 'app', 'Theirs', 1, 1, '{"title":"Theirs","x":1}', 'words')`,
  );
  await index.add({ ...row, taskId: "app", title: "Ours" });
  await index.autoTitle("app", "Ours");
  await index.searchable("app", "ours");
  expect(rows()[0]).toMatchObject({
    title: "Theirs",
    searchable_text: "words",
    updated_at: 1,
    meta: { title: "Theirs", x: 1 },
  });
  await index.add(row);
  await index.rename("s1", "Chosen");
  await index.autoTitle("s1", "Generated");
  expect(rows()[1]).toMatchObject({ title: "Chosen", title_overridden: 1, meta: { title: "Chosen" } });
  expect(await index.chosenTitle("s1")).toBe("Chosen");
  expect(await index.chosenTitle("app")).toBeUndefined();
});

test("B13 P33 a rename goes onto any row, and changes nothing else in it", async () => {
  const { index, rows, sql } = setup(SCHEMA);
  sql(
    `INSERT INTO tasks (workspace_key, workspace_path, task_id, title, created_at, updated_at, pinned, meta_json, searchable_text) VALUES ('/w', '/w', 'app', 'Theirs', 1, 2, 1, '{"title":"Theirs","x":1}', 'words')`,
  );
  const [before] = rows();
  await index.rename("app", "Chosen");
  const [after] = rows();
  expect(after).toEqual({
    ...before!,
    title: "Chosen",
    title_overridden: 1,
    meta_json: after!.meta_json,
    meta: { title: "Chosen", x: 1 },
  });
});

test("B13 an older index without some columns is used as far as it goes", async () => {
  const { index, rows, said } = setup(OLDER);
  await index.add(row);
  await index.autoTitle("s1", "Title");
  await index.searchable("s1", "words");
  await index.rename("s1", "Chosen");
  expect(rows()[0]).toMatchObject({ title: "Chosen", meta: { title: "Chosen" } });
  expect(await index.chosenTitle("s1")).toBeUndefined();
  expect(said).toEqual([]);
});

test("B13 a missing index is never created, and nothing is said of it", async () => {
  const { index, said } = setup();
  await index.add(row);
  await index.rename("s1", "x");
  expect(existsSync(index.path)).toBe(false);
  expect(said).toEqual([]);
});

test("B13 one that is locked for a moment is waited for without blocking the loop; one locked for long is left alone, said once", async () => {
  const { index, rows, said, sql } = setup(SCHEMA);
  const holder = new Database(index.path);
  holder.run("BEGIN IMMEDIATE");
  let ticks = 0;
  const timer = setInterval(() => ticks++, 5);
  const added = index.add(row);
  setTimeout(() => holder.run("COMMIT"), 150);
  await added;
  expect(ticks).toBeGreaterThan(5);
  expect(rows()).toHaveLength(1);
  holder.run("BEGIN IMMEDIATE");
  await index.autoTitle("s1", "never");
  await index.autoTitle("s1", "never");
  clearInterval(timer);
  holder.run("COMMIT");
  holder.close();
  expect(said.length).toBeGreaterThanOrEqual(1);
  expect(said.join()).toContain("SQLITE_BUSY");
  sql("SELECT 1");
}, 20_000);

test("B13 however much is asked of one that is locked, all of it is given up at once, and a question is answered", async () => {
  const { index, rows } = setup(SCHEMA);
  const holder = new Database(index.path);
  holder.run("BEGIN IMMEDIATE");
  for (let n = 0; n < 20; n++) {
    void index.add({ ...row, taskId: `s${n}` });
    void index.rename(`s${n}`, "never");
  }
  const since = performance.now();
  expect(await index.wasUsed("s1")).toBe(false);
  expect(performance.now() - since).toBeLessThan(6_000);
  holder.run("COMMIT");
  holder.close();
  await index.add(row);
  expect(rows()).toHaveLength(1);
}, 90_000);

test("B13 a corrupt file, an empty one, another table and a read-only folder break nothing", async () => {
  for (const bytes of ["this is not a database", ""]) {
    const { index, home } = setup();
    writeFileSync(join(home, "v2", "tasks-index.sqlite"), bytes.padEnd(bytes === "" ? 0 : 4096, "x"));
    await index.add(row);
    await index.rename("s1", "x");
    expect(await index.chosenTitle("s1")).toBeUndefined();
  }
  const other = setup("CREATE TABLE other (a)");
  await other.index.add(row);
  const readonly = setup(SCHEMA);
  chmodSync(readonly.index.path, 0o400);
  chmodSync(join(readonly.home, "v2"), 0o500);
  await readonly.index.add(row);
  chmodSync(join(readonly.home, "v2"), 0o700);
});

test("B13 P33 a row of an earlier bridge is kept up as before, one that the app has written anew in its place is not", async () => {
  const { home, index: earlier, rows, sql } = setup(SCHEMA);
  await earlier.add(row);
  await earlier.add({ ...row, taskId: "s2" });
  // What the app writes names more than we do.
  sql("UPDATE tasks SET meta_json = json_set(meta_json, '$.unreadCount', 1) WHERE task_id = 's2'");
  const index = new TasksIndex(home, { write: () => {}, once: () => {} }, systemClock());
  for (const taskId of ["s1", "s2"]) {
    await index.adopt(taskId);
    await index.autoTitle(taskId, "Made");
    await index.searchable(taskId, "words");
  }
  const seen = rows().map(({ title, meta, searchable_text }) => [title, meta.title, searchable_text]);
  expect(seen).toEqual([
    ["Made", "Made", "words"],
    ["", "", ""],
  ]);
});
