/** Temporary folders of tests; `cleanUp.ts` removes them after the last one. */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const made: string[] = [];

/** Removes everything that `tempDir` made. */
export function removeTempDirs(): void {
  for (const dir of made.splice(0)) rmSync(dir, { recursive: true, force: true });
}

export function tempDir(name: string): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), `zcode-acp-${name}-`)));
  made.push(dir);
  return dir;
}
