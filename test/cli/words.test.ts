import { describe, expect, test } from "bun:test";
import { stdioArguments } from "../../src/cli/fast.ts";
import { checkFlags, type Flags } from "../../src/cli/flags.ts";
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

  test("is one that is really near, whatever its capitals and dashes, or none", () => {
    const words = ["stdio", "login", "doctor", "sim", "hub", "--version", "--help"];
    for (const [word, meant] of [
      ["STDIO", "stdio"],
      ["doc", "doctor"],
      ["dcotor", "doctor"],
      ["version", "--version"],
      ["-help", "--help"],
      ["smi", "sim"],
      ["hubb", "hub"],
      ["xyzzy", undefined],
      ["nosuch", undefined],
      ["constructor", undefined],
      ["a", undefined],
      ["", undefined],
      ["--", undefined],
      ["x".repeat(10_000), undefined],
    ] as const) {
      expect([word.slice(0, 20), nearest(word, words)]).toEqual([word.slice(0, 20), meant]);
    }
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
    expect(stdioArguments(["stdio", "--backend=auto"], () => true)).toEqual({ backend: "auto" });
    expect(stdioArguments(["--backend", "sim"], pipe)).toEqual({ backend: "sim" });
    expect(stdioArguments(["--backend=sim"], pipe)).toEqual({ backend: "sim" });
    expect(stdioArguments(["--backend", "sim"], () => true)).toBeUndefined();
    for (const words of [
      ["--help"],
      ["stdio", "--help"],
      ["stdio", "--backend", "x"],
      ["stdio", "login"],
      ["--backend"],
      ["--backend", "sim", "doctor"],
      ["doctor"],
    ]) {
      expect(stdioArguments(words, pipe)).toBeUndefined();
    }
  });
});

describe("flags", () => {
  const description = "flag.help";
  const args: Flags = {
    json: { type: "boolean", alias: "j", description },
    level: { type: "enum", options: ["low", "high"], description },
    file: { type: "string", description },
  };
  const refused = (...words: string[]) => {
    try {
      checkFlags(words, args, "zcode-acp x");
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
    expect(refused("word")).toBe("ZACP-408");
    expect(refused("--level")).toBe("ZACP-409");
    expect(refused("--level=")).toBe("ZACP-409");
    expect(refused("--help", "--bogus")).toBe("ZACP-404");
    expect(refused("--level", "medium")).toBe("ZACP-406");
    expect(refused("--file")).toBe("ZACP-409");
  });
});
