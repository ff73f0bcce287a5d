/** Skills and commands on the disk: where they lie, and what their heads say. */

import { expect, test } from "bun:test";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { frontmatter, readCatalogue } from "../../src/store/catalogue.ts";
import { eachSeed } from "../support/random.ts";
import { tempDir } from "../support/temp.ts";

function write(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

const head = (fields: Record<string, string>, body = "") =>
  `---\n${Object.entries(fields)
    .map(([key, value]) => `${key}: ${value}\n`)
    .join("")}---\n${body}`;

function places() {
  const home = tempDir("catalogue");
  const cwd = join(home, "code", "shop", "web");
  mkdirSync(cwd, { recursive: true });
  mkdirSync(join(home, "code", "shop", ".git"));
  return { home, cwd, zcodeHome: join(home, ".zcode") };
}

const named = async ({ home, cwd, zcodeHome }: ReturnType<typeof places>) =>
  (await readCatalogue(cwd, { home, zcodeHome })).map(
    ({ kind, name, description, hint }) =>
      `${kind} ${name}: ${description}${hint === undefined ? "" : ` [${hint}]`}`,
  );

test("R41 skills lie in the home, in each folder up to the repository's, and in folders of one level; the first of a name counts", async () => {
  const at = places();
  const { home, cwd } = at;
  const repository = join(home, "code", "shop");
  write(join(home, ".zcode/skills/tdd/SKILL.md"), head({ name: "tdd", description: "Tests first" }));
  write(join(home, ".agents/skills/SKILL.md"), head({ name: "alone", description: '"Quoted: yes"' }));
  write(join(cwd, ".zcode/skills/tdd/SKILL.md"), head({ name: "tdd", description: "another" }));
  write(join(cwd, ".zcode/skills/folder-name/SKILL.md"), "no head at all");
  write(join(repository, ".agents/skills/up/SKILL.md"), head({ description: ">\n  two\n  lines" }));
  write(join(repository, ".agents/skills/a/b/SKILL.md"), head({ name: "too-deep" }));
  write(
    join(repository, ".agents/skills/hidden/SKILL.md"),
    head({ name: "hidden", "user-invocable": "false" }),
  );
  write(join(repository, ".agents/skills/odd/SKILL.md"), head({ name: "not a name" }));
  write(join(home, "code", ".zcode/skills/above/SKILL.md"), head({ name: "above" }));
  expect(await named(at)).toEqual([
    "skill tdd: Tests first",
    "skill alone: Quoted: yes",
    "skill folder-name: ",
    "skill up: two lines",
  ]);
});

test("R40 commands are called what their path is; what they say first describes them where nothing else does", async () => {
  const at = places();
  write(
    join(at.cwd, ".zcode/commands/Deploy/now.md"),
    head({ description: "Ship it", "argument-hint": "<where>" }),
  );
  write(join(at.cwd, ".zcode/commands/check.md"), "\n# Check all\nthe rest");
  write(join(at.cwd, ".zcode/commands/bad name.md"), "no");
  write(join(at.cwd, ".zcode/commands/notes.txt"), "no");
  write(join(at.home, ".agents/commands/check.md"), "of the home, which comes first");
  expect(await named(at)).toEqual([
    "command check: of the home, which comes first",
    "command deploy:now: Ship it [<where>]",
  ]);
});

test("R40 R41 plugins that are switched on bring theirs, from the newest version and from nowhere outside it", async () => {
  const at = places();
  const cache = join(at.zcodeHome, "cli/plugins/cache/market");
  write(
    join(at.zcodeHome, "cli/config.json"),
    `\uFEFF${JSON.stringify({
      plugins: {
        enabledPlugins: {
          "stock@market": true,
          "off@market": false,
          "../x@market": true,
          nowhere: true,
          "@": true,
        },
      },
    })}`,
  );
  for (const version of ["1.9.0", "1.10.0"]) {
    const dir = join(cache, "stock", version);
    write(
      join(dir, ".claude-plugin/plugin.json"),
      JSON.stringify({ name: "stock", skills: ["mine", "../../../../../../../.."], commands: "orders" }),
    );
    write(join(dir, "mine/count/SKILL.md"), head({ name: "count", description: version }));
    write(join(dir, "orders/order.md"), head({ description: version }));
  }
  write(join(cache, "off/1.0.0/skills/off/SKILL.md"), head({ name: "off" }));
  expect(await named(at)).toEqual(["skill stock:count: 1.10.0", "command order: 1.10.0"]);
});

test("R40 R41 links in circles, pipes, folders in the place of files, files without end and without permission hold up nothing", async () => {
  const at = places();
  const skills = join(at.cwd, ".zcode/skills");
  const commands = join(at.cwd, ".zcode/commands");
  write(join(skills, "good/SKILL.md"), head({ name: "good", description: "x".repeat(5_000) }));
  mkdirSync(join(skills, "folder/SKILL.md"), { recursive: true });
  mkdirSync(join(skills, "pipe"), { recursive: true });
  Bun.spawnSync(["mkfifo", join(skills, "pipe/SKILL.md")]);
  symlinkSync("/dev/zero", join(skills, "SKILL.md"));
  write(join(skills, "closed/SKILL.md"), head({ name: "closed" }));
  chmodSync(join(skills, "closed/SKILL.md"), 0o000);
  mkdirSync(join(commands, "loop"), { recursive: true });
  symlinkSync(commands, join(commands, "loop/again"));
  write(join(commands, "fine.md"), "Fine");
  write(join(commands, "binary.md"), "\u0000\u0001\u0002");
  for (let i = 0; i < 600; i++) write(join(commands, "many", `c${i}.md`), "one of many");
  const began = performance.now();
  const found = await readCatalogue(at.cwd, at);
  expect(performance.now() - began).toBeLessThan(5_000);
  expect(found.find(({ name }) => name === "good")?.description).toHaveLength(1_024);
  expect(found.some(({ name }) => name === "fine")).toBe(true);
  expect(found.length).toBeLessThanOrEqual(500);
  expect(await readCatalogue("/nonexistent/deep", { home: "/nonexistent", zcodeHome: "/dev/null" })).toEqual(
    [],
  );
});

test("R41 a file's head is read in every spelling, and one that is broken breaks nothing", () => {
  const fields = (head: string) => Object.fromEntries(frontmatter(head).fields);
  expect(
    fields("---\na: |\n  one\n  two\nb: 'it''s'\nc: plain # said\nd:\n  folded\n  so\n---\nbody"),
  ).toEqual({
    a: "one\ntwo",
    b: "it's",
    c: "plain",
    d: "folded so",
  });
  expect(fields('\uFEFF---\r\nname: "a\\"b"\r\n---\r\n')).toEqual({ name: 'a"b' });
  expect(frontmatter("no head").body).toBe("no head");
  expect(frontmatter("---\nname: never closed").body).toBe("");
  const pieces = ["---", "\n", "name:", " ", "|", ">", '"', "'", "x", "\\", "\r", ":", "#", "\u0000", "- a"];
  eachSeed(300, (random) => {
    const text = random.times(random.int(0, 30), () => random.pick(pieces)).join("");
    expect(() => frontmatter(text)).not.toThrow();
  });
});
