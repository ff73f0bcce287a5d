/**
 * `bun scripts/test.ts [arguments of bun test]`: builds `dist/zcode-acp` where it is older than what it is made of
 * (always under CI), runs the tests, and ends with a line `N passed, N failed`. The tests get a HOME and a folder for
 * temporary files of their own; a process or a file that is left there afterwards fails the run.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clearUp } from "./leftovers.ts";

const ROOT = join(import.meta.dir, "..");
const FILE = join(ROOT, "dist", process.platform === "win32" ? "zcode-acp.exe" : "zcode-acp");
const PARTS = ["src", "package.json", "bun.lock", "scripts/build.ts"];
/** How long a test may take that names no time of its own, in ms; the runner reads none from its configuration. */
const TEST_MS = 30_000;
/** How long processes may take to go after the last test, in ms. */
const GOING_MS = 3_000;

function newest(path: string): number {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(stat.mtimeMs, ...readdirSync(path).map((name) => newest(join(path, name))));
}

function stale(): boolean {
  if (process.env.CI === "true" || !existsSync(FILE)) return true;
  const built = statSync(FILE).mtimeMs;
  return PARTS.some((part) => newest(join(ROOT, part)) > built);
}

/** The totals of a JUnit report, from its outermost element. */
function totals(report: string): { passed: number; failed: number } {
  const head = /<testsuites\b[^>]*>/.exec(report)?.[0] ?? "";
  const count = (name: string) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(head)?.[1] ?? 0);
  const failed = count("failures") + count("errors");
  return { passed: count("tests") - failed - count("skipped"), failed };
}

async function run(argv: string[], env: Record<string, string> = {}): Promise<number> {
  return Bun.spawn([process.execPath, ...argv], {
    cwd: ROOT,
    // Otherwise Bun keeps what it has compiled in HOME.
    env: { ...process.env, BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0", ...env },
    stdio: ["ignore", "inherit", "inherit"],
  }).exited;
}

if (stale() && (await run(["scripts/build.ts"])) !== 0) {
  console.log("0 passed, 1 failed");
  process.exit(1);
}
const dir = realpathSync(mkdtempSync(join(tmpdir(), "zcode-acp-test-")));
const [home, temp, outfile] = [join(dir, "home"), join(dir, "tmp"), join(dir, "junit.xml")];
for (const path of [home, temp]) mkdirSync(path);
const code = await run(
  [
    "test",
    `--timeout=${TEST_MS}`,
    "--reporter=junit",
    `--reporter-outfile=${outfile}`,
    ...process.argv.slice(2),
  ],
  // Those of Windows as well.
  { HOME: home, USERPROFILE: home, TMPDIR: temp, TEMP: temp, TMP: temp },
);
const report = existsSync(outfile) ? readFileSync(outfile, "utf8") : "";
const { passed, failed } = totals(report);
const left = await clearUp(dir, ["home", "tmp", "junit.xml"], GOING_MS);
for (const { pid, words } of left.processes) console.log(`left behind: process ${pid} (${words})`);
for (const path of left.files) console.log(`left behind: ${path}`);
const clean = left.processes.length === 0 && left.files.length === 0;
// An error outside of any test fails the run and is in no report, and so does what is left behind.
const counted = (code !== 0 && failed === 0) || !clean ? Math.max(1, failed) : failed;
console.log(`${passed} passed, ${counted} failed`);
process.exit(counted === 0 && passed > 0 ? 0 : 1);
