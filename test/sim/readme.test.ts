/** The room's README says what the program says. */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { aboutWord, FLAGS, words } from "../../src/cli/sim.ts";
import { WORDS, wordsTable } from "../../src/sim/words/list.ts";

const LANGUAGES = ["en", "zh"] as const;
const FILE = join(import.meta.dir, "../../src/sim/README.md");
const BLOCK = /(<!-- words: [^>]*-->\n)[\s\S]*?(<!-- \/words -->)/;

/** The formatter pads the cells of tables. */
const squeeze = (markdown: string) => markdown.replace(/ +\|/g, " |").replace(/-{3,}/g, "---");

test("the words are those of the list, in the README as in --help", () => {
  const readme = readFileSync(FILE, "utf8");
  const wanted = readme.replace(
    BLOCK,
    (_, start: string, end: string) => `${start}\n${wordsTable((word) => aboutWord(word, "en"))}\n\n${end}`,
  );
  if (process.env.UPDATE_README === "1") writeFileSync(FILE, wanted);
  expect(squeeze(readFileSync(FILE, "utf8"))).toBe(squeeze(wanted));
  for (const { word, usage } of WORDS) {
    expect(wanted).toContain(`\`${usage}\``);
    for (const language of LANGUAGES) {
      const about = aboutWord(word, language);
      expect([word, about.length > 3]).toEqual([word, true]);
      expect(words(language)).toContain(about);
    }
  }
});

test("the README names every flag, and none that does not exist", () => {
  const readme = readFileSync(FILE, "utf8");
  const named = new Set([...readme.matchAll(/--([a-z][a-z0-9-]*)/g)].map((match) => match[1]!));
  // What the README quotes of the command line itself.
  for (const other of ["help"]) named.delete(other);
  expect([...named].toSorted()).toEqual(Object.keys(FLAGS).toSorted());
});
