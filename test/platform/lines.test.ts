import { describe, expect, test } from "bun:test";
import { LineSplitter } from "../../src/platform/lines.ts";
import { eachSeed, type Random, someText } from "../support/random.ts";

const encode = (text: string) => new TextEncoder().encode(text);

/** What a stream of lines holds, told by its text alone. */
function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => (line.startsWith("\uFEFF") ? line.slice(1) : line))
    .map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line))
    .filter((line) => line.trim() !== "");
}

function cut(random: Random, bytes: Uint8Array): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = random.chance(0.5) ? random.int(0, 3) : random.int(0, bytes.length);
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

function split(splitter: LineSplitter, chunks: Iterable<Uint8Array>): string[] {
  const lines: string[] = [];
  for (const chunk of chunks) lines.push(...splitter.push(chunk));
  return [...lines, ...splitter.end()];
}

describe("any text, cut anywhere", () => {
  test("B12 P1 gives the same lines: characters of several bytes, CRLF, BOM, blank lines, no newline at the end", () => {
    eachSeed(3_000, (random) => {
      const text = random
        .times(random.int(0, 8), () => someText(random) + random.pick(["\n", "\n", "\r\n", "\n\n", ""]))
        .join("");
      const bytes = encode(text);
      // Whether a line of nothing but byte order marks and blanks counts is nobody's concern.
      const lines = split(new LineSplitter(), cut(random, bytes)).filter((line) => line.trim() !== "");
      expect(lines).toEqual(linesOf(text));
    });
  });

  test("B12 one byte at a time, and each place for a single cut", () => {
    const text = '\uFEFF{"a":"中🙂"}\r\n\r\n  \n{"b":1}\nend 👩‍👩‍👧';
    const bytes = encode(text);
    const expected = ['{"a":"中🙂"}', '{"b":1}', "end 👩‍👩‍👧"];
    expect(
      split(
        new LineSplitter(),
        [...bytes].map((byte) => new Uint8Array([byte])),
      ),
    ).toEqual(expected);
    for (let at = 0; at <= bytes.length; at++) {
      expect(split(new LineSplitter(), [bytes.subarray(0, at), bytes.subarray(at)])).toEqual(expected);
    }
  });

  test("B12 a source that uses its buffer again changes nothing that was taken", () => {
    const buffer = new Uint8Array(4);
    const splitter = new LineSplitter();
    const lines: string[] = [];
    for (const part of ["abcd", "efgh", "ij\nk", "l\n  "]) {
      buffer.set(encode(part));
      lines.push(...splitter.push(buffer));
    }
    expect(lines).toEqual(["abcdefghij", "kl"]);
  });

  test("B12 bytes that are no UTF-8 become marks and spoil no other line", () => {
    const lines = split(new LineSplitter(), [encode("a\n"), new Uint8Array([0xff, 0xc3, 10]), encode("b\n")]);
    expect(lines).toEqual(["a", "\uFFFD\uFFFD", "b"]);
  });
});

describe("a line above the bound", () => {
  test("B12 is dropped and told once, however it is cut; its neighbours survive", () => {
    eachSeed(2_000, (random) => {
      const max = random.int(4, 20);
      const told: number[] = [];
      const splitter = new LineSplitter((bytes) => told.push(bytes), max);
      // Only what must be kept and what must be dropped; between the two lies a chunk's worth of tolerance.
      const sizes = random.times(random.int(1, 8), () =>
        random.chance(0.4) ? max * 3 + 1 : random.int(1, max),
      );
      const lines = sizes.map((size, i) => String.fromCharCode(97 + i).repeat(size));
      const bytes = encode(lines.join("\n") + (random.chance(0.5) ? "\n" : ""));
      const chunks: Uint8Array[] = [];
      for (let at = 0; at < bytes.length; ) {
        const size = random.int(1, max);
        chunks.push(bytes.subarray(at, at + size));
        at += size;
      }
      const long = sizes.filter((size) => size > max).length;
      expect(split(splitter, chunks)).toEqual(lines.filter((line) => line.length <= max));
      expect(told).toHaveLength(long);
    });
  });

  test("B12 is not held: what waits stays within the bound and one chunk", () => {
    const told: number[] = [];
    const splitter = new LineSplitter((bytes) => told.push(bytes), 1_000);
    const state = splitter as unknown as { parts: Uint8Array[]; held: number };
    for (let i = 0; i < 10_000; i++) {
      expect(splitter.push(new Uint8Array(100).fill(97))).toEqual([]);
      const held = state.parts.reduce((sum, part) => sum + part.length, 0);
      expect(held).toBe(state.held);
      expect(held).toBeLessThanOrEqual(1_000);
    }
    expect(told).toEqual([1_100]);
    expect(splitter.push(encode("\nnext\n"))).toEqual(["next"]);
  });

  test("B12 the end of a stream in the middle of one gives no line", () => {
    const splitter = new LineSplitter(() => {}, 4);
    expect(splitter.push(encode("toolong"))).toEqual([]);
    expect(splitter.end()).toEqual([]);
    expect(splitter.push(encode("ok\n"))).toEqual(["ok"]);
  });
});
