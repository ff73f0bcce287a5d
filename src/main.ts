/** From the command line to one command; only that command's code is loaded. */
import { stdioArguments } from "./cli/fast.ts";

const argv = process.argv.slice(2);
const stdio = stdioArguments(argv);
if (stdio) {
  const { run } = await import("./cli/stdio.ts");
  await run(stdio);
} else {
  const { main } = await import("./cli/main.ts");
  await main(argv);
}
