/** Starts the command as the binary does, for tests that need a process of its own. */
import { main } from "../../src/cli/main.ts";

await main(["sim", ...process.argv.slice(2)]);
