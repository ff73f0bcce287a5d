/**
 * `bun scripts/contract.ts`: the points of `test/CONTRACT.md` against the titles of all tests. A title begins with the
 * points that it proves: `test("P1 B12 a line that is no frame is passed over", …)`. Fails when a point that is said
 * to work has no test, or a title names a point that does not exist.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "..");

export type State = "works" | "half" | "not begun";

export interface Point {
  readonly id: string;
  readonly state: State;
}

const ROW = /^\|\s*([A-Z]\d+)\s*\|.*\|\s*([^|]+?)\s*\|\s*$/;
const STATES: readonly string[] = ["works", "half", "not begun"] satisfies State[];

/** The points of the list, and what is wrong with the list itself. */
export function readPoints(markdown: string): { points: Point[]; wrong: string[] } {
  const points: Point[] = [];
  const wrong: string[] = [];
  const seen = new Set<string>();
  for (const line of markdown.split("\n")) {
    const match = ROW.exec(line);
    if (!match) continue;
    const [, id = "", state = ""] = match;
    if (seen.has(id)) wrong.push(`${id} is listed twice`);
    seen.add(id);
    if (isState(state)) points.push({ id, state });
    else wrong.push(`${id} has no state of ${STATES.join(", ")}: ${state}`);
  }
  return { points, wrong };
}

function isState(word: string): word is State {
  return STATES.includes(word);
}

const TITLE =
  /\b(?:test|it)((?:\.\w+(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?)*)\(\s*(["'`])((?:\\.|(?!\2)[\s\S])*?)\2/g;
const IDS = /^(?:[A-Z]\d+[\s,:]+)+/;

/** The points that the titles in a test's source begin with; skipped and planned tests prove nothing. */
export function pointsOfTitles(source: string): string[] {
  return [...source.matchAll(TITLE)].flatMap(([, modifiers = "", , title = ""]) => {
    if (/\.(?:skip|todo)\b(?!If)/.test(modifiers)) return [];
    return IDS.exec(title)?.[0].match(/[A-Z]\d+/g) ?? [];
  });
}

export interface Judgement {
  readonly untested: readonly Point[];
  readonly wrong: readonly string[];
}

/** @param titles the points named, by test file. */
export function judge(points: readonly Point[], titles: ReadonlyMap<string, readonly string[]>): Judgement {
  const known = new Set(points.map((point) => point.id));
  const named = new Set<string>();
  const wrong: string[] = [];
  for (const [file, ids] of titles) {
    for (const id of ids) {
      if (!known.has(id)) wrong.push(`${file} names ${id}, which is no point`);
      // What the simulator does shows nothing of the bridge.
      else if (!file.startsWith("test/sim/")) named.add(id);
    }
  }
  const untested = points.filter((point) => !named.has(point.id));
  for (const { id, state } of untested)
    if (state === "works") wrong.push(`${id} is said to work and no test names it`);
  return { untested, wrong };
}

function readTitles(): Map<string, string[]> {
  const dir = join(ROOT, "test");
  const titles = new Map<string, string[]>();
  for (const name of readdirSync(dir, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".test.ts")) continue;
    titles.set(`test/${name}`, pointsOfTitles(readFileSync(join(dir, name), "utf8")));
  }
  return titles;
}

if (import.meta.main) {
  const { points, wrong } = readPoints(readFileSync(join(ROOT, "test", "CONTRACT.md"), "utf8"));
  const judgement = judge(points, readTitles());
  const all = [...wrong, ...judgement.wrong];
  const count = (state: State) => points.filter((point) => point.state === state).length;
  console.log(
    `contract: ${points.length} points, ${STATES.map((state) => `${count(state as State)} ${state}`).join(", ")}`,
  );
  console.log(`without a test: ${judgement.untested.map((point) => point.id).join(" ") || "none"}`);
  for (const line of all) console.error(line);
  if (points.length === 0) console.error("test/CONTRACT.md lists no points");
  process.exit(all.length === 0 && points.length > 0 ? 0 : 1);
}
