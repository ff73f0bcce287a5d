/**
 * Some worlds of the driver, about a minute in all. `npm run chaos` plays others for as long as is wanted; `README.md`
 * says how a failure is played again.
 */
import { expect, test } from "bun:test";
import { ACTIONS } from "./actions.ts";
import { type ChaosReport, chaos, told } from "./driver.ts";
import { FAULTS } from "./faults.ts";
import { POLICIES } from "./people.ts";

/** Steps of each world: 100 to 200 conversations. In these worlds together every kind comes half a dozen times. */
const STEPS = 300;
const WORLDS = [806, 821, 822, 826, 827, 831];
const LIMIT_MS = 120_000;

const reports: ChaosReport[] = [];

for (const seed of WORLDS)
  test(
    `A5 A9 B1 B5 B10 B11 M1 M2 M4 M5 M9 M10 M11 R2 world ${seed}: whatever a client does and whatever goes wrong, each request is answered once and nothing is mixed, doubled, lost or left behind`,
    async () => {
      const report = await chaos({ seed, steps: STEPS });
      console.log(told(report));
      reports.push(report);
      expect(report.steps).toBe(STEPS);
    },
    LIMIT_MS,
  );

test("each action, each fault and each kind of answer came in these worlds", () => {
  // With a filter, or behind a failure, there is nothing to be said.
  if (reports.length < WORLDS.length) return;
  const names = [
    ...[...ACTIONS, ...FAULTS].map((row) => row.name),
    ...POLICIES.map((name) => `answer ${name}`),
  ];
  expect(names.filter((name) => !reports.some((report) => report.counts[name]))).toEqual([]);
});
