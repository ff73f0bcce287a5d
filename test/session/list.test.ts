/** `session/list`: thousands of sessions in pages, whatever changes meanwhile. */

import { expect, test } from "bun:test";
import type { PlayedServer } from "../support/bridge.ts";
import type { Json, PlainClient } from "../support/plainClient.ts";
import { startPlayed } from "../support/played.ts";
import { Random } from "../support/random.ts";

interface Stored {
  sessionId: string;
  updatedAt: number;
  archivedAt?: number;
}

const HOUR = 3_600_000;
const BASE = 1_700_000_000_000;

function stored(count: number): Stored[] {
  const random = new Random(7);
  // Many of one moment, in no order.
  return Array.from({ length: count }, (_, i) => ({
    sessionId: `s${i}`,
    updatedAt: BASE + random.int(0, 400) * HOUR,
  }));
}

/** Answers every list that the bridge asks for, from whatever is stored then. */
function serving(server: PlayedServer, sessions: () => readonly Stored[]): { asked: Json[]; stop(): void } {
  const asked: Json[] = [];
  let on = true;
  void (async () => {
    while (on) {
      const frame = await server
        .take((each) => each.method === "session/list", 60_000)
        .catch(() => undefined);
      if (!frame) return;
      asked.push(frame.params as Json);
      const rows = sessions().map((row) => ({
        ...row,
        workspace: { workspacePath: "/one" },
        title: row.sessionId,
        createdAt: BASE,
      }));
      server.push({ id: frame.id, result: { sessions: rows } });
    }
  })();
  return { asked, stop: () => (on = false) };
}

async function page(
  client: PlainClient,
  cursor?: string,
): Promise<{ ids: string[]; next: string | undefined }> {
  const { sessions, nextCursor } = await client.request("session/list", {
    cwd: "/one",
    ...(cursor === undefined ? {} : { cursor }),
  });
  return {
    ids: (sessions as Json[]).map((each) => each.sessionId as string),
    next: nextCursor as string | undefined,
  };
}

async function walk(client: PlainClient, between: (page: number) => void = () => {}): Promise<string[]> {
  const all: string[] = [];
  let next: string | undefined;
  for (let count = 0; ; count++) {
    const { ids, next: cursor } = await page(client, next);
    expect(ids.length).toBeLessThanOrEqual(200);
    all.push(...ids);
    next = cursor;
    if (next === undefined) return all;
    between(count);
  }
}

const newestFirst = (sessions: readonly Stored[]) =>
  [...sessions]
    .filter(({ archivedAt }) => archivedAt === undefined)
    .sort((a, b) => b.updatedAt - a.updatedAt || (a.sessionId < b.sessionId ? -1 : 1))
    .map(({ sessionId }) => sessionId);

test("R22 A2 five thousand sessions come in pages, newest first, each once, while others are made, used and archived", async () => {
  const { test, client, server } = await startPlayed();
  const sessions = stored(5_000);
  const expected = newestFirst(sessions);
  const { asked, stop } = serving(server, () => sessions);
  expect(await walk(client)).toEqual(expected);
  expect(asked).toHaveLength(1);
  expect(asked[0]!.limit).toBeGreaterThanOrEqual(5_000);
  expect(asked[0]!.workspace).toEqual({ workspacePath: "/one", workspaceKey: "/one" });
  const seen = await walk(client, (count) => {
    sessions.push({ sessionId: `new${count}`, updatedAt: BASE + 1_000 * HOUR });
    sessions[count * 100]!.updatedAt = BASE + 2_000 * HOUR;
    sessions[count * 50 + 1]!.archivedAt = BASE;
  });
  expect(seen).toEqual(expected);
  stop();
  await test.bridge.close();
});

test("R22 R45 a cursor of a bridge that has ended goes on behind the last entry; a wrong one is refused", async () => {
  const sessions = stored(450);
  const expected = newestFirst(sessions);
  const first = await startPlayed();
  const before = serving(first.server, () => sessions);
  const { ids, next } = await page(first.client);
  before.stop();
  await first.test.bridge.close();
  const { test, client, server } = await startPlayed();
  const { stop } = serving(server, () => sessions);
  // The last entry itself is gone, and one is new.
  const gone = sessions.findIndex(({ sessionId }) => sessionId === ids.at(-1));
  sessions.splice(gone, 1);
  sessions.push({ sessionId: "new", updatedAt: BASE + 5_000 * HOUR });
  const rest: string[] = [];
  for (let cursor = next; cursor !== undefined; ) {
    const more = await page(client, cursor);
    rest.push(...more.ids);
    cursor = more.next;
  }
  expect([...ids, ...rest]).toEqual(expected);
  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  for (const wrong of [
    "",
    "x",
    "💥",
    encoded({}),
    encoded([1, 2]),
    encoded(["w", -1, 1, "s"]),
    "A".repeat(100_000),
  ])
    await expect(page(client, wrong)).rejects.toMatchObject({ code: -32602 });
  expect((await page(client, encoded(["w", 1e9, -1e300, "s"]))).ids).toEqual([]);
  stop();
  await test.bridge.close();
});

test("R32 what is deleted is in no list and no later page of one, and is listed again once it is used", async () => {
  const { test, client, server } = await startPlayed();
  const sessions = stored(450);
  const order = newestFirst(sessions);
  const { stop } = serving(server, () => sessions);
  const { ids, next } = await page(client);
  const [first, later] = [order[3]!, order[300]!];
  for (const sessionId of [first, later])
    expect(await client.request("session/delete", { sessionId })).toEqual({});
  const { ids: second } = await page(client, next);
  expect([...ids, ...second]).toEqual(order.slice(0, 400).filter((id) => id !== later));
  expect((await walk(client)).length).toBe(448);
  const load = client.request("session/load", { sessionId: first, cwd: "/one", mcpServers: [] });
  const resume = await server.take((frame) => frame.method === "session/resume");
  server.push({ id: resume.id, result: { session: { sessionId: first }, runtime: {}, messages: [] } });
  const subscribe = await server.take((frame) => frame.method === "session/subscribe");
  server.push({ id: subscribe.id, result: {} });
  await load;
  expect(await walk(client)).toEqual(order.filter((id) => id !== later));
  expect(await client.request("session/delete", { sessionId: "nobody knows it" })).toEqual({});
  await expect(client.request("session/delete", { sessionId: "" })).rejects.toThrow();
  stop();
  await test.bridge.close();
});

test("P4 A10 what is archived, has no id or no absolute folder is not listed, and a row without a folder is where it was asked for", async () => {
  const { test, client, server } = await startPlayed();
  const rows = [
    { sessionId: "there", workspace: { workspacePath: "/one" }, updatedAt: 3 },
    { sessionId: "bare", updatedAt: 2 },
    { sessionId: "archived", workspace: { workspacePath: "/one" }, updatedAt: 4, archivedAt: 5 },
    { sessionId: "relative", workspace: { workspacePath: "one" }, updatedAt: 6 },
    { workspace: { workspacePath: "/one" }, updatedAt: 7 },
  ];
  const listed = client.request("session/list", { cwd: "/one" });
  const frame = await server.take(({ method }) => method === "session/list");
  server.push({ id: frame.id, result: { sessions: rows } });
  const { sessions } = (await listed) as { sessions: Json[] };
  expect(sessions.map(({ sessionId, cwd }) => [sessionId, cwd])).toEqual([
    ["there", "/one"],
    ["bare", "/one"],
  ]);
  await test.bridge.close();
});
