/** What an answer says, window by window: all that a status bar needs, and nothing that takes time to load. */

import type { Answer, GlmSection, OllamaSection, OpencodeSection } from "./types.ts";

/** One window in the words of all providers. */
export interface Row {
  readonly label: string;
  readonly percent: number;
  /** Epoch ms. */
  readonly resetsAt: number | undefined;
  readonly counts: string | undefined;
  readonly details: readonly string[];
}

/** The windows of an answer that succeeded. */
export function rowsOf(answer: Answer): Row[] {
  const section: GlmSection | OpencodeSection | OllamaSection = answer.section;
  if (section.kind !== "success") return [];
  if ("items" in section) {
    return section.items.map((item) => ({
      label: plain(item.label),
      percent: item.usedPercent,
      resetsAt: item.nextResetTime,
      counts: counts(item.usedCount, item.totalCount),
      details: (item.detail ?? []).map(({ modelCode, usage }) => `${plain(modelCode)} ${usage}`),
    }));
  }
  return section.windows.map((window) => ({
    label: plain(window.label),
    percent: window.usagePercent,
    resetsAt: window.resetsAt,
    counts: undefined,
    details: [],
  }));
}

function counts(used: number | undefined, total: number | undefined): string | undefined {
  if (used === undefined) return undefined;
  return total === undefined ? String(used) : `${used}/${total}`;
}

/** A text of another make, without anything that a terminal would act on. */
export function plain(text: string): string {
  return text.replace(/[\0-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, " ");
}

/** A percentage as it is read: whole, save where that would hide a use or a rest. */
export function percentText(value: number): string {
  const whole = Math.round(value);
  if ((whole === 0 && value > 0) || (whole === 100 && value < 100)) return `${Math.floor(value * 10) / 10}%`;
  return `${whole}%`;
}
