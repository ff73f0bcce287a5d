/** The short way of a status bar to what was kept, beside the long one: they must say the same. */

import { expect, test } from "bun:test";
import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { resolvePaths, under } from "../../src/platform/paths.ts";
import { accountStamps, keptFile } from "../../src/quota/kept.ts";
import { quickFile, quickStamps } from "../../src/quota/quick.ts";
import { keptPath, keyFiles } from "../../src/quota/stored.ts";
import { tempDir } from "../support/temp.ts";

function accounts() {
  const env: Record<string, string> = { HOME: tempDir("quick") };
  const files = { env, ...resolvePaths(env, "linux") };
  return { env, files, paths: keyFiles(files) };
}

/** Not in whole seconds, which a time is by chance once in a thousand. */
const TIME = 1_790_000_000.5;

function write(path: string, text: string, time = TIME): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  utimesSync(path, time, time);
}

test("Q3 Q5 both ways know the same accounts, and any file and variable makes them others", () => {
  const { env, files, paths } = accounts();
  const seen = new Set<string>();
  const others = () => {
    const stamps = quickStamps(files);
    expect(stamps).toEqual(accountStamps(files));
    const text = JSON.stringify(stamps);
    expect(seen).not.toContain(text);
    seen.add(text);
  };
  others();
  for (const path of Object.values(paths)) {
    write(path, "one");
    others();
    write(path, "two", TIME + 0.25);
    others();
    write(path, "longer", TIME + 0.25);
    others();
  }
  env.OLLAMA_API_KEY = "key";
  others();
  write(`${paths.config}.other`, "another");
  rmSync(paths.config);
  symlinkSync(`${paths.config}.other`, paths.config);
  others();
});

test("Q3 Q5 of files that were all given one time, the inode tells which is there, and the short way leaves that to the long one", () => {
  for (const which of ["config", "glm", "opencode"] as const) {
    const { files, paths } = accounts();
    write(paths[which], "key1", 1_790_000_000);
    expect(quickStamps(files)).toBeUndefined();
    const before = accountStamps(files);
    write(`${paths[which]}.other`, "key2", 1_790_000_000);
    renameSync(`${paths[which]}.other`, paths[which]);
    expect(quickStamps(files)).toBeUndefined();
    expect(accountStamps(files)).not.toEqual(before);
  }
});

test("Q3 Q5 both ways read the same of a kept file, whatever is in its place", () => {
  const dir = tempDir("quick-kept");
  const path = keptPath(dir, "glm");
  const foreign = join(tempDir("quick-foreign"), "file");
  writeFileSync(foreign, '{"v":1,"label":"é·"}');
  const places: readonly (() => void)[] = [
    () => {},
    () => writeFileSync(path, '{"v":1,"label":"视频"}'),
    () => writeFileSync(path, ""),
    () => writeFileSync(path, '{"v":1'),
    () => writeFileSync(path, "[1]"),
    () => writeFileSync(path, Buffer.from([0x7b, 0xff, 0x7d])),
    () => writeFileSync(path, `{"v":"${"x".repeat(300_000)}"}`),
    () => symlinkSync(foreign, path),
    () => symlinkSync(join(dir, "nowhere"), path),
    () => symlinkSync("/dev/zero", path),
    // Reading it would wait for whoever writes to it.
    () => Bun.spawnSync(["mkfifo", path]),
  ];
  for (const place of places) {
    rmSync(path, { force: true });
    place();
    expect(quickFile(path)).toEqual(keptFile(dir, "glm"));
  }
  rmSync(path, { force: true });
  mkdirSync(path);
  expect(() => quickFile(path)).toThrow();
  expect(keptFile(dir, "glm")).toBeUndefined();
});

test("paths are put together as the runtime does it", () => {
  const dirs = [
    "/",
    "/a",
    "/a/",
    "/a//b",
    "/a/./b",
    "/a/../b",
    "/a/.",
    "/a/..",
    "/a/.b",
    "a",
    "./a",
    "",
    "C:\\a",
  ];
  for (const dir of dirs)
    for (const rest of ["b", "b/c", "../c", "b//c", "./c", ".c", "c/.", "c/..", "c/", ""])
      expect([dir, rest, under(dir, rest)]).toEqual([dir, rest, join(dir, rest)]);
});
