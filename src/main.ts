/** From the command line to one command; only that command's code is loaded. */
import { lineArguments, stdioArguments } from "./cli/fast.ts";

const argv = process.argv.slice(2);
const stdio = stdioArguments(argv);
const line = stdio ? undefined : lineArguments(argv);
if (stdio) {
  const { run } = await import("./cli/stdio.ts");
  await run(stdio);
} else if (line) {
  const { runLine } = await import("./cli/quotaLine.ts");
  await runLine(argv, line.provider);
} else {
  const { main } = await import("./cli/main.ts");
  await main(argv);
}
