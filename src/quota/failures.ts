/** What is said of providers that could not be shown. */

import { type Language, sentence, t } from "../locale/index.ts";
import type { Report } from "./reader.ts";
import { plain } from "./rows.ts";
import type { Answer, ProviderName } from "./types.ts";

export interface FailureOptions {
  readonly names: readonly ProviderName[];
  /** The provider that was asked for by name. */
  readonly named: ProviderName | undefined;
  /** Say why as well. */
  readonly verbose: boolean;
  readonly language: Language;
}

/** One line for each provider that could not be shown; those that nobody set up only where they were asked for. */
export function failureLines(
  { names, named, verbose, language }: FailureOptions,
  report: Partial<Report>,
): string[] {
  const lines = names.flatMap((name) => {
    const answer: Answer | undefined = report[name]?.answer;
    if (!answer || answer.section.kind === "success" || (answer.unset && named === undefined)) return [];
    const provider = sentence(`quota.${name}`, {}, language);
    const what = sentence(`quota.${answer.section.kind}`, {}, language);
    const { reason } = answer;
    const said =
      verbose && reason
        ? // It may name what a provider called a window.
          plain(t("quota.failedWhy", { provider, what, why: reason }, language))
        : t("quota.failed", { provider, what }, language);
    const setUp = answer.section.kind === "not_configured" || answer.section.kind === "auth_error";
    return setUp ? [said, `  ${sentence(`quota.setUp.${name}`, {}, language)}`] : [said];
  });
  const shown = names.some((name) => report[name]?.answer.section.kind === "success");
  if (lines.length > 0 || shown) return lines;
  const ways = names.map((name) => `  ${sentence(`quota.setUp.${name}`, {}, language)}`);
  return [t("quota.nothing", {}, language), ...ways];
}
