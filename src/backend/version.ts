/** Asking a program for its version. It may be anything, so it is started and ended as the app-server is. */

import { type Clock, withDeadline } from "../platform/clock.ts";
import { usableFolder } from "../platform/files.ts";
import { type Child, type Guard, killTree, spawnGroup, TREE_VARIABLE } from "../platform/process.ts";
import { VERSION_CHARS, VERSION_DEADLINE_MS } from "./limits.ts";
import { type Env, handedOn, type VersionOf } from "./locate.ts";

/** @param folders where such a program may run; the first that is there. */
export function versionReader(guard: Guard, folders: readonly string[], env: Env): VersionOf {
  return async (argv, ending) => {
    if (argv.length === 0 || ending?.aborted) return undefined;
    let child: Child;
    try {
      const own = handedOn(env, (name) => name === TREE_VARIABLE);
      child = spawnGroup({ argv, cwd: usableFolder(folders), env: own }, guard);
      child.stdin.end();
    } catch {
      return undefined;
    }
    child.stderr.cancel().catch(() => {});
    const found = await readVersion(child, guard.clock, ending).catch(() => undefined);
    const killed = killTree(child, 0);
    // Whoever waits for a mute program waits for its end as well; the others need not.
    if (found === undefined) await killed;
    return found;
  };
}

interface Reader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
}

async function readVersion(
  child: Child,
  clock: Clock,
  ending: AbortSignal | undefined,
): Promise<string | undefined> {
  const reader = child.stdout.getReader();
  const stop = () => void reader.cancel().catch(() => {});
  ending?.addEventListener("abort", stop);
  try {
    return await withDeadline(clock, VERSION_DEADLINE_MS, "--version", versionIn(reader));
  } finally {
    ending?.removeEventListener("abort", stop);
    stop();
  }
}

async function versionIn(reader: Reader): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = "";
  while (text.length < VERSION_CHARS) {
    const { value, done } = await reader.read();
    if (done) return /(\d+\.\d+\.\d+)/.exec(text)?.[1];
    text += decoder.decode(value, { stream: true });
    // Its last number may go on in the next piece unless something else follows.
    const whole = /(\d+\.\d+\.\d+)\D/.exec(text)?.[1];
    if (whole !== undefined) return whole;
  }
  return undefined;
}

/** Negative when `a` is older than `b`; both dotted numbers. */
export function compareVersions(a: string, b: string): number {
  const left = a.split(".").map(Number);
  const right = b.split(".").map(Number);
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
