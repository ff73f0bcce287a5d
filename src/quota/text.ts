/** Text in columns: widths of what a terminal shows, and times as a person reads them. */

import { type Language, t } from "../locale/index.ts";

/** Columns that a text takes. */
export function widthOf(text: string): number {
  return Bun.stringWidth(text);
}

/** So much of a text as fits; what is cut ends in an ellipsis. */
export function fit(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = "";
  let taken = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    const wide = widthOf(segment);
    if (taken + wide > width - 1) break;
    kept += segment;
    taken += wide;
  }
  return width > 0 ? `${kept}…` : "";
}

export function padEnd(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}

const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;

/** How long it is until then, in the two largest units. */
export function rest(ms: number, language: Language): string {
  const all = Math.max(0, Math.ceil(ms / MINUTE_MS));
  if (all === 0) return t("quota.now", {}, language);
  const days = Math.floor(all / DAY_MINUTES);
  const hours = Math.floor((all % DAY_MINUTES) / 60);
  const minutes = all % 60;
  if (days > 0) return t("quota.days", { days, hours }, language);
  return hours > 0
    ? t("quota.hours", { hours, minutes }, language)
    : t("quota.minutes", { minutes }, language);
}

/** A time of this day as hours and minutes; of another day with its date. */
export function clockTime(at: number, now: number): string {
  const date = new Date(at);
  const today = new Date(now);
  const pad = (value: number) => String(value).padStart(2, "0");
  const time = `${pad(date.getHours())}:${pad(date.getMinutes())}`;
  const sameDay =
    date.getFullYear() === today.getFullYear() &&
    date.getMonth() === today.getMonth() &&
    date.getDate() === today.getDate();
  return sameDay ? time : `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ${time}`;
}
