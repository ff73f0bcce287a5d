/** The pages of `session/list` by themselves: whose a cursor is, and for how long its list stands still. */

import { expect, test } from "bun:test";
import type { Backend } from "../../src/backend/backend.ts";
import { MAX_WALKS, PAGE, WALK_AGE_MS } from "../../src/session/limits.ts";
import { SessionList } from "../../src/session/list.ts";
import type { Remembered } from "../../src/store/remembered.ts";
import { ManualClock } from "../sim/manualClock.ts";
import type { Json } from "../support/plainClient.ts";

const COUNT = PAGE + 3;

/** The backend has so many sessions in each folder, and counts how often it is asked. */
function ground() {
  const clock = new ManualClock();
  const asked: (string | undefined)[] = [];
  let newest = COUNT;
  let ids = 0;
  const rows = (cwd: string) =>
    Array.from({ length: newest }, (_, n) => ({
      sessionId: `${cwd} ${n}`,
      updatedAt: 1_000 + n,
      workspace: { workspacePath: cwd },
    }));
  const call = async (_method: string, params: Json) => {
    const cwd = (params.workspace as Json | undefined)?.workspacePath as string | undefined;
    asked.push(cwd);
    return { sessions: cwd === undefined ? [...rows("/one"), ...rows("/two")] : rows(cwd) };
  };
  const list = new SessionList({
    backend: { call } as unknown as Backend,
    remembered: { hidden: () => new Set<string>() } as unknown as Remembered,
    clock,
    newId: () => `walk${++ids}`,
  });
  return { list, clock, asked, add: () => newest++ };
}

test("R22 a cursor of one folder shows nothing of it where another folder is asked for", async () => {
  const { list, asked } = ground();
  const { nextCursor } = await list.page("/one", undefined);
  for (const { sessionId } of (await list.page("/two", nextCursor)).sessions)
    expect(sessionId).toStartWith("/two ");
  expect((await list.page("/one", nextCursor)).sessions).toHaveLength(COUNT - PAGE);
  expect(asked).toEqual(["/one", "/two"]);
});

test("R22 a list stands still for as long as its pages are read, and is read anew behind the same entry later", async () => {
  const { list, clock, asked, add } = ground();
  const { nextCursor } = await list.page("/one", undefined);
  const rest = ["/one 2", "/one 1", "/one 0"];
  const ids = async () => (await list.page("/one", nextCursor)).sessions.map(({ sessionId }) => sessionId);
  add();
  await clock.advance(WALK_AGE_MS - 1);
  expect(await ids()).toEqual(rest);
  expect(asked).toHaveLength(1);
  await clock.advance(1);
  expect(await ids()).toEqual(rest);
  expect(asked).toHaveLength(2);
});

test("R22 of many lists that are read at once the oldest is forgotten, and goes on in its place", async () => {
  const { list, asked } = ground();
  const cursors: (string | undefined)[] = [];
  for (let n = 0; n <= MAX_WALKS; n++) cursors.push((await list.page("/one", undefined)).nextCursor);
  const before = asked.length;
  for (const cursor of cursors.slice(1))
    expect((await list.page("/one", cursor)).sessions).toHaveLength(COUNT - PAGE);
  expect(asked).toHaveLength(before);
  expect((await list.page("/one", cursors[0])).sessions).toHaveLength(COUNT - PAGE);
  expect(asked).toHaveLength(before + 1);
});
