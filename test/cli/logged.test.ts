/** Faults of the program itself, and sentences outside of the one table. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { readSources } from "../../scripts/architecture.ts";
import { logged } from "../../src/cli/main.ts";
import { tempDir } from "../support/temp.ts";

test("D4 D8 a fault of the program is in the log that its hint names, with secrets masked", () => {
  const home = tempDir("home");
  const shown = logged(new TypeError("no such thing: Bearer abc.def"), { HOME: home, XDG_STATE_HOME: "" }, 7);
  const folder = join(home, ".local", "state", "zcode-acp");
  expect(shown.code).toBe("ZACP-901");
  expect(shown.hint).toContain(folder);
  expect(shown.sentence).toContain("TypeError");
  expect(readdirSync(folder)).toEqual(["cli-7.log"]);
  const log = join(folder, "cli-7.log");
  if (process.platform !== "win32") expect(statSync(log).mode & 0o777).toBe(0o600);
  const text = readFileSync(log, "utf8");
  expect(text).toContain("TypeError: no such thing");
  expect(text).toContain("logged.test.ts");
  expect(text).not.toContain("abc.def");
});

test("D4 what is thrown and no error, and a log that cannot be written, break nothing", () => {
  for (const fault of [undefined, null, "words", 7, { a: 1 }])
    expect(logged(fault, { HOME: "/dev/null" }).code).toBe("ZACP-901");
});

/** The rooms whose words a person reads, and the positions that hold them. */
const ROOMS = /^(cli|config|errors)\//;
const SPOKEN =
  /\b(?:description|expects|problem|detail|mend|hint|sentence)\s*:\s*(["'`])((?:\\.|(?!\1)[^\\])*)\1/g;
const PROSE = /\p{L}+ \p{L}+/u;

/** Words for people that stand where the table should be asked, as `path: words`. Errors take phrases by their types. */
function strayWords(files: ReadonlyMap<string, string>): string[] {
  const found: string[] = [];
  for (const [path, text] of files) {
    if (!ROOMS.test(path)) continue;
    for (const [, , words = ""] of text.matchAll(SPOKEN))
      if (PROSE.test(words)) found.push(`${path}: ${words}`);
  }
  return found;
}

test("D3 no words for people stand in the code of commands, settings and errors", () => {
  expect(strayWords(readSources())).toEqual([]);
  const planted = new Map([
    ["cli/x.ts", 'args: { json: { description: "The same as JSON" } }, expects: "a path"'],
  ]);
  expect(strayWords(planted)).toEqual(["cli/x.ts: The same as JSON", "cli/x.ts: a path"]);
});
