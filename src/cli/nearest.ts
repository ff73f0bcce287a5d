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

/** The word of `words` (not empty) that is nearest to `word`; the first of them where several are. */
export function nearest(word: string, words: readonly string[]): string {
  let best = words[0] ?? "";
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of words) {
    const distance = editDistance(word, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}
