/** Models of ZCode's files and of the session: chosen before first use, in every era of the backend. */

import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Agent, installZcode, launch } from "../support/agent.ts";
import type { Json } from "../support/plainClient.ts";
import { tempDir } from "../support/temp.ts";

const KEY = "Key0f-mine-0123456789";
const ERAS = ["0.15", "0.16.5", "3.12", "0.16.9"] as const;
const OLD = ["0.15", "0.16.5"] as const;
const isOld = (era: string) => (OLD as readonly string[]).includes(era);

const TABLE = {
  revision: 7,
  config: {
    providerConfigRules: {
      providerRules: [
        {
          providerId: "account:bigmodel-individual-coding-plan",
          config: { access: { type: "zhipu-account" } },
        },
      ],
    },
  },
};

/** A provider as older apps keep it. */
const provider = (name: string, models: Json, options: Json = {}): Json => ({
  name,
  kind: "openai-compatible",
  options: { baseURL: "https://llm.example.org/v1", apiKey: KEY, ...options },
  models,
});

/** The same as app 3.12 and newer keep it. */
const personal = (...rules: readonly (readonly [string, string, readonly string[]])[]): Json => ({
  schemaVersion: 1,
  config: {
    providerConfigRules: {
      providerRules: rules.map(([providerId, providerName, personalModelIds]) => ({
        providerId,
        providerName,
        config: {
          group: "standard-personal",
          access: { type: "api-key", apiKey: KEY },
          api: { type: "openai-chat-completions", baseUrl: "https://llm.example.org/v1" },
          personalModelIds,
        },
      })),
    },
    modelConfigRules: { providerModelRules: [], manualProviderModelRules: [] },
  },
});

const LEVELS = { reasoning: { enabled: true, variants: ["low", "high"], defaultVariant: "high" } };

function write(home: string, files: Readonly<Record<string, Json | string>>): void {
  const dir = join(home, ".zcode", "v2");
  mkdirSync(dir, { recursive: true });
  for (const [name, value] of Object.entries(files))
    writeFileSync(join(dir, name), typeof value === "string" ? value : JSON.stringify(value));
}

/** The two providers of a person, as the app of that era keeps them. */
function files(era: string, more: Json = {}): Record<string, Json> {
  return isOld(era)
    ? {
        "config.json": {
          provider: { one: provider("One", { m: {} }), two: provider("Two", { m: LEVELS, n: {} }), ...more },
        },
      }
    : { "provider_config.json": personal(["one", "One", ["m"]], ["two", "Two", ["m", "n"]]) };
}

interface Started {
  readonly agent: Agent;
  readonly home: string;
}

function start(
  era: string,
  content: Readonly<Record<string, Json | string>>,
  options: { home?: string; sim?: string; env?: Record<string, string> } = {},
): Started {
  const home = options.home ?? tempDir("home");
  write(home, content);
  const bin = installZcode(tempDir("bin"), {
    sim: `--era ${era} ${options.sim ?? ""}`,
    version: isOld(era) ? "0.16.5" : "0.16.9",
    ...(isOld(era) ? {} : { table: TABLE }),
  });
  return { agent: launch({ args: ["stdio"], home, env: { ZCODE_BIN: bin, ...options.env } }), home };
}

async function fresh({ agent }: Started): Promise<{ session: string; options: Json[] }> {
  const made = await agent.client.request("session/new", { cwd: agent.workspace, mcpServers: [] });
  return { session: made.sessionId as string, options: made.configOptions as Json[] };
}

const option = (options: unknown, id: string) => (options as Json[]).find((each) => each.id === id);
const values = (options: unknown, id = "model") =>
  ((option(options, id)?.options ?? []) as Json[]).map(({ value }) => value);
const names = (options: unknown) =>
  ((option(options, "model")?.options ?? []) as Json[]).map(({ name }) => name);
const lastOptions = (agent: Agent, session: string) =>
  agent.client.updates(session).findLast((update) => update.sessionUpdate === "config_option_update")
    ?.configOptions as Json[];

const set = (agent: Agent, session: string, configId: string, value: string) =>
  agent.client.request("session/set_config_option", { sessionId: session, configId, value });

/** Which model the simulator says it runs with, after a prompt. */
async function runs(agent: Agent, session: string): Promise<string> {
  const before = agent.client.text("agent_message_chunk", session).length;
  expect((await agent.client.prompt(session, "model")).stopReason).toBe("end_turn");
  return agent.client.text("agent_message_chunk", session).slice(before);
}

async function writeBlackBox(agent: Agent): Promise<void> {
  agent.child.kill("SIGUSR1");
  const state = join(agent.home, ".local", "state", "zcode-acp");
  const written = () =>
    existsSync(state) && readdirSync(state).some((name) => name.endsWith(".blackbox.json"));
  for (let i = 0; i < 200 && !written(); i++) await Bun.sleep(25);
  expect(written()).toBe(true);
}

/** Everything that a run left behind beside ZCode's own files. */
function said(agent: Agent): string {
  const state = join(agent.home, ".local", "state", "zcode-acp");
  const kept = existsSync(state)
    ? readdirSync(state).map((name) => readFileSync(join(state, name), "utf8"))
    : [];
  const own = join(agent.home, ".zcode", "v2", "acp-lazy-sessions.json");
  return [
    JSON.stringify(agent.client.frames),
    agent.stderr,
    ...agent.strays,
    ...kept,
    existsSync(own) ? readFileSync(own, "utf8") : "",
  ].join("\n");
}

describe.each(ERAS)("era %s", (era) => {
  test("A7 B17 P2 models of the files are offered at once, and what is shown is what runs", async () => {
    const started = start(era, files(era));
    const { agent } = started;
    await agent.client.initialize();
    const { session, options } = await fresh(started);
    expect(values(options)).toEqual(["one\\m", "two\\m", "two\\n"]);
    // Providers are named where two have a model of one name.
    expect(names(options)).toEqual(["m (One)", "m (Two)", "n"]);
    const shown = option(options, "model")?.currentValue as string;
    expect(shown).toBe("one\\m");
    expect(await runs(agent, session)).toBe("one/m");
    expect(option(lastOptions(agent, session) ?? options, "model")).toMatchObject({ currentValue: shown });
    await agent.close();
    expect(agent.strays).toEqual([]);
  });

  test("A7 B17 P2 a model chosen before first use runs, level and all, and a restarted bridge keeps it", async () => {
    const home = tempDir("home");
    const started = start(era, files(era), { home });
    const { agent } = started;
    await agent.client.initialize();
    const { session } = await fresh(started);
    const answer = await set(agent, session, "model", "two/m");
    expect(option(answer.configOptions, "model")).toMatchObject({ currentValue: "two\\m" });
    if (isOld(era)) {
      // Files of today's app name no default level: that is left to the session.
      expect(values(answer.configOptions, "thought")).toEqual(["low", "high"]);
      expect(option(answer.configOptions, "thought")).toMatchObject({ currentValue: "high" });
      await set(agent, session, "thought", "low");
    }
    const model = isOld(era) ? "two/m at low" : "two/m";
    expect(await runs(agent, session)).toBe(model);
    await writeBlackBox(agent);
    await agent.close();
    expect(said(agent)).not.toContain(KEY);

    const again = start(era, {}, { home }).agent;
    await again.client.initialize();
    const loaded = await again.client.request("session/load", {
      sessionId: session,
      cwd: agent.workspace,
      mcpServers: [],
    });
    expect(option(loaded.configOptions, "model")).toMatchObject({ currentValue: "two\\m" });
    expect(await runs(again, session)).toBe(model);
    expect(again.client.text("agent_message_chunk", session)).not.toContain("not there any more");
    await again.close();
    expect(said(again)).not.toContain(KEY);
  });

  test("A7 P24 a model is changed in a session that is in use", async () => {
    const started = start(era, files(era));
    const { agent } = started;
    await agent.client.initialize();
    const { session } = await fresh(started);
    expect(await runs(agent, session)).toBe("one/m");
    const told = () =>
      agent.client.updates(session).filter(({ sessionUpdate }) => sessionUpdate === "config_option_update")
        .length;
    const before = told();
    await set(agent, session, "model", "two\\m");
    expect(told() - before).toBe(1);
    expect(await runs(agent, session)).toBe(isOld(era) ? "two/m at high" : "two/m");
    await set(agent, session, "model", "n");
    expect(await runs(agent, session)).toBe("two/n");
    expect(option(lastOptions(agent, session), "model")).toMatchObject({ currentValue: "two\\n" });
    await agent.close();
  });

  test("B17 a model that was removed since is replaced by the first there is, and so said once", async () => {
    const home = tempDir("home");
    const started = start(era, files(era), { home });
    const { agent } = started;
    await agent.client.initialize();
    const { session } = await fresh(started);
    await set(agent, session, "model", "two\\n");
    expect(await runs(agent, session)).toBe("two/n");
    await agent.close();
    const left = isOld(era)
      ? { "config.json": { provider: { one: provider("One", { m: {} }) } } }
      : { "provider_config.json": personal(["one", "One", ["m"]]) };
    const again = start(era, left, { home }).agent;
    await again.client.initialize();
    const loaded = await again.client.request("session/load", {
      sessionId: session,
      cwd: agent.workspace,
      mcpServers: [],
    });
    expect(option(loaded.configOptions, "model")).toMatchObject({ currentValue: "one\\m" });
    expect(await runs(again, session)).toBe("one/m");
    const text = again.client.text("agent_message_chunk", session);
    expect(text.split("The model n is not there any more; m is used instead.")).toHaveLength(2);
    await again.close();
  });

  test("P2 B17 a choice whose model went before first use is replaced and so said; what was only shown is replaced in silence", async () => {
    const started = start(era, files(era));
    const { agent, home } = started;
    await agent.client.initialize();
    const chosen = await fresh(started);
    await set(agent, chosen.session, "model", "two\\n");
    const shown = await fresh(started);
    write(
      home,
      isOld(era)
        ? { "config.json": { provider: { three: provider("Three", { x: {} }) } } }
        : { "provider_config.json": personal(["three", "Three", ["x"]]) },
    );
    expect((await runs(agent, chosen.session)).trim().split("\n")).toEqual([
      "The model n is not there any more; x is used instead.",
      "",
      "three/x",
    ]);
    expect(await runs(agent, shown.session)).toBe("three/x");
    for (const { session } of [chosen, shown])
      expect(option(lastOptions(agent, session), "model")).toMatchObject({ currentValue: "three\\x" });
    await agent.close();
  });

  test.each([
    ["not JSON", "{"],
    ["another kind", "[]"],
    ["empty", ""],
    ["huge", `{"provider":{"p":"${"x".repeat(9 * 1024 * 1024)}"}}`],
  ])("B17 files that are %s offer nothing and stop nothing", async (_what, content) => {
    const started = start(era, { "config.json": content, "provider_config.json": content });
    const { agent } = started;
    await agent.client.initialize();
    const { session, options } = await fresh(started);
    expect(options.map(({ id }) => id)).toEqual(["mode"]);
    // Not even a value is judged where nothing is known.
    expect(await runs(agent, session)).toBe("sim/sim-large at high");
    expect(values(lastOptions(agent, session))).toEqual(["sim\\sim-large", "sim\\sim-small"]);
    await agent.close();
  });

  test("B17 A7 the session's own list takes the place of the files' one, told once", async () => {
    const both = { ...files("0.15"), ...files("0.16.9") };
    // The older file is read by the bridge alone.
    const content = { ...both, "config.json": `\uFEFF${JSON.stringify(both["config.json"])}` };
    const started = start(era, content);
    const { agent } = started;
    await agent.client.initialize();
    const { session } = await fresh(started);
    await runs(agent, session);
    const told = agent.client
      .updates(session)
      .filter((update) => update.sessionUpdate === "config_option_update");
    expect(told.length).toBeLessThanOrEqual(1);
    for (const update of told) expect(values(update.configOptions)).toEqual(["one\\m", "two\\m", "two\\n"]);
    await agent.close();
  });
});

describe.each(OLD)("older era %s", (era) => {
  test("B17 a provider without models or a key is left out, and spoils nothing", async () => {
    const started = start(
      era,
      files(era, {
        empty: provider("Empty", {}),
        keyless: provider("Keyless", { k: {} }, { apiKey: "" }),
        off: { ...provider("Off", { o: {} }), enabled: false },
        local: provider("Local", { l: {} }, { apiKey: "", baseURL: "http://127.0.0.1:1/v1" }),
      }),
    );
    const { agent } = started;
    await agent.client.initialize();
    const { session, options } = await fresh(started);
    expect(values(options)).toEqual(["one\\m", "two\\m", "two\\n", "local\\l"]);
    await set(agent, session, "model", "l");
    expect(await runs(agent, session)).toBe("local/l");
    await agent.close();
  });

  test("B17 A11 a key that was changed in the file is pushed again before the next prompt", async () => {
    const right = "another-Key-9876543210";
    const started = start(era, files(era), { sim: `--expect-key ${right}` });
    const { agent, home } = started;
    await agent.client.initialize();
    const { session } = await fresh(started);
    await expect(agent.client.prompt(session, "hi")).rejects.toMatchObject({ code: -32000 });
    write(home, { "config.json": { provider: { one: provider("One", { m: {} }, { apiKey: right }) } } });
    expect(await runs(agent, session)).toBe("one/m");
    await agent.close();
    for (const key of [KEY, right]) expect(said(agent)).not.toContain(key);
  });

  test("B17 a build that takes no list gets the provider beside the choice, one that takes neither goes on", async () => {
    const started = start(era, files(era), { sim: "--missing workspace/updateProviderRegistry" });
    const { agent } = started;
    await agent.client.initialize();
    const { session } = await fresh(started);
    await set(agent, session, "model", "two\\n");
    expect(await runs(agent, session)).toContain("two/n");
    await agent.close();
  });

  test("B17 ZCODE_PROVIDER names the provider that is begun with", async () => {
    const started = start(era, files(era), { env: { ZCODE_PROVIDER: "two", ZCODE_MODEL: "n" } });
    const { agent } = started;
    await agent.client.initialize();
    const { session, options } = await fresh(started);
    expect(values(options)).toEqual(["two\\m", "two\\n", "one\\m"]);
    expect(option(options, "model")).toMatchObject({ currentValue: "two\\n" });
    expect(await runs(agent, session)).toBe("two/n");
    await agent.close();
  });
});

/** A plan as older apps keep it. */
const plan = (id: string): Json => ({
  [id]: { enabled: true, options: { apiKey: KEY }, models: { "GLM-5.3": {} } },
});
const PLAN = "bigmodel-coding-plan";

test.each(OLD)("B17 era %s: a plan is begun with, wherever in the file it stands", async (era) => {
  const started = start(era, files(era, plan(`builtin:${PLAN}`)));
  const { agent } = started;
  await agent.client.initialize();
  const { session, options } = await fresh(started);
  expect(option(options, "model")).toMatchObject({ currentValue: `builtin:${PLAN}\\GLM-5.3` });
  expect(values(options)).toHaveLength(4);
  expect(await runs(agent, session)).toBe(`builtin:${PLAN}/GLM-5.3`);
  await agent.close();
  expect(said(agent)).not.toContain(KEY);
});

test("B17 a plan's conversation goes on with the same plan after an upgrade, which spells it differently", async () => {
  const home = tempDir("home");
  const config = { "config.json": { provider: plan(`builtin:${PLAN}`) } };
  const before = start("0.16.5", config, { home });
  await before.agent.client.initialize();
  const { session } = await fresh(before);
  expect(await runs(before.agent, session)).toBe(`builtin:${PLAN}/GLM-5.3`);
  await before.agent.close();
  const { agent } = start("0.16.9", config, { home, sim: "--plan" });
  await agent.client.initialize();
  const params = { sessionId: session, cwd: before.agent.workspace, mcpServers: [] };
  const loaded = await agent.client.request("session/load", params);
  const value = "account:bigmodel-individual-coding-plan\\GLM-5.3";
  expect(option(loaded.configOptions, "model")).toMatchObject({ currentValue: value });
  expect(await runs(agent, session)).toBe("account:bigmodel-individual-coding-plan/GLM-5.3 at high");
  expect(agent.client.text("agent_message_chunk", session)).not.toContain("any more");
  await agent.close();
});

describe.each(["3.12", "0.16.9"] as const)("newer era %s", (era) => {
  test("B17 B19 a plan of the older file is shown as this build spells it, and runs", async () => {
    const started = start(
      era,
      { "config.json": { provider: plan(`builtin:${PLAN}`) }, ...files(era) },
      { sim: "--plan" },
    );
    const { agent } = started;
    await agent.client.initialize();
    const { session, options } = await fresh(started);
    const value = "account:bigmodel-individual-coding-plan\\GLM-5.3";
    expect(values(options)[0]).toBe(value);
    await set(agent, session, "model", value);
    expect(await runs(agent, session)).toBe("account:bigmodel-individual-coding-plan/GLM-5.3 at high");
    await agent.close();
    expect(said(agent)).not.toContain(KEY);
  });

  test("B17 P2 a choice in the older spelling, or of a plan's model that no file names, is what is meant", async () => {
    const started = start(era, { "config.json": { provider: plan(`builtin:${PLAN}`) } }, { sim: "--plan" });
    const { agent } = started;
    await agent.client.initialize();
    for (const [value, model] of [
      ["builtin:bigmodel-coding-plan\\GLM-5.3", "GLM-5.3 at high"],
      ["builtin:bigmodel-coding-plan\\GLM-5.3-Air", "GLM-5.3-Air"],
      ["account:bigmodel-individual-coding-plan/GLM-5.3-Air", "GLM-5.3-Air"],
    ] as const) {
      const { session } = await fresh(started);
      await set(agent, session, "model", value);
      expect(await runs(agent, session)).toBe(`account:bigmodel-individual-coding-plan/${model}`);
      expect(agent.client.text("agent_message_chunk", session)).not.toContain("any more");
    }
    await agent.close();
  });
});

test("B17 the simulator gets nobody's providers", async () => {
  const home = tempDir("home");
  write(home, { ...files("0.15"), ...files("0.16.9") });
  const agent = launch({ home, sim: "--era 0.16.5" });
  await agent.client.initialize();
  const made = await agent.client.request("session/new", { cwd: agent.workspace, mcpServers: [] });
  expect((made.configOptions as Json[]).map(({ id }) => id)).toEqual(["mode"]);
  expect(await runs(agent, made.sessionId as string)).toBe("sim/sim-large at high");
  await agent.close();
});
