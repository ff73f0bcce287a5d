import { describe, expect, test } from "bun:test";
import { loadConfig } from "../../src/config/index.ts";

const paths = {
  home: "/home/ada",
  configFile: "/home/ada/.config/zcode-acp/config.json",
  zcodeHome: "/home/ada/.zcode",
};
const none = (): never => {
  throw Object.assign(new Error("none"), { code: "ENOENT" });
};
const load = (env: Record<string, string>, file?: string, flags = {}) =>
  loadConfig(env, paths, flags, file === undefined ? none : () => file);
const sentences = (config: ReturnType<typeof load>) => config.problems.map((problem) => problem.sentence);

describe("precedence", () => {
  test("a flag counts before the variable, that before the file, that before the default", () => {
    const file = JSON.stringify({ backend: "sim", bin: "/file/zcode" });
    expect(load({}, undefined).backend).toBe("auto");
    expect(load({}, file).backend).toBe("sim");
    expect(load({ ZCODE_ACP_BACKEND: "auto" }, file).backend).toBe("auto");
    expect(load({ ZCODE_ACP_BACKEND: "auto" }, file, { backend: "sim" }).backend).toBe("sim");
    expect(load({ ZCODE_BIN: "/env/zcode" }, file).bin).toBe("/env/zcode");
    expect(load({ ZCODE_BIN: "" }, file).bin).toBe("/file/zcode");
  });

  test("without anything, the defaults", () => {
    expect(load({})).toEqual({
      bin: undefined,
      node: undefined,
      provider: undefined,
      backend: "auto",
      simArgs: [],
      language: "en",
      record: undefined,
      keepHappyEyeballs: false,
      autoCompactThreshold: undefined,
      quota: {
        ollamaApiKey: undefined,
        opencodeWorkspace: undefined,
        opencodeCookie: undefined,
        glmOrigin: undefined,
        opencodeOrigin: undefined,
        ollamaOrigin: undefined,
      },
      hub: { token: undefined, host: "127.0.0.1", port: 8377 },
      timeScale: 1,
      problems: [],
    });
  });

  test("a wrong value is said, and the next in line counts", () => {
    const config = load({ ZCODE_ACP_BACKEND: "simm" }, JSON.stringify({ backend: "sim" }));
    expect(config.backend).toBe("sim");
    expect(sentences(config)).toEqual([
      "The setting ZCODE_ACP_BACKEND has an unusable value: `simm` is not one of auto, sim.",
    ]);
    const both = load({ ZCODE_ACP_BACKEND: "x" }, JSON.stringify({ backend: 7 }));
    expect(both.backend).toBe("auto");
    expect(both.problems.length).toBe(2);
    expect(sentences(both)[1]).toContain(paths.configFile);
  });
});

describe("values", () => {
  test("D3 a key with a dot is one level down in the file, and an origin is scheme, host and port", () => {
    const file = JSON.stringify({
      quota: { ollamaApiKey: "k" },
      remote: { token: "t", hubPort: 9000, hubHost: "::1", other: 1 },
      "quota.ollamaApiKey": "not this one",
    });
    const config = load({ ZCODE_ACP_GLM_ORIGIN: "http://127.0.0.1:81/path?x=1" }, file);
    expect(config.quota.ollamaApiKey).toBe("k");
    expect(config.hub).toEqual({ token: "t", host: "::1", port: 9000 });
    expect(config.quota.glmOrigin).toBe("http://127.0.0.1:81");
    expect(config.problems).toEqual([]);
    expect(load({ ZCODE_ACP_GLM_ORIGIN: "ftp://x" }).quota.glmOrigin).toBeUndefined();
    expect(load({}, JSON.stringify({ quota: 7, remote: null })).problems).toEqual([]);
  });

  test("texts of variables become what the setting is", () => {
    const config = load({
      ZCODE_ACP_SIM_ARGS: " --era 0.14  --doubled ",
      ZCODE_KEEP_HAPPY_EYEBALLS: "1",
      ZCODE_ACP_INTERNAL_TIME_SCALE: "60",
      ZCODE_ACP_RECORD: "~/frames",
      ZCODE_NODE: "~/bin/node",
    });
    expect(config.simArgs).toEqual(["--era", "0.14", "--doubled"]);
    expect(config.keepHappyEyeballs).toBe(true);
    expect(config.timeScale).toBe(60);
    expect(config.record).toBe("/home/ada/frames");
    expect(config.node).toBe("/home/ada/bin/node");
    expect(config.problems).toEqual([]);
  });

  test("nonsense of every type breaks nothing", () => {
    for (const value of [null, 0, -1, "", [], {}, true, "x".repeat(1000)]) {
      const file = JSON.stringify({
        backend: value,
        keepHappyEyeballs: { a: value },
        bin: [value],
        record: { value },
      });
      const config = load({ ZCODE_ACP_INTERNAL_TIME_SCALE: "fast" }, file);
      expect([config.backend, config.bin, config.record, config.timeScale]).toEqual([
        "auto",
        undefined,
        undefined,
        1,
      ]);
      expect(config.problems.length).toBeGreaterThan(2);
      for (const line of sentences(config)) expect(line.length).toBeLessThan(250);
    }
  });

  test("settings that are for tests only are not taken from the file", () => {
    expect(load({}, JSON.stringify({ timeScale: 60, simArgs: ["--doubled"] }))).toMatchObject({
      timeScale: 1,
      simArgs: [],
      problems: [],
    });
  });
});

describe("the file", () => {
  test("keys that are not known are left alone, and a BOM is passed over", () => {
    expect(load({}, `\uFEFF${JSON.stringify({ backend: "sim", remote: { port: 1 } })}`)).toMatchObject({
      backend: "sim",
      problems: [],
    });
  });

  test("what is no JSON object, or cannot be read, is said once and counts as empty", () => {
    for (const file of ["", "{", "[]", "null", '"x"', "\0"]) {
      const config = load({}, file);
      expect(config.backend).toBe("auto");
      expect(config.problems.map((problem) => problem.code)).toEqual(["ZACP-405"]);
    }
    const denied = loadConfig({}, paths, {}, () => {
      throw Object.assign(new Error("no"), { code: "EACCES" });
    });
    expect(denied.problems[0]?.sentence).toContain("EACCES");
  });
});
