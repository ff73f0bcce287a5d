/**
 * Where programs are measured. A plain compiled program looks through the folders above its own, which takes
 * milliseconds where one of them holds thousands of entries; the system's folder for temporary files often does. What
 * is measured there is the folder.
 */
import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** With more entries a folder is one that shows. */
const CROWDED = 500;

/** A new folder below the built file's, or the system's one where that has fewer entries above it. Says what it is worth. */
export function benchFolder(dist: string): string {
  const places = [dist, tmpdir()];
  const place = places.find((each) => crowdedAbove(each).length === 0) ?? dist;
  for (const { path, entries } of crowdedAbove(place))
    console.warn(
      `${path} holds ${entries} entries, which plain programs in folders below look through:\n` +
        "start and quota --line are compared with something slower than it is elsewhere. Move the clone and run it again.\n",
    );
  return mkdtempSync(join(place, "zcode-acp-bench-"));
}

/** A folder below one with `count` entries, to see what that makes. */
export function crowdedFolder(dir: string, count: number): string {
  const above = join(dir, "crowded");
  const inside = join(above, "inside");
  mkdirSync(inside, { recursive: true });
  for (let n = 1; n < count; n++) writeFileSync(join(above, `${n}`), "");
  return inside;
}

function crowdedAbove(place: string): { readonly path: string; readonly entries: number }[] {
  const crowded = [];
  for (let path = place; ; path = dirname(path)) {
    const entries = count(path);
    if (entries > CROWDED) crowded.push({ path, entries });
    if (path === dirname(path)) return crowded;
  }
}

function count(path: string): number {
  try {
    return readdirSync(path).length;
  } catch {
    // Not to be read, by those programs either.
    return 0;
  }
}
