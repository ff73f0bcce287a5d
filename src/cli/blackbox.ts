/** `zcode-acp doctor --of PID`: asks a running bridge for its black box, and prints it. */
import { mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, watch } from "node:fs";
import { basename, join } from "node:path";
import { errors } from "../errors/index.ts";
import { type Phrase, phrase } from "../locale/index.ts";
import { withDeadline } from "../platform/clock.ts";
import { DOCTOR_BLACKBOX_MS } from "./limits.ts";
import { print, printError } from "./print.ts";
import type { Surroundings } from "./surroundings.ts";

/**
 * @returns the exit code: 0 when a black box was printed.
 * @throws ProductError where `words` is no process id.
 */
export async function printBlackBox(words: string, around: Surroundings): Promise<number> {
  const pid = Number(words);
  const refusal = (expects: Phrase) => errors.badFlagValue("zcode-acp doctor", "--of", words, expects);
  const fail = async (expects: Phrase): Promise<number> => {
    await printError(refusal(expects), around.config.language);
    return 1;
  };
  if (!Number.isInteger(pid) || pid <= 0) throw refusal(phrase("expects.pid", {}));
  // The signal ends a process that does not know it, so it goes to none but our own.
  if (!isOurs(pid)) return fail(phrase("expects.bridge", {}));
  const dir = around.paths.stateDir;
  const suffix = `-${pid}.blackbox.json`;
  const began = around.clock.now();
  const find = (): string | undefined => {
    try {
      const name = readdirSync(dir).find((entry) => entry.endsWith(suffix));
      if (name === undefined) return undefined;
      const path = join(dir, name);
      // File systems keep times more coarsely than clocks do.
      return statSync(path).mtimeMs >= began - 10 ? readFileSync(path, "utf8") : undefined;
    } catch {
      return undefined;
    }
  };
  const written = new Promise<string>((resolve) => {
    const look = () => {
      const text = find();
      if (text !== undefined) resolve(text);
    };
    try {
      // It is not there before the first file of ours is.
      mkdirSync(dir, { recursive: true, mode: 0o700 });
      watch(dir, look).unref();
    } catch {
      // The second look finds what cannot be watched for.
    }
    process.kill(pid, "SIGUSR1");
    around.clock.after(DOCTOR_BLACKBOX_MS / 2, look);
  });
  try {
    await print(await withDeadline(around.clock, DOCTOR_BLACKBOX_MS, "the black box", written));
    return 0;
  } catch {
    return fail(phrase("expects.writer", { path: dir }));
  }
}

function isOurs(pid: number): boolean {
  const own = basename(process.execPath);
  try {
    if (process.platform === "linux") return basename(readlinkSync(`/proc/${pid}/exe`)).startsWith(own);
    const listed = Bun.spawnSync(["ps", "-o", "comm=", "-p", String(pid)], { stderr: "ignore" });
    return basename(listed.stdout.toString().trim()).startsWith(own);
  } catch {
    return false;
  }
}
