/** What lies on disk in the place of a provider's last answer. */

import { expect, test } from "bun:test";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/platform/clock.ts";
import { QuotaCache } from "../../src/quota/cache.ts";
import { card } from "../../src/quota/card.ts";
import { FRESHNESS, keptPath, readKept } from "../../src/quota/kept.ts";
import { readOpencode } from "../../src/quota/opencode.ts";
import type { Report } from "../../src/quota/reader.ts";
import { UsageBody } from "../../src/quota/schema.ts";
import type { ProviderName } from "../../src/quota/types.ts";
import { tempDir } from "../support/temp.ts";

const NOW = Date.parse("2026-01-02T03:04:05Z");
const glm = { key: "token_5h", label: "5h", usedPercent: 5 };
const window = { key: "weekly", label: "Week", usagePercent: 5 };

function read(name: ProviderName, section: unknown) {
  const dir = tempDir("kept");
  writeFileSync(keptPath(dir, name), JSON.stringify({ v: 1, at: NOW, of: "me", section }));
  return readKept(dir, name, "me");
}

const wrong: readonly (readonly [ProviderName, string, object])[] = [
  ["glm", "details that are no list", { items: [{ ...glm, detail: { a: 1 } }] }],
  ["glm", "a detail without a name", { items: [{ ...glm, detail: [{ usage: 1 }] }] }],
  ["glm", "a level that is a number", { level: 5, items: [glm] }],
  ["glm", "a time that is a text", { items: [{ ...glm, nextResetTime: "soon" }] }],
  ["glm", "a count below nothing", { items: [{ ...glm, usedCount: -1 }] }],
  ["opencode", "a time that no date holds", { windows: [{ ...window, resetsAt: 1e300 }] }],
  ["ollama", "money that is a text", { windows: [window], spend: { usd: "1", range: "30d" } }],
  ["ollama", "money without a range", { windows: [window], spend: { usd: 1 } }],
];
for (const [name, what, section] of wrong) {
  test(`Q3 ${name}: ${what} counts as nothing kept, and is never drawn`, () => {
    expect(read(name, { kind: "success", ...section })).toBeUndefined();
  });
}

test("Q3 whatever a kept answer may hold is read and drawn", () => {
  const detail = [{ modelCode: "m", usage: 1 }];
  const item = { ...glm, usedCount: 1, totalCount: 2, nextResetTime: NOW + 1, detail };
  const report = {
    glm: read("glm", { kind: "success", level: "pro", items: [item] }),
    ollama: read("ollama", { kind: "success", windows: [window], spend: { usd: 1, range: "30d" } }),
  };
  const options = { width: 80, colour: false, now: NOW, language: "en" } as const;
  const lines = card(["glm", "ollama"], report as Partial<Report>, new Set(), options).join(" ");
  expect(lines).toMatch(/pro.*1\/2.*m 1.*Week.*1\.00 USD/);
});

test("Q2 a reset beyond what a date holds makes an answer one that cannot be shown", () => {
  const text = "rollingUsage:{usagePercent:5,resetInSec:1e300}";
  expect(() => readOpencode({ status: 200, text, location: undefined }, NOW)).toThrow();
  const body = (resetsAt: number) => ({
    glm: { kind: "unavailable" },
    opencode: { kind: "success", windows: [{ ...window, resetsAt }] },
    ollama: { kind: "unavailable" },
  });
  expect(UsageBody.safeParse(body(1e300)).success).toBe(false);
  expect(UsageBody.safeParse(body(NOW)).success).toBe(true);
});

test("Q3 a kept file takes the place of a link and writes to nothing that it leads to, and one that is too large is passed over", async () => {
  const dir = tempDir("kept-link");
  const foreign = join(tempDir("foreign"), "important");
  writeFileSync(foreign, "mine");
  symlinkSync(foreign, keptPath(dir, "glm"));
  const cache = new QuotaCache(
    dir,
    { ...systemClock(), now: () => NOW },
    { write: () => {}, once: () => {} },
  );
  const ask = async () => ({ section: { kind: "success" as const, items: [] } });
  await cache.through("glm", "me", FRESHNESS, ask);
  expect(readFileSync(foreign, "utf8")).toBe("mine");
  expect(readKept(dir, "glm", "me")?.answer.section.kind).toBe("success");
  const entry = readFileSync(keptPath(dir, "glm"), "utf8").trim();
  writeFileSync(keptPath(dir, "glm"), `${entry.slice(0, -1)},"more":"${"x".repeat(300_000)}"}`);
  expect(readKept(dir, "glm", "me")).toBeUndefined();
});
