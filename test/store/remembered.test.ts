/** Choices and hidden sessions in a file of ours: over processes, and in whatever state the file is. */

import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/platform/clock.ts";
import { Remembered } from "../../src/store/remembered.ts";
import { WRONG_VALUES } from "../support/random.ts";
import { tempDir } from "../support/temp.ts";

const log = { write: () => {}, once: () => {} };
const open = (dir: string) => new Remembered(dir, log, systemClock());
const MODEL = { providerId: "p", modelId: "m" };

test("P2 A7 what was chosen is there for a later process, until the backend remembers it", async () => {
  const dir = tempDir("remembered");
  const first = open(dir);
  first.choose("a", { mode: "plan", model: MODEL, thought: "high" });
  first.choose("b", { mode: "edit" });
  expect(first.choice("a")).toEqual({ mode: "plan", model: MODEL, thought: "high" });
  await first.flushed();
  expect(statSync(first.path).mode & 0o777).toBe(0o600);
  const second = open(dir);
  expect(second.choice("a")).toEqual({ mode: "plan", model: MODEL, thought: "high" });
  second.choose("a", undefined);
  expect(second.choice("a")).toBeUndefined();
  await second.flushed();
  expect(open(dir).choice("a")).toBeUndefined();
  expect(open(dir).choice("b")).toEqual({ mode: "edit" });
  expect(open(dir).choice("toString")).toBeUndefined();
});

test("R32 what one process hides another leaves out, and each of several keeps what the others wrote", async () => {
  const dir = tempDir("remembered");
  const [one, two] = [open(dir), open(dir)];
  // Again and again, each of them while another is under way.
  const often = Array.from({ length: 5 }, async () => {
    await Promise.resolve();
    return one.hide("often");
  });
  expect(await Promise.all(often)).toEqual([true, true, true, true, true]);
  const later = Array.from({ length: 5 }, async (_, i) => {
    await Bun.sleep(i);
    return one.hide("often");
  });
  expect(await Promise.all(later)).toEqual([true, true, true, true, true]);
  one.show("often");
  await Promise.all([one.hide("s1"), two.hide("s2"), one.hide("__proto__"), two.hide("s3")]);
  two.choose("x", { mode: "yolo" });
  await two.flushed();
  expect([...open(dir).hidden()].sort()).toEqual(["__proto__", "s1", "s2", "s3"]);
  one.show("s2");
  one.show("never hidden");
  expect(one.hidden().has("s2")).toBe(false);
  await one.flushed();
  expect([...two.hidden()].sort()).toEqual(["__proto__", "s1", "s3"]);
  expect(open(dir).choice("x")).toEqual({ mode: "yolo" });
});

test("R32 fields that are not known stay, a later version is read and not written, and what is broken is set aside", async () => {
  const dir = tempDir("remembered");
  const path = open(dir).path;
  mkdirSync(dir, { recursive: true });
  const put = (value: unknown) =>
    writeFileSync(path, typeof value === "string" ? value : JSON.stringify(value));
  const onDisk = () => JSON.parse(readFileSync(path, "utf8"));
  put({ v: 1, mine: 7, hidden: { old: { at: 1, why: "x" } }, choices: {} });
  expect(await open(dir).hide("new")).toBe(true);
  expect(onDisk()).toMatchObject({ v: 1, mine: 7, hidden: { old: { at: 1, why: "x" }, new: {} } });
  put({ v: 2, hidden: { later: {} }, choices: {} });
  const reader = open(dir);
  expect(await reader.hide("s")).toBe(true);
  expect(onDisk()).toEqual({ v: 2, hidden: { later: {} }, choices: {} });
  expect(reader.hidden().has("later")).toBe(true);
  for (const broken of ["", "{", "[]", "null"]) {
    put(broken);
    expect(open(dir).hidden().size).toBe(0);
  }
  expect(await open(dir).hide("after")).toBe(true);
  expect(Object.keys(onDisk().hidden)).toEqual(["after"]);
  expect(readdirSync(dir).some((name) => name.includes(".corrupt-"))).toBe(true);
  for (const wrong of WRONG_VALUES) {
    put({ v: wrong, hidden: wrong, choices: { a: wrong, b: { mode: wrong, model: wrong, thought: wrong } } });
    const made = open(dir);
    expect(() => [made.hidden(), made.choice("a"), made.choice("b")]).not.toThrow();
    const { mode, thought } = made.choice("b") ?? {};
    for (const each of [mode, thought]) expect(["string", "undefined"]).toContain(typeof each);
  }
});

test("R32 a file that cannot be written is no promise, and of thousands the newest stay", async () => {
  const file = join(tempDir("remembered"), "a file");
  writeFileSync(file, "");
  const nowhere = open(join(file, "dir"));
  expect(await nowhere.hide("s")).toBe(false);
  const dir = tempDir("remembered");
  const full = open(dir);
  for (let i = 0; i < 2_100; i++) full.choose(`c${i}`, { mode: "plan" });
  await full.flushed();
  full.choose("last", { mode: "plan" });
  await full.flushed();
  expect(Object.keys(JSON.parse(readFileSync(full.path, "utf8")).choices)).toHaveLength(2_000);
  expect(open(dir).choice("last")).toEqual({ mode: "plan" });
});
