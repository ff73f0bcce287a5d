/** Finding the app-server, and what it is started with. Other platforms' places are folders of a temporary home. */

import { afterAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { accountSnapshot, headersFor } from "../../src/backend/account.ts";
import { type LocateInput, locateBackend } from "../../src/backend/locate.ts";
import { compareVersions, versionReader } from "../../src/backend/version.ts";
import { said, type Value } from "../../src/locale/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createGuard } from "../../src/platform/process.ts";
import { readCredentials } from "../../src/store/providers.ts";
import { tempDir } from "../support/temp.ts";

const guard = createGuard(systemClock());
afterAll(() => guard.close());

function file(path: string, text: string, mode = 0o644): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

const node = (dir: string, version: string) =>
  file(join(dir, "node"), `#!/bin/sh\necho v${version}\n`, 0o755);

function input(home: string, more: Partial<LocateInput> = {}): LocateInput {
  return {
    env: { PATH: "/nowhere" },
    home,
    zcodeHome: join(home, ".zcode"),
    platform: "linux",
    bin: undefined,
    node: undefined,
    provider: undefined,
    keepHappyEyeballs: false,
    backend: "auto",
    simArgs: [],
    self: ["/self"],
    credentials: readCredentials(join(home, ".zcode")),
    versionOf: versionReader(guard, ["/"], {}),
    ...more,
  };
}

test("B4 the order is ZCODE_BIN, then PATH, then the desktop app", async () => {
  const home = tempDir("locate");
  const bin = file(join(home, "given", "zcode"), "#!/bin/sh\n", 0o755);
  const onPath = file(join(home, "path", "zcode"), "#!/bin/sh\n", 0o755);
  const app = file(join(home, "Applications/ZCode.app/Contents/Resources/glm/zcode.cjs"), "");
  const env = { PATH: `relative:${join(home, "path")}` };
  const real = node(join(home, "node"), "22.5.0");
  const darwin = { platform: "darwin", env, node: real };
  expect((await locateBackend(input(home, { ...darwin, bin }))).launch).toMatchObject({
    entry: bin,
    source: "ZCODE_BIN",
    argv: [bin, "app-server", "--stdio"],
  });
  expect((await locateBackend(input(home, darwin))).launch).toMatchObject({ entry: onPath, source: "PATH" });
  expect((await locateBackend(input(home, { ...darwin, env: { PATH: "" } }))).launch).toMatchObject({
    entry: app,
    source: "desktop app",
    argv: [
      real,
      "--no-network-family-autoselection",
      "--dns-result-order=ipv4first",
      app,
      "app-server",
      "--stdio",
    ],
    versionArgv: [real, app, "--version"],
  });
  const windows = file(join(home, "AppData/Local/Programs/ZCode/resources/glm/zcode.cjs"), "");
  expect((await locateBackend(input(home, { platform: "win32", node: real }))).launch?.entry).toBe(windows);
});

const words = (looked: readonly Value[]) => looked.map((each) => said(each, "en"));

test("B4 a file on PATH that cannot be run is passed over, and everything looked at is named", async () => {
  const home = tempDir("locate");
  file(join(home, "path", "zcode"), "", 0o644);
  const { launch, looked } = await locateBackend(input(home, { env: { PATH: join(home, "path") } }));
  expect(launch).toBeUndefined();
  expect(words(looked)).toContain("zcode on PATH");
  const missing = await locateBackend(input(home, { bin: join(home, "none") }));
  expect(words(missing.looked)).toEqual([`ZCODE_BIN=${join(home, "none")} (no such file)`]);
});

test("B4 a script needs a Node with node:sqlite: ZCODE_NODE, then PATH, then Zed's own; older ones are named", async () => {
  const home = tempDir("locate");
  const bin = file(join(home, "zcode.cjs"), "");
  const old = node(join(home, "old"), "22.4.9");
  const zed = node(join(home, "Library/Application Support/Zed/node/node-v24.1.0/bin"), "24.1.0");
  const darwin = { bin, platform: "darwin", env: { PATH: join(home, "old") } };
  const located = await locateBackend(input(home, darwin));
  // A Node in a well-known place of this machine would come before Zed's.
  expect([zed, "/usr/local/bin/node", "/opt/homebrew/bin/node"]).toContain(located.launch?.argv[0] ?? "");
  expect(located.launch?.argv.at(-3)).toBe(bin);
  const pinned = await locateBackend(input(home, { ...darwin, node: old }));
  expect(pinned.launch).toBeUndefined();
  expect(words(pinned.looked).join()).toContain(`${old} (Node 22.4.9, needs 22.5)`);
  const eyeballs = await locateBackend(input(home, { ...darwin, node: zed, keepHappyEyeballs: true }));
  expect(eyeballs.launch?.argv).toEqual([zed, bin, "app-server", "--stdio"]);
});

test("B4 D8 its environment: proxies and certificates mapped, its own origin and our variables left out", async () => {
  const home = tempDir("locate");
  const bin = file(join(home, "zcode"), "#!/bin/sh\n", 0o755);
  const env = {
    PATH: "/nowhere",
    KEEP: "1",
    HTTPS_PROXY: "http://proxy:1",
    NO_PROXY: "localhost",
    NODE_EXTRA_CA_CERTS: "/ca.pem",
    ZCODE_BASE_URL: "https://elsewhere.test",
    ZCODE_ACP_REMOTE_TOKEN: "secret",
    ZCODE_ACP_INTERNAL_TIME_SCALE: "60",
    ZCODE_HOME: join(home, "zc", ".zcode"),
  };
  const { launch } = await locateBackend(input(home, { bin, env, zcodeHome: join(home, "zc", ".zcode") }));
  expect(launch?.env).toEqual({
    PATH: "/nowhere",
    KEEP: "1",
    HTTPS_PROXY: "http://proxy:1",
    NO_PROXY: "localhost",
    NODE_EXTRA_CA_CERTS: "/ca.pem",
    ZCODE_HTTP_PROXY: "http://proxy:1",
    ZCODE_NO_PROXY: "localhost",
    ZCODE_AGENT_CA_CERT: "/ca.pem",
    ZCODE_ACP_INTERNAL_TIME_SCALE: "60",
    ZCODE_HOME: join(home, "zc", ".zcode"),
    ZCODE_DATA_BASE_DIR: join(home, "zc"),
  });
  const kept = await locateBackend(input(home, { bin, env: { ...env, ZCODE_HTTP_PROXY: "http://own:2" } }));
  expect(kept.launch?.env.ZCODE_HTTP_PROXY).toBe("http://own:2");
});

const TABLE = {
  revision: 7,
  config: {
    providerConfigRules: {
      providerRules: [
        { providerId: "account:zai-individual-coding-plan", config: { access: { type: "zhipu-account" } } },
        { providerId: "account:zai-start-plan", config: { access: { type: "zhipu-account" } } },
        { providerId: "account:zai-team-coding-plan", config: { access: { type: "zhipu-account" } } },
        { providerId: "other", config: { access: { type: "api-key" } } },
      ],
    },
  },
};

test("B4 B19 beside a built-in table both variables are set; without one, an older build gets its key and model", async () => {
  const home = tempDir("locate");
  file(
    join(home, ".zcode/v2/config.json"),
    JSON.stringify({
      provider: {
        "builtin:zai-coding-plan": { enabled: true, options: { apiKey: "k" }, models: { "GLM-5": {} } },
      },
    }),
  );
  const bin = file(join(home, "app", "zcode"), "#!/bin/sh\n", 0o755);
  const older = await locateBackend(input(home, { bin }));
  expect(older.launch?.env).toMatchObject({ ANTHROPIC_API_KEY: "k", ZCODE_MODEL: "GLM-5" });
  expect(older.launch?.builtinTable).toBeUndefined();
  const own = await locateBackend(
    input(home, { bin, env: { PATH: "", ANTHROPIC_API_KEY: "mine", ZCODE_MODEL: "m" } }),
  );
  expect(own.launch?.env).toMatchObject({ ANTHROPIC_API_KEY: "mine", ZCODE_MODEL: "m" });
  for (const place of ["provider", "../config/provider"]) {
    const table = file(join(home, "app", place, "zcode-builtin.json"), JSON.stringify(TABLE));
    const { launch } = await locateBackend(input(home, { bin }));
    if (place === "provider") expect(launch?.builtinTable).toBe(table);
    expect(launch?.env.ZCODE_BUILTIN_PROVIDER_CONFIG_FILE).toBe(launch?.builtinTable ?? "");
    expect(launch?.env.ZCODE_PERSONAL_PROVIDER_CONFIG_FILE).toBe(
      join(home, ".zcode/v2/provider_config.json"),
    );
    expect(launch?.env).not.toHaveProperty("ANTHROPIC_API_KEY");
  }
});

test("B19 the snapshot names the table by its path's hash, entitled plans alone, and one current", () => {
  const home = tempDir("account");
  const table = file(join(home, "zcode-builtin.json"), JSON.stringify(TABLE));
  const empty = readCredentials(join(home, ".zcode"));
  expect(accountSnapshot(table, empty, undefined)).toBeUndefined();
  expect(accountSnapshot(join(home, "none"), empty, undefined)).toBeUndefined();
  const both = { ...empty, cachedPlans: ["builtin:zai-start-plan", "builtin:zai-coding-plan"] };
  const hash = createHash("sha256").update(table).digest("hex");
  const individual = "account:zai-individual-coding-plan";
  const start = "account:zai-start-plan";
  expect(accountSnapshot(table, both, "builtin:zai-start-plan")).toEqual({
    basedOnZCodeBuiltinRevision: `zcode-builtin:7:${hash}`,
    providers: {
      [individual]: { access: { type: "zhipu-account", entitled: true } },
      [start]: { access: { type: "zhipu-account", entitled: true } },
    },
    states: {
      [individual]: { availability: "available", entitled: true, current: false },
      [start]: { availability: "available", entitled: true, current: true },
    },
  });
  // What the person picked counts only where neither the cache nor a key says anything.
  const picked = { ...empty, selectedPlans: ["builtin:zai-coding-plan"] };
  expect(Object.keys(accountSnapshot(table, picked, undefined)?.providers as object)).toEqual([individual]);
  const cached = { ...picked, cachedPlans: ["builtin:zai-start-plan"] };
  expect(Object.keys(accountSnapshot(table, cached, undefined)?.providers as object)).toEqual([start]);
  expect(
    headersFor({ providerId: individual, accountAccess: { mode: "individual-coding-plan" } }, empty),
  ).toEqual({ refusal: "no-key" });
  expect(headersFor({ providerId: "account:none-individual-coding-plan" }, empty)).toEqual({
    refusal: "unknown-plan",
  });
  expect(readFileSync(table, "utf8")).toBe(JSON.stringify(TABLE));
});

test("P35 versions compare by number, and whatever prints none is unknown", async () => {
  expect(compareVersions("0.14.7", "0.14.8")).toBeLessThan(0);
  expect(compareVersions("0.14.10", "0.14.8")).toBeGreaterThan(0);
  expect(compareVersions("0.14.8", "0.14.8")).toBe(0);
  const dir = tempDir("version");
  let programs = 0;
  const versionOf = versionReader(guard, ["/"], {});
  const says = (words: string) =>
    versionOf([file(join(dir, `${++programs}`), `#!/bin/sh\n${words}\n`, 0o755), "--version"]);
  expect(await says("echo 'my-zcode wrapper'\necho 'zcode 0.16.5'")).toBe("0.16.5");
  expect(await says("echo nightly")).toBeUndefined();
  expect(await says("printf 0.16.; sleep 0.1; printf 5; sleep 0.1; echo 1")).toBe("0.16.51");
  expect(await says("printf 0.16.5")).toBe("0.16.5");
  // Neither a child that holds the pipe open nor a program that goes on and on is waited for.
  expect(await says("sleep 300 & echo 0.16.5")).toBe("0.16.5");
  expect(await says("echo 0.16.5; sleep 300")).toBe("0.16.5");
  expect(await says("sleep 300 & echo nightly")).toBeUndefined();
  expect(await says("while :; do echo nightly; done")).toBeUndefined();
  expect(await versionOf([join(dir, "none")])).toBeUndefined();
});
