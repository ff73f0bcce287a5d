/** `zcode-acp doctor`: what is there, what is wrong, and what mends it. */
import { defineCommand } from "citty";
import type { ConsolaReporter } from "consola";
import type { CheckResult, Report } from "./checks.ts";
import { examine } from "./checks.ts";
import { BACKEND, backendOf, flags } from "./flags.ts";
import { print } from "./print.ts";
import { lookAround } from "./surroundings.ts";

export const FLAGS = flags({
  ...BACKEND,
  json: { type: "boolean", description: "flag.doctor.json" },
  of: { type: "string", description: "flag.doctor.of", valueHint: "PID" },
});

export default defineCommand({
  args: FLAGS,
  async run({ args }) {
    const around = lookAround(process.env, process.platform, backendOf(args));
    if (args.of !== undefined) {
      const { printBlackBox } = await import("./blackbox.ts");
      process.exit(await printBlackBox(args.of, around));
    }
    const report = await examine(around);
    if (args.json) await print(`${JSON.stringify(report, null, 2)}\n`);
    else await printReport(report);
    process.exit(report.ok ? 0 : 1);
  },
});

/** A symbol, the sentence with its code, and the mend below it: the library's own lines have badges, times and gaps. */
const plainLines = (lines: string[], paint: (type: string, symbol: string) => string): ConsolaReporter => {
  const symbols: Readonly<Record<string, string>> = { success: "✔", info: "ℹ", error: "✖" };
  return {
    log({ type, args }) {
      const [detail, mend] = args.map(String);
      lines.push(`${paint(type, symbols[type] ?? " ")} ${detail}`);
      if (mend) lines.push(`  ${mend}`);
    },
  };
};

async function printReport(report: Report): Promise<void> {
  const [{ createConsola }, { colors }] = await Promise.all([import("consola"), import("consola/utils")]);
  const colour: Readonly<Record<string, (text: string) => string>> = process.stdout.isTTY
    ? { success: colors.green, info: colors.cyan, error: colors.red }
    : {};
  const lines: string[] = [];
  const console = createConsola({
    // Every check is shown, whatever the environment asks of the library.
    level: Number.POSITIVE_INFINITY,
    reporters: [plainLines(lines, (type, symbol) => colour[type]?.(symbol) ?? symbol)],
  });
  const write: Record<CheckResult["status"], (...parts: string[]) => void> = {
    ok: (detail, ...mend) => console.success(detail, ...mend),
    note: (detail, ...mend) => console.info(detail, ...mend),
    problem: (detail, ...mend) => console.error(detail, ...mend),
  };
  for (const { status, detail, mend, code } of report.checks) {
    write[status](code ? `${detail} [${code}]` : detail, ...(mend ? [mend] : []));
  }
  await print(`${lines.join("\n")}\n`);
}
