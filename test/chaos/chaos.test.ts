/**
 * Some worlds of the driver, about a minute in all. `npm run chaos` plays others for as long as is wanted; `README.md`
 * says how a failure is played again.
 */
import { expect, test } from "bun:test";
import { type ChaosReport, chaos, told } from "./driver.ts";

/** Steps of each world: enough for 200 conversations, and for every kind of fault in one world or the other. */
const STEPS = 300;
const WORLDS = [1, 3, 7, 10, 11, 13];
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
