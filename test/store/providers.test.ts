import { describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { said } from "../../src/locale/index.ts";
import {
  credentialsStamp,
  type FileNote,
  type ProviderEntry,
  readCredentials,
  selectedProvider,
} from "../../src/store/providers.ts";
import { eachSeed, someValue, WRONG_VALUES } from "../support/random.ts";
import { tempDir } from "../support/temp.ts";

/** A `~/.zcode` with these files in it; strings are written as they are, anything else as JSON. */
function home(files: Readonly<Record<string, unknown>>): string {
  const dir = tempDir("providers");
  mkdirSync(join(dir, "v2"));
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(dir, "v2", name), typeof content === "string" ? content : JSON.stringify(content));
  return dir;
}

const config = (id: string, entry: unknown) => home({ "config.json": { provider: { [id]: entry } } });
const usable = (id: string, entry: unknown) => readCredentials(config(id, entry)).providers[0]?.usable;

describe("which providers are usable", () => {
  const key = { options: { apiKey: "k" } };

  test.each([
    ["builtin:zai-coding-plan", { enabled: true, ...key }, true],
    ["builtin:zai-coding-plan", { enabled: false, ...key }, false],
    ["builtin:zai-coding-plan", key, false],
    ["builtin:zai-coding-plan", { enabled: true }, false],
    ["builtin:zai-coding-plan", { enabled: true, options: { apiKey: "" } }, false],
    ["builtin:zai-coding-plan", { enabled: true, options: { apiKeyRequired: false } }, false],
    ["builtin:zai-coding-plan", { enabled: "true", ...key }, false],
    ["mine", key, true],
    ["mine", { enabled: true, ...key }, true],
    ["mine", { enabled: false, ...key }, false],
    ["mine", {}, false],
    ["mine", { options: { apiKeyRequired: false } }, true],
    ["mine", { options: { apiKeyRequired: true } }, false],
    ["mine", { options: { apiKeyRequired: "false" } }, false],
    ["mine", { options: { baseURL: "http://localhost:11434/v1" } }, true],
    ["mine", { options: { baseURL: "http://127.0.0.1:1" } }, true],
    ["mine", { options: { baseURL: "http://127.8.9.1" } }, true],
    ["mine", { options: { baseURL: "http://[::1]:8080/" } }, true],
    ["mine", { enabled: false, options: { baseURL: "http://localhost" } }, false],
    ["mine", { options: { baseURL: "http://localhost.example.com" } }, false],
    ["mine", { options: { baseURL: "http://127.example.com" } }, false],
    ["mine", { options: { baseURL: "https://api.example.com" } }, false],
    ["mine", { options: { baseURL: "localhost" } }, false],
  ] as const)("B17 %s with %j: %p", (id, entry, expected) => {
    expect(usable(id, entry)).toBe(expected);
  });

  test("B17 B4 the one a build without a registry starts with: pinned, else a coding plan, else the first", () => {
    const entry = (id: string, ok: boolean): ProviderEntry => ({
      id,
      name: id,
      apiKey: "k",
      kind: undefined,
      baseUrl: undefined,
      usable: ok,
      models: [],
    });
    const pick = (providers: ProviderEntry[], pinned?: string) =>
      selectedProvider({ providers, personal: [], cachedPlans: [], selectedPlans: [], files: [] }, pinned)
        ?.id;
    const all = [entry("off-coding-plan", false), entry("a", true), entry("builtin:x-coding-plan", true)];
    expect(pick(all)).toBe("builtin:x-coding-plan");
    expect(pick(all.slice(0, 2))).toBe("a");
    expect(pick(all, "a")).toBe("a");
    expect(pick(all, "off-coding-plan")).toBeUndefined();
    expect(pick(all, "unheard")).toBeUndefined();
    expect(pick([])).toBeUndefined();
  });
});

describe("config.json", () => {
  test("B17 models, their windows and levels", () => {
    const [provider] = readCredentials(
      config("p", {
        name: "Mine",
        options: { apiKey: "k", baseURL: "https://x" },
        models: {
          "glm-5": {
            limit: { context: 200_000 },
            reasoning: { enabled: true, variants: ["low", "high"], defaultVariant: "high" },
          },
          flat: { reasoning: { enabled: false, variants: ["low"] } },
          named: { reasoning: { variants: { max: {}, min: {} } } },
          bare: null,
        },
      }),
    ).providers;
    expect(provider).toMatchObject({ id: "p", name: "Mine", apiKey: "k", baseUrl: "https://x" });
    expect(provider?.models).toEqual([
      { id: "glm-5", contextWindow: 200_000, levels: ["low", "high"], defaultLevel: "high" },
      { id: "flat", contextWindow: undefined, levels: [], defaultLevel: undefined },
      { id: "named", contextWindow: undefined, levels: ["max", "min"], defaultLevel: undefined },
      { id: "bare", contextWindow: undefined, levels: [], defaultLevel: undefined },
    ]);
  });
});

describe("provider_config.json", () => {
  const personal = (rule: object, modelConfigRules: object = {}) =>
    readCredentials(
      home({
        "provider_config.json": {
          schemaVersion: 1,
          config: { providerConfigRules: { providerRules: [rule] }, modelConfigRules },
        },
      }),
    ).personal;

  test("B17 providers with their key, address and models from both lists", () => {
    expect(
      personal(
        {
          providerId: "mine",
          providerName: "Mine",
          enabled: true,
          config: {
            access: { type: "api-key", apiKey: "k" },
            api: { type: "anthropic-messages", baseUrl: "https://x" },
            personalModelIds: ["one", 5, ""],
          },
        },
        {
          providerModelRules: [
            {
              providerId: "mine",
              modelId: "two",
              config: {
                properties: { contextWindow: 5 },
                optionSpecs: { reasoningLevel: { values: ["a", { value: "b" }] } },
              },
            },
            { providerId: "mine", modelId: "off", config: { enabled: false } },
            { providerId: "other", modelId: "not mine", config: {} },
          ],
          manualProviderModelRules: [
            { providerId: "mine", modelId: "one", config: { properties: { contextWindow: 7 } } },
          ],
        },
      ),
    ).toEqual([
      {
        id: "mine",
        name: "Mine",
        apiKey: "k",
        kind: undefined,
        baseUrl: "https://x",
        usable: true,
        models: [
          { id: "one", contextWindow: 7, levels: [], defaultLevel: undefined },
          { id: "two", contextWindow: 5, levels: ["a", "b"], defaultLevel: undefined },
        ],
      },
    ]);
  });

  test("B17 usable unless switched off, with a key or on this machine", () => {
    const access = { access: { apiKey: "k" } };
    expect(personal({ providerId: "p", config: access })[0]?.usable).toBe(true);
    expect(personal({ providerId: "p", enabled: false, config: access })[0]?.usable).toBe(false);
    expect(personal({ providerId: "p" })[0]?.usable).toBe(false);
    expect(personal({ providerId: "p", config: { api: { baseUrl: "http://localhost:1" } } })[0]?.usable).toBe(
      true,
    );
    expect(personal({ config: access })).toEqual([]);
  });
});

describe("plans", () => {
  test("B19 what the cache calls available, and what the person chose, in either form", () => {
    const credentials = readCredentials(
      home({
        "coding-plan-cache.json": {
          entryStatus: {
            items: {
              "builtin:a-coding-plan": { status: "available" },
              "builtin:b-coding-plan": { status: "pending" },
              c: null,
              d: "available",
            },
          },
        },
        "setting.json": {
          modelProviderFamilySelectedKeys: { zai: "builtin:a-coding-plan", other: 5, none: "" },
        },
      }),
    );
    expect(credentials.cachedPlans).toEqual(["builtin:a-coding-plan"]);
    expect(credentials.selectedPlans).toEqual(["builtin:a-coding-plan"]);
    const listed = readCredentials(
      home({ "setting.json": { modelProviderFamilySelectedKeys: ["x", null, "y"] } }),
    );
    expect(listed.selectedPlans).toEqual(["x", "y"]);
  });
});

describe("files that are not what they should be", () => {
  const problem = (file: FileNote) => file.problem && said(file.problem, "en");
  const FILES = ["config.json", "provider_config.json", "coding-plan-cache.json", "setting.json"];

  test("A1 with no files at all there is nothing, and each says so", () => {
    const credentials = readCredentials(join(tempDir("providers"), "nowhere"));
    expect(credentials).toMatchObject({ providers: [], personal: [], cachedPlans: [], selectedPlans: [] });
    expect(credentials.files.map(problem)).toEqual(FILES.map(() => "not there"));
  });

  test("B17 a byte order mark is read over", () => {
    const dir = home({
      "config.json": `\uFEFF${JSON.stringify({ provider: { p: { options: { apiKey: "k" } } } })}`,
    });
    expect(readCredentials(dir).providers[0]?.usable).toBe(true);
    expect(readCredentials(dir).files[0]?.problem).toBeUndefined();
  });

  test("B17 half a file, another kind of value, a folder: a problem without a word of what stands in it", () => {
    const broken = readCredentials(
      home({
        "config.json": '{"provider": {"p": {"options": {"apiKey": "secret',
        "provider_config.json": "[1]",
        "coding-plan-cache.json": "null",
      }),
    );
    expect(broken.files.slice(0, 3).map(problem)).toEqual([
      "is not JSON",
      "is not a JSON object",
      "is not a JSON object",
    ]);
    expect(JSON.stringify(broken)).not.toContain("secret");
    const dir = home({});
    mkdirSync(join(dir, "v2", "config.json"));
    expect(readCredentials(dir).files[0]?.problem).toBe("EISDIR");
  });

  test("B17 every place of every file wrong, by turns and at random, never throws", () => {
    const shapes: Readonly<Record<string, (wrong: unknown) => unknown>>[] = [
      { "config.json": (w) => w },
      { "config.json": (w) => ({ provider: w }) },
      { "config.json": (w) => ({ provider: { p: w } }) },
      { "config.json": (w) => ({ provider: { p: { name: w, enabled: w, options: w, models: w } } }) },
      {
        "config.json": (w) => ({
          provider: { p: { options: { apiKey: w, baseURL: w, apiKeyRequired: w }, models: { m: w } } },
        }),
      },
      { "config.json": (w) => ({ provider: { p: { models: { m: { limit: w, reasoning: w } } } } }) },
      {
        "config.json": (w) => ({
          provider: {
            p: {
              models: {
                m: { limit: { context: w }, reasoning: { enabled: w, variants: w, defaultVariant: w } },
              },
            },
          },
        }),
      },
      { "provider_config.json": (w) => ({ config: w }) },
      { "provider_config.json": (w) => ({ config: { providerConfigRules: w, modelConfigRules: w } }) },
      { "provider_config.json": (w) => ({ config: { providerConfigRules: { providerRules: w } } }) },
      {
        "provider_config.json": (w) => ({
          config: {
            providerConfigRules: {
              providerRules: [
                w,
                { providerId: w },
                { providerId: "p", enabled: w, providerName: w, config: w },
              ],
            },
          },
        }),
      },
      {
        "provider_config.json": (w) => ({
          config: {
            providerConfigRules: {
              providerRules: [{ providerId: "p", config: { access: w, api: w, personalModelIds: w } }],
            },
            modelConfigRules: {
              providerModelRules: w,
              manualProviderModelRules: [
                w,
                { providerId: "p", modelId: w, config: w },
                {
                  providerId: "p",
                  modelId: "m",
                  config: { properties: w, optionSpecs: { reasoningLevel: w } },
                },
              ],
            },
          },
        }),
      },
      { "coding-plan-cache.json": (w) => ({ entryStatus: w }) },
      { "coding-plan-cache.json": (w) => ({ entryStatus: { items: w } }) },
      { "coding-plan-cache.json": (w) => ({ entryStatus: { items: { a: w } } }) },
      { "setting.json": (w) => ({ modelProviderFamilySelectedKeys: w, locale: w }) },
    ];
    const dir = home({});
    const check = (name: string, value: unknown) => {
      writeFileSync(join(dir, "v2", name), JSON.stringify(value) ?? "");
      const { providers, personal, cachedPlans, selectedPlans } = readCredentials(dir);
      for (const provider of [...providers, ...personal]) {
        expect(typeof provider.usable).toBe("boolean");
        expect(typeof provider.name).toBe("string");
        for (const model of provider.models) {
          expect(typeof model.id).toBe("string");
          for (const level of model.levels) expect(typeof level).toBe("string");
        }
      }
      for (const plan of [...cachedPlans, ...selectedPlans]) expect(typeof plan).toBe("string");
      rmSync(join(dir, "v2", name));
    };
    for (const shape of shapes)
      for (const [name, make] of Object.entries(shape))
        for (const wrong of WRONG_VALUES) check(name, make(wrong));
    eachSeed(200, (random) => {
      const [name, make] = Object.entries(random.pick(shapes))[0]!;
      check(name, make(someValue(random, 4)));
    });
  });
});

test("A11 the stamp changes with any of the files, and only then", () => {
  const dir = home({ "config.json": {} });
  const stamps = [credentialsStamp(dir)];
  expect(credentialsStamp(dir)).toBe(stamps[0]!);
  writeFileSync(join(dir, "v2", "setting.json"), "{}");
  stamps.push(credentialsStamp(dir));
  writeFileSync(join(dir, "v2", "config.json"), '{"a":1}');
  stamps.push(credentialsStamp(dir));
  utimesSync(join(dir, "v2", "config.json"), 1_000, 1_000);
  stamps.push(credentialsStamp(dir));
  rmSync(join(dir, "v2", "setting.json"));
  symlinkSync(join(dir, "v2", "config.json"), join(dir, "v2", "setting.json"));
  stamps.push(credentialsStamp(dir));
  expect(new Set(stamps).size).toBe(stamps.length);
  writeFileSync(join(dir, "v2", "tasks-index.sqlite"), "x");
  expect(credentialsStamp(dir)).toBe(stamps.at(-1)!);
});
