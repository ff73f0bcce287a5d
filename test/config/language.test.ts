/** Which language a person reads: the setting, else the ZCode app's, else the system's. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../../src/config/index.ts";
import { readRegular } from "../../src/platform/files.ts";
import { eachSeed, someValue } from "../support/random.ts";
import { tempDir } from "../support/temp.ts";

type Env = Readonly<Record<string, string>>;

const CONFIG = "/home/ada/.config/zcode-acp/config.json";
const SETTING = "/home/ada/.zcode/v2/setting.json";
const paths = { home: "/home/ada", configFile: CONFIG, zcodeHome: "/home/ada/.zcode" };

/** @param setting the text of the app's file; undefined where there is none. */
function load(env: Env, setting?: string, file?: string) {
  const read: string[] = [];
  const config = loadConfig(env, paths, {}, (path) => {
    read.push(path);
    const text = path === CONFIG ? file : setting;
    if (text === undefined) throw Object.assign(new Error("none"), { code: "ENOENT" });
    return text;
  });
  return { language: config.language, problems: config.problems.map(({ code }) => code), read };
}

const language = (env: Env, setting?: unknown) =>
  load(env, setting === undefined || typeof setting === "string" ? setting : JSON.stringify(setting))
    .language;

describe("the order", () => {
  test("D3 the variable, the configuration, the app's file, the system", () => {
    const chinese = { LANG: "zh_CN.UTF-8" };
    const app = JSON.stringify({ locale: "zh-CN" });
    expect(load({ ZCODE_ACP_LANG: "en", ...chinese }, app, '{"language":"zh"}').language).toBe("en");
    expect(load({ ZCODE_ACP_LANG: "zh" }, '{"locale":"en"}', '{"language":"en"}').language).toBe("zh");
    expect(load(chinese, app, '{"language":"en"}').language).toBe("en");
    expect(load({ ZCODE_ACP_LANG: "auto" }, app, '{"language":"en"}').language).toBe("zh");
    expect(load({}, app).language).toBe("zh");
    expect(load(chinese, '{"locale":"en-US"}').language).toBe("en");
    expect(load(chinese).language).toBe("zh");
    expect(load({}).language).toBe("en");
  });

  test("D3 the app's file is read once, and not at all where the language is set", () => {
    expect(load({}).read).toEqual([CONFIG, SETTING]);
    for (const set of ["en", "zh"]) expect(load({ ZCODE_ACP_LANG: set }, "{").read).toEqual([CONFIG]);
  });

  test("D3 a value that is none is said, and the next source counts", () => {
    expect(load({ ZCODE_ACP_LANG: "de", LANG: "zh_CN" })).toMatchObject({
      language: "zh",
      problems: ["ZACP-401"],
    });
    expect(load({}, '{"locale":"zh"}', '{"language":7}')).toMatchObject({
      language: "zh",
      problems: ["ZACP-401"],
    });
    expect(load({ ZCODE_ACP_LANG: "" }, '{"locale":"zh"}')).toMatchObject({ language: "zh", problems: [] });
  });
});

describe("the app's file", () => {
  const chinese = { LANG: "zh_CN.UTF-8" };

  test.each([
    [{ localePreference: "zh-CN" }, "zh"],
    [{ localePreference: "zh" }, "zh"],
    [{ localePreference: "ZH_hans" }, "zh"],
    [{ localePreference: "zh-Hant-TW" }, "zh"],
    [{ locale: "zh-CN" }, "zh"],
    [{ localePreference: "en-US", locale: "zh-CN" }, "en"],
    [{ localePreference: "system", locale: "zh-CN" }, "zh"],
    [{ localePreference: "", locale: "zh-CN" }, "zh"],
    [{ localePreference: 7, locale: "zh-CN" }, "zh"],
    [{ localePreference: ["zh"], locale: "en" }, "en"],
    [{ localePreference: "fr-FR" }, "en"],
  ] as const)("D3 %j is %s", (setting, wanted) => {
    const other = wanted === "zh" ? { LANG: "en_US.UTF-8" } : chinese;
    expect(language(other, setting)).toBe(wanted);
    expect(language(other, `\uFEFF${JSON.stringify(setting)}`)).toBe(wanted);
  });

  test("D3 one that says nothing usable leaves it to the system, and is nobody's problem", () => {
    const files = ["", "{", "[]", "null", '"zh"', "\0", "\uFEFF", "[".repeat(100_000)];
    const settings = [{}, { locale: "system" }, { localePreference: null, locale: {} }, { locale: "auto" }];
    for (const text of [...files, ...settings.map((each) => JSON.stringify(each))]) {
      expect(load(chinese, text)).toMatchObject({ language: "zh", problems: [] });
      expect(load({ LANG: "C" }, text)).toMatchObject({ language: "en", problems: [] });
    }
  });

  test("D3 anything at all in its place breaks nothing", () => {
    eachSeed(500, (random) => {
      const setting = { localePreference: someValue(random), locale: someValue(random) };
      expect(["en", "zh"]).toContain(language(chinese, JSON.stringify(setting)));
    });
  });

  test("D3 on a disk: absent, a folder, unreadable, too large, or behind a byte order mark", () => {
    const from = (put: (file: string) => void) => {
      const home = tempDir("language");
      mkdirSync(join(home, "v2"), { recursive: true });
      put(join(home, "v2", "setting.json"));
      return loadConfig(chinese, { ...paths, configFile: join(home, "none"), zcodeHome: home }).language;
    };
    const english = '{"localePreference":"en"}';
    expect(from(() => {})).toBe("zh");
    expect(from((file) => mkdirSync(file))).toBe("zh");
    expect(from((file) => writeFileSync(file, english))).toBe("en");
    expect(from((file) => writeFileSync(file, `\uFEFF${english}`))).toBe("en");
    expect(from((file) => writeFileSync(file, english.padEnd(1 << 20)))).toBe("en");
    expect(from((file) => writeFileSync(file, english.padEnd((1 << 20) + 1)))).toBe("zh");
    if (process.getuid?.() !== 0)
      expect(from((file) => writeFileSync(file, english, { mode: 0o000 }))).toBe("zh");
    const large = join(tempDir("language"), "large");
    writeFileSync(large, "12345");
    expect(readRegular(large, 5)).toBe("12345");
    expect(() => readRegular(large, 4)).toThrow(expect.objectContaining({ code: "EFBIG" }));
  });
});

describe("the system", () => {
  test.each([
    ["zh_CN.UTF-8", "zh"],
    ["zh_CN.GB18030", "zh"],
    ["zh_CN", "zh"],
    ["zh", "zh"],
    ["ZH-cn", "zh"],
    ["zh_TW.UTF-8", "zh"],
    ["zh_HK", "zh"],
    ["zh-Hant", "zh"],
    ["zh@pinyin", "zh"],
    ["en_US.UTF-8", "en"],
    ["de_DE", "en"],
    ["C", "en"],
    ["C.UTF-8", "en"],
    ["POSIX", "en"],
    ["zhuang", "en"],
    ["zha_CN", "en"],
    ["za_CN", "en"],
    ["_zh", "en"],
    ["nonsense zh", "en"],
    ["zh".repeat(10_000), "en"],
  ] as const)("D3 %s is %s", (value, wanted) => {
    for (const name of ["LC_ALL", "LC_MESSAGES", "LANG"]) expect(language({ [name]: value })).toBe(wanted);
  });

  test("D3 LC_ALL counts before LC_MESSAGES, that before LANG; one that is empty is not set", () => {
    const names = ["LC_ALL", "LC_MESSAGES", "LANG"] as const;
    const values = ["zh_CN.UTF-8", "en_GB", "C", "", undefined];
    for (const all of values)
      for (const messages of values)
        for (const lang of values) {
          const set = [all, messages, lang];
          const env = Object.fromEntries(
            names.flatMap((name, i) => (set[i] === undefined ? [] : [[name, set[i]]])),
          );
          const first = set.find((value) => value !== undefined && value !== "");
          expect([set, language(env)]).toEqual([set, first === "zh_CN.UTF-8" ? "zh" : "en"]);
        }
    expect(language({ LANGUAGE: "zh_CN", LC_CTYPE: "zh_CN" })).toBe("en");
  });
});
