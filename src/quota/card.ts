/**
 * The card: one section a provider, one bar a window. On a terminal the bar is coloured and holds its percentage; else it
 * is drawn of blocks, with the percentage beside it. No line is wider than it may be.
 */

import { type Language, sentence, t } from "../locale/index.ts";
import type { Dated } from "./kept.ts";
import type { Report } from "./reader.ts";
import { percentText, plain, type Row, rowsOf } from "./rows.ts";
import { clockTime, fit, padEnd, rest, widthOf } from "./text.ts";
import type { Answer, ProviderName } from "./types.ts";

export interface CardOptions {
  /** Columns; less than 20 counts as 20. */
  readonly width: number;
  readonly colour: boolean;
  /** Epoch ms. */
  readonly now: number;
  readonly language: Language;
}

interface Drawn {
  readonly name: ProviderName;
  readonly rows: readonly Row[];
  /** Undefined where the answer is still waited for. */
  readonly dated: Dated | undefined;
}

const LEAST_WIDTH = 20;
/** Above this a line has no place for a longer bar. */
const BAR_CELLS = 24;
/** A shorter bar has its notes below. */
const LEAST_BAR = 10;
const LABEL_CELLS = 12;
/** From here on a bar is yellow, and red. */
const [YELLOW, RED] = [60, 85];

/**
 * @param names the providers that are wanted, in their order.
 * @param pending of those, the ones that have not answered yet.
 */
export function card(
  names: readonly ProviderName[],
  report: Partial<Report>,
  pending: ReadonlySet<ProviderName>,
  options: CardOptions,
): string[] {
  const width = Math.max(LEAST_WIDTH, options.width);
  const sections = names.flatMap((name): Drawn[] => {
    const dated = report[name] as Dated | undefined;
    if (dated?.answer.section.kind === "success") return [{ name, rows: rowsOf(dated.answer), dated }];
    return pending.has(name) ? [{ name, rows: [], dated: undefined }] : [];
  });
  const layout = layoutOf(
    sections.flatMap(({ rows }) => rows),
    width,
    options,
  );
  const lines: string[] = [];
  for (const { name, rows, dated } of sections) {
    if (lines.length > 0) lines.push("");
    lines.push(heading(name, dated?.answer, width, options));
    if (!dated) lines.push(dim(fit(`  ${t("quota.asking", {}, options.language)}`, width), options));
    for (const row of rows) lines.push(...rowLines(row, layout, width, options));
    const spend = dated && spendOf(dated.answer, options.language);
    if (spend !== undefined) lines.push(fit(`  ${spend}`, width));
  }
  return lines;
}

function spendOf(answer: Answer, language: Language): string | undefined {
  const { section } = answer;
  if (section.kind !== "success" || !("spend" in section) || !section.spend) return undefined;
  return t("quota.spend", { usd: section.spend.usd.toFixed(2), range: plain(section.spend.range) }, language);
}

function heading(
  name: ProviderName,
  answer: Answer | undefined,
  width: number,
  options: CardOptions,
): string {
  const section = answer?.section;
  const level =
    section?.kind === "success" && "level" in section && section.level ? ` · ${plain(section.level)}` : "";
  return bold(fit(sentence(`quota.${name}`, {}, options.language) + level, width), options);
}

/** Columns that all rows share, so that bars can be compared. */
interface Layout {
  readonly label: number;
  readonly cells: number;
  /** What stands behind a bar; undefined where there is no place for it, and it goes below. */
  readonly note: "full" | "short" | undefined;
}

function layoutOf(rows: readonly Row[], width: number, options: CardOptions): Layout {
  const most = Math.min(LABEL_CELLS, Math.floor(width / 4));
  const label = Math.min(most, Math.max(0, ...rows.map((row) => widthOf(row.label))));
  // Beside blocks stands the percentage; a coloured bar holds it.
  const free = width - label - 3 - (options.colour ? 0 : 6);
  for (const note of ["full", "short"] as const) {
    const widest = Math.max(0, ...rows.map((row) => widthOf(noteOf(row, note, options))));
    const cells = free - 2 - widest;
    if (cells >= LEAST_BAR) return { label, cells: Math.min(BAR_CELLS, cells), note };
  }
  return { label, cells: Math.min(BAR_CELLS, free), note: undefined };
}

/** Label, bar and what is said of it, beside it or below. */
function rowLines(row: Row, { label, cells, note }: Layout, width: number, options: CardOptions): string[] {
  const bar = options.colour ? colouredBar(row.percent, cells) : blockBar(row.percent, cells);
  const head = `  ${padEnd(fit(row.label, label), label)} ${bar}`;
  const beside = note === undefined ? "" : noteOf(row, note, options);
  const lines = [beside === "" ? head : `${head}  ${beside}`];
  if (note === undefined) {
    const below = (["full", "short"] as const).map((each) => noteOf(row, each, options));
    const fitting = below.find((each) => widthOf(each) + 4 <= width);
    // What no line has place for stands on two.
    const apart = fitting === undefined ? [row.counts, resetOf(row.resetsAt, "short", options)] : [fitting];
    for (const each of apart) if (each) lines.push(dim(fit(`    ${each}`, width), options));
  }
  for (const detail of row.details) lines.push(dim(fit(`    ${detail}`, width), options));
  return lines;
}

/** Counts, and the reset as a time and as what is left until then, or as the latter alone. */
function noteOf({ resetsAt, counts: count }: Row, length: "full" | "short", options: CardOptions): string {
  return [count, resetOf(resetsAt, length, options)].filter((part) => part !== undefined).join(" · ");
}

function resetOf(
  resetsAt: number | undefined,
  length: "full" | "short",
  { now, language }: CardOptions,
): string | undefined {
  if (resetsAt === undefined) return undefined;
  const left = rest(resetsAt - now, language);
  if (resetsAt <= now) return left;
  return length === "short"
    ? t("quota.in", { rest: left }, language)
    : t("quota.at", { time: clockTime(resetsAt, now), rest: left }, language);
}

function blockBar(percent: number, cells: number): string {
  const full = filled(percent, cells);
  return `${"█".repeat(full)}${"░".repeat(cells - full)} ${percentText(percent).padStart(5)}`;
}

/** The percentage stands in the middle of the bar; the part that is used has a colour, which says nothing else. */
function colouredBar(percent: number, cells: number): string {
  const text = fit(percentText(percent), cells);
  const before = Math.floor((cells - text.length) / 2);
  const whole = `${" ".repeat(before)}${text}`.padEnd(cells);
  const full = filled(percent, cells);
  const colour = percent >= RED ? 41 : percent >= YELLOW ? 43 : 42;
  const ink = colour === 41 ? 97 : 30;
  return `\x1b[${ink};${colour}m${whole.slice(0, full)}\x1b[0m\x1b[97;100m${whole.slice(full)}\x1b[0m`;
}

/** Cells of a bar that are full: none only for 0, and all only for 100. */
function filled(percent: number, cells: number): number {
  if (percent <= 0) return 0;
  if (percent >= 100) return cells;
  return Math.min(Math.max(1, Math.round((percent / 100) * cells)), Math.max(1, cells - 1));
}

function bold(text: string, { colour }: CardOptions): string {
  return colour ? `\x1b[1m${text}\x1b[0m` : text;
}

function dim(text: string, { colour }: CardOptions): string {
  return colour ? `\x1b[2m${text}\x1b[0m` : text;
}
