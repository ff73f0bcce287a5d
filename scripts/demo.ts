/**
 * `npm run demo`: builds the binary and plays a turn with it (`demo/turn.ts`). Both run without the cache that Bun
 * otherwise leaves in HOME, which is why this file stays small and starts them as processes.
 */
import { join } from "node:path";

const env = { ...process.env, BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" };
const run = (script: string, out: "inherit" | "ignore") =>
  Bun.spawnSync([process.execPath, join(import.meta.dir, script)], {
    env,
    stdio: ["inherit", out, "inherit"],
  }).exitCode;

process.exit(run("build.ts", "ignore") || run(join("demo", "turn.ts"), "inherit"));
