/**
 * A lock between processes: a file that is created exclusively and names its holder by pid and start time. It is broken
 * when the holder is gone, and never waited on for long: whoever takes it must still write so that nothing is lost.
 */

import { randomUUID } from "node:crypto";
import { closeSync, lstatSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { type Clock, sleep } from "./clock.ts";
import { readRegular } from "./files.ts";
import { obj, str } from "./json.ts";
import { LOCK_HELD_MS, LOCK_POLL_MS, LOCK_UNREADABLE_MS, LOCK_WAIT_MS } from "./limits.ts";
import { bornOf } from "./processTable.ts";

/**
 * Runs `work` while holding `path`, or after having waited for it in vain.
 * @param path the lock file; its directory must be there.
 * @param waitMs how long another holder is waited for.
 * @throws what `work` throws, or the system's error where the file cannot be created at all.
 */
export async function withLock<T>(
  path: string,
  clock: Clock,
  work: () => Promise<T>,
  waitMs: number = LOCK_WAIT_MS,
): Promise<T> {
  const mine = await acquire(path, clock, waitMs);
  try {
    return await work();
  } finally {
    if (mine !== undefined) release(path, mine);
  }
}

/** @returns what the file holds, or undefined where the wait was in vain. */
async function acquire(path: string, clock: Clock, waitMs: number): Promise<string | undefined> {
  const mine = JSON.stringify({ pid: process.pid, born: bornOf(process.pid) ?? null, nonce: randomUUID() });
  const deadline = clock.mono() + waitMs;
  for (;;) {
    if (create(path, mine)) return mine;
    const found = read(path);
    if (found === undefined ? isNoFile(path, clock) : isStale(path, found, clock)) {
      breakLock(path, found);
      continue;
    }
    if (clock.mono() >= deadline) return undefined;
    await sleep(clock, LOCK_POLL_MS);
  }
}

function create(path: string, mine: string): boolean {
  let file: number;
  try {
    file = openSync(path, "wx", 0o600);
  } catch (error) {
    if (obj(error).code === "EEXIST") return false;
    throw error;
  }
  try {
    writeSync(file, mine);
  } catch (error) {
    // On a full disk: a lock without a name in it would hold up everybody for a while.
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
  return true;
}

function read(path: string): string | undefined {
  try {
    return readRegular(path);
  } catch {
    return undefined;
  }
}

function isStale(path: string, found: string, clock: Clock): boolean {
  let holder: unknown;
  try {
    holder = JSON.parse(found);
  } catch {
    // Between its creation and its first byte a lock says nothing; one that stays so belongs to nobody.
    return age(path, clock) > LOCK_UNREADABLE_MS;
  }
  const { pid, born } = obj(holder);
  if (typeof pid !== "number" || !Number.isInteger(pid) || pid <= 0)
    return age(path, clock) > LOCK_UNREADABLE_MS;
  try {
    process.kill(pid, 0);
  } catch (error) {
    // Another user's process is there all the same, and may have come in the place of the holder.
    if (obj(error).code === "ESRCH") return true;
  }
  const now = bornOf(pid);
  const then = str(born);
  if (now !== undefined && then !== undefined) return now !== then;
  // Whether it is the holder cannot be told; none works for so long.
  return age(path, clock) > LOCK_HELD_MS;
}

/** Something that cannot be read and stays: a folder, a pipe, a link to nowhere, another user's file. */
function isNoFile(path: string, clock: Clock): boolean {
  return age(path, clock) > LOCK_UNREADABLE_MS;
}

/** A time to come is a clock that was set back, and says as little of a holder as one long past. */
function age(path: string, clock: Clock): number {
  try {
    return Math.abs(clock.now() - lstatSync(path).mtimeMs);
  } catch {
    return 0;
  }
}

/** Takes the file away that was judged; one that came in its place meanwhile is put back. */
function breakLock(path: string, judged: string | undefined): void {
  const aside = `${path}.${process.pid}.${randomUUID()}`;
  try {
    renameSync(path, aside);
  } catch {
    return;
  }
  if (read(aside) !== judged && read(path) === undefined) {
    try {
      renameSync(aside, path);
      return;
    } catch {
      // Whoever held it finds it gone at the end, and has merged.
    }
  }
  rmSync(aside, { force: true, recursive: true });
}

function release(path: string, mine: string): void {
  if (read(path) === mine) rmSync(path, { force: true });
}
