import { expect, test } from "bun:test";
import { errors } from "../../src/errors/index.ts";
import { cut } from "../../src/platform/cut.ts";
import { oneLine } from "../../src/translate/tools.ts";

test("A9 M2 what is shortened is no longer than its place, and no character of it is halved", () => {
  expect(cut("short", 5)).toBe("short");
  expect(cut("longer", 5)).toBe("long…");
  for (const pad of ["", "x", "xy"]) {
    const words = pad + "😀".repeat(1_000);
    for (const short of [cut(words, 7), oneLine(words), errors.badOption("mode", words).message]) {
      expect(short.isWellFormed()).toBe(true);
      expect(short).toContain("😀…");
    }
    expect(cut(words, 7).length).toBeLessThanOrEqual(7);
  }
});
