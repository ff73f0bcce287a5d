/**
 * `acp-lazy-sessions.json`: which backend session stands behind an id that `session/new` gave out. Its shape
 * is shared with other bridges, some of which know no lock of ours: each write takes the lock where it can, merges into
 * what is on disk now, keeps fields it does not know, is atomic, and is read again.
 */

import { mkdirSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { writeAtomic } from "../platform/atomic.ts";
import type { Clock } from "../platform/clock.ts";
import { readRegular } from "../platform/files.ts";
import { isObj, num, type Obj, obj, str, text } from "../platform/json.ts";
import { withLock } from "../platform/lock.ts";
import type { Log } from "../platform/log.ts";

export interface Alias {
  readonly cwd: string;
  /** The backend's session id; undefined while the placeholder was never used. */
  readonly backendId: string | undefined;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** A write that another bridge, which knows no lock of ours, has undone is done again this often in all. */
const WRITES = 3;

/** Reasons for which there is no file; any other means that one is there. */
const MISSING: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR"]);

export class AliasStore {
  readonly path: string;
  private queue: Promise<void> = Promise.resolve();
  /** What is on its way to the disk, or could not get there. */
  private readonly unwritten = new Map<string, Alias>();

  /** @param zcodeHome the directory that holds `v2`. */
  constructor(
    zcodeHome: string,
    private readonly log: Log,
    private readonly clock: Clock,
  ) {
    this.path = join(zcodeHome, "v2", "acp-lazy-sessions.json");
  }

  /** What is known of a placeholder, by this or an earlier bridge. */
  get(id: string): Alias | undefined {
    const recent = this.unwritten.get(id);
    if (recent) return recent;
    const entry = this.read()[id];
    if (!isObj(entry)) return undefined;
    const cwd = text(entry.cwd);
    if (cwd === undefined) return undefined;
    return { cwd, backendId: text(entry.zcodeSid), createdAt: num(entry.createdAt) ?? 0 };
  }

  /** Records a placeholder; failing to is logged and breaks nothing, since memory still knows it. */
  put(id: string, alias: Alias): Promise<void> {
    this.unwritten.set(id, alias);
    const written = this.queue.then(() => this.write(id, alias));
    this.queue = written;
    return written;
  }

  /** Resolves when everything put so far is on disk. */
  flushed(): Promise<void> {
    return this.queue;
  }

  private async write(id: string, alias: Alias): Promise<void> {
    // What was put in its place since is written in its own turn, if it is not on disk already.
    if (this.unwritten.get(id) !== alias) return;
    try {
      mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
      for (let attempt = 0; attempt < WRITES && !this.holds(id, alias); attempt++) {
        await withLock(`${this.path}.lock`, this.clock, () => this.merge());
      }
      if (this.unwritten.get(id) === alias) this.unwritten.delete(id);
    } catch (error) {
      this.log.once("alias-write", "warn", `the alias file cannot be written: ${why(error)}`);
    }
  }

  /** Writes all that waits, so that the last of many is on disk as soon as the first: each write is forced to it. */
  private async merge(): Promise<void> {
    // Throws where the file cannot be read: what it holds must not be lost to what is written.
    this.setCorruptAside();
    const all = this.read();
    const next = { ...all };
    for (const [id, { cwd, createdAt, backendId }] of this.unwritten) {
      const entry = { ...obj(all[id]), cwd, createdAt };
      // An id may be the name of anything, also of what every object has.
      Object.defineProperty(next, id, {
        value: backendId === undefined ? entry : { ...entry, zcodeSid: backendId },
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    await writeAtomic(this.path, `${JSON.stringify(next, null, 2)}\n`, 0o600);
  }

  /** True where the disk says what was to be written. */
  private holds(id: string, alias: Alias): boolean {
    const entry = obj(this.read()[id]);
    return entry.cwd === alias.cwd && (alias.backendId === undefined || entry.zcodeSid === alias.backendId);
  }

  /** A file that is no JSON object is kept beside the new one: it may hold what a person wants back. */
  private setCorruptAside(): void {
    if (this.parse() !== "corrupt") return;
    const aside = `${this.path}.corrupt-${this.clock.now()}`;
    renameSync(this.path, aside);
    this.log.write("warn", `the alias file was no JSON object; it is kept as ${aside}`);
  }

  private read(): Obj {
    let parsed: Obj | "corrupt";
    try {
      parsed = this.parse();
    } catch (error) {
      this.log.once("alias-read", "warn", `the alias file cannot be read and counts as empty: ${why(error)}`);
      return {};
    }
    if (parsed !== "corrupt") return parsed;
    this.log.once("alias-corrupt", "warn", "the alias file is not a JSON object and counts as empty");
    return {};
  }

  /** @throws the system's error where something is there and cannot be read. */
  private parse(): Obj | "corrupt" {
    let bytes: string;
    try {
      bytes = readRegular(this.path);
    } catch (error) {
      if (MISSING.has(why(error))) return {};
      throw error;
    }
    try {
      const value: unknown = JSON.parse(bytes.replace(/^\uFEFF/, ""));
      return isObj(value) ? value : "corrupt";
    } catch {
      return "corrupt";
    }
  }
}

function why(error: unknown): string {
  return str(obj(error).code) ?? "unknown reason";
}
