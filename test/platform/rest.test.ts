/** Work that waits for quiet. */
import { expect, test } from "bun:test";
import { Rest } from "../../src/platform/rest.ts";
import { ManualClock } from "../sim/manualClock.ts";
import { sessionEvent, settle, startRunning } from "../support/played.ts";

function counted(busy: () => boolean = () => false) {
  const clock = new ManualClock();
  let done = 0;
  const rest = new Rest({ clock, ms: 5_000, busy, work: () => done++ });
  return { clock, rest, done: () => done };
}

test("work is done once after a quiet time, at most twice as long, and again only after more has happened", async () => {
  const { clock, rest, done } = counted();
  await clock.advance(60_000);
  expect(done()).toBe(0);
  rest.stir();
  await clock.advance(4_999);
  rest.stir();
  await clock.advance(4_999);
  expect(done()).toBe(0);
  await clock.advance(5_001);
  expect(done()).toBe(1);
  await clock.advance(600_000);
  expect(done()).toBe(1);
  expect(clock.next).toBeUndefined();
  rest.stir();
  await clock.advance(10_000);
  expect(done()).toBe(2);
});

test("nothing is done while something goes on, nor behind the end", async () => {
  let busy = true;
  const { clock, rest, done } = counted(() => busy);
  rest.stir();
  await clock.advance(600_000);
  expect(done()).toBe(0);
  busy = false;
  await clock.advance(10_000);
  expect(done()).toBe(1);
  rest.stir();
  rest.end();
  rest.stir();
  await clock.advance(600_000);
  expect(done()).toBe(1);
  expect(clock.next).toBeUndefined();
});

test("a bridge is at rest when no client has asked for anything and no turn has run for a while", async () => {
  const clock = new ManualClock();
  let rests = 0;
  const { test, client, server, answer } = await startRunning({}, clock, { atRest: () => rests++ });
  await clock.advance(12_000);
  expect(rests).toBe(0);
  server.push(sessionEvent("s1", 2, "turn.completed", { resultType: "success" }));
  expect(await answer).toMatchObject({ stopReason: "end_turn" });
  await clock.advance(4_000);
  expect(rests).toBe(0);
  await clock.advance(6_000);
  expect(rests).toBe(1);
  await clock.advance(60_000);
  expect(rests).toBe(1);
  await client.newSession("/two");
  await settle();
  await clock.advance(10_000);
  expect(rests).toBe(2);
  await test.bridge.close();
});
