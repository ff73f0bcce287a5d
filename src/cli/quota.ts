/** `zcode-acp quota`: how much of each plan is used. */

import { isatty } from "node:tty";
import { defineCommand } from "citty";
import { loadConfig } from "../config/index.ts";
import { errors } from "../errors/index.ts";
import { type Language, phrase, sentence, t } from "../locale/index.ts";
import { systemClock } from "../platform/clock.ts";
import { createLog } from "../platform/log.ts";
import { resolvePaths } from "../platform/paths.ts";
import type { Web } from "../quota/ask.ts";
import { card, rowsOf } from "../quota/card.ts";
import { askHub } from "../quota/hub.ts";
import { LINE_AGE_MS } from "../quota/limits.ts";
import { usageLine } from "../quota/line.ts";
import { openQuota } from "../quota/open.ts";
import { type QuotaReader, type Report, usageOf } from "../quota/reader.ts";
import { type Answer, PROVIDERS, type ProviderName } from "../quota/types.ts";
import { flags } from "./flags.ts";
import { print } from "./print.ts";
import { programWords } from "./program.ts";
import { Lines } from "./screen.ts";

const NAME = "zcode-acp quota";
const WORDS: Readonly<Record<string, ProviderName>> = {
  glm: "glm",
  go: "opencode",
  opencode: "opencode",
  ollama: "ollama",
};
const LEAST_INTERVAL_S = 10;
const MOST_INTERVAL_S = 86_400;
const EXIT = { shown: 0, nothing: 1, above: 3 } as const;

export const FLAGS = flags({
  provider: {
    type: "positional",
    required: false,
    description: "flag.quota.provider",
    valueHint: "glm|go|ollama",
  },
  json: { type: "boolean", description: "flag.quota.json" },
  line: { type: "boolean", description: "flag.quota.line" },
  plain: { type: "boolean", description: "flag.quota.plain" },
  watch: { type: "boolean", alias: ["w"], description: "flag.quota.watch" },
  interval: { type: "string", default: "60", description: "flag.quota.interval", valueHint: "SECONDS" },
  "warn-at": { type: "string", description: "flag.quota.warnAt", valueHint: "PERCENT" },
  verbose: { type: "boolean", description: "flag.quota.verbose" },
});

/** The word that makes the command ask and say nothing: what `--line` starts behind itself. */
export const REFRESH = "refresh-behind";

export interface Asked {
  readonly names: readonly ProviderName[];
  /** The provider that was asked for by name. */
  readonly named: ProviderName | undefined;
  readonly warnAt: number | undefined;
  readonly verbose: boolean;
  readonly plain: boolean;
  readonly language: Language;
}

export default defineCommand({
  args: FLAGS,
  async run({ args }) {
    const refresh = args.provider === REFRESH;
    const named = refresh || args.provider === undefined ? undefined : providerOf(args.provider);
    const asked: Asked = {
      names: named ? [named] : PROVIDERS,
      named,
      warnAt: number("warn-at", args["warn-at"], 0, 100),
      verbose: args.verbose === true,
      plain: args.plain === true,
      language: "en",
    };
    const seconds = number("interval", args.interval, LEAST_INTERVAL_S, MOST_INTERVAL_S) ?? LEAST_INTERVAL_S;
    const together = [args.line && "--line", args.json && "--json", args.watch && "--watch"].filter(
      (flag): flag is string => typeof flag === "string",
    );
    if (args.line && together.length > 1) throw errors.flagsTogether(NAME, together.join(", "));
    const tools = toolsOf();
    if (refresh) return void (await tools.reader.read());
    if (args.line) process.exit(await line(asked, tools));
    if (args.watch) {
      const { watch } = await import("./quotaWatch.ts");
      return watch(asked, tools, { seconds, json: args.json === true });
    }
    if (args.json) process.exit(await json(asked, tools));
    process.exit(await show(asked, tools));
  },
});

export interface Tools {
  readonly web: Web;
  readonly reader: QuotaReader;
  /** The report of a hub that answers at once. */
  hub(): Promise<Report | undefined>;
}

function toolsOf(): Tools {
  const clock = systemClock();
  const paths = resolvePaths(process.env, process.platform);
  const config = loadConfig(process.env, paths);
  const log = createLog({ dir: paths.stateDir, name: `quota-${process.pid}`, clock, env: process.env });
  const { reader, web } = openQuota({ clock, log, paths, config });
  return { web, reader, hub: () => askHub(web, config.hub) };
}

/** The card, painted section by section on a terminal. */
async function show(asked: Asked, tools: Tools): Promise<number> {
  const terminal = isatty(1);
  const options = () => cardOptions(asked, terminal, tools.web.clock.now());
  const report: Record<string, unknown> = {};
  const pending = new Set(asked.names);
  const area = terminal ? new Lines() : undefined;
  const known = await tools.hub();
  if (known) {
    Object.assign(report, known);
    pending.clear();
  } else {
    const paint = () => area?.draw(card(asked.names, report, pending, options()).slice(0, roomOf(terminal)));
    await tools.reader.read(asked.names, (name, dated) => {
      pending.delete(name);
      report[name] = dated;
      if (pending.size > 0) paint();
    });
  }
  const lines = card(asked.names, report, pending, options());
  if (area) area.draw(lines);
  else if (lines.length > 0) await print(`${lines.join("\n")}\n`);
  await tellFailures(asked, report as Partial<Report>);
  return exitCode(asked, report as Partial<Report>);
}

async function json(asked: Asked, tools: Tools): Promise<number> {
  const report = (await tools.hub()) ?? ((await tools.reader.read()) as Report);
  await print(`${JSON.stringify(usageOf(report))}\n`);
  if (asked.verbose) await tellFailures(asked, report);
  return exitCode(asked, report);
}

/** What was known last, at once; what is known now is asked for by a process that nobody waits for. */
async function line(asked: Asked, tools: Tools): Promise<number> {
  const now = tools.web.clock.now();
  const kept = Object.fromEntries(
    Object.entries(tools.reader.kept(asked.names)).filter(([, { at }]) => now - at < LINE_AGE_MS),
  ) as Partial<Report>;
  const text = usageLine(asked.names, kept);
  if (text !== undefined) await print(`${text}\n`);
  if (!tools.reader.isFresh(asked.names)) {
    Bun.spawn([...programWords(), "quota", REFRESH], {
      stdio: ["ignore", "ignore", "ignore"],
      detached: true,
      cwd: "/",
    }).unref();
  }
  return exitCode(asked, kept);
}

/** Columns and colour as they are now. */
export function cardOptions({ plain, language }: Asked, terminal: boolean, now: number) {
  const width = terminal ? process.stdout.columns : Number(process.env.COLUMNS);
  return {
    width: Number.isFinite(width) && width > 0 ? width : 80,
    colour: terminal && !plain && !process.env.NO_COLOR && process.env.TERM !== "dumb",
    now,
    language,
  };
}

/** Lines that can be drawn over: above the terminal's height they cannot be reached any more. */
function roomOf(terminal: boolean): number {
  return terminal ? Math.max(1, (process.stdout.rows || 24) - 1) : Number.POSITIVE_INFINITY;
}

/** One line for each provider that could not be shown; those that nobody set up only where they were asked for. */
export function failureLines({ names, named, verbose, language }: Asked, report: Partial<Report>): string[] {
  const lines = names.flatMap((name) => {
    const answer: Answer | undefined = report[name]?.answer;
    if (!answer || answer.section.kind === "success" || (answer.unset && named === undefined)) return [];
    const provider = sentence(`quota.${name}`, {}, language);
    const what = sentence(`quota.${answer.section.kind}`, {}, language);
    const { reason } = answer;
    const said =
      verbose && reason
        ? t("quota.failedWhy", { provider, what, why: reason }, language)
        : t("quota.failed", { provider, what }, language);
    const setUp = answer.section.kind === "not_configured" || answer.section.kind === "auth_error";
    return setUp ? [said, `  ${sentence(`quota.setUp.${name}`, {}, language)}`] : [said];
  });
  const shown = names.some((name) => report[name]?.answer.section.kind === "success");
  if (lines.length > 0 || shown) return lines;
  const ways = names.map((name) => `  ${sentence(`quota.setUp.${name}`, {}, language)}`);
  return [t("quota.nothing", {}, language), ...ways];
}

async function tellFailures(asked: Asked, report: Partial<Report>): Promise<void> {
  const lines = failureLines(asked, report);
  if (lines.length > 0) await Bun.stderr.write(`${lines.join("\n")}\n`);
}

export function exitCode({ names, named, warnAt }: Asked, report: Partial<Report>): number {
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

/** @throws ProductError where it names none. */
function providerOf(word: string): ProviderName {
  const name = Object.hasOwn(WORDS, word) ? WORDS[word] : undefined;
  if (name) return name;
  throw errors.badFlagValue(
    NAME,
    "glm|go|ollama",
    word,
    phrase("expects.oneOf", { list: "glm, go, ollama" }),
  );
}

/** @throws ProductError where it is no number within the bounds. */
function number(flag: string, value: unknown, least: number, most: number): number | undefined {
  if (value === undefined || value === "") return undefined;
  const parsed = Number(value);
  if (Number.isFinite(parsed) && parsed >= least && parsed <= most) return parsed;
  throw errors.badFlagValue(NAME, `--${flag}`, String(value), phrase("expects.numberFrom", { least, most }));
}
