/** Starts the command as the binary does, for tests that need a process of its own. */
import { runMain } from "citty";
import sim from "../../src/cli/sim.ts";

await runMain(sim, { rawArgs: process.argv.slice(2) });
