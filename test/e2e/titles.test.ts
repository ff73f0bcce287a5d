/** Titles over the simulator: what a client is told, and what stands in the app's own list. */

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { launch } from "../support/agent.ts";
import type { Json, PlainClient } from "../support/plainClient.ts";
import { tempDir } from "../support/temp.ts";

function homeWithIndex(): { home: string; open: () => Database } {
  const home = tempDir("home");
  mkdirSync(join(home, ".zcode", "v2"), { recursive: true });
  const open = () => new Database(join(home, ".zcode", "v2", "tasks-index.sqlite"), { create: true });
  const database = open();
  database.run(`CREATE TABLE tasks (
    workspace_key TEXT NOT NULL, workspace_path TEXT NOT NULL, task_id TEXT NOT NULL, title TEXT NOT NULL DEFAULT '',
    task_status TEXT, provider TEXT, mode TEXT NOT NULL DEFAULT 'build', model TEXT, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, last_unread_at INTEGER NOT NULL DEFAULT 0, title_overridden INTEGER NOT NULL DEFAULT 0,
    meta_json TEXT NOT NULL DEFAULT '{}', searchable_text TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (workspace_key, task_id))`);
  database.close();
  return { home, open };
}

const titles = (client: PlainClient, session: string) =>
  client
    .updates(session)
    .filter((update) => update.sessionUpdate === "session_info_update")
    .map((update) => update.title);

test("R8 P33 the first prompt's first line is the title until the model makes one, and both reach the app's list", async () => {
  const { home, open } = homeWithIndex();
  const agent = launch({ home });
  const session = await agent.start();
  await agent.client.prompt(session, "\n  text first words\ntext more");
  await agent.client.update((update) => update.sessionUpdate === "session_info_update");
  expect(titles(agent.client, session)[0]).toBe("text first words");
  await agent.client.update((update) => update.title === "Text first words text more");
  await agent.client.prompt(session, "text another thing");
  await agent.client.prompt(session, "title Made later; text x");
  await agent.client.update((update) => update.title === "Made later");
  expect(titles(agent.client, session)).toEqual([
    "text first words",
    "Text first words text more",
    "Made later",
  ]);
  await agent.close();
  const database = open();
  const rows = database.query("SELECT * FROM tasks").all() as Record<string, unknown>[];
  database.close();
  expect(rows).toHaveLength(1);
  expect(rows[0]).toMatchObject({
    workspace_key: agent.workspace,
    title: "Made later",
    title_overridden: 0,
    mode: "build",
  });
  expect(String(rows[0]!.searchable_text)).toContain("text another thing");
  expect(JSON.parse(String(rows[0]!.meta_json))).toMatchObject({
    title: "Made later",
    titleOverridden: false,
    target: null,
  });
});

test("P34 R8 a title that a person chose in the app holds in the next bridge, whatever the model makes", async () => {
  const { home, open } = homeWithIndex();
  const first = launch({ home });
  const session = await first.start();
  await first.client.prompt(session, "text one");
  await first.close();
  const database = open();
  database.run(
    `UPDATE tasks SET title = 'Mine', title_overridden = 1, meta_json = json_set(meta_json, '$.title', 'Mine')`,
  );
  database.close();
  const next = launch({ home, workspace: first.workspace });
  await next.client.initialize();
  await next.client.request("session/load", {
    sessionId: session,
    cwd: first.workspace,
    mcpServers: [],
  });
  await next.client.update((update) => update.title === "Mine");
  await next.client.prompt(session, "title Not mine; text two");
  expect(titles(next.client, session).at(-1)).toBe("Mine");
  await next.close();
  const after = open();
  expect(after.query("SELECT title, title_overridden FROM tasks").get()).toEqual({
    title: "Mine",
    title_overridden: 1,
  });
  after.close();
});

test("P33 B13 titles and words reach the app's list from the next bridge as well, and leave alone what the app has put in its place", async () => {
  const { home, open } = homeWithIndex();
  const first = launch({ home });
  const session = await first.start();
  const replaced = await first.client.newSession(first.workspace);
  await first.client.prompt(session, "title One; text first words");
  await first.client.prompt(replaced, "title Other; text x");
  await first.close();
  const database = open();
  database.run(
    `UPDATE tasks SET title = 'The app''s', meta_json = '{"title":"The app''s","taskId":"x"}' WHERE title <> 'One'`,
  );
  database.close();
  const next = launch({ home, workspace: first.workspace });
  await next.client.initialize();
  for (const sessionId of [session, replaced]) {
    await next.client.request("session/load", { sessionId, cwd: first.workspace, mcpServers: [] });
    await next.client.prompt(sessionId, "title Two; text later words");
  }
  await next.close();
  const after = open();
  const rows = after.query("SELECT title, searchable_text FROM tasks ORDER BY title").all() as Json[];
  after.close();
  expect(rows.map((row) => row.title)).toEqual(["The app's", "Two"]);
  expect(rows[1]!.searchable_text).toBe("title One; text first words\ntitle Two; text later words");
  expect(rows[0]!.searchable_text).toBe("title Other; text x");
});

test("R8 B13 without the app's list there are titles all the same, and none is made", async () => {
  const agent = launch();
  const session = await agent.start();
  await agent.client.prompt(session, "text hello");
  await agent.client.update((update) => update.title === "text hello");
  await agent.close();
  expect(await Bun.file(join(agent.home, ".zcode", "v2", "tasks-index.sqlite")).exists()).toBe(false);
});
