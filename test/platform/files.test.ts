import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { writeAtomic, writeAtomicSync } from "../../src/platform/atomic.ts";
import { createBlackBox } from "../../src/platform/blackbox.ts";
import { type Clock, systemClock } from "../../src/platform/clock.ts";
import { NO_FILE, readRegular, usableFolder } from "../../src/platform/files.ts";
import { BLACKBOX_FRAMES, LOG_FILES, LOG_MAX_AGE_MS, LOG_MAX_BYTES } from "../../src/platform/limits.ts";
import { createLog, maskSecrets } from "../../src/platform/log.ts";
import { resolvePaths } from "../../src/platform/paths.ts";
import { tempDir } from "../support/temp.ts";

const clock: Clock = { ...systemClock(), now: () => Date.parse("2026-01-02T03:04:05.678Z") };
const mode = (path: string) => statSync(path).mode & 0o777;

describe("paths", () => {
  test("follow HOME, XDG and ZCODE_HOME, and pass over what is not absolute", () => {
    expect(resolvePaths({ HOME: "/h" }, "linux")).toEqual({
      home: "/h",
      configDir: "/h/.config/zcode-acp",
      configFile: "/h/.config/zcode-acp/config.json",
      stateDir: "/h/.local/state/zcode-acp",
      zcodeHome: "/h/.zcode",
    });
    const moved = { HOME: "/h", XDG_CONFIG_HOME: "/c", XDG_STATE_HOME: "state", ZCODE_HOME: "~/z" };
    expect(resolvePaths(moved, "linux")).toMatchObject({
      configDir: "/c/zcode-acp",
      stateDir: "/h/.local/state/zcode-acp",
      zcodeHome: "/h/z",
    });
    expect(resolvePaths({}, "linux").home).not.toBe("");
  });
});

describe("writeAtomic", () => {
  for (const [name, write] of [
    ["asynchronous", writeAtomic],
    ["synchronous", async (...args: Parameters<typeof writeAtomicSync>) => writeAtomicSync(...args)],
  ] as const) {
    test(`${name}: the new text and mode, through a link, and nothing beside it`, async () => {
      const dir = tempDir("atomic");
      const target = join(dir, "real.json");
      writeFileSync(target, "old");
      chmodSync(target, 0o644);
      symlinkSync(target, join(dir, "link.json"));
      await write(join(dir, "link.json"), "new", 0o600);
      expect(readFileSync(target, "utf8")).toBe("new");
      expect(mode(target)).toBe(0o600);
      expect(readdirSync(dir).sort()).toEqual(["link.json", "real.json"]);
    });

    test(`${name}: a failure leaves the old file and nothing else`, async () => {
      const dir = tempDir("atomic");
      mkdirSync(join(dir, "target"));
      await expect(write(join(dir, "target"), "new", 0o600)).rejects.toThrow();
      await expect(write(join(dir, "no", "such", "file"), "new", 0o600)).rejects.toThrow();
      expect(readdirSync(dir)).toEqual(["target"]);
    });
  }
});

describe("readRegular", () => {
  test("reads a file, through a link as well", () => {
    const dir = tempDir("read");
    writeFileSync(join(dir, "a"), "text é");
    symlinkSync(join(dir, "a"), join(dir, "b"));
    expect([readRegular(join(dir, "a")), readRegular(join(dir, "b"))]).toEqual(["text é", "text é"]);
  });

  test.if(process.platform !== "win32")("refuses what is none, at once", () => {
    const dir = tempDir("read");
    Bun.spawnSync(["mkfifo", join(dir, "pipe")]);
    const listener = Bun.listen({ unix: join(dir, "socket"), socket: { data() {} } });
    const refused = (path: string) => expect(() => readRegular(path));
    for (const path of [join(dir, "pipe"), "/dev/null", "/dev/zero"])
      refused(path).toThrow(expect.objectContaining({ code: NO_FILE }));
    refused(join(dir, "socket")).toThrow();
    refused(dir).toThrow(expect.objectContaining({ code: "EISDIR" }));
    refused(join(dir, "none")).toThrow(expect.objectContaining({ code: "ENOENT" }));
    listener.stop();
  });

  test("the first folder that is there is the usable one", () => {
    const dir = tempDir("folder");
    writeFileSync(join(dir, "file"), "");
    expect(usableFolder([join(dir, "none"), join(dir, "file"), dir, "/"])).toBe(dir);
    expect(usableFolder([join(dir, "none"), "/"])).toBe("/");
  });
});

describe("the log", () => {
  const open = (dir: string, env = {}) => createLog({ dir, name: "stdio-1", clock, env });

  test("makes its folder and file at the first line, for its owner only", () => {
    const dir = join(tempDir("log"), "state", "zcode-acp");
    const log = open(dir);
    log.write("info", "nothing of note");
    expect(existsSync(dir)).toBe(false);
    log.write("warn", "first\nsecond");
    const path = join(dir, "stdio-1.log");
    expect(readFileSync(path, "utf8")).toBe("2026-01-02T03:04:05.678Z warn first\n  second\n");
    expect([mode(path), mode(dir)]).toEqual([0o600, 0o700]);
  });

  test("says a kind once, and does not remember kinds without end", () => {
    const dir = tempDir("log");
    const log = open(dir);
    for (let i = 0; i < 3; i++) log.once("a", "warn", "said");
    for (let i = 0; i < 5000; i++) log.once(`k${i}`, "warn", "kind");
    const lines = readFileSync(join(dir, "stdio-1.log"), "utf8").trim().split("\n");
    expect(lines.filter((line) => line.endsWith("said")).length).toBe(1);
    expect(lines.length).toBeLessThan(1500);
  });

  test("turns over at its bound and keeps so many files", () => {
    const dir = tempDir("log");
    const log = open(dir);
    const line = "x".repeat(3900);
    for (let i = 0; i * line.length < 5 * LOG_MAX_BYTES; i++) log.write("warn", line);
    const files = readdirSync(dir).sort();
    expect(files).toEqual(["stdio-1.log", "stdio-1.log.1", "stdio-1.log.2"]);
    expect(files.length).toBe(LOG_FILES);
    for (const file of files) expect(statSync(join(dir, file)).size).toBeLessThanOrEqual(LOG_MAX_BYTES);
  });

  test("removes its own old files, and nobody else's", () => {
    const dir = tempDir("log");
    const old = new Date(clock.now() - LOG_MAX_AGE_MS - 1000);
    for (const name of ["a.log", "a.log.1", "a.blackbox.json", "notes.txt", "young.log"]) {
      writeFileSync(join(dir, name), "");
      if (name !== "young.log") utimesSync(join(dir, name), old, old);
    }
    const fresh = new Date(clock.now());
    utimesSync(join(dir, "young.log"), fresh, fresh);
    open(dir).write("warn", "line");
    expect(readdirSync(dir).sort()).toEqual(["notes.txt", "stdio-1.log", "young.log"]);
  });

  test("a folder that cannot be made breaks nothing", () => {
    const file = join(tempDir("log"), "file");
    writeFileSync(file, "");
    const log = open(join(file, "below"));
    log.write("error", "lost");
    log.once("k", "error", "lost");
  });

  test.if(process.platform !== "win32")("a pipe in the place of its file stops nothing", () => {
    const dir = tempDir("log");
    Bun.spawnSync(["mkfifo", join(dir, "stdio-1.log")]);
    open(dir).write("error", "lost");
  });

  test("D8 lets no secret through", () => {
    const dir = tempDir("log");
    open(dir).write("error", 'refused: {"apiKey":"hush-1"}');
    expect(readFileSync(join(dir, "stdio-1.log"), "utf8")).not.toContain("hush-1");
  });
});

describe("maskSecrets", () => {
  test("D8 finds keys, tokens and passwords in every dress", () => {
    for (const text of [
      '{"apiKey": "SECRETVALUE"}',
      "{'api_key':'SECRETVALUE'}",
      "ANTHROPIC_API_KEY=SECRETVALUE",
      "ZCODE_TOKEN=SECRETVALUE next",
      "Authorization: Bearer SECRETVALUE",
      "authorization: SECRETVALUE",
      "bearer SECRETVALUE",
      "GET /acp?instance=1&token=SECRETVALUE",
      "http://user:SECRETVALUE@proxy:3128",
      "password: SECRETVALUE",
      "key sk-SECRETVALUE123456",
      "eyJhbGciOiJ.SECRETVALUE.SECRETVALUE",
      "0123456789abcdef0123456789abcdef.SECRETVALUE",
    ]) {
      expect(maskSecrets(text)).not.toContain("SECRETVALUE");
    }
  });

  test("leaves what is no secret", () => {
    for (const text of [
      "session/create answered -32004",
      "1234 tokens used, 12 cached",
      "https://example.test/a?b=c",
      "no key was found in ~/.zcode/v2/config.json",
    ]) {
      expect(maskSecrets(text)).toBe(text);
    }
  });
});

describe("the black box", () => {
  test("keeps the last frames' heads, in order, and the state it is given", () => {
    const dir = tempDir("box");
    const box = createBlackBox({ dir, name: "stdio-1", clock });
    for (let i = 0; i < BLACKBOX_FRAMES + 10; i++)
      box.frame(i % 2 ? "in" : "out", "session/event", i, "s1", 100 + i);
    box.frame("client in", "x".repeat(10_000), undefined, "", 1);
    const path = box.write({ conversations: 1 })!;
    const written = JSON.parse(readFileSync(path, "utf8"));
    expect(written).toMatchObject({
      v: 1,
      pid: process.pid,
      framesSeen: BLACKBOX_FRAMES + 11,
      live: { conversations: 1 },
    });
    expect(written.frames.length).toBe(BLACKBOX_FRAMES);
    expect(written.frames[0]).toEqual(["2026-01-02T03:04:05.678Z", "in", "session/event", 11, "s1", 111]);
    expect(written.frames.at(-1)[2].length).toBeLessThan(100);
    expect(mode(path)).toBe(0o600);
  });

  test("an empty one is JSON, and a folder that cannot be made breaks nothing", () => {
    const file = join(tempDir("box"), "file");
    writeFileSync(file, "");
    const box = createBlackBox({ dir: join(file, "below"), name: "b", clock });
    expect(JSON.parse(box.snapshot(undefined))).toMatchObject({ frames: [], live: null });
    expect(box.write({})).toBeUndefined();
  });
});

test("a file never takes the place of what is none, also where a link leads there", async () => {
  const dir = tempDir("atomic");
  const pipe = join(dir, "pipe");
  expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0);
  symlinkSync(pipe, join(dir, "link"));
  for (const path of [pipe, join(dir, "link")]) {
    await expect(writeAtomic(path, "x", 0o600)).rejects.toMatchObject({ code: NO_FILE });
    expect(() => writeAtomicSync(path, "x", 0o600)).toThrow(NO_FILE);
  }
  expect(statSync(pipe).isFIFO()).toBe(true);
  expect(readdirSync(dir).sort()).toEqual(["link", "pipe"]);
});
