/** What a reader remembers, and what the kept files hold for several accounts. */

import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { silentLog } from "../../src/platform/log.ts";
import { QuotaCache } from "../../src/quota/cache.ts";
import { keptFile, refreshedFile } from "../../src/quota/kept.ts";
import { QuotaReader } from "../../src/quota/reader.ts";
import { FRESHNESS, isRefreshed, keptPath, lastGoodIn, refreshedPath } from "../../src/quota/stored.ts";
import type { Answer } from "../../src/quota/types.ts";
import { ManualClock } from "../sim/manualClock.ts";
import { tempDir } from "../support/temp.ts";

/** A reader that keeps nothing on disk, and who was asked for with which key. */
function reading() {
  const clock = new ManualClock();
  const asked: (string | null)[] = [];
  const held: (() => void)[] = [];
  let apiKey = "one";
  const reader = new QuotaReader({
    web: {
      clock,
      async fetch(url, init) {
        if (url.endsWith("/api/me")) return new Response("", { status: 500 });
        asked.push(new Headers(init.headers as Record<string, string>).get("authorization"));
        await new Promise<void>((resolve) => held.push(resolve));
        return Response.json({ limits: { session: { usage: asked.length / 10 } } });
      },
    },
    account: () => apiKey,
    sources: () => ({
      glm: { provider: undefined, origin: undefined },
      opencode: { workspaceId: undefined, authCookie: undefined, origin: undefined },
      ollama: { apiKey, origin: "http://nowhere.example" },
    }),
    cache: undefined,
  });
  const read = async () => {
    const { ollama } = await reader.read(["ollama"]);
    const section = ollama!.answer.section;
    return section.kind === "success" ? section.windows[0]?.usagePercent : section.kind;
  };
  const answer = () => {
    for (const go of held.splice(0)) go();
  };
  const become = (key: string) => {
    apiKey = key;
  };
  return { clock, asked, read, answer, become };
}

const turns = async () => {
  for (let i = 0; i < 20; i++) await new Promise<void>((resolve) => setImmediate(resolve));
};

test("Q3 R28 where nothing can be kept on disk, who asks again within ten seconds is told what is known, and only of the same account", async () => {
  const { clock, asked, read, answer, become } = reading();
  const first = read();
  await turns();
  answer();
  expect(await first).toBe(10);
  await clock.advance(9_000);
  expect(await read()).toBe(10);
  expect(asked).toEqual(["Bearer one"]);
  become("two");
  const other = read();
  await turns();
  answer();
  expect(await other).toBe(20);
  expect(asked).toEqual(["Bearer one", "Bearer two"]);
  await clock.advance(10_000);
  const late = read();
  await turns();
  answer();
  expect(await late).toBe(30);
});

test("Q3 who asks at the same moment for another account is not told of the first one's", async () => {
  const { asked, read, answer, become } = reading();
  const first = read();
  await turns();
  become("two");
  const second = read();
  await turns();
  expect(asked).toEqual(["Bearer one", "Bearer two"]);
  answer();
  await Promise.all([first, second]);
});

const used = (usagePercent: number, label = "5h"): Answer<"ollama"> => ({
  section: { kind: "success", windows: [{ key: "session", label, usagePercent }] },
});

function keeping() {
  const dir = `${tempDir("kept")}/state`;
  const clock = new ManualClock();
  const cache = new QuotaCache(dir, clock, silentLog());
  const keep = (of: string, answer: Answer<"ollama">) =>
    cache.through("ollama", of, FRESHNESS, async () => answer);
  const others = () => Object.keys((keptFile(dir, "ollama")?.others as object | undefined) ?? {});
  return { dir, clock, cache, keep, others };
}

test("Q3 of many accounts the last ones are kept, each once, for a day, and none where the file would be too large to be read", async () => {
  const { dir, clock, cache, keep, others } = keeping();
  for (const [at, of] of ["a", "b", "c", "d", "e"].entries()) {
    await keep(of, used(at));
    await clock.advance(60_000);
  }
  expect(others().sort()).toEqual(["b", "c", "d"]);
  expect(cache.get("ollama", "c")?.answer).toEqual(used(2));
  expect(cache.get("ollama", "a")).toBeUndefined();
  await keep("e", used(9));
  expect(others().sort()).toEqual(["b", "c", "d"]);
  // Nobody shows numbers of the day before.
  await clock.advance(24 * 3_600_000 - 120_000);
  await keep("e", used(10));
  expect(others()).toEqual(["d"]);
  const long = used(11, "x".repeat(200_000));
  await keep("f", long);
  expect(others()).toEqual([]);
  expect(cache.get("ollama", "f")?.answer).toEqual(long);
  expect(statSync(keptPath(dir, "ollama")).size).toBeLessThan(256 * 1024);
});

test("Q3 Q5 two terminals with accounts of their own do not have each other's asked for behind, and a time to come is none", async () => {
  const { dir, clock, cache } = keeping();
  await cache.noteRefreshed("one");
  await clock.advance(1_000);
  await cache.noteRefreshed("two");
  const fresh = (of: string) => isRefreshed(refreshedFile(dir), of, clock.now());
  expect(["one", "two", "three"].map(fresh)).toEqual([true, true, false]);
  await clock.advance(9_000);
  expect(["one", "two"].map(fresh)).toEqual([false, true]);
  await clock.advance(1_000);
  expect(fresh("two")).toBe(false);
  // The clock was set back.
  expect(isRefreshed(refreshedFile(dir), "two", clock.now() - 60_000)).toBe(false);
});

test("Q6 Q3 what is kept is for its owner's eyes alone, whatever it says", async () => {
  const { dir, cache, keep } = keeping();
  await keep("one", used(1));
  await cache.noteRefreshed("one");
  expect(statSync(dir).mode & 0o777).toBe(0o700);
  for (const path of [keptPath(dir, "ollama"), refreshedPath(dir)])
    expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("Q3 a reason that a newer release wrote and this one has no words for is left out", async () => {
  const { dir, clock, cache } = keeping();
  mkdirSync(dir);
  const section = { kind: "unavailable" };
  for (const [key, known] of [
    ["quota.reason.page", true],
    ["quota.reason.ofTomorrow", false],
  ] as const) {
    const entry = { v: 1, at: clock.now(), of: "one", section, reason: { key, params: {} } };
    writeFileSync(keptPath(dir, "ollama"), JSON.stringify(entry));
    const kept = cache.get("ollama", "one");
    expect(kept?.answer.section).toEqual({ kind: "unavailable" });
    expect(kept?.answer.reason !== undefined).toBe(known);
  }
});

test("Q3 an answer that cannot be kept is not asked for once more", async () => {
  const { dir, keep, cache } = keeping();
  // A folder stands in the file's place.
  mkdirSync(keptPath(dir, "ollama"), { recursive: true });
  let asked = 0;
  const { answer } = await cache.through("ollama", "one", FRESHNESS, async () => {
    asked++;
    return used(7);
  });
  expect([asked, answer]).toEqual([1, used(7)]);
  expect((await keep("one", used(8))).answer).toEqual(used(8));
  expect(() => readFileSync(keptPath(dir, "ollama"))).toThrow();
  expect(lastGoodIn(keptFile(dir, "ollama"), "ollama", "one")).toBeUndefined();
});
