/** The card at many widths, against the ones that were looked at. `UPDATE_CARDS=1` writes them anew. */

import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Language } from "../../src/locale/index.ts";
import { type CardOptions, card } from "../../src/quota/card.ts";
import { usageLine } from "../../src/quota/line.ts";
import type { Report } from "../../src/quota/reader.ts";
import { percentText } from "../../src/quota/rows.ts";
import { clockTime, fit, rest, widthOf } from "../../src/quota/text.ts";
import { type GlmItem, PROVIDERS, type ProviderName, type Usage } from "../../src/quota/types.ts";
import { eachSeed, type Random } from "../support/random.ts";

process.env.TZ = "UTC";

const NOW = Date.UTC(2026, 10, 30, 11, 55);
const HOUR = 3_600_000;

const USAGE: Usage = {
  glm: {
    kind: "success",
    level: "pro",
    items: [
      { key: "token_5h", label: "5h", usedPercent: 35, nextResetTime: NOW + 2 * HOUR + 600_000 },
      { key: "token_week", label: "Week", usedPercent: 72.4, nextResetTime: NOW + 75 * HOUR },
      {
        key: "mcp",
        label: "MCP",
        usedPercent: 10,
        usedCount: 3,
        totalCount: 30,
        nextResetTime: NOW - 1,
        detail: [
          { modelCode: "search-prime", usage: 2 },
          { modelCode: "视觉模型-超长的名字-不会被截断吗-当然会", usage: 1 },
        ],
      },
      { key: "VIDEO", label: "视频生成限额 VIDEO_LIMIT", usedPercent: 100 },
    ],
  },
  opencode: {
    kind: "success",
    windows: [
      { key: "rolling", label: "5h", usagePercent: 0, resetsAt: NOW + 60_000 },
      { key: "weekly", label: "Week", usagePercent: 0.2, resetsAt: NOW + 24 * HOUR },
      { key: "monthly", label: "Month", usagePercent: 99.96 },
    ],
  },
  ollama: { kind: "success", windows: [], spend: { usd: 1.5747, range: "30d" } },
};

const reportOf = (usage: Usage): Report => ({
  glm: { at: NOW, answer: { section: usage.glm } },
  opencode: { at: NOW, answer: { section: usage.opencode } },
  ollama: { at: NOW, answer: { section: usage.ollama } },
});

const options = (width: number, colour = false, language: Language = "en"): CardOptions => ({
  width,
  colour,
  now: NOW,
  language,
});
const none: ReadonlySet<ProviderName> = new Set();
/** What a terminal shows of a text with colours. */
const visible = (line: string) => line.replace(/\x1b\[[\d;]*m/g, "");

for (const width of [20, 28, 40, 60, 100]) {
  for (const kind of ["", ".colour", ".zh"] as const) {
    const points = kind === ".zh" ? "Q4 D3" : "Q4";
    test(`${points} the card at ${width} columns${kind.replace(".", ", ")}`, () => {
      const language = kind === ".zh" ? "zh" : "en";
      const lines = card(PROVIDERS, reportOf(USAGE), none, options(width, kind === ".colour", language));
      const file = join(import.meta.dir, "cards", `${width}${kind}.txt`);
      const text = `${lines.join("\n").replaceAll("\x1b", "␛")}\n`;
      if (process.env.UPDATE_CARDS === "1") {
        mkdirSync(join(import.meta.dir, "cards"), { recursive: true });
        writeFileSync(file, text);
      }
      expect(text).toBe(readFileSync(file, "utf8"));
    });
  }
}

test("Q4 colour says nothing that the text does not: without it the same words stand there", () => {
  const words = (colour: boolean) =>
    card(PROVIDERS, reportOf(USAGE), none, options(100, colour)).map((line) =>
      visible(line).replace(/[█░]/g, " ").replace(/\s+/g, " ").trim(),
    );
  expect(words(true)).toEqual(words(false));
});

test("Q4 a provider that has not answered yet has its place, and one that failed or was not asked has none", () => {
  const { glm, ollama } = reportOf(USAGE);
  const early = card(PROVIDERS, { ollama }, new Set(["glm"]), options(60));
  expect(early[0]).toBe("GLM Coding Plan");
  expect(early[1]).toContain("asking");
  expect(early.join("\n")).not.toContain("OpenCode");
  expect(early.join("\n")).toContain("Ollama Cloud");
  const failed = { at: NOW, answer: { section: { kind: "unavailable" } as const } };
  expect(
    card(PROVIDERS, { glm, opencode: failed, ollama: failed }, none, options(60)).join("\n"),
  ).not.toContain("Open");
  expect(card(["ollama"], reportOf(USAGE), none, options(60))).toEqual(["Ollama Cloud", "  1.57 USD in 30d"]);
});

function someUsage(random: Random): Usage {
  const label = () =>
    random.pick(["5h", "Week", "x", "限额".repeat(random.int(1, 20)), "\x1b[31mred", "a\nb", "👩‍👩‍👧 x", ""]);
  const percent = () => random.pick([0, 100, 0.01, 99.99, random.next() * 100]);
  const time = () => (random.chance(0.3) ? undefined : NOW + random.int(-10, 100_000) * 60_000);
  const windows = random.times(random.int(0, 4), () => {
    const resetsAt = time();
    return {
      key: "k",
      label: label(),
      usagePercent: percent(),
      ...(resetsAt === undefined ? {} : { resetsAt }),
    };
  });
  const items = random.times(random.int(0, 4), () => {
    const nextResetTime = time();
    return {
      key: "k",
      label: label(),
      usedPercent: percent(),
      ...(nextResetTime === undefined ? {} : { nextResetTime }),
      ...(random.chance(0.5) ? { usedCount: random.int(0, 1e9), totalCount: 1e12 } : {}),
      ...(random.chance(0.3) ? { detail: [{ modelCode: label(), usage: 3 }] } : {}),
    };
  });
  return {
    glm: { kind: "success", level: label(), items },
    opencode: { kind: "success", windows },
    ollama: { kind: "success", windows: [], spend: { usd: random.next() * 1e6, range: label() } },
  };
}

test("Q4 no line is wider than the terminal, whatever is named how, and none holds what a terminal would act on", () => {
  eachSeed(300, (random) => {
    const width = random.int(20, 130);
    const colour = random.chance(0.5);
    const language = random.pick(["en", "zh"] as const);
    for (const line of card(PROVIDERS, reportOf(someUsage(random)), none, options(width, colour, language))) {
      expect(widthOf(visible(line))).toBeLessThanOrEqual(width);
      expect(visible(line)).not.toMatch(/[\0-\x1f\x7f]/);
    }
  });
});

test("Q4 what one line has no place for stands on two", () => {
  const item = { key: "mcp", label: "MCP", usedPercent: 12.34, usedCount: 1234, totalCount: 10_000 };
  const section = { kind: "success", items: [{ ...item, nextResetTime: NOW + 75 * HOUR }] } as const;
  expect(card(["glm"], { glm: { at: NOW, answer: { section } } }, none, options(20))).toEqual([
    "GLM Coding Plan",
    "  MCP █░░░░░░░   12%",
    "    1234/10000",
    "    in 3d 3h",
  ]);
});

test("Q4 D3 in Chinese the bars stand below each other, though each character takes two columns", () => {
  for (const width of [40, 64, 100]) {
    const lines = card(PROVIDERS, reportOf(USAGE), none, options(width, false, "zh"));
    const starts = lines.flatMap((line) => {
      const at = line.search(/[█░]/);
      return at < 0 ? [] : [widthOf(line.slice(0, at))];
    });
    expect(starts.length).toBe(7);
    expect(new Set(starts).size).toBe(1);
  }
});

test("Q5 the line names the windows of the first provider that has numbers", () => {
  expect(usageLine(PROVIDERS, reportOf(USAGE))).toBe("5h 35% · Week 72% · 视频生成限额 VIDEO_LIMIT 100%");
  expect(usageLine(["opencode", "glm"], reportOf(USAGE))).toBe("5h 0% · Week 0.2% · Month 99.9%");
  expect(usageLine(["ollama"], reportOf(USAGE))).toBeUndefined();
  expect(usageLine(PROVIDERS, {})).toBeUndefined();
});

test("Q5 the tools' calls stand in the line of a plan that counts nothing else, and in no other", () => {
  const calls = { key: "mcp", label: "MCP", usedPercent: 90 };
  const plan = { key: "token_5h", label: "5h", usedPercent: 5 };
  const lineOf = (items: readonly GlmItem[]) =>
    usageLine(["glm"], { glm: { at: 0, answer: { section: { kind: "success", items } } } });
  expect(lineOf([calls])).toBe("MCP 90%");
  expect(lineOf([calls, plan])).toBe("5h 5%");
});

test("Q5 no name makes the line long", () => {
  const items = [{ key: "k", label: "W".repeat(100_000), usedPercent: 5 }];
  const report = { glm: { at: 0, answer: { section: { kind: "success", items } } } } as const;
  expect(usageLine(["glm"], report)).toBe(`${"W".repeat(31)}… 5%`);
});

test("Q4 times, rests and texts as they are read", () => {
  expect([0, 1, 59_000, 61_000, HOUR, 26 * HOUR, -5].map((ms) => rest(ms, "en"))).toEqual([
    "now",
    "1m",
    "1m",
    "2m",
    "1h 0m",
    "1d 2h",
    "now",
  ]);
  expect([0, 61_000, HOUR, 26 * HOUR].map((ms) => rest(ms, "zh"))).toEqual([
    "现在重置",
    "2 分钟",
    "1 小时 0 分钟",
    "1 天 2 小时",
  ]);
  expect(clockTime(NOW, NOW)).toBe("11:55");
  expect(clockTime(NOW + 24 * HOUR, NOW)).toBe("2026-12-01 11:55");
  expect([0, 0.04, 0.5, 35, 35.5, 99.4, 99.99, 100].map(percentText)).toEqual([
    "0%",
    "0.1%",
    "1%",
    "35%",
    "36%",
    "99%",
    "99.9%",
    "100%",
  ]);
  expect([fit("abc", 3), fit("abcd", 3), fit("中文字", 4), fit("👩‍👩‍👧👩‍👩‍👧", 3), fit("abc", 0)]).toEqual([
    "abc",
    "ab…",
    "中…",
    "👩‍👩‍👧…",
    "",
  ]);
});

test("Q4 a bar is green, yellow from 60 percent on, and red from 85 on", () => {
  for (const [percent, colour] of [
    [0.1, 42],
    [59.9, 42],
    [60, 43],
    [84.9, 43],
    [85, 41],
    [100, 41],
  ] as const) {
    const section = { kind: "success", windows: [{ key: "k", label: "5h", usagePercent: percent }] } as const;
    const lines = card(["opencode"], { opencode: { at: NOW, answer: { section } } }, none, options(60, true));
    expect([percent, lines.join("\n")]).toEqual([percent, expect.stringContaining(`;${colour}m`)]);
  }
});
