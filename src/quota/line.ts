/** One short line for shell prompts and status bars. */

import { rowsOf } from "./card.ts";
import type { Report } from "./reader.ts";
import { fit, percentText } from "./text.ts";
import type { ProviderName } from "./types.ts";

/** Columns of a name: a provider may call a window as it likes, and the line stands in a shell's prompt. */
const NAME_COLUMNS = 32;

/** `5h 35% · Week 12%` of the first provider that has numbers; undefined where none has. */
export function usageLine(names: readonly ProviderName[], report: Partial<Report>): string | undefined {
  for (const name of names) {
    const answer = report[name]?.answer;
    if (answer?.section.kind !== "success") continue;
    const rows = rowsOf(answer);
    // The tools' window counts calls and not the plan.
    const own = rows.filter((row) => row.label !== "MCP");
    const shown = own.length > 0 ? own : rows;
    if (shown.length > 0)
      return shown.map((row) => `${fit(row.label, NAME_COLUMNS)} ${percentText(row.percent)}`).join(" · ");
  }
  return undefined;
}
