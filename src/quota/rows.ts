/** What an answer says, window by window: all that a status bar needs, and nothing that takes time to load. */

import type { Answer, GlmItem, GlmSection, OllamaSection, OpencodeSection } from "./types.ts";

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
  const rows: Row[] = [];
  if (section.kind !== "success") return rows;
  if ("items" in section) {
    for (const item of section.items) rows.push(rowOf(item));
    return rows;
  }
  for (const { label, usagePercent, resetsAt } of section.windows)
    rows.push({ label: plain(label), percent: usagePercent, resetsAt, counts: undefined, details: NONE });
  return rows;
}

const NONE: readonly string[] = [];

function rowOf({ label, usedPercent, nextResetTime, usedCount, totalCount, detail }: GlmItem): Row {
  return {
    label: plain(label),
    percent: usedPercent,
    resetsAt: nextResetTime,
    counts: counts(usedCount, totalCount),
    details: detail ? detail.map(({ modelCode, usage }) => `${plain(modelCode)} ${usage}`) : NONE,
  };
}

function counts(used: number | undefined, total: number | undefined): string | undefined {
  if (used === undefined) return undefined;
  return total === undefined ? String(used) : `${used}/${total}`;
}

/** A text of another make, without anything that a terminal would act on. */
export function plain(text: string): string {
  return isPrintable(text)
    ? text
    : text.replace(/[\0-\x1f\x7f-\x9f\u061c\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, " ");
}

/** True for most names, which then need no pattern: its first use takes as long as reading all that was kept. */
function isPrintable(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || code > 0x7e) return false;
  }
  return true;
}

/** A percentage as it is read: whole, save where that would hide a use or a rest. */
export function percentText(value: number): string {
  const whole = Math.round(value);
  if (whole === 0 && value > 0) return `${Math.max(0.1, Math.floor(value * 10) / 10)}%`;
  if (whole === 100 && value < 100) return `${Math.floor(value * 10) / 10}%`;
  return `${whole}%`;
}
