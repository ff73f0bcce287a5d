/** Words that are too long for their place. */

/**
 * The beginning of what is longer, with a mark behind it. A character of two units is never halved: half of one is no
 * text, and a client that is strict about its JSON refuses the whole frame for it.
 * @param chars the most units that the result has.
 */
export function cut(words: string, chars: number): string {
  if (words.length <= chars) return words;
  return `${words.slice(0, chars - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
