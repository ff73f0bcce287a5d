import { expect, test } from "bun:test";
import { turnUsage } from "../../src/translate/usage.ts";
import { eachSeed, someValue, WRONG_VALUES } from "../support/random.ts";

const FULL = {
  source: "provider",
  modelRequestCount: 3,
  inputTokens: 1_000,
  outputTokens: 200,
  totalTokens: 1_200,
  cacheReadTokens: 600,
  cacheWriteTokens: 100,
  reasoningTokens: 50,
  webSearchRequests: 2,
  webFetchRequests: 1,
};

test("P8 every bucket goes under ACP's name, the cached tokens apart from the input, the rest into _meta", () => {
  expect(turnUsage(FULL)).toEqual({
    usage: {
      inputTokens: 300,
      outputTokens: 200,
      totalTokens: 1_200,
      cachedReadTokens: 600,
      cachedWriteTokens: 100,
      thoughtTokens: 50,
    },
    meta: {
      source: "provider",
      modelRequestCount: 3,
      webFetchRequests: 1,
      webSearchRequests: 2,
      rawInputTokens: 1_000,
    },
  });
});

test("P8 the raw input is told only where it is another", () => {
  expect(turnUsage({ ...FULL, cacheReadTokens: 0, cacheWriteTokens: 0 })?.meta).not.toHaveProperty(
    "rawInputTokens",
  );
  const { cacheReadTokens: _, cacheWriteTokens: __, ...bare } = FULL;
  expect(turnUsage(bare)?.meta).not.toHaveProperty("rawInputTokens");
  expect(turnUsage(bare)?.usage).not.toHaveProperty("cachedReadTokens");
  expect(turnUsage({ ...FULL, cacheReadTokens: 1 })?.meta.rawInputTokens).toBe(1_000);
});

test("P8 input is clamped at 0, the total stays what the backend said", () => {
  const usage = turnUsage({ ...FULL, inputTokens: 100, totalTokens: 77 });
  expect(usage?.usage).toMatchObject({ inputTokens: 0, totalTokens: 77 });
  expect(usage?.meta.rawInputTokens).toBe(100);
});

test("P8 where the backend gave none there is none", () => {
  for (const nothing of [
    undefined,
    null,
    {},
    [],
    "x",
    7,
    { source: "provider" },
    { inputTokens: "5" },
    { cacheReadTokens: 3 },
  ])
    expect(turnUsage(nothing)).toBeUndefined();
});

test("P8 a part of it is enough", () => {
  expect(turnUsage({ outputTokens: 4 })?.usage).toEqual({ inputTokens: 0, outputTokens: 4, totalTokens: 4 });
  expect(turnUsage({ totalTokens: 9 })?.usage).toEqual({ inputTokens: 0, outputTokens: 0, totalTokens: 9 });
  expect(turnUsage({ inputTokens: 0 })?.usage).toEqual({ inputTokens: 0, outputTokens: 0, totalTokens: 0 });
});

test("P8 each field wrong, alone and with others, gives whole numbers from 0 up or nothing", () => {
  const counts = (value: unknown) => {
    const usage = turnUsage(value);
    if (!usage) return;
    for (const count of Object.values(usage.usage)) {
      expect(Number.isSafeInteger(count)).toBe(true);
      expect(count).toBeGreaterThanOrEqual(0);
    }
    expect(JSON.stringify(usage.meta)).not.toContain("null");
  };
  for (const key of Object.keys(FULL)) for (const wrong of WRONG_VALUES) counts({ ...FULL, [key]: wrong });
  eachSeed(1_000, (random) => {
    counts(
      Object.fromEntries(
        Object.entries(FULL).map(([key, value]) => [key, random.chance(0.5) ? value : someValue(random)]),
      ),
    );
  });
});
