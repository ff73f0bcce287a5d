import { describe, expect, test } from "bun:test";
import type { ArgsDef } from "citty";
import { stdioArguments } from "../../src/cli/fast.ts";
import { checkFlags } from "../../src/cli/flags.ts";
import { editDistance, nearest } from "../../src/cli/nearest.ts";

describe("the nearest word", () => {
  test("counts insertions, deletions, replacements and swaps", () => {
    expect(editDistance("", "abc")).toBe(3);
    expect(editDistance("abc", "abc")).toBe(0);
    expect(editDistance("dcotor", "doctor")).toBe(1);
    expect(editDistance("stdoi", "stdio")).toBe(1);
    expect(editDistance("hub", "sub")).toBe(1);
    expect(editDistance("ab", "ba")).toBe(editDistance("ba", "ab"));
    expect(nearest("logni", ["stdio", "login", "doctor"])).toBe("login");
  });
});

describe("the editor's command line", () => {
  test("is read without the parser, and everything else is left to it", () => {
    const pipe = () => false;
    expect(stdioArguments([], pipe)).toEqual({});
    expect(stdioArguments([], () => true)).toBeUndefined();
    expect(stdioArguments(["stdio"], pipe)).toEqual({});
    expect(stdioArguments(["stdio", "--backend", "sim"], pipe)).toEqual({ backend: "sim" });
    expect(stdioArguments(["stdio", "--backend=auto"], pipe)).toEqual({ backend: "auto" });
    for (const words of [
      ["--help"],
      ["stdio", "--help"],
      ["stdio", "--backend", "x"],
      ["stdio", "login"],
      ["doctor"],
    ]) {
      expect(stdioArguments(words, pipe)).toBeUndefined();
    }
  });
});

describe("flags", () => {
  const args: ArgsDef = {
    json: { type: "boolean", alias: "j" },
    level: { type: "enum", options: ["low", "high"] },
    file: { type: "string" },
  };
  const refused = (...words: string[]) => {
    try {
      checkFlags(words, args);
    } catch (error) {
      return (error as { code: string }).code;
    }
    return undefined;
  };

  test("in every spelling that the parser knows pass", () => {
    for (const line of [
      "",
      "--json",
      "-j",
      "--no-json",
      "--level high",
      "--level=low",
      "--file -",
      "--file --json",
      "-- x",
    ]) {
      expect([line, refused(...line.split(" ").filter((word) => word !== ""))]).toEqual([line, undefined]);
    }
  });

  test("that do not exist, lack a value or have a wrong one do not", () => {
    expect(refused("--jsn")).toBe("ZACP-404");
    expect(refused("-x")).toBe("ZACP-404");
    expect(refused("word")).toBe("ZACP-404");
    expect(refused("--level")).toBe("ZACP-406");
    expect(refused("--level", "medium")).toBe("ZACP-406");
    expect(refused("--file")).toBe("ZACP-406");
  });
});
