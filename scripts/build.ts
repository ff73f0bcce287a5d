/**
 * `bun scripts/build.ts [--target bun-PLATFORM-ARCH[-musl]]… [--all] [--outfile PATH]`
 *
 * Writes `dist/zcode-acp` for this machine, or `dist/zcode-acp-PLATFORM-ARCH` for each target named.
 */
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

export const ROOT = join(import.meta.dir, "..");
const ENTRY = join(ROOT, "src", "main.ts");

const TARGETS = [
  "bun-linux-x64",
  "bun-linux-arm64",
  "bun-linux-x64-musl",
  "bun-linux-arm64-musl",
  "bun-darwin-arm64",
  "bun-darwin-x64",
  "bun-windows-x64",
  "bun-windows-arm64",
];

/** Without these the file starts a third slower, or reads `.env` of whatever folder an editor opens. */
const FLAGS = [
  "--compile",
  "--minify",
  "--bytecode",
  "--format=esm",
  "--splitting",
  "--compile-jit-policy=100",
  "--no-compile-autoload-dotenv",
  "--no-compile-autoload-bunfig",
];

/** The commit that is checked out, with `+` where files were changed; `unknown` outside git. */
function commit(): string {
  const git = (...args: string[]) =>
    Bun.spawnSync(["git", ...args], { cwd: ROOT, stdout: "pipe", stderr: "ignore" })
      .stdout.toString()
      .trim();
  try {
    const head = git("rev-parse", "--short=10", "HEAD");
    return head === ""
      ? "unknown"
      : head + (git("status", "--porcelain", "--untracked-files=no", "--", "src") ? "+" : "");
  } catch {
    return "unknown";
  }
}

/** Builds one file. @returns false, with the reason printed, when it is not what it should be. */
async function build(outfile: string, target: string | undefined): Promise<boolean> {
  const version = (JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string })
    .version;
  // Beside the target, so that a running file is replaced and not written into.
  const temporary = `${outfile}.${process.pid}.tmp${outfile.endsWith(".exe") ? ".exe" : ""}`;
  const began = performance.now();
  const bun = Bun.spawn(
    [
      process.execPath,
      "build",
      ...FLAGS,
      ...(target ? [`--target=${target}`] : []),
      "--define",
      `__VERSION__=${JSON.stringify(version)}`,
      "--define",
      `__COMMIT__=${JSON.stringify(commit())}`,
      ENTRY,
      "--outfile",
      temporary,
    ],
    {
      cwd: ROOT,
      // The engine's own chatter about bytecode would be taken for a complaint.
      env: { ...process.env, BUN_JSC_verboseDiskCache: undefined },
      stdout: "pipe",
      stderr: "pipe",
      stdin: "ignore",
    },
  );
  const [stdout, stderr] = await Promise.all([
    new Response(bun.stdout).text(),
    new Response(bun.stderr).text(),
  ]);
  await bun.exited;
  const fail = (why: string): false => {
    rmSync(temporary, { force: true });
    console.error(`${outfile}: ${why}\n${stdout}${stderr}`);
    return false;
  };
  if (bun.exitCode !== 0) return fail(`bun build ended with ${bun.exitCode}`);
  // It exits with 0 all the same when some module's bytecode could not be made.
  if (/bytecode/i.test(stdout + stderr)) return fail("no bytecode for a part of it");
  if (!target && !usesBytecode(temporary)) return fail("the file does not start from bytecode");
  chmodSync(temporary, 0o755);
  renameSync(temporary, outfile);
  const megabytes = (statSync(outfile).size / 1e6).toFixed(0);
  console.log(`${outfile} (${megabytes} MB, ${((performance.now() - began) / 1000).toFixed(1)} s)`);
  return true;
}

/** Whether starting `file` takes its code from the bytecode inside, as the engine itself reports it. */
function usesBytecode(file: string): boolean {
  const run = Bun.spawnSync([file, "--version"], {
    env: { ...process.env, BUN_JSC_verboseDiskCache: "1" },
    stdout: "pipe",
    stderr: "pipe",
  });
  const report = run.stdout.toString() + run.stderr.toString();
  const count = (what: RegExp) => report.match(what)?.length ?? 0;
  // One miss is a module of Bun's own, which has no bytecode here.
  return count(/cache hit/gi) >= 2 && count(/cache miss/gi) <= 1;
}

/** `dist/zcode-acp-linux-x64` for `bun-linux-x64`. */
function fileOf(target: string): string {
  return join(
    ROOT,
    "dist",
    `zcode-acp-${target.replace(/^bun-/, "")}${target.includes("windows") ? ".exe" : ""}`,
  );
}

function flag(name: string): string[] {
  return process.argv.flatMap((word, at) => {
    if (word === name) return process.argv[at + 1] ?? [];
    return word.startsWith(`${name}=`) ? word.slice(name.length + 1) : [];
  });
}

if (import.meta.main) {
  mkdirSync(join(ROOT, "dist"), { recursive: true });
  const targets = process.argv.includes("--all") ? TARGETS : flag("--target");
  const unknown = targets.find((target) => !TARGETS.includes(target));
  if (unknown !== undefined) {
    console.error(`No such target: ${unknown}. There are: ${TARGETS.join(", ")}`);
    process.exit(1);
  }
  const own = join(ROOT, "dist", process.platform === "win32" ? "zcode-acp.exe" : "zcode-acp");
  let fine = true;
  if (targets.length === 0) fine = await build(flag("--outfile")[0] ?? own, undefined);
  for (const target of targets) fine = (await build(fileOf(target), target)) && fine;
  process.exit(fine ? 0 : 1);
}
