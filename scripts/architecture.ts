/**
 * `bun scripts/architecture.ts`: every import under `src` against the table in `src/README.md`, and the few rules that
 * the linter cannot express. Prints what is not allowed and exits with 1.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

const ROOT = join(import.meta.dir, "..");

export interface Room {
  /** Undefined for the room that stands apart. */
  readonly level: number | undefined;
  /** Which row of the table it is in, and where in that row. */
  readonly row: number;
  readonly place: number;
}

/** The rooms of the table, by their folder's name (or their file's, as `main.ts`). */
export function readRooms(readme: string): Map<string, Room> {
  const rooms = new Map<string, Room>();
  let row = 0;
  for (const line of readme.split("\n")) {
    const cells = line.split("|").map((cell) => cell.trim());
    if (cells.length < 4 || !/^(\d+|–)$/.test(cells[1]!)) continue;
    row++;
    const names = [...cells[2]!.matchAll(/`([\w.-]+)\/?`/g)].map((match) => match[1]!);
    names.forEach((name, place) => {
      rooms.set(name, { level: cells[1] === "–" ? undefined : Number(cells[1]), row, place });
    });
  }
  return rooms;
}

const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*["'](\.{1,2}\/[^"']+)["']/g;
const APART = "sim";
const ITS_DOOR = "cli/sim.ts";

/**
 * What is not allowed, as lines for a person.
 * @param files text by path, relative to `src`, with forward slashes.
 */
export function importViolations(
  files: ReadonlyMap<string, string>,
  rooms: ReadonlyMap<string, Room>,
): string[] {
  const wrong: string[] = [];
  for (const [path, text] of files) {
    const from = roomOf(path);
    const own = rooms.get(from);
    if (!own) {
      wrong.push(`${path}: no room of the table`);
      continue;
    }
    for (const [, specifier] of withoutComments(text).matchAll(IMPORT)) {
      const target = normalize(join(dirname(path), specifier!)).replaceAll("\\", "/");
      const to = roomOf(target);
      const other = rooms.get(to);
      if (target.startsWith("..") || !other) wrong.push(`${path}: imports ${specifier}, which is in no room`);
      else if (to !== from && !allowed(path, own, to, other))
        wrong.push(`${path}: ${from} must not import ${to} (${specifier})`);
    }
  }
  return wrong;
}

function allowed(path: string, own: Room, to: string, other: Room): boolean {
  if (own.level === undefined) return to === "platform";
  if (other.level === undefined) return to === APART && path === ITS_DOOR;
  return other.level < own.level || (other.row === own.row && other.place < own.place);
}

function roomOf(path: string): string {
  return path.split("/")[0]!;
}

/** Time comes from a Clock. The linter sees `setTimeout` and its like; these are members. */
const TIME = /\b(?:Date\.now|Bun\.sleep(?:Sync)?|new Date\(\s*\))/;
const CLOCK = "platform/clock.ts";

/** Reads of the time outside the clock, as lines for a person. */
export function timeViolations(files: ReadonlyMap<string, string>): string[] {
  return [...files].flatMap(([path, text]) => {
    const found = path === CLOCK ? null : TIME.exec(withoutComments(text));
    return found ? [`${path}: ${found[0]} (take a Clock, src/platform/clock.ts)`] : [];
  });
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
}

/** All TypeScript under `src`, by path relative to it. */
export function readSources(): Map<string, string> {
  const src = join(ROOT, "src");
  const files = new Map<string, string>();
  for (const name of readdirSync(src, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".ts")) continue;
    files.set(name.replaceAll("\\", "/"), readFileSync(join(src, name), "utf8"));
  }
  return files;
}

if (import.meta.main) {
  const files = readSources();
  const rooms = readRooms(readFileSync(join(ROOT, "src", "README.md"), "utf8"));
  const wrong = [...importViolations(files, rooms), ...timeViolations(files)];
  for (const line of wrong) console.error(line);
  console.log(`architecture: ${files.size} files, ${wrong.length} violations`);
  process.exit(wrong.length === 0 ? 0 : 1);
}
