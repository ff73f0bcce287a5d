/**
 * `npm run demo`: builds the binary and plays a turn with it (`demo/turn.ts`). Both run without the cache that Bun
 * otherwise leaves in HOME, which is why this file stays small and starts them as processes.
 */
import { join } from "node:path";

const env = { ...process.env, BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" };
const run = async (script: string, out: "inherit" | "ignore") => {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, script)], {
    env,
    stdio: ["inherit", out, "inherit"],
  });
  // A terminal's Ctrl-C reaches it as well, and it has something to clean up.
  process.on("SIGINT", () => {});
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
  return child.exited;
};

process.exit((await run("build.ts", "ignore")) || (await run(join("demo", "turn.ts"), "inherit")));
