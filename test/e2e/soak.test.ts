/** A twentieth of `npm run soak`: the answers; what memory does shows in the whole of it alone. */
import { expect, test } from "bun:test";
import { soak, someSeed, TURNS, told } from "../../scripts/soak.ts";

test("A9 M10 many turns of every kind in several conversations: each request is answered once", async () => {
  const turns = TURNS / 20;
  const report = await soak(turns, someSeed(), false);
  console.log(told(report));
  expect(report.faults).toEqual([]);
  expect(Object.values(report.kinds).reduce((sum, times) => sum + times)).toBeGreaterThanOrEqual(turns);
  expect(report.requests).toBeGreaterThan(turns);
}, 120_000);
