/** One short line for shell prompts and status bars. */

import type { Report } from "./reader.ts";
import { percentText, type Row, rowsOf } from "./rows.ts";
import type { Answer, ProviderName } from "./types.ts";

/** Characters of a name: a provider may call a window as it likes, and the line stands in a shell's prompt. */
const NAME_CHARS = 32;

/** `5h 35% · Week 12%` of the first provider that has numbers; undefined where none has. */
export function usageLine(names: readonly ProviderName[], report: Partial<Report>): string | undefined {
  for (const name of names) {
    const answer = report[name]?.answer;
    if (answer?.section.kind !== "success") continue;
    let line = "";
    for (const { label, percent } of lineRows(answer))
      line = joined(line, `${short(label)} ${percentText(percent)}`);
    if (line !== "") return line;
  }
  return undefined;
}

/** The windows of an answer that the line shows. */
export function lineRows(answer: Answer): Row[] {
  const all = rowsOf(answer);
  const own: Row[] = [];
  // The tools' window counts calls and not the plan.
  for (const row of all) if (row.label !== "MCP") own.push(row);
  return own.length > 0 ? own : all;
}

function joined(line: string, text: string): string {
  return line === "" ? text : `${line} · ${text}`;
}

function short(name: string): string {
  return name.length > NAME_CHARS
    ? `${[...name.slice(0, 2 * NAME_CHARS)].slice(0, NAME_CHARS - 1).join("")}…`
    : name;
}
