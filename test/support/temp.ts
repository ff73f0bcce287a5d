/**
 * Temporary folders of tests. `bunfig.toml` loads this file before all tests; what was made is removed after the last
 * one, since `bun test` does not wait for a process's "exit".
 */
import { afterAll } from "bun:test";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const made: string[] = [];

/** Removes everything that `tempDir` made. */
export function removeTempDirs(): void {
  for (const dir of made.splice(0)) rmSync(dir, { recursive: true, force: true });
}

afterAll(removeTempDirs);

export function tempDir(name: string): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), `zcode-acp-${name}-`)));
  made.push(dir);
  return dir;
}
