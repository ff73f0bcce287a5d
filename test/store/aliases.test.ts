import { describe, expect, test } from "bun:test";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/platform/clock.ts";
import type { Level, Log } from "../../src/platform/log.ts";
import { type Alias, AliasStore } from "../../src/store/aliases.ts";
import { eachSeedAsync, WRONG_VALUES } from "../support/random.ts";
import { tempDir } from "../support/temp.ts";

class KeptLog implements Log {
  readonly lines: string[] = [];
  private readonly seen = new Set<string>();

  write(level: Level, message: string): void {
    this.lines.push(`${level} ${message}`);
  }

  once(key: string, level: Level, message: string): void {
    if (this.seen.has(key)) return;
    this.seen.add(key);
    this.write(level, message);
  }
}

function store(dir = tempDir("aliases")) {
  const log = new KeptLog();
  const made = new AliasStore(dir, log, systemClock());
  return {
    dir,
    log,
    store: made,
    onDisk: () => JSON.parse(readFileSync(made.path, "utf8")) as Record<string, unknown>,
  };
}

const alias = (backendId?: string, cwd = "/w"): Alias => ({ cwd, backendId, createdAt: 1_700_000_000_000 });

describe("what is put", () => {
  test("P3 B14 is there for this and for a later bridge, in the shape that others read", async () => {
    const { dir, store: first, onDisk } = store();
    expect(first.get("a")).toBeUndefined();
    await first.put("a", alias());
    await first.put("b", alias("sess_1"));
    await first.put("a", alias("sess_2"));
    expect(onDisk()).toEqual({
      a: { cwd: "/w", createdAt: 1_700_000_000_000, zcodeSid: "sess_2" },
      b: { cwd: "/w", createdAt: 1_700_000_000_000, zcodeSid: "sess_1" },
    });
    const { store: second } = store(dir);
    expect(second.get("a")).toEqual(alias("sess_2"));
    expect(second.get("b")).toEqual(alias("sess_1"));
  });

  test("P3 is known at once, before it is on disk", async () => {
    const { store: made } = store();
    const written = made.put("a", alias("s"));
    expect(made.get("a")).toEqual(alias("s"));
    await written;
    expect(made.get("a")).toEqual(alias("s"));
  });

  test("P3 B10 the last of many that are put at once is on disk with one of the next two writes", async () => {
    const { store: made, onDisk } = store();
    const first = made.put("first", alias());
    const rest = Array.from({ length: 50 }, (_, n) => made.put(`n${n}`, alias()));
    const superseded = made.put("n49", alias("sess_1"));
    const last = made.put("n49", alias("sess_2"));
    await first;
    await rest[0];
    // A bridge that is killed now has lost none of them.
    expect(Object.keys(onDisk())).toHaveLength(51);
    expect(onDisk().n49).toMatchObject({ zcodeSid: "sess_2" });
    await Promise.all([...rest, superseded, last]);
    expect(onDisk().n49).toMatchObject({ zcodeSid: "sess_2" });
  });

  test("D8 lies in a file and a folder that are their owner's alone, with nothing left beside it", async () => {
    const { dir, store: made } = store();
    await made.put("a", alias());
    expect(statSync(made.path).mode & 0o777).toBe(0o600);
    expect(statSync(join(dir, "v2")).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(dir, "v2"))).toEqual(["acp-lazy-sessions.json"]);
  });

  test("B14 keeps a link that a person made", async () => {
    const { dir, store: made } = store();
    mkdirSync(join(dir, "v2"));
    const target = join(dir, "elsewhere.json");
    writeFileSync(target, "{}");
    symlinkSync(target, made.path);
    await made.put("a", alias());
    expect(lstatSync(made.path).isSymbolicLink()).toBe(true);
    expect(JSON.parse(readFileSync(target, "utf8"))).toHaveProperty("a");
  });

  test.if(process.platform !== "win32")(
    "B14 a pipe in its place is left alone, and said once each way",
    async () => {
      const { dir, log, store: made } = store();
      mkdirSync(join(dir, "v2"));
      Bun.spawnSync(["mkfifo", made.path]);
      await made.put("a", alias("s"));
      await made.put("b", alias());
      expect(made.get("a")).toEqual(alias("s"));
      expect(made.get("c")).toBeUndefined();
      expect(lstatSync(made.path).isFIFO()).toBe(true);
      expect(log.lines).toEqual([
        "warn the alias file cannot be read and counts as empty: not a regular file",
        "warn the alias file cannot be written: not a regular file",
      ]);
    },
  );

  test("B14 names that are properties of every object are ids like any other", async () => {
    const { store: made } = store();
    for (const id of ["__proto__", "constructor", "toString"]) {
      expect(made.get(id)).toBeUndefined();
      await made.put(id, alias(id));
      expect(made.get(id)).toEqual(alias(id));
    }
  });
});

describe("what stands there already", () => {
  test("B14 fields and entries that nobody here knows survive a write", async () => {
    const { dir, store: made, onDisk } = store();
    mkdirSync(join(dir, "v2"));
    const before = {
      a: { cwd: "/old", createdAt: 1, zcodeSid: "old", color: "blue" },
      other: { cwd: "/x", createdAt: 2, nested: { deep: [1] } },
      odd: 17,
    };
    writeFileSync(made.path, JSON.stringify(before));
    await made.put("a", alias());
    expect(onDisk()).toEqual({
      ...before,
      a: { cwd: "/w", createdAt: 1_700_000_000_000, zcodeSid: "old", color: "blue" },
    });
  });

  test("B14 a file that is no JSON object counts as empty, is said once, and the next write mends it", async () => {
    for (const content of ["", "{", "[1]", "null", '"x"', "\0\0", '{"a": {"cwd": "/w"'] as const) {
      const { dir, log, store: made, onDisk } = store();
      mkdirSync(join(dir, "v2"));
      writeFileSync(made.path, content);
      expect(made.get("a")).toBeUndefined();
      expect(made.get("a")).toBeUndefined();
      expect(log.lines).toHaveLength(1);
      await made.put("b", alias());
      expect(onDisk()).toHaveProperty("b");
    }
  });

  test("B14 a byte order mark is no reason to forget what stands behind it", async () => {
    const { dir, log, store: made } = store();
    mkdirSync(join(dir, "v2"));
    writeFileSync(made.path, `\uFEFF${JSON.stringify({ a: { cwd: "/w", createdAt: 5, zcodeSid: "s" } })}`);
    await made.put("b", alias());
    expect(made.get("a")).toEqual({ cwd: "/w", createdAt: 5, backendId: "s" });
    expect(log.lines).toEqual([]);
  });

  test("B14 entries with fields of any type are read as far as they go", () => {
    const { dir, store: made } = store();
    mkdirSync(join(dir, "v2"));
    for (const wrong of WRONG_VALUES) {
      writeFileSync(
        made.path,
        JSON.stringify({ a: wrong, b: { cwd: wrong }, c: { cwd: "/w", zcodeSid: wrong, createdAt: wrong } }),
      );
      made.get("a");
      made.get("b");
      const found = made.get("c")!;
      expect(found.cwd).toBe("/w");
      expect(["undefined", "string"]).toContain(typeof found.backendId);
      expect(Number.isFinite(found.createdAt)).toBe(true);
    }
  });
});

describe("where nothing can be written", () => {
  test("B14 what was put is still known here, the failure is said once, and nothing throws", async () => {
    const { dir, log, store: made } = store();
    // A file where the folder should be: no permission is needed to refuse that, not even to root.
    writeFileSync(join(dir, "v2"), "in the way");
    await made.put("a", alias("s"));
    await made.put("b", alias());
    await made.flushed();
    expect(made.get("a")).toEqual(alias("s"));
    expect(log.lines).toHaveLength(1);
    expect(log.lines[0]).toStartWith("warn");
  });

  test("B14 a folder in the file's place leaves no litter", async () => {
    const { dir, log, store: made } = store();
    mkdirSync(made.path, { recursive: true });
    writeFileSync(join(made.path, "inside"), "x");
    await made.put("a", alias());
    expect(readdirSync(join(dir, "v2"))).toEqual(["acp-lazy-sessions.json"]);
    expect(existsSync(join(made.path, "inside"))).toBe(true);
    expect(log.lines.length).toBeGreaterThan(0);
  });
});

describe("two bridges", () => {
  test("B14 that write in turn lose nothing of each other, in any order", async () => {
    await eachSeedAsync(15, async (random) => {
      const dir = tempDir("aliases");
      const stores = [store(dir).store, store(dir).store];
      const expected = new Map<string, Alias>();
      for (let n = 0; n < 12; n++) {
        const id = `id-${random.int(0, 5)}`;
        const known = expected.get(id);
        const value = alias(random.chance(0.5) ? `sess-${n}` : undefined, `/w${random.int(0, 2)}`);
        await random.pick(stores).put(id, value);
        expected.set(id, { ...value, backendId: value.backendId ?? known?.backendId });
      }
      for (const made of stores) for (const [id, value] of expected) expect(made.get(id)).toEqual(value);
    });
  });

  test("B14 two bridges that write at the same moment lose nothing of each other", async () => {
    const dir = tempDir("aliases");
    const stores = [store(dir).store, store(dir).store];
    for (let n = 0; n < 20; n++)
      for (const [at, made] of stores.entries()) void made.put(`${at}-${n}`, alias(`s-${n}`));
    await Promise.all(stores.map((made) => made.flushed()));
    expect(Object.keys(JSON.parse(readFileSync(stores[0]!.path, "utf8")) as object)).toHaveLength(40);
  });

  test("B14 one store's own writes, all at once, are all kept and flushed awaits them", async () => {
    const { store: made, onDisk } = store();
    for (let n = 0; n < 40; n++) void made.put(`id-${n}`, alias(`s-${n}`));
    await made.flushed();
    expect(Object.keys(onDisk())).toHaveLength(40);
  });
});
