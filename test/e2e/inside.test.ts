/** Noise and faults inside the program itself. */

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Agent, within } from "../support/agent.ts";
import { tempDir } from "../support/temp.ts";

test("A9 what is printed, thrown or rejected inside the program neither reaches stdout nor ends it", async () => {
  const workspace = tempDir("work");
  const preload = join(workspace, "noisy.ts");
  writeFileSync(
    preload,
    `if (process.argv.includes("stdio")) setTimeout(() => {
    for (const name of ["log", "info", "debug", "warn", "error", "trace"]) console[name]("stray", name);
    void Promise.reject(new Error("rejected"));
    setTimeout(() => { throw new Error("thrown"); }, 1);
  }, 300);`,
  );
  const main = join(import.meta.dir, "..", "..", "src", "main.ts");
  const home = tempDir("home");
  const child = Bun.spawn([process.execPath, "--preload", preload, main, "stdio", "--backend", "sim"], {
    cwd: workspace,
    env: { PATH: process.env.PATH ?? "", HOME: home, BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
  const agent = new Agent(child, home, workspace);
  const session = await agent.start();
  await Bun.sleep(600);
  expect((await within(agent.client.prompt(session, "text fine"), 3000, "prompt")).stopReason).toBe(
    "end_turn",
  );
  expect(agent.strays).toEqual([]);
  expect(agent.stderr).not.toContain("stray");
  await agent.close();
});
