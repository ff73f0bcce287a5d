/** What `zcode-acp quota` shows: the card, painted as answers come, or the numbers as JSON. */

import { isatty } from "node:tty";
import { loadConfig } from "../config/index.ts";
import type { Language } from "../locale/index.ts";
import { systemClock } from "../platform/clock.ts";
import { createLog } from "../platform/log.ts";
import { resolvePaths } from "../platform/paths.ts";
import type { Web } from "../quota/ask.ts";
import { card } from "../quota/card.ts";
import { failureLines } from "../quota/failures.ts";
import { askHub } from "../quota/hub.ts";
import { openQuota } from "../quota/open.ts";
import { type QuotaReader, type Report, usageOf } from "../quota/reader.ts";
import type { ProviderName } from "../quota/types.ts";
import { print } from "./print.ts";
import type { Asked } from "./quota.ts";
import { exitCode } from "./quotaLine.ts";
import { Lines } from "./screen.ts";

export interface Tools {
  readonly language: Language;
  readonly web: Web;
  readonly reader: QuotaReader;
  /** Stands for whose usage it is. */
  account(name: ProviderName): string;
  /** The report of a hub that answers at once. */
  hub(): Promise<Report | undefined>;
  /** A status bar need not have all providers asked again. @throws where nothing can be written. */
  noteRefreshed(): Promise<void>;
}

export function toolsOf(): Tools {
  const clock = systemClock();
  const paths = resolvePaths(process.env, process.platform);
  const config = loadConfig(process.env, paths);
  const log = createLog({ dir: paths.stateDir, name: `quota-${process.pid}`, clock, env: process.env });
  const { reader, web, account, noteRefreshed } = openQuota({ clock, log, env: process.env, paths, config });
  return {
    language: config.language,
    web,
    reader,
    account,
    hub: () => askHub(web, config.hub),
    noteRefreshed,
  };
}

/** Asks for what a status bar shows next. */
export async function refresh(tools: Tools): Promise<void> {
  // Before asking: where nothing can be written nothing could be kept, and every prompt of a shell would ask again.
  await tools.noteRefreshed();
  await tools.reader.read();
}

/** The card, painted section by section on a terminal. */
export async function show(asked: Asked, tools: Tools): Promise<number> {
  const terminal = isScreen();
  const options = () => cardOptions(asked, terminal, tools.web.clock.now());
  const report: Record<string, unknown> = {};
  const pending = new Set(asked.names);
  const area = terminal ? new Lines() : undefined;
  const known = await tools.hub();
  if (known) {
    Object.assign(report, known);
    pending.clear();
  } else {
    const paint = () => {
      const now = options();
      area?.draw(card(asked.names, report, pending, now).slice(0, roomOf(terminal)), now.width);
    };
    await tools.reader.read(asked.names, (name, dated) => {
      pending.delete(name);
      report[name] = dated;
      if (pending.size > 0) paint();
    });
  }
  const last = options();
  const lines = card(asked.names, report, pending, last);
  if (area) area.draw(lines, last.width);
  else if (lines.length > 0) await print(`${lines.join("\n")}\n`);
  await tellFailures(asked, report as Partial<Report>);
  // A disk that takes nothing has said so already; the next status bar asks then.
  if (!known && asked.named === undefined) await tools.noteRefreshed().catch(() => {});
  return exitCode(asked, report as Partial<Report>);
}

export async function json(asked: Asked, tools: Tools): Promise<number> {
  const report = (await tools.hub()) ?? ((await tools.reader.read()) as Report);
  await print(`${JSON.stringify(usageOf(report))}\n`);
  if (asked.verbose) await tellFailures(asked, report);
  return exitCode(asked, report);
}

/** Whether stdout is a terminal that can be drawn on. */
export function isScreen(): boolean {
  return isatty(1) && process.env.TERM !== "dumb";
}

/**
 * Columns and colour as they are now.
 * @param terminal as `isScreen` says.
 */
export function cardOptions({ plain, language }: Asked, terminal: boolean, now: number) {
  const width = isatty(1) ? process.stdout.columns : Number(process.env.COLUMNS);
  return {
    width: Number.isFinite(width) && width > 0 ? width : 80,
    colour: terminal && !plain && !process.env.NO_COLOR,
    now,
    language,
  };
}

/** Lines that can be drawn over: above the terminal's height they cannot be reached any more. */
function roomOf(terminal: boolean): number {
  return terminal ? Math.max(1, (process.stdout.rows || 24) - 1) : Number.POSITIVE_INFINITY;
}

async function tellFailures(asked: Asked, report: Partial<Report>): Promise<void> {
  const lines = failureLines(asked, report);
  if (lines.length > 0) await Bun.stderr.write(`${lines.join("\n")}\n`);
}
