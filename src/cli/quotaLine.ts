/** `zcode-acp quota --line`: what a status bar shows, in the time that a process takes to start. It loads nothing else. */

import { systemClock } from "../platform/clock.ts";
import { resolvePaths } from "../platform/paths.ts";
import { accountStamp, accountsStamp, readLastGood, wasRefreshed } from "../quota/kept.ts";
import { LINE_AGE_MS } from "../quota/limits.ts";
import { usageLine } from "../quota/line.ts";
import type { Report } from "../quota/reader.ts";
import { rowsOf } from "../quota/rows.ts";
import { PROVIDERS, type ProviderName, providerNamed } from "../quota/types.ts";
import { print } from "./print.ts";

const EXIT = { shown: 0, nothing: 1, above: 3 } as const;

/** The word that makes the command ask and say nothing: what `--line` starts behind itself. */
export const REFRESH = "refresh-behind";

export interface Wanted {
  readonly names: readonly ProviderName[];
  /** The provider that was asked for by name. */
  readonly named: ProviderName | undefined;
  readonly warnAt: number | undefined;
}

/** The usual ways to ask for it; others, and mistakes, go to the parser of commands. */
export async function runLine(argv: readonly string[]): Promise<void> {
  const word = argv.slice(1).find((each) => each !== "--line");
  const named = word === undefined ? undefined : providerNamed(word);
  if (word !== undefined && named === undefined) {
    const { main } = await import("./main.ts");
    return main(argv);
  }
  process.exit(await line({ names: named ? [named] : PROVIDERS, named, warnAt: undefined }));
}

/** What was known last, at once; what is known now is asked for by a process that nobody waits for. */
export async function line(asked: Wanted): Promise<number> {
  const paths = resolvePaths(process.env, process.platform);
  const files = { env: process.env, ...paths };
  const now = systemClock().now();
  const kept = Object.fromEntries(
    asked.names.flatMap((name) => {
      const dated = readLastGood(paths.stateDir, name, accountStamp(name, files));
      return dated && now - dated.at < LINE_AGE_MS ? [[name, dated]] : [];
    }),
  ) as Partial<Report>;
  const text = usageLine(asked.names, kept);
  if (text !== undefined) await print(`${text}\n`);
  if (!wasRefreshed(paths.stateDir, accountsStamp(files), now)) {
    const { programWords } = await import("./program.ts");
    Bun.spawn([...programWords(), "quota", REFRESH], {
      stdio: ["ignore", "ignore", "ignore"],
      detached: true,
      cwd: "/",
    }).unref();
  }
  return exitCode(asked, kept);
}

export function exitCode({ names, named, warnAt }: Wanted, report: Partial<Report>): number {
  const shown = names.flatMap((name) => {
    const dated = report[name];
    return dated?.answer.section.kind === "success" ? [dated.answer] : [];
  });
  const unread = named !== undefined && report[named]?.answer.section.kind !== "success";
  if (shown.length === 0 || unread) return EXIT.nothing;
  const above =
    warnAt !== undefined && shown.some((answer) => rowsOf(answer).some((row) => row.percent > warnAt));
  return above ? EXIT.above : EXIT.shown;
}
