/** Usage as an answer in a conversation. */

import { type Language, t } from "../locale/index.ts";
import { card } from "./card.ts";
import { failureLines } from "./failures.ts";
import type { QuotaReader } from "./reader.ts";
import { PROVIDERS, providerNamed } from "./types.ts";

/** Columns of the card: what a narrow panel shows without breaking lines. */
const COLUMNS = 64;

/**
 * @param words a provider, or nothing for all of them.
 * @param now epoch ms.
 * @returns markdown.
 */
export async function sayUsage(
  reader: QuotaReader,
  words: string,
  now: () => number,
  language: Language,
): Promise<string> {
  const word = words.trim().toLowerCase();
  const named = word === "" ? undefined : providerNamed(word);
  if (word !== "" && named === undefined) return t("quota.which", { list: "glm, go, ollama" }, language);
  const names = named ? [named] : PROVIDERS;
  const report = await reader.read(names);
  const lines = card(names, report, new Set(), { width: COLUMNS, colour: false, now: now(), language });
  const drawn = lines.length > 0 ? ["```text", ...lines, "```"] : [];
  const failed = failureLines({ names, named, verbose: true, language }, report);
  return [...drawn, ...failed].join("\n");
}
