/**
 * A command's output as it grows. The backend sends cumulative tails, not deltas: the start of a tail is cut
 * as the output grows, and the final result repeats all of it, so what is new must be found by overlap.
 */

/** The most of a command's output that is kept for clients that redraw it whole, in characters. */
export const OUTPUT_CHARS = 256 * 1024;

/** By so much of its end is output found again that is too long to be kept whole. */
const PROBE_CHARS = 1_000;

const LINE_END = /\r?\n/;

/** What `next` adds to `seen`, both tails of the same growing text. */
export function appendedTail(seen: string, next: string): string {
  if (next === "" || next === seen) return "";
  if (next.startsWith(seen)) return next.slice(seen.length);
  const size = overlap(seen, next);
  return next.slice(size);
}

/** The longest end of `left` that is a start of `right`, by the prefix function: linear in both. */
function overlap(left: string, right: string): number {
  const tail = left.length > right.length ? left.slice(left.length - right.length) : left;
  const table = new Int32Array(right.length);
  for (let i = 1, k = 0; i < right.length; i++) {
    while (k > 0 && right.charCodeAt(i) !== right.charCodeAt(k)) k = table[k - 1]!;
    if (right.charCodeAt(i) === right.charCodeAt(k)) k++;
    table[i] = k;
  }
  let k = 0;
  for (let i = 0; i < tail.length; i++) {
    while (k > 0 && (k === right.length || tail.charCodeAt(i) !== right.charCodeAt(k))) k = table[k - 1]!;
    if (tail.charCodeAt(i) === right.charCodeAt(k)) k++;
  }
  return k;
}

/**
 * What the final result adds to the output already shown. Its text may have lost the trailing newline, may begin
 * with an `Exit code` line, and holds both streams in an order of its own: lines that were shown are not shown again.
 */
export function finalRemainder(shown: string, content: string): string {
  const body = content.replace(/^Exit code \d+(?:\r?\n|$)/, "");
  if (body.trim() === "") return "";
  if (shown === "") return body;
  const seen = shown.trimEnd();
  const whole = body.trimEnd();
  if (seen === whole || seen.endsWith(whole)) return "";
  if (body.startsWith(shown)) return body.slice(shown.length);
  if (shown.length >= OUTPUT_CHARS) {
    // The start of what was shown is no longer known: only what follows its end can be told to be new.
    const end = seen.slice(-PROBE_CHARS);
    const place = whole.lastIndexOf(end);
    return place < 0 ? "" : body.slice(place + end.length + shown.length - seen.length);
  }
  if (whole.startsWith(seen))
    return body.slice(seen.length).replace(/^\r?\n/, shown.endsWith("\n") ? "" : "\n");
  const counts = new Map<string, number>();
  // The result may have lost the carriage returns that the tails still had.
  for (const line of shown.split(LINE_END)) counts.set(line, (counts.get(line) ?? 0) + 1);
  const missing = whole.split(LINE_END).filter((line) => {
    const left = counts.get(line) ?? 0;
    if (left > 0) counts.set(line, left - 1);
    return left === 0 && line.trim() !== "";
  });
  if (missing.length === 0) return "";
  return `${shown.endsWith("\n") ? "" : "\n"}${missing.join("\n")}`;
}
