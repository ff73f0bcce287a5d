/** `bun scripts/check.ts`: types, lint, format, architecture, contract, sizes. All of them run; any failure fails. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "..");
const tool = (path: string) => join(ROOT, "node_modules", path);

const STEPS: readonly (readonly [name: string, argv: readonly string[]])[] = [
  ["types", [tool("typescript/bin/tsc"), "-p", "."]],
  ["lint and format", [tool("@biomejs/biome/bin/biome"), "check", "."]],
  ["architecture", ["scripts/architecture.ts"]],
  ["contract", ["scripts/contract.ts"]],
  ["sizes", ["scripts/largest.ts"]],
];

/** Caches that tools would leave in HOME go here, and away with it. */
const cache = mkdtempSync(join(tmpdir(), "zcode-acp-check-"));
const env = {
  ...process.env,
  XDG_CACHE_HOME: cache,
  BIOME_LOG_PATH: cache,
  BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0",
};

const failed: string[] = [];
for (const [name, argv] of STEPS) {
  const began = performance.now();
  const step = Bun.spawn([process.execPath, ...argv], {
    cwd: ROOT,
    env,
    stdio: ["ignore", "inherit", "inherit"],
  });
  const code = await step.exited;
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  console.log(`${code === 0 ? "ok" : "FAILED"}  ${name} (${seconds} s)`);
  if (code !== 0) failed.push(name);
}
rmSync(cache, { recursive: true, force: true });
if (failed.length > 0) console.error(`check failed: ${failed.join(", ")}`);
process.exit(failed.length === 0 ? 0 : 1);
