/** Temporary folders of tests, removed when the test process ends. */

import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const made: string[] = [];
process.on("exit", () => {
  for (const dir of made) rmSync(dir, { recursive: true, force: true });
});

export function tempDir(name: string): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), `zcode-acp-${name}-`)));
  made.push(dir);
  return dir;
}
