/**
 * `bun scripts/chaos.ts [--seed N] [--steps M] [--seconds S] [--shown N]`: the driver of `test/chaos` for as long as is wanted.
 * With a seed it plays that world alone; without one it prints each seed, and goes on to the next until the time is
 * over. A failure shows its last steps; `--shown` of them, where that is said.
 */
import { parseArgs } from "node:util";
import { type ChaosReport, chaos, told } from "../test/chaos/driver.ts";
import { removeTempDirs } from "../test/support/temp.ts";

const STEPS = 400;

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    steps: { type: "string" },
    seconds: { type: "string" },
    shown: { type: "string" },
  },
});

function positive(name: string, value: string | undefined, otherwise: number): number {
  const number = value === undefined ? otherwise : Number(value);
  if (number >= 0) return number;
  console.error(`--${name} wants a number, not ${value}`);
  process.exit(2);
}

async function play(seed: number, steps: number, ms: number): Promise<boolean> {
  try {
    const report: ChaosReport = await chaos({ seed, steps, ms, shown });
    console.log(told(report));
    return true;
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    return false;
  } finally {
    removeTempDirs();
  }
}

const shown = values.shown === undefined ? undefined : positive("shown", values.shown, 0);
const steps = positive("steps", values.steps, STEPS);
const end =
  performance.now() + positive("seconds", values.seconds, values.seed === undefined ? 60 : 1e6) * 1000;
let fine = true;
if (values.seed !== undefined)
  fine = await play(positive("seed", values.seed, 0), steps, end - performance.now());
else
  while (fine && performance.now() < end) {
    const seed = Math.floor(Math.random() * 1e9);
    console.log(`chaos: seed ${seed}`);
    fine = await play(seed, steps, end - performance.now());
  }
process.exit(fine ? 0 : 1);
