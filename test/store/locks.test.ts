/** The alias file between processes: locks, their loss, and other bridges that know none. */

import { expect, spyOn, test } from "bun:test";
import {
  existsSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import * as atomic from "../../src/platform/atomic.ts";
import { type Clock, systemClock } from "../../src/platform/clock.ts";
import { withLock } from "../../src/platform/lock.ts";
import { silentLog } from "../../src/platform/log.ts";
import { bornOf } from "../../src/platform/processTable.ts";
import { AliasStore } from "../../src/store/aliases.ts";
import { tempDir } from "../support/temp.ts";

const alias = { cwd: "/w", backendId: "s", createdAt: 1 };
const clock = systemClock();

function home(): { dir: string; file: string; onDisk(): Record<string, unknown> } {
  const dir = tempDir("locks");
  mkdirSync(join(dir, "v2"), { recursive: true });
  const file = join(dir, "v2", "acp-lazy-sessions.json");
  return { dir, file, onDisk: () => JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown> };
}

test("B14 four processes that write at the same moment lose nothing of each other, and leave no lock", async () => {
  const { dir, file, onDisk } = home();
  const writers = ["a", "b", "c", "d"].map((name) =>
    Bun.spawn([process.execPath, join(import.meta.dir, "fixtures", "writer.ts"), dir, name, "15"], {
      stdio: ["ignore", "inherit", "inherit"],
    }),
  );
  for (const writer of writers) expect(await writer.exited).toBe(0);
  expect(Object.keys(onDisk())).toHaveLength(60);
  expect(readdirSync(join(dir, "v2"))).toEqual([file.split("/").at(-1)!]);
}, 30_000);

test("B14 a lock whose holder is gone is broken; one that names nobody is broken after a while", async () => {
  const { dir, file, onDisk } = home();
  const gone = Bun.spawn(["true"]);
  await gone.exited;
  writeFileSync(`${file}.lock`, JSON.stringify({ pid: gone.pid, born: "1", nonce: "x" }));
  const store = new AliasStore(dir, silentLog(), clock);
  await store.put("one", alias);
  expect(Object.keys(onDisk())).toEqual(["one"]);
  expect(existsSync(`${file}.lock`)).toBe(false);
  writeFileSync(`${file}.lock`, "");
  await store.put("two", alias);
  expect(Object.keys(onDisk())).toEqual(["one", "two"]);
});

test.if(process.platform === "linux")(
  "B14 a process id that was given out again does not hold the lock of its forerunner",
  async () => {
    const { dir, file, onDisk } = home();
    writeFileSync(`${file}.lock`, JSON.stringify({ pid: process.pid, born: "1", nonce: "x" }));
    await new AliasStore(dir, silentLog(), clock).put("one", alias);
    expect(Object.keys(onDisk())).toEqual(["one"]);
    // Broken, and not waited for in vain.
    expect(existsSync(`${file}.lock`)).toBe(false);
  },
);

test("B14 a lock of another user's process is waited for like any other", async () => {
  const lock = join(tempDir("locks"), "x.lock");
  const held = JSON.stringify({ pid: process.pid, born: bornOf(process.pid) ?? null, nonce: "x" });
  writeFileSync(lock, held);
  const spy = spyOn(process, "kill").mockImplementation(() => {
    throw Object.assign(new Error("not permitted"), { code: "EPERM" });
  });
  try {
    expect(await withLock(lock, clock, async () => readFileSync(lock, "utf8"), 100)).toBe(held);
  } finally {
    spy.mockRestore();
  }
  expect(readFileSync(lock, "utf8")).toBe(held);
});

test("B14 a lock that came in the place of one that nobody holds stays its holder's", async () => {
  const lock = join(tempDir("locks"), "x.lock");
  const old = new Date(Date.now() - 10_000);
  const write = (text: string) => {
    writeFileSync(lock, text);
    utimesSync(lock, old, old);
  };
  write("nobody");
  const theirs = JSON.stringify({ pid: process.pid, born: bornOf(process.pid) ?? null, nonce: "x" });
  let judged = 0;
  // Between a look at the old one and its end another process has broken it, and holds its own.
  const late: Clock = {
    ...clock,
    now() {
      if (judged++ === 0) write(theirs);
      return clock.now();
    },
  };
  expect(await withLock(lock, late, async () => readFileSync(lock, "utf8"), 100)).toBe(theirs);
  expect(judged).toBeGreaterThan(0);
  expect(readFileSync(lock, "utf8")).toBe(theirs);
  expect(readdirSync(join(lock, ".."))).toEqual(["x.lock"]);
});

test("B14 who was taken for gone and was not leaves the next one's lock alone", async () => {
  const lock = join(tempDir("locks"), "x.lock");
  await withLock(lock, clock, async () => writeFileSync(lock, "the next one's"));
  expect(readFileSync(lock, "utf8")).toBe("the next one's");
});

test("B14 a lock that its living holder keeps is waited on for two seconds, then written all the same, and stays its holder's", async () => {
  const { dir, file, onDisk } = home();
  const holder = Bun.spawn(["sleep", "30"]);
  const held = JSON.stringify({ pid: holder.pid, born: null, nonce: "x" });
  writeFileSync(`${file}.lock`, held);
  const began = performance.now();
  await new AliasStore(dir, silentLog(), clock).put("one", alias);
  expect(performance.now() - began).toBeLessThan(10_000);
  expect(Object.keys(onDisk())).toEqual(["one"]);
  expect(readFileSync(`${file}.lock`, "utf8")).toBe(held);
  holder.kill();
}, 20_000);

test("B14 a corrupt file is set aside with all it holds, reported, and written anew", async () => {
  const { dir, file, onDisk } = home();
  writeFileSync(file, '{"half":');
  const said: string[] = [];
  const log = {
    write: (_: string, message: string) => said.push(message),
    once: (_: string, __: string, message: string) => said.push(message),
  };
  await new AliasStore(dir, log, clock).put("one", alias);
  expect(Object.keys(onDisk())).toEqual(["one"]);
  const aside = readdirSync(join(dir, "v2")).find((name) => name.includes(".corrupt-"));
  expect(readFileSync(join(dir, "v2", aside ?? ""), "utf8")).toBe('{"half":');
  expect(said.join()).toContain("kept as");
});

test("B14 what another bridge wrote without a lock is merged, not lost", async () => {
  const { dir, file, onDisk } = home();
  const store = new AliasStore(dir, silentLog(), clock);
  await store.put("one", alias);
  writeFileSync(file, JSON.stringify({ ...onDisk(), other: { cwd: "/o", theirs: true } }));
  await store.put("two", alias);
  expect(Object.keys(onDisk()).sort()).toEqual(["one", "other", "two"]);
  expect(onDisk().other).toEqual({ cwd: "/o", theirs: true });
});

test("B14 the lock is let go when the work fails", async () => {
  const path = join(tempDir("locks"), "x.lock");
  await expect(withLock(path, clock, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(existsSync(path)).toBe(false);
});

test("B14 what stands in a lock's place and is none, or names a process that cannot be told to hold it, is broken after a while", async () => {
  const { dir, file } = home();
  const lock = `${file}.lock`;
  const old = new Date(Date.now() - 3_600_000);
  const places: Record<string, () => void> = {
    "a folder": () => mkdirSync(lock),
    "a link to nowhere": () => symlinkSync(join(dir, "nowhere"), lock),
    "a pipe": () => expect(Bun.spawnSync(["mkfifo", lock]).exitCode).toBe(0),
    "a holder without a start time": () =>
      writeFileSync(lock, JSON.stringify({ pid: process.pid, born: null, nonce: "x" })),
  };
  for (const [what, make] of Object.entries(places)) {
    make();
    if (what === "a link to nowhere") lutimesSync(lock, old, old);
    else utimesSync(lock, old, old);
    const started = performance.now();
    expect(await withLock(lock, clock, async () => existsSync(lock), 5_000)).toBe(true);
    expect([what, performance.now() - started < 2_000]).toEqual([what, true]);
    expect(readdirSync(join(dir, "v2"))).toEqual([]);
  }
}, 30_000);

test("B14 what another bridge, which knows no lock, has undone at once is written again", async () => {
  const { dir, file, onDisk } = home();
  const store = new AliasStore(dir, silentLog(), clock);
  const write = atomic.writeAtomic;
  let undone = 0;
  // It had read the file before, and writes what it knows right behind this write.
  const spy = spyOn(atomic, "writeAtomic").mockImplementation(async (path, data, mode) => {
    await write(path, data, mode);
    if (undone++ < 2) writeFileSync(file, JSON.stringify({ other: { cwd: "/o" } }));
  });
  try {
    await store.put("one", alias);
  } finally {
    spy.mockRestore();
  }
  expect(undone).toBe(3);
  expect(Object.keys(onDisk()).sort()).toEqual(["one", "other"]);
});
