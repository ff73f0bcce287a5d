import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { tempDir } from "../support/temp.ts";

test("D1 the demo shows one of everything, ends with 0, and leaves nothing in HOME", async () => {
  const home = tempDir("home");
  const demo = Bun.spawn([process.execPath, join(import.meta.dir, "..", "..", "scripts", "demo.ts")], {
    env: { ...process.env, HOME: home, NO_COLOR: "1" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([
    new Response(demo.stdout).text(),
    new Response(demo.stderr).text(),
    demo.exited,
  ]);
  expect(err).toBe("");
  expect(code).toBe(0);
  for (const part of ["thinking", "lint: fine", "+ changed", "wants to run", "to-do", "tokens in"])
    expect(out).toContain(part);
  expect(readdirSync(home)).toEqual([]);
}, 90_000);
