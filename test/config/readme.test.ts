import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readSources } from "../../scripts/architecture.ts";
import { COMMANDS } from "../../src/cli/commands.ts";
import { variableTable } from "../../src/config/rows.ts";

const FILE = join(import.meta.dir, "../../README.md");
const BLOCK = /(<!-- variables: [^>]*-->\n)[\s\S]*?(<!-- \/variables -->)/;

/** The formatter pads the cells of tables. */
const squeeze = (markdown: string) => markdown.replace(/ +\|/g, " |").replace(/-{3,}/g, "---");

test("D3 README.md has the table of variables that the program itself uses", () => {
  const readme = readFileSync(FILE, "utf8");
  const wanted = readme.replace(
    BLOCK,
    (_, start: string, end: string) => `${start}\n${variableTable()}\n\n${end}`,
  );
  if (process.env.UPDATE_README === "1") writeFileSync(FILE, wanted);
  expect(squeeze(readFileSync(FILE, "utf8"))).toBe(squeeze(wanted));
  expect(wanted).toContain("`ZCODE_BIN`");
});

/** Codes of ZCode's errors that look like variables. */
const NO_VARIABLES = new Set(["ZCODE_RUNTIME_MODEL_UNAVAILABLE"]);

test("D3 every ZCODE_ variable that occurs in src is in README.md", () => {
  const readme = squeeze(readFileSync(FILE, "utf8"));
  const missing = new Set<string>();
  for (const [path, text] of readSources()) {
    for (const [name] of text.matchAll(/\bZCODE_[A-Z0-9_]*[A-Z0-9]\b/g)) {
      if (NO_VARIABLES.has(name)) continue;
      if (!readme.includes(`| \`${name}\` |`)) missing.add(`${name} (${path})`);
    }
  }
  expect([...missing]).toEqual([]);
});

test("D3 every command and every flag of it is in a README", async () => {
  const readme = readFileSync(FILE, "utf8");
  for (const [name, entry] of Object.entries(COMMANDS)) {
    expect(readme).toMatch(new RegExp(`\`${name}\\b`));
    const command = await entry.load().catch(() => undefined);
    // Those of the simulator stand in its own.
    if (!command || name === "sim") continue;
    for (const [flag, { type }] of Object.entries(command.flags)) {
      if (type === "positional") continue;
      expect([name, flag, readme]).toEqual([name, flag, expect.stringMatching(new RegExp(`--${flag}\\b`))]);
    }
  }
  for (const flag of ["--version", "--help"]) expect(readme).toContain(`\`${flag}`);
});
