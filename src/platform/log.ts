/**
 * The log: warnings and up in the state directory, because an editor throws stderr away. It never throws, never
 * writes to stdout, opens its file at the first line, and lets no secret through.
 */
import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { Clock } from "./clock.ts";
import { LOG_FILES, LOG_LINE_CHARS, LOG_MAX_AGE_MS, LOG_MAX_BYTES } from "./limits.ts";
import { maskedHead } from "./mask.ts";

export { maskSecrets } from "./mask.ts";

export type Level = "info" | "warn" | "error";

export interface Log {
  /** `info` goes to stderr only, and only in debug mode; the rest to the file as well. */
  write(level: Level, message: string): void;
  /** As `write`, but one line per `key` for the life of the process: what repeats is said once. */
  once(key: string, level: Level, message: string): void;
}

/** An error as a line may name it: its class, since its words may hold anything. */
export function errorName(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}

export interface LogOptions {
  readonly dir: string;
  /** File name without extension, unique per process. */
  readonly name: string;
  readonly clock: Clock;
  /** `ZCODE_ACP_DEBUG=1` copies every line to stderr. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Keys come from foreign input now and then, so their number is bounded. */
const MAX_KEYS = 1000;

/** Without waiting: a pipe in the place of the file would stop this process until somebody reads it. */
const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NONBLOCK ?? 0);

/** What this room may remove from the state directory once it is old. */
const OURS = /\.(log(\.\d)?|blackbox\.json)$/;

export function createLog(options: LogOptions): Log {
  return new FileLog(options);
}

/** A log that keeps nothing, for tests and for commands that print. */
export function silentLog(): Log {
  return { write() {}, once() {} };
}

class FileLog implements Log {
  private readonly seen = new Set<string>();
  private readonly debug: boolean;
  private readonly path: string;
  private fd: number | undefined;
  private size = 0;
  private broken = false;
  private stderr: Bun.FileSink | undefined;

  constructor(private readonly options: LogOptions) {
    this.debug = options.env.ZCODE_ACP_DEBUG === "1";
    this.path = join(options.dir, `${options.name}.log`);
  }

  once(key: string, level: Level, message: string): void {
    if (this.seen.has(key) || this.seen.size >= MAX_KEYS) return;
    this.seen.add(key);
    this.write(level, message);
  }

  write(level: Level, message: string): void {
    if (level === "info" && !this.debug) return;
    const time = new Date(this.options.clock.now()).toISOString();
    const shown = maskedHead(message, LOG_LINE_CHARS).replaceAll("\n", "\n  ");
    const line = `${time} ${level} ${shown}\n`;
    if (this.debug) this.toStderr(line);
    if (level !== "info" && !this.broken) this.toFile(line);
  }

  private toStderr(line: string): void {
    try {
      // Not a synchronous write: an editor that does not read stderr would stop us.
      this.stderr ??= Bun.stderr.writer();
      this.stderr.write(line);
      void Promise.resolve(this.stderr.flush()).catch(() => {});
    } catch {
      // Nobody listens.
    }
  }

  private toFile(line: string): void {
    try {
      const bytes = Buffer.from(line);
      this.fd ??= this.open();
      if (this.size + bytes.length > LOG_MAX_BYTES) this.turnOver();
      writeSync(this.fd, bytes);
      this.size += bytes.length;
    } catch {
      this.broken = true;
    }
  }

  private open(): number {
    mkdirSync(this.options.dir, { recursive: true, mode: 0o700 });
    this.removeOld();
    const fd = openSync(this.path, APPEND, 0o600);
    this.size = fstatSync(fd).size;
    return fd;
  }

  private turnOver(): void {
    if (this.fd !== undefined) closeSync(this.fd);
    for (let n = LOG_FILES - 2; n >= 0; n--) {
      const from = n === 0 ? this.path : `${this.path}.${n}`;
      try {
        renameSync(from, `${this.path}.${n + 1}`);
      } catch {
        // There is none of that age yet.
      }
    }
    this.fd = openSync(this.path, APPEND, 0o600);
    this.size = 0;
  }

  private removeOld(): void {
    const oldest = this.options.clock.now() - LOG_MAX_AGE_MS;
    for (const name of readdirSync(this.options.dir)) {
      if (!OURS.test(name)) continue;
      const path = join(this.options.dir, name);
      try {
        if (statSync(path).mtimeMs < oldest) rmSync(path);
      } catch {
        // Another process of ours removed it first.
      }
    }
  }
}
