/** What `scripts/test.ts` finds after a run. */
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { clearUp, filesOf } from "../../scripts/leftovers.ts";
import { alive, until } from "../support/processes.ts";
import { tempDir } from "../support/temp.ts";

test("files below the folders of a run are left, the folders themselves are not", () => {
  const dir = tempDir("run");
  mkdirSync(join(dir, "home", ".bun"), { recursive: true });
  mkdirSync(join(dir, "tmp"));
  writeFileSync(join(dir, "junit.xml"), "");
  expect(filesOf(dir, ["home", "tmp", "junit.xml"])).toEqual([join("home", ".bun")]);
  expect(filesOf(dir, ["home", "tmp"]).toSorted()).toEqual([join("home", ".bun"), "junit.xml"]);
});

test.skipIf(process.platform !== "linux")(
  "a process that works in a run's folder or knows of it is found and ended, another is not",
  async () => {
    const dir = tempDir("run");
    const start = (cwd: string, env: Record<string, string>) =>
      Bun.spawn(["sleep", "30"], { cwd, env: { PATH: process.env.PATH ?? "", ...env } });
    const inside = start(dir, {});
    const told = start("/", { HOME: join(dir, "home") });
    const other = start("/", {});
    const left = await clearUp(dir, [], 0);
    expect(left.processes.map((row) => row.pid).toSorted()).toEqual([inside.pid, told.pid].toSorted());
    expect(left.processes.every((row) => row.words === "sleep 30")).toBe(true);
    await until("their end", 5_000, () => !alive(inside.pid) && !alive(told.pid));
    expect(alive(other.pid)).toBe(true);
    other.kill();
  },
);
