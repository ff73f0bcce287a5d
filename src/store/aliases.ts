/**
 * `acp-lazy-sessions.json`: which backend session stands behind an id that `session/new` gave out. Its shape
 * is shared with other bridges, some of which know no lock of ours: each write takes the lock where it can, merges into
 * what is on disk now, keeps fields it does not know, is atomic, and is read again.
 */

import { join } from "node:path";
import type { Clock } from "../platform/clock.ts";
import { isObj, num, type Obj, obj, text } from "../platform/json.ts";
import type { Log } from "../platform/log.ts";
import { SharedFile, setField } from "./sharedFile.ts";

export interface Alias {
  readonly cwd: string;
  /** The backend's session id; undefined while the placeholder was never used. */
  readonly backendId: string | undefined;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** A write that another bridge, which knows no lock of ours, has undone is done again this often in all. */
const WRITES = 3;

export class AliasStore {
  private readonly file: SharedFile;
  private queue: Promise<void> = Promise.resolve();
  /** What is on its way to the disk, or could not get there. */
  private readonly unwritten = new Map<string, Alias>();

  /** @param zcodeHome the directory that holds `v2`. */
  constructor(zcodeHome: string, log: Log, clock: Clock) {
    this.file = new SharedFile(join(zcodeHome, "v2", "acp-lazy-sessions.json"), "alias", log, clock);
  }

  get path(): string {
    return this.file.path;
  }

  /** What is known of a placeholder, by this or an earlier bridge. */
  get(id: string): Alias | undefined {
    const recent = this.unwritten.get(id);
    if (recent) return recent;
    const entry = this.file.read()[id];
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
    for (let attempt = 0; attempt < WRITES && !this.holds(id, alias); attempt++) {
      // What cannot be written is remembered as long as this process lives.
      if (!(await this.file.merge((all) => this.merged(all)))) return;
    }
    if (this.unwritten.get(id) === alias) this.unwritten.delete(id);
  }

  /** All that waits, so that the last of many is on disk as soon as the first: each write is forced to it. */
  private merged(all: Obj): Obj {
    const next = { ...all };
    for (const [id, { cwd, createdAt, backendId }] of this.unwritten) {
      const entry = { ...obj(all[id]), cwd, createdAt };
      setField(next, id, backendId === undefined ? entry : { ...entry, zcodeSid: backendId });
    }
    return next;
  }

  /** True where the disk says what was to be written. */
  private holds(id: string, alias: Alias): boolean {
    const entry = obj(this.file.read()[id]);
    return entry.cwd === alias.cwd && (alias.backendId === undefined || entry.zcodeSid === alias.backendId);
  }
}
