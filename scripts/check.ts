/** `bun scripts/check.ts`: types, lint, format, architecture, contract, sizes. All of them run; any failure fails. */
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

const failed: string[] = [];
for (const [name, argv] of STEPS) {
  const began = performance.now();
  const step = Bun.spawn([process.execPath, ...argv], { cwd: ROOT, stdio: ["ignore", "inherit", "inherit"] });
  const code = await step.exited;
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  console.log(`${code === 0 ? "ok" : "FAILED"}  ${name} (${seconds} s)`);
  if (code !== 0) failed.push(name);
}
if (failed.length > 0) console.error(`check failed: ${failed.join(", ")}`);
process.exit(failed.length === 0 ? 0 : 1);
