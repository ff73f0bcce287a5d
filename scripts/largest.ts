/** The largest files of `src`, and the bound that they must keep. */
import { readSources } from "./architecture.ts";

/** Lines. A file that needs more holds more than one concept. */
export const MAX_LINES = 500;

/** Tables of data, relative to `src`: they grow with what they list. */
export const TABLES: ReadonlySet<string> = new Set(["locale/en.ts", "locale/zh.ts"]);

export interface FileSize {
  readonly path: string;
  readonly lines: number;
  readonly tooLong: boolean;
}

/** All files, the largest first. */
export function sizes(files: ReadonlyMap<string, string>): FileSize[] {
  return [...files]
    .map(([path, text]) => {
      const lines = text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
      return { path, lines, tooLong: lines > MAX_LINES && !TABLES.has(path) };
    })
    .sort((a, b) => b.lines - a.lines);
}

if (import.meta.main) {
  const all = sizes(readSources());
  console.log("largest files of src:");
  for (const { path, lines } of all.slice(0, 10)) console.log(`  ${String(lines).padStart(5)}  ${path}`);
  const tooLong = all.filter((file) => file.tooLong);
  for (const { path, lines } of tooLong) console.error(`${path}: ${lines} lines, ${MAX_LINES} at most`);
  process.exit(tooLong.length === 0 ? 0 : 1);
}
