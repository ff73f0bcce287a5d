/**
 * Sessions on disk: one JSON file each, written whole and renamed into place, so that several processes may
 * share a directory and none ever reads half a file. What a process holds in memory wins over the file only in
 * that process, as with the app-server.
 */
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { readRegular } from "../platform/files.ts";
import type { StoredSession } from "./types.ts";

export interface Store {
  /** The generation of this process: a number that no other process on this store has had. */
  readonly generation: number;
  /** Where long tool output goes; a folder of the process's own where nothing else is on disk. */
  readonly artifacts: string;
  read(sessionId: string): StoredSession | undefined;
  list(): StoredSession[];
  write(session: StoredSession): void;
  remove(sessionId: string): void;
  /** Rules that a person has allowed for good, as `workspacePath tool rule` lines. */
  rules(): string[];
  addRule(rule: string): void;
  /** The process ends: what only it needed goes. */
  close(): void;
}

/** `$ZCODE_DATA_BASE_DIR/.zcode/sim`, else `$ZCODE_HOME/sim`, else `$HOME/.zcode/sim`. */
export function storeDir(env: Record<string, string | undefined>): string {
  if (env.ZCODE_DATA_BASE_DIR) return join(env.ZCODE_DATA_BASE_DIR, ".zcode", "sim");
  if (env.ZCODE_HOME) return join(env.ZCODE_HOME, "sim");
  return join(env.HOME ?? env.USERPROFILE ?? ".", ".zcode", "sim");
}

export function memoryStore(generation: number): Store {
  const sessions = new Map<string, string>();
  const rules: string[] = [];
  const parse = (text: string) => JSON.parse(text) as StoredSession;
  let folder: string | undefined;
  return {
    generation,
    get artifacts() {
      folder ??= mkdtempSync(join(tmpdir(), "zcode-acp-sim-"));
      return folder;
    },
    read: (id) => (sessions.has(id) ? parse(sessions.get(id)!) : undefined),
    list: () => [...sessions.values()].map(parse),
    write: (session) => void sessions.set(session.sessionId, JSON.stringify(session)),
    remove: (id) => void sessions.delete(id),
    rules: () => rules,
    addRule: (rule) => void rules.push(rule),
    close: () => {
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}

const SAFE_ID = /^[A-Za-z0-9_-]+$/;

/** The store of a directory, or one in memory where a directory that nobody named cannot be used. */
export function openStore(
  dir: string,
  named: boolean,
  generation: number,
  warn: (line: string) => void,
): Store {
  try {
    return diskStore(dir, warn);
  } catch (error) {
    if (named) throw error;
    warn(`Sessions are kept in memory alone: ${dir} cannot be used (${reason(error)}).`);
    return memoryStore(generation);
  }
}

/**
 * What cannot be written is held in memory, and `warn` is told the first time.
 * @throws the system's error where the directory cannot be used at all.
 */
export function diskStore(dir: string, warn: (line: string) => void = () => {}): Store {
  const sessions = join(dir, "sessions");
  const artifacts = join(dir, "output");
  mkdirSync(sessions, { recursive: true, mode: 0o700 });
  mkdirSync(artifacts, { recursive: true, mode: 0o700 });
  const generation = claim(dir);
  const rulesFile = join(dir, "allowed.txt");
  const file = (id: string) => join(sessions, `${id}.json`);
  /** Texts by the file that they could not be written to. */
  const unwritten = new Map<string, string>();
  let warned = false;
  const writeWhole = (path: string, text: string) => {
    const temp = `${path}.${generation}.tmp`;
    try {
      writeFileSync(temp, text, { mode: 0o600 });
      renameSync(temp, path);
      unwritten.delete(path);
    } catch (error) {
      unwritten.set(path, text);
      removeQuietly(temp);
      if (!warned) warn(`Sessions are kept in memory alone: ${dir} cannot be written to (${reason(error)}).`);
      warned = true;
    }
  };
  const textOf = (path: string) => unwritten.get(path) ?? readRegular(path);
  const read = (id: string): StoredSession | undefined => {
    if (!SAFE_ID.test(id)) return undefined;
    try {
      const value = JSON.parse(textOf(file(id))) as StoredSession;
      return value.v === 1 && value.sessionId === id ? value : undefined;
    } catch {
      return undefined;
    }
  };
  const rules = () => {
    try {
      return textOf(rulesFile).split("\n").filter(Boolean);
    } catch {
      return [];
    }
  };
  return {
    generation,
    artifacts,
    read,
    list: () =>
      [...new Set([...namesIn(sessions), ...[...unwritten.keys()].map((path) => basename(path))])]
        .filter((name) => name.endsWith(".json"))
        .map((name) => read(name.slice(0, -5)))
        .filter((session) => session !== undefined),
    write: (session) => writeWhole(file(session.sessionId), JSON.stringify(session)),
    remove: (id) => {
      if (!SAFE_ID.test(id)) return;
      unwritten.delete(file(id));
      // Another process may have removed it first.
      removeQuietly(file(id));
    },
    rules,
    addRule: (rule) => writeWhole(rulesFile, `${[...new Set([...rules(), rule])].join("\n")}\n`),
    close: () => {},
  };
}

/** None where the folder is gone. */
function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}

function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // There is none, or it cannot be removed.
  }
}

function reason(error: unknown): string {
  return (error as { code?: string }).code ?? "unknown reason";
}

/** Numbers kept on disk, so that a slow process cannot take one that was cleared away meanwhile. */
const KEPT = 64;

/** Takes the next free number by creating its file; files of long ago are cleared away. */
function claim(dir: string): number {
  const numbers = () =>
    readdirSync(dir)
      .map((name) => Number(/^generation-(\d+)$/.exec(name)?.[1] ?? 0))
      .reduce((most, each) => Math.max(most, each), 0);
  for (let next = numbers() + 1; ; next++) {
    try {
      closeSync(openSync(join(dir, `generation-${next}`), "wx", 0o600));
    } catch (error) {
      if ((error as { code?: string }).code === "EEXIST") continue;
      throw error;
    }
    // The first ones have none before them.
    removeQuietly(join(dir, `generation-${next - KEPT}`));
    return next;
  }
}
