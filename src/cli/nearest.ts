/** Which of the words that exist a person probably meant. */

/**
 * Insertions, deletions, replacements and swaps of neighbours between `a` and `b` (Damerau–Levenshtein, each part
 * edited once at most).
 */
export function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, before[j - 2]! + 1);
      row.push(cost);
    }
    before = last;
    last = row;
  }
  return last[b.length]!;
}

/** How many edits a word of some length may be away from the one that was meant. */
function mostEdits(length: number): number {
  return length <= 3 ? 1 : length <= 7 ? 2 : 3;
}

/** What a beginning must have at least to stand for a word. */
const PREFIX = 3;

/**
 * The word of `words` that `word` probably is, and the first where several are as near; undefined where none is near.
 * Capitals and leading dashes make no difference.
 */
export function nearest(word: string, words: readonly string[]): string | undefined {
  const plain = bare(word);
  if (plain === "") return undefined;
  let best: string | undefined;
  let least = mostEdits(plain.length) + 1;
  for (const candidate of words) {
    const other = bare(candidate);
    const begins = plain.length >= PREFIX && other.startsWith(plain);
    // A beginning counts as one edit: less near than the word itself, nearer than most misspellings.
    const distance = begins ? Math.min(1, editDistance(plain, other)) : editDistance(plain, other);
    // As many edits as a word has letters make any word of any other.
    if (distance >= least || distance >= other.length) continue;
    least = distance;
    best = candidate;
  }
  return best;
}

function bare(word: string): string {
  return word.toLowerCase().replace(/^-+/, "");
}
