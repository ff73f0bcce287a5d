/** `zcode-acp doctor`: what is there, what is wrong, and what mends it. */
import { defineCommand } from "citty";
import type { CheckResult, Report } from "./checks.ts";
import { examine } from "./checks.ts";
import { print } from "./print.ts";
import { lookAround } from "./surroundings.ts";

/** consola's level that shows everything but its debugging. */
const LEVEL_INFO = 3;

export default defineCommand({
  meta: {
    name: "zcode-acp doctor",
    description: "Look for what keeps ZCode from working here. Exits with 1 when something does.",
  },
  args: {
    json: { type: "boolean", description: "The same as JSON, in a shape that stays" },
    of: {
      type: "string",
      description: "Let a running bridge write its black box, and print it",
      valueHint: "PID",
    },
  },
  async run({ args }) {
    if (args.of !== undefined) {
      const { printBlackBox } = await import("./blackbox.ts");
      process.exit(await printBlackBox(args.of, lookAround(process.env, process.platform)));
    }
    const report = await examine(lookAround(process.env, process.platform));
    if (args.json) await print(`${JSON.stringify(report, null, 2)}\n`);
    else await printReport(report);
    process.exit(report.ok ? 0 : 1);
  },
});

async function printReport(report: Report): Promise<void> {
  const { createConsola } = await import("consola");
  const console = createConsola({
    level: LEVEL_INFO,
    // The report is this command's result, its problems included.
    stderr: process.stdout,
  });
  const write: Record<CheckResult["status"], (line: string) => void> = {
    ok: (line) => console.success(line),
    note: (line) => console.info(line),
    problem: (line) => console.error(line),
  };
  for (const check of report.checks) {
    write[check.status](check.mend ? `${check.detail}\n  ${check.mend}` : check.detail);
  }
}
