/**
 * `bun scripts/test.ts [arguments of bun test]`: builds `dist/zcode-acp` where it is older than what it is made of
 * (always under CI), runs the tests, and ends with a line `N passed, N failed`.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "..");
const FILE = join(ROOT, "dist", process.platform === "win32" ? "zcode-acp.exe" : "zcode-acp");
const PARTS = ["src", "package.json", "bun.lock", "scripts/build.ts"];

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

async function run(argv: string[]): Promise<number> {
  return Bun.spawn([process.execPath, ...argv], { cwd: ROOT, stdio: ["ignore", "inherit", "inherit"] })
    .exited;
}

if (stale() && (await run(["scripts/build.ts"])) !== 0) {
  console.log("0 passed, 1 failed");
  process.exit(1);
}
const dir = mkdtempSync(join(tmpdir(), "zcode-acp-report-"));
const outfile = join(dir, "junit.xml");
const code = await run([
  "test",
  "--reporter=junit",
  `--reporter-outfile=${outfile}`,
  ...process.argv.slice(2),
]);
const report = existsSync(outfile) ? readFileSync(outfile, "utf8") : "";
rmSync(dir, { recursive: true, force: true });
const { passed, failed } = totals(report);
// An error outside of any test fails the run and is in no report.
const counted = code !== 0 && failed === 0 ? 1 : failed;
console.log(`${passed} passed, ${counted} failed`);
process.exit(counted === 0 && passed > 0 ? 0 : 1);
