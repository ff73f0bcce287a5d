/**
 * A JSON object on the disk that several processes share: each write takes the lock where it can, merges into what is
 * there now, and is atomic. Whatever goes wrong is logged once and breaks nothing.
 */

import { mkdirSync, renameSync } from "node:fs";
import { dirname } from "node:path";
import { writeAtomic } from "../platform/atomic.ts";
import type { Clock } from "../platform/clock.ts";
import { readRegular } from "../platform/files.ts";
import { isObj, type Obj, obj, str } from "../platform/json.ts";
import { withLock } from "../platform/lock.ts";
import type { Log } from "../platform/log.ts";

/** Reasons for which there is no file; any other means that one is there. */
const MISSING: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR"]);

export class SharedFile {
  /** @param name of the file in the log, as in "the … file". */
  constructor(
    readonly path: string,
    private readonly name: string,
    private readonly log: Log,
    private readonly clock: Clock,
  ) {}

  /** What is there now; empty where that is nothing, or nothing that can be read. */
  read(): Obj {
    const { log, name } = this;
    let parsed: Obj | "corrupt";
    try {
      parsed = this.parse();
    } catch (error) {
      log.once(`${name}-read`, "warn", `the ${name} file cannot be read and counts as empty: ${why(error)}`);
      return {};
    }
    if (parsed !== "corrupt") return parsed;
    log.once(`${name}-corrupt`, "warn", `the ${name} file is not a JSON object and counts as empty`);
    return {};
  }

  /**
   * Writes what `change` makes of what is there; undefined where nothing is to be written after all.
   * @returns false where it could not be written.
   */
  async merge(change: (all: Obj) => Obj | undefined): Promise<boolean> {
    try {
      mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
      await withLock(`${this.path}.lock`, this.clock, async () => {
        // Throws where the file cannot be read: what it holds must not be lost to what is written.
        this.setCorruptAside();
        const next = change(this.read());
        if (next) await writeAtomic(this.path, `${JSON.stringify(next, null, 2)}\n`, 0o600);
      });
      return true;
    } catch (error) {
      const { log, name } = this;
      log.once(`${name}-write`, "warn", `the ${name} file cannot be written: ${why(error)}`);
      return false;
    }
  }

  /** A file that is no JSON object is kept beside the new one: it may hold what a person wants back. */
  private setCorruptAside(): void {
    if (this.parse() !== "corrupt") return;
    const aside = `${this.path}.corrupt-${this.clock.now()}`;
    renameSync(this.path, aside);
    this.log.write("warn", `the ${this.name} file was no JSON object; it is kept as ${aside}`);
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

/** Sets a field of any name, also of one that every object has. */
export function setField(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}

function why(error: unknown): string {
  return str(obj(error).code) ?? "unknown reason";
}
