/**
 * `bun scripts/run.ts NAME [arguments]`: starts `scripts/NAME.ts` without the cache that Bun otherwise keeps in HOME.
 * Only files of some size are put there, so this one stays small.
 */
import { join } from "node:path";

const [name = "", ...words] = process.argv.slice(2);
const child = Bun.spawn([process.execPath, join(import.meta.dir, `${name}.ts`), ...words], {
  env: { ...process.env, BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" },
  stdio: ["inherit", "inherit", "inherit"],
});
// A terminal's Ctrl-C reaches the script as well, and it may have something to clean up.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
process.exit(await child.exited);
