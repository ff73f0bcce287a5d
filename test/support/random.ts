/**
 * Randomness that can be repeated. A property test runs many small cases, each from a seed of its own; a failure
 * names that seed, and `ZCODE_ACP_TEST_SEED=<seed>` runs the same case alone.
 */

export class Random {
  private state: number;

  constructor(readonly seed: number) {
    this.state = seed >>> 0;
  }

  /** From 0 up to, and without, 1. */
  next(): number {
    // mulberry32: 32 bits of state are plenty for test cases.
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  /** A whole number from `least` to `most`, both included. */
  int(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.int(0, items.length - 1)]!;
  }

  /** `count` values that `make` gives. */
  times<T>(count: number, make: (index: number) => T): T[] {
    return Array.from({ length: count }, (_, index) => make(index));
  }
}

const pinned = process.env.ZCODE_ACP_TEST_SEED;

function seedsOf(cases: number): number[] {
  if (pinned !== undefined && pinned !== "") return [Number(pinned)];
  return Array.from({ length: cases }, (_, index) => 1_000 + index);
}

function failure(seed: number, error: unknown): Error {
  const cause = error instanceof Error ? error : new Error(String(error));
  return new Error(`seed ${seed} (ZCODE_ACP_TEST_SEED=${seed} runs it alone): ${cause.message}`, { cause });
}

/** Runs `body` for many seeds. */
export function eachSeed(cases: number, body: (random: Random) => void): void {
  for (const seed of seedsOf(cases)) {
    try {
      body(new Random(seed));
    } catch (error) {
      throw failure(seed, error);
    }
  }
}

/** As `eachSeed`, for bodies that wait; one after another. */
export async function eachSeedAsync(cases: number, body: (random: Random) => Promise<void>): Promise<void> {
  for (const seed of seedsOf(cases)) {
    try {
      await body(new Random(seed));
    } catch (error) {
      throw failure(seed, error);
    }
  }
}

const WORDS = [
  "a",
  "ok",
  "\n",
  "\r\n",
  "\t",
  " ",
  "{",
  "}",
  '"',
  "\\",
  "é",
  "中文",
  "🙂",
  "👩‍👩‍👧",
  "\uFEFF",
  "\0",
  "`",
  "```",
  "line",
];

/** Text with everything in it that is known to be cut or escaped wrongly somewhere. */
export function someText(random: Random, most = 12): string {
  return random.times(random.int(0, most), () => random.pick(WORDS)).join("");
}

const SCALARS: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1,
  0.5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  -1e308,
  Number.MAX_SAFE_INTEGER,
  "",
  "x",
  "NaN",
  "__proto__",
  "x".repeat(5_000),
];

/** Any value that JSON can hold, and a few that it cannot. */
export function someValue(random: Random, depth = 2): unknown {
  if (depth === 0 || random.chance(0.6)) return random.pick(SCALARS);
  if (random.chance(0.5)) return random.times(random.int(0, 3), () => someValue(random, depth - 1));
  return Object.fromEntries(
    random.times(random.int(0, 3), (i) => [
      random.pick(["type", "text", "id", `k${i}`]),
      someValue(random, depth - 1),
    ]),
  );
}

/** One wrong value of each kind, for a field that may be anything. */
export const WRONG_VALUES: readonly unknown[] = [
  undefined,
  null,
  17,
  -1,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  1e308,
  "",
  "wrong",
  "y".repeat(20_000),
  true,
  {},
  { a: { b: [1] } },
  [],
  [null, 1, "x", {}],
];
