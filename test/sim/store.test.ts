/** Sessions on a disk that does not do what it should. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { diskStore, openStore } from "../../src/sim/store.ts";
import type { StoredSession } from "../../src/sim/types.ts";
import { tempDir } from "../support/temp.ts";

const session = (sessionId: string, title = "t") => ({ v: 1, sessionId, title }) as unknown as StoredSession;

describe("a write that fails", () => {
  test("is survived: what could not be written is read, listed and removed, and said once", () => {
    const dir = join(tempDir("store"), "sim");
    const said: string[] = [];
    const store = diskStore(dir, (line) => said.push(line));
    store.write(session("kept"));
    rmSync(join(dir, "sessions"), { recursive: true });
    writeFileSync(join(dir, "sessions"), "");
    store.write(session("a", "first"));
    store.write(session("a", "second"));
    store.write(session("b"));
    expect(store.read("a")?.title).toBe("second");
    expect(store.read("kept")).toBeUndefined();
    expect(store.list().map((each) => each.sessionId)).toEqual(["a", "b"]);
    store.remove("b");
    expect(store.list().map((each) => each.sessionId)).toEqual(["a"]);
    expect(said).toEqual([expect.stringContaining(dir)]);
    // The disk is back: the next write goes there.
    rmSync(join(dir, "sessions"));
    mkdirSync(join(dir, "sessions"));
    store.write(session("a", "third"));
    expect(diskStore(dir).read("a")?.title).toBe("third");
  });

  test("keeps rules as well", () => {
    const dir = tempDir("store");
    const store = diskStore(dir);
    store.addRule("one");
    mkdirSync(join(dir, `allowed.txt.${store.generation}.tmp`));
    store.addRule("two");
    expect(store.rules()).toEqual(["one", "two"]);
    expect(diskStore(dir).rules()).toEqual(["one"]);
  });
});

describe("a folder that cannot be one", () => {
  test("gives a store in memory where nobody named it, and an error where somebody did", () => {
    const file = join(tempDir("store"), "file");
    writeFileSync(file, "");
    const said: string[] = [];
    const store = openStore(file, false, 7, (line) => said.push(line));
    store.write(session("a"));
    expect([store.generation, store.read("a")?.sessionId]).toEqual([7, "a"]);
    expect(said).toEqual([expect.stringContaining(file)]);
    expect(() => openStore(file, true, 7, () => {})).toThrow();
  });
});
