import { describe, expect, test } from "bun:test";
import { appendedTail, finalRemainder } from "../../src/translate/output.ts";
import { eachSeed, type Random } from "../support/random.ts";

/** Output whose lines differ, as real output mostly does: an overlap that is not the true one is then unlikely. */
function output(random: Random, lines: number): string {
  return random
    .times(
      lines,
      (i) =>
        `${i} ${random.pick(["ok", "test passed", "中文", "🙂", "", "warning: x"])} ${random.int(0, 1e9)}`,
    )
    .join("\n");
}

describe("appendedTail", () => {
  test("P7 a growing text, seen through tails that lose their start, is shown exactly once", () => {
    eachSeed(2_000, (random) => {
      const whole = output(random, random.int(1, 30));
      let seen = "";
      let shown = "";
      let end = 0;
      let from = 0;
      while (end < whole.length) {
        const overlapFrom = from;
        end = Math.min(whole.length, end + random.int(0, 120));
        // A tail starts anywhere, but never behind what was shown: it would have lost output for good.
        from = random.chance(0.5)
          ? overlapFrom
          : random.int(overlapFrom, Math.max(overlapFrom, shown.length - 30));
        const tail = whole.slice(from, end);
        const added = appendedTail(seen, tail);
        shown += added;
        if (tail !== "") seen = tail;
        expect(shown).toBe(whole.slice(0, end));
        expect(appendedTail(seen, seen)).toBe("");
      }
    });
  });

  test("P7 what a gap has swallowed cannot be shown, what follows it is", () => {
    expect(appendedTail("one\ntwo\n", "five\nsix\n")).toBe("five\nsix\n");
    expect(appendedTail("one\ntwo\n", "two\nthree\n")).toBe("three\n");
    expect(appendedTail("", "first")).toBe("first");
    expect(appendedTail("a", "")).toBe("");
  });

  test("P7 lines that repeat are not lost while the tail still starts at the start", () => {
    let seen = "";
    let shown = "";
    for (let n = 1; n <= 50; n++) {
      const tail = ".\n".repeat(n);
      shown += appendedTail(seen, tail);
      seen = tail;
    }
    expect(shown).toBe(".\n".repeat(50));
  });

  test("P7 it is linear: two large tails that nearly repeat themselves take no time", () => {
    const seen = `${"a".repeat(300_000)}b`;
    const next = `${"a".repeat(299_999)}bc${"a".repeat(1_000)}`;
    const before = performance.now();
    expect(appendedTail(seen, next)).toBe(`c${"a".repeat(1_000)}`);
    expect(performance.now() - before).toBeLessThan(1_000);
  });

  test("P7 whatever the two are, what is appended is an end of the newer", () => {
    eachSeed(2_000, (random) => {
      const some = () => random.times(random.int(0, 12), () => random.pick(["a", "b", "\n"])).join("");
      const [seen, next] = [some(), some()];
      const added = appendedTail(seen, next);
      expect(next.endsWith(added)).toBe(true);
      if (added !== next) expect(seen.endsWith(next.slice(0, next.length - added.length))).toBe(true);
    });
  });
});

describe("finalRemainder", () => {
  /** The forms in which a final result repeats what a command wrote. */
  const variants = (random: Random, out: string): string[] => [
    out,
    out.trimEnd(),
    `${out}\n`,
    `Exit code 1\n${out}`,
    `Exit code 137\r\n${out.trimEnd()}`,
    out.slice(out.indexOf("\n", random.int(0, Math.floor(out.length / 2))) + 1),
  ];

  test("P7 a result in any of its forms adds nothing that was shown", () => {
    eachSeed(1_000, (random) => {
      const out = output(random, random.int(2, 20)) + (random.chance(0.5) ? "\n" : "");
      for (const content of variants(random, out)) expect(finalRemainder(out, content)).toBe("");
    });
  });

  test("P7 what was not shown is added once, and what was is not repeated", () => {
    eachSeed(1_000, (random) => {
      const out = output(random, random.int(2, 20));
      const cut = random.int(0, out.length);
      const shown = out.slice(0, cut);
      const added = finalRemainder(shown, random.chance(0.5) ? `Exit code 2\n${out}` : out);
      const bare = (text: string) => text.split("\n").filter((line) => line.trim() !== "");
      if (shown.trim() === "") expect(bare(added)).toEqual(bare(out));
      else expect(bare(shown + added)).toEqual(bare(out));
    });
  });

  test("P7 both streams, in an order of the result's own, add nothing", () => {
    eachSeed(1_000, (random) => {
      const lines = random.times(random.int(1, 20), (i) => `${i}:${random.int(0, 5)}`);
      const shown = lines.join("\n") + (random.chance(0.5) ? "\n" : "");
      const out = lines.filter((_, i) => i % 2 === 0);
      const err = lines.filter((_, i) => i % 2 === 1);
      expect(finalRemainder(shown, [...out, ...err].join("\n"))).toBe("");
      expect(finalRemainder(shown, [...err, ...out, "new"].join("\n")).trim()).toBe("new");
    });
  });

  test("P7 an exit code alone, or nothing at all, is no output", () => {
    for (const content of ["", "\n", "Exit code 1", "Exit code 1\n", "Exit code 1\r\n"]) {
      expect(finalRemainder("", content)).toBe("");
      expect(finalRemainder("shown\n", content)).toBe("");
    }
    expect(finalRemainder("", "Exit codes are numbers")).toBe("Exit codes are numbers");
  });

  test("P7 carriage returns that only one side has do not show a line twice", () => {
    expect(finalRemainder("a\r\nb\r\n", "a\nb")).toBe("");
    expect(finalRemainder("a\nb\n", "a\r\nb\r\n")).toBe("");
  });
});
