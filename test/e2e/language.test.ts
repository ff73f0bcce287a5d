/** The built file in Chinese: what an editor shows of it, and what a terminal does. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { zh } from "../../src/locale/zh.ts";
import { allowAll, BINARY, launch } from "../support/agent.ts";
import type { Json } from "../support/plainClient.ts";
import { envFor, homeWithPlan, type Providers, startProviders } from "../support/providers.ts";
import { tempDir } from "../support/temp.ts";

const ZH = zh();
const HAN = /\p{Script=Han}/u;
const CHINESE = { ZCODE_ACP_LANG: "zh" };

/** A home whose ZCode app is set to a language. */
function homeOf(setting: Json | string): string {
  const home = tempDir("home");
  mkdirSync(join(home, ".zcode", "v2"), { recursive: true });
  const text = typeof setting === "string" ? setting : JSON.stringify(setting);
  writeFileSync(join(home, ".zcode", "v2", "setting.json"), text);
  return home;
}

async function run(args: readonly string[], env: Readonly<Record<string, string>>) {
  const child = Bun.spawn([BINARY, ...args], {
    env: { HOME: tempDir("home"), PATH: "/usr/bin:/bin", ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { out, err, code };
}

/** The words of an answer that people read, wherever they stand in it. */
const words = (value: unknown, key: string): string[] =>
  typeof value !== "object" || value === null
    ? []
    : Object.entries(value).flatMap(([name, inner]) => [
        ...(name === key && typeof inner === "string" ? [inner] : []),
        ...words(inner, key),
      ]);

describe("an editor", () => {
  test("D3 A7 sees commands, options, modes and the sign-in in Chinese, and a notice in the conversation", async () => {
    const agent = launch({ env: CHINESE });
    const { authMethods } = await agent.client.initialize({ auth: { terminal: true } });
    for (const word of [...words(authMethods, "name"), ...words(authMethods, "description")])
      expect(word).toMatch(HAN);
    const made = await agent.client.request("session/new", { cwd: agent.workspace, mcpServers: [] });
    const session = made.sessionId as string;
    for (const word of [...words(made.modes, "name"), ...words(made.configOptions, "description")])
      expect(word).toMatch(HAN);
    expect((made.configOptions as Json[])[0]!.name).toBe("模式");
    const { availableCommands } = await agent.client.update(
      (update) => update.sessionUpdate === "available_commands_update",
    );
    for (const word of words(availableCommands, "description")) expect(word).toMatch(HAN);

    const missing = join(agent.workspace, "missing.txt");
    const blocks = [
      { type: "text", text: "text fine" },
      { type: "resource_link", uri: `file://${missing}`, name: "missing.txt" },
    ];
    await agent.client.request("session/prompt", { sessionId: session, prompt: blocks });
    expect(agent.client.text()).toContain(`${missing} 无法读取；只告知了名称。`);
    await agent.client.prompt(session, "/mode plan");
    expect(agent.client.text()).toContain("当前模式：plan。");
    await agent.close();
  });

  test("D3 cards have Chinese titles, live and at replay, and what a command leaves is said in Chinese", async () => {
    const home = tempDir("home");
    const first = launch({ home, env: CHINESE });
    allowAll(first.client);
    const session = await first.start();
    writeFileSync(join(first.workspace, "a.ts"), "one\n");
    await first.client.prompt(session, "read a.ts; bash exit 3; todo; text done");
    const titles = (client: typeof first.client) => [...new Set(words(client.updates(), "title"))];
    expect(titles(first.client)).toEqual(expect.arrayContaining(["读取 a.ts", "更新待办列表"]));
    expect(words(first.client.updates(), "text")).toContain("退出码 3");
    await first.close();
    const second = launch({ home, workspace: first.workspace, env: CHINESE });
    await second.client.initialize();
    await second.client.request("session/load", {
      sessionId: session,
      cwd: first.workspace,
      mcpServers: [],
    });
    expect(titles(second.client)).toEqual(expect.arrayContaining(["读取 a.ts", "更新待办列表"]));
    await second.close();
  });

  test("D3 questions and plans are asked in Chinese", async () => {
    const agent = launch({ env: CHINESE });
    const asked = allowAll(agent.client);
    const session = await agent.start();
    await agent.client.prompt(session, "question; text done");
    await agent.client.prompt(session, "plan to do it; text done");
    const names = words(asked, "name");
    for (const key of ["question.skip", "question.plan.approve", "question.plan.reject"] as const)
      expect(names).toContain(ZH[key]);
    await agent.close();
  });

  test("D3 A1 an error is a sentence and a hint in Chinese, its code is the same, and the log is English", async () => {
    const home = homeOf({ localePreference: "zh-CN" });
    const agent = launch({
      args: ["stdio"],
      home,
      env: { PATH: "/usr/bin:/bin", ZCODE_BIN: "/nowhere/zcode" },
    });
    const session = await agent.start();
    const failure = await agent.client.prompt(session, "hi").catch((error: unknown) => error);
    expect(failure).toMatchObject({
      message: `没有找到 ZCode。查找过：ZCODE_BIN=/nowhere/zcode（没有这个文件）。${ZH["error.backendNotFound.hint"]}`,
      data: { code: "ZACP-101" },
    });
    // The protocol's own.
    await expect(agent.client.request("no/such", {})).rejects.toMatchObject({
      code: -32601,
      message: expect.stringContaining("Method not found"),
    });
    agent.write("{\n");
    const frame = await agent.client.frame((each) => each.id === null);
    expect((frame.error as Json).message).toBe("Parse error");
    await agent.close();
    const state = join(home, ".local", "state", "zcode-acp");
    for (const name of readdirSync(state)) expect(readFileSync(join(state, name), "utf8")).not.toMatch(HAN);
  });

  test("D3 the app's setting counts before the system's, and the variable before both", async () => {
    const title = async (home: string, env: Record<string, string>) => {
      const agent = launch({ home, env });
      const { authMethods } = await agent.client.initialize();
      await agent.close();
      return words(authMethods, "name")[0];
    };
    const [english, chinese] = ["ZCode sign-in", "ZCode 登录"];
    const system = { LANG: "zh_CN.UTF-8" };
    expect(await title(tempDir("home"), {})).toBe(english);
    expect(await title(tempDir("home"), system)).toBe(chinese);
    expect(await title(homeOf({ locale: "en-US" }), system)).toBe(english);
    expect(await title(homeOf(`\uFEFF{"localePreference":"zh"}`), { LANG: "C" })).toBe(chinese);
    expect(await title(homeOf({ localePreference: "system" }), system)).toBe(chinese);
    expect(await title(homeOf("{"), { ...system, LC_ALL: "C" })).toBe(english);
    expect(await title(homeOf({ locale: "zh" }), { ZCODE_ACP_LANG: "en" })).toBe(english);
    const other = homeOf({ locale: "zh" });
    expect(await title(tempDir("home"), { ZCODE_HOME: join(other, ".zcode") })).toBe(chinese);
  });
});

describe("a terminal", () => {
  test("D3 help, doctor, login and refusals are Chinese; a pipe's JSON has the same shape", async () => {
    const help = await run(["--help"], CHINESE);
    expect(help.out).toContain("用法：zcode-acp <命令> [选项]");
    // Each row begins with what is typed, and goes on in Chinese.
    for (const row of help.out.split("\n").filter((line) => line.startsWith("  "))) expect(row).toMatch(HAN);
    for (const name of ["stdio", "login", "doctor", "sim", "quota"]) {
      const { out, code } = await run([name, "--help"], CHINESE);
      expect([name, code, out]).toEqual([name, 0, expect.stringContaining(`用法：zcode-acp ${name}`)]);
      for (const row of out.split("\n").filter((line) => line.startsWith("  "))) expect(row).toMatch(HAN);
    }
    const doctor = await run(["doctor"], CHINESE);
    expect(doctor.code).toBe(1);
    for (const line of doctor.out.trimEnd().split("\n").slice(1)) expect(line).toMatch(HAN);
    expect(doctor.out).toContain("（不存在）");
    const json = JSON.parse((await run(["doctor", "--json"], CHINESE)).out) as Json;
    expect(Object.keys(json)).toEqual(["v", "ok", "version", "commit", "checks"]);
    const login = await run(["login"], CHINESE);
    expect([login.out, login.err]).toEqual([`${ZH["login.other"]}\n`, expect.stringMatching(HAN)]);
    const refused = await run(["dcotor"], { HOME: homeOf({ locale: "zh-CN" }) });
    expect(refused).toEqual({
      code: 2,
      out: "",
      err: "zcode-acp: 没有命令 `dcotor`。 [ZACP-403]\n  您是不是想输入 `doctor`？`zcode-acp --help` 列出所有命令。\n",
    });
    const config = tempDir("home");
    mkdirSync(join(config, ".config", "zcode-acp"), { recursive: true });
    writeFileSync(join(config, ".config", "zcode-acp", "config.json"), '{"language":"zh"}');
    expect((await run(["hub"], { HOME: config })).err).toMatch(HAN);
  });

  describe("quota", () => {
    let providers: Providers;
    beforeAll(() => {
      providers = startProviders();
    });
    afterAll(() => providers.stop());

    test("D3 Q4 the card is Chinese and fits; --json and --line are the same in every language", async () => {
      const env = envFor(providers, homeWithPlan());
      const said = async (args: readonly string[], language: string) =>
        (await run(["quota", ...args], { ...env, COLUMNS: "70", ZCODE_ACP_LANG: language })).out;
      const card = (await said([], "zh")).trimEnd().split("\n");
      expect(card.join("\n")).toMatch(/后?重置/);
      expect(card.join("\n")).toContain("GLM Coding Plan");
      for (const line of card) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(70);
      expect(await said(["--json"], "zh")).toBe(await said(["--json"], "en"));
      expect(await said(["--line"], "zh")).toBe(await said(["--line"], "en"));
      expect(await said(["--line"], "zh")).toContain("Week");
      const unset = await run(["quota", "ollama"], CHINESE);
      expect([unset.code, unset.err]).toEqual([1, expect.stringContaining(ZH["quota.setUp.ollama"])]);
    });
  });
});
