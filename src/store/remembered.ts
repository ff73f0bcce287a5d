/**
 * `sessions.json` of ours: what a person has chosen for a conversation that the backend does not store yet, and which
 * stored ones are hidden from every list.
 */

import { join } from "node:path";
import type { Clock } from "../platform/clock.ts";
import { isObj, num, type Obj, obj, text } from "../platform/json.ts";
import type { Log } from "../platform/log.ts";
import { SharedFile, setField } from "./sharedFile.ts";

/** Settings that a person chose, as `session/create` takes them. */
export interface Choice {
  readonly mode?: string;
  readonly model?: { readonly providerId: string; readonly modelId: string };
  readonly thought?: string;
}

const VERSION = 1;
/** Of each kind the newest are kept. */
const MAX_ENTRIES = 2_000;

type Kind = "choices" | "hidden";

export class Remembered {
  private readonly file: SharedFile;
  private queue: Promise<boolean> = Promise.resolve(true);
  /** What is on its way to the disk, or could not get there; undefined for what is to go. */
  private readonly unwritten: Readonly<Record<Kind, Map<string, Obj | undefined>>> = {
    choices: new Map(),
    hidden: new Map(),
  };
  private writing = false;

  /** @param dir the folder of our own files. */
  constructor(
    dir: string,
    log: Log,
    private readonly clock: Clock,
  ) {
    this.file = new SharedFile(join(dir, "sessions.json"), "session", log, clock);
  }

  get path(): string {
    return this.file.path;
  }

  /** What was chosen for a conversation, by its first ACP id. */
  choice(id: string): Choice | undefined {
    const entry = this.entry("choices", id);
    if (!entry) return undefined;
    const mode = text(entry.mode);
    const thought = text(entry.thought);
    const modelId = text(obj(entry.model).modelId);
    const providerId = obj(entry.model).providerId;
    return {
      ...(mode === undefined ? {} : { mode }),
      ...(thought === undefined ? {} : { thought }),
      ...(modelId === undefined || typeof providerId !== "string" ? {} : { model: { providerId, modelId } }),
    };
  }

  /** Remembers a choice over restarts; undefined where the backend remembers it itself. */
  choose(id: string, choice: Choice | undefined): void {
    if (choice === undefined && this.entry("choices", id) === undefined) return;
    void this.put("choices", id, choice && { ...choice });
  }

  /** The backend ids of all sessions that no list shows. */
  hidden(): ReadonlySet<string> {
    const ids = new Set(Object.keys(obj(this.file.read().hidden)));
    for (const [id, entry] of this.unwritten.hidden) {
      if (entry) ids.add(id);
      else ids.delete(id);
    }
    return ids;
  }

  /** Resolves when every later list, also another process's, leaves the session out. @returns whether it was written. */
  async hide(backendId: string): Promise<boolean> {
    const written = await this.put("hidden", backendId, {});
    // What could not be written is not promised.
    if (!written) this.unwritten.hidden.delete(backendId);
    return written;
  }

  /** It was used again, and is listed again. */
  show(backendId: string): void {
    if (this.entry("hidden", backendId) !== undefined) void this.put("hidden", backendId, undefined);
  }

  /** Resolves when everything so far is on disk, or could not be written. */
  async flushed(): Promise<void> {
    await this.queue;
  }

  private entry(kind: Kind, id: string): Obj | undefined {
    const recent = this.unwritten[kind];
    if (recent.has(id)) return recent.get(id);
    const entries = obj(this.file.read()[kind]);
    const entry = Object.hasOwn(entries, id) ? entries[id] : undefined;
    return isObj(entry) ? entry : undefined;
  }

  /** @returns whether it was written. */
  private put(kind: Kind, id: string, entry: Obj | undefined): Promise<boolean> {
    this.unwritten[kind].set(id, entry && { ...entry, at: this.clock.now() });
    if (!this.writing) {
      this.writing = true;
      this.queue = this.queue.then(() => this.write());
    }
    return this.queue;
  }

  private async write(): Promise<boolean> {
    this.writing = false;
    const waiting = {
      choices: new Map(this.unwritten.choices),
      hidden: new Map(this.unwritten.hidden),
    };
    const written = await this.file.merge((all) => {
      // A later version may mean something else by the same fields.
      if ((num(all.v) ?? VERSION) > VERSION) return undefined;
      return {
        ...all,
        v: VERSION,
        choices: merged(obj(all.choices), waiting.choices),
        hidden: merged(obj(all.hidden), waiting.hidden),
      };
    });
    if (!written) return false;
    for (const kind of ["choices", "hidden"] as const)
      for (const [id, entry] of waiting[kind])
        if (this.unwritten[kind].get(id) === entry) this.unwritten[kind].delete(id);
    return true;
  }
}

function merged(entries: Obj, changes: ReadonlyMap<string, Obj | undefined>): Obj {
  const next = new Map(Object.entries(entries));
  for (const [id, entry] of changes) {
    if (entry) next.set(id, entry);
    else next.delete(id);
  }
  const kept = [...next]
    .sort(([, a], [, b]) => (num(obj(a).at) ?? 0) - (num(obj(b).at) ?? 0))
    .slice(-MAX_ENTRIES);
  const result = {};
  for (const [id, entry] of kept) setField(result, id, entry);
  return result;
}
