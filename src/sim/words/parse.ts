/** A prompt as words: `think; bash ls -la; read a.ts`. */
import { WORDS } from "./list.ts";

export interface Said {
  word: string;
  /** What stands after the word, trimmed. */
  rest: string;
  /** It belongs to the same request of the model as the word before. */
  also: boolean;
}

/**
 * The words of a prompt, or undefined when it is none: then a plain answer quotes it. One unknown word makes
 * the whole prompt plain. `\;` is a semicolon that does not end a word.
 */
export function parsePrompt(prompt: string): Said[] | undefined {
  const pieces = prompt
    .split(/(?<!\\);/)
    .map((piece) => piece.replaceAll("\\;", ";").trim())
    .filter(Boolean);
  if (pieces.length === 0) return undefined;
  const said: Said[] = [];
  for (const piece of pieces) {
    const match = /^(also\s+)?([a-z][a-z-]*)(?:\s+([\s\S]*))?$/.exec(piece);
    if (!match) return undefined;
    const word = match[2]!;
    const rest = match[3]?.trim() ?? "";
    const known = WORDS.find((each) => each.word === word);
    if (!known || (known.needs && !rest) || (known.bare && rest) || (known.fits && !known.fits.test(rest)))
      return undefined;
    said.push({ word, rest, also: Boolean(match[1]) });
  }
  return said;
}
