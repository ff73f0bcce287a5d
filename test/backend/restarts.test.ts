/** How soon a backend that died is started again. */

import { expect, test } from "bun:test";
import { ManualClock } from "../sim/manualClock.ts";
import { settle, startPlayed } from "../support/played.ts";

test("B10 a backend that keeps dying is started after 0, 1, 2, 5, 15 and 30 seconds, and at once again after five quiet minutes", async () => {
  const clock = new ManualClock();
  const { test, client } = await startPlayed(clock);
  const { servers } = test;
  /** @returns whether the next process is there, once somebody has wanted it. */
  const isStarted = async (index: number) => {
    await settle();
    return servers.length > index;
  };
  const dieAndWant = async () => {
    await settle();
    servers.at(-1)!.die(1);
    await settle();
    await client.newSession("/next");
  };
  const serve = async () => {
    const probe = await servers.at(-1)!.take((frame) => frame.method === "runtime/capabilities");
    servers.at(-1)!.push({ id: probe.id, result: {} });
  };
  for (const [deaths, ms] of [0, 1_000, 2_000, 5_000, 15_000, 30_000, 30_000].entries()) {
    await dieAndWant();
    if (ms > 0) {
      await clock.advance(ms - 1);
      expect([ms, await isStarted(deaths + 1)]).toEqual([ms, false]);
      await clock.advance(1);
    }
    expect([ms, await isStarted(deaths + 1)]).toEqual([ms, true]);
    await serve();
  }
  // Short of five minutes it is the same row of deaths; beyond them a new one begins.
  await clock.advance(4 * 60_000);
  await dieAndWant();
  expect(await isStarted(8)).toBe(false);
  await clock.advance(30_000);
  expect(await isStarted(8)).toBe(true);
  await serve();
  await clock.advance(5 * 60_000);
  await dieAndWant();
  expect(await isStarted(9)).toBe(true);
  await test.bridge.close();
});
