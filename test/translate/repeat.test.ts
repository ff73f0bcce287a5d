import { expect, test } from "bun:test";
import { Repeats } from "../../src/translate/repeat.ts";

/** What is shown of tries that say these pieces. */
function shown(...tries: string[][]): string {
  const repeats = new Repeats();
  let out = "";
  tries.forEach((pieces, i) => {
    repeats.begin(i > 0);
    for (const piece of pieces) out += repeats.filter(piece);
  });
  return out;
}

test("B9 what a try repeats of the one before is shown once, however it is cut", () => {
  expect(shown(["The file ", "keeps"], ["The ", "file keeps the goods."])).toBe("The file keeps the goods.");
  expect(shown(["abc"], ["a", "b", "c"])).toBe("abc");
  expect(shown(["abc"], ["ab"], ["abcd"])).toBe("abcd");
  expect(shown(["abc"], [])).toBe("abc");
});

test("B9 a try that says something else is shown whole", () => {
  expect(shown(["One."], ["On", "e more."])).toBe("One. more.".replace("One. more.", "One.One more."));
  expect(shown(["abc"], ["xyz"])).toBe("abcxyz");
});

test("B9 a prompt that is no further try repeats nothing of the one before", () => {
  const repeats = new Repeats();
  repeats.begin(false);
  expect(repeats.filter("same")).toBe("same");
  repeats.begin(false);
  expect(repeats.filter("same")).toBe("same");
});

test("B9 a very long text is shown again rather than kept", () => {
  const long = "x".repeat(100_000);
  expect(shown([long], [long]).length).toBe(200_000);
});

test("B9 halves of a character that came apart are put together again", () => {
  expect(shown(["a\ud83d", "\ude42"], ["a", "🙂b"])).toBe("a🙂b");
});

test("M2 B9 an idle conversation holds no text, and what comes late is no part of the next prompt", () => {
  const repeats = new Repeats();
  repeats.begin(false);
  repeats.filter("one");
  repeats.forget();
  repeats.filter("late");
  repeats.begin(true);
  expect(repeats.filter("late and more")).toBe(" and more");
  repeats.forget();
  repeats.begin(true);
  expect(repeats.filter("one")).toBe("one");
});
