/** `zcode-acp quota --line`: what a status bar shows, in the time that a process takes to start. It loads nothing else. */

import { systemClock } from "../platform/clock.ts";
import { resolvePaths } from "../platform/paths.ts";
import { LINE_AGE_MS } from "../quota/limits.ts";
import { lineRows, usageLine } from "../quota/line.ts";
import { quickFile, quickStamps } from "../quota/quick.ts";
import type { Report } from "../quota/reader.ts";
import { type Row, rowsOf } from "../quota/rows.ts";
import {
  type AccountFiles,
  isRefreshed,
  keptPath,
  lastGoodIn,
  refreshedPath,
  togetherStamp,
} from "../quota/stored.ts";
import { type Answer, PROVIDERS, type ProviderName, providerNamed } from "../quota/types.ts";
import { print } from "./print.ts";

const EXIT = { shown: 0, nothing: 1, above: 3 } as const;

/** How to read what was kept. */
type KeptFiles = Pick<typeof import("../quota/kept.ts"), "accountStamps" | "keptFile" | "refreshedFile">;

/** The word that makes the command ask and say nothing: what `--line` starts behind itself. */
export const REFRESH = "refresh-behind";

export interface Wanted {
  readonly names: readonly ProviderName[];
  /** The provider that was asked for by name. */
  readonly named: ProviderName | undefined;
  readonly warnAt: number | undefined;
}

/** The usual ways to ask for it; others, and mistakes, go to the parser of commands. */
export async function runLine(argv: readonly string[], word: string | undefined): Promise<void> {
  const named = word === undefined ? undefined : providerNamed(word);
  if (word !== undefined && named === undefined) {
    const { main } = await import("./main.ts");
    return main(argv);
  }
  try {
    process.exit(await line({ names: named ? [named] : PROVIDERS, named, warnAt: undefined }));
  } catch (error) {
    const { fail } = await import("./main.ts");
    await fail(error);
  }
}

/** What was known last, at once; what is known now is asked for by a process that nobody waits for. */
export async function line(asked: Wanted): Promise<number> {
  const paths = resolvePaths(process.env, process.platform);
  const files = { env: process.env, ...paths };
  const shown = fromQuick(asked, files) ?? from(asked, files, await import("../quota/kept.ts"));
  if (shown.text !== undefined) await print(`${shown.text}\n`);
  if (!shown.refreshed) {
    const { programWords } = await import("./program.ts");
    try {
      Bun.spawn([...programWords(), "quota", REFRESH], {
        stdio: ["ignore", "ignore", "ignore"],
        detached: true,
        // It keeps no disk in use, save where a folder is meant from here.
        cwd: paths.home[0] === "/" && paths.zcodeHome[0] === "/" ? "/" : process.cwd(),
      }).unref();
    } catch {
      // No process can be started now, or this file was replaced: the next prompt asks.
    }
  }
  return exitCode(asked, shown.report, lineRows);
}

interface Shown {
  readonly text: string | undefined;
  readonly report: Partial<Report>;
  /** Whether it is as new as can be. */
  readonly refreshed: boolean;
}

type Files = AccountFiles & { readonly stateDir: string };

/** Undefined where this is not the way to read it. */
function fromQuick(asked: Wanted, files: Files): Shown | undefined {
  try {
    const stamps = quickStamps(files);
    if (!stamps) return undefined;
    return from(asked, files, {
      accountStamps: () => stamps,
      keptFile: (dir, name) => quickFile(keptPath(dir, name)),
      refreshedFile: (dir) => quickFile(refreshedPath(dir)),
    });
  } catch {
    return undefined;
  }
}

function from({ names }: Wanted, files: Files, kept: KeptFiles): Shown {
  const stamps = kept.accountStamps(files);
  const now = systemClock().now();
  const report: { -readonly [Name in ProviderName]?: Report[Name] } = {};
  let text: string | undefined;
  for (const name of names) {
    const dated = lastGoodIn(kept.keptFile(files.stateDir, name), name, stamps[name]);
    if (!dated || now - dated.at >= LINE_AGE_MS) continue;
    Object.assign(report, { [name]: dated });
    text ??= usageLine([name], report);
    // What the others said is not shown.
    if (text !== undefined) break;
  }
  const refreshed = isRefreshed(kept.refreshedFile(files.stateDir), togetherStamp(stamps), now);
  return { text, report, refreshed };
}

/** @param rows the windows of an answer that are shown. */
export function exitCode(
  { names, named, warnAt }: Wanted,
  report: Partial<Report>,
  rows: (answer: Answer) => Row[] = rowsOf,
): number {
  let shown = 0;
  let above = false;
  for (const name of names) {
    const answer = report[name]?.answer;
    if (answer?.section.kind !== "success") continue;
    shown++;
    if (warnAt !== undefined) above ||= rows(answer).some((row) => row.percent > warnAt);
  }
  const unread = named !== undefined && report[named]?.answer.section.kind !== "success";
  if (shown === 0 || unread) return EXIT.nothing;
  return above ? EXIT.above : EXIT.shown;
}
