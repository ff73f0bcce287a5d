/** Answers, files, terminals and environments of a kind that nobody would make on purpose. */

import { afterAll, beforeEach, expect, test } from "bun:test";
import { readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { phrase } from "../../src/locale/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import type { Web } from "../../src/quota/ask.ts";
import { askGlm } from "../../src/quota/glm.ts";
import { accountOf, readOllama } from "../../src/quota/ollama.ts";
import { QuotaReader } from "../../src/quota/reader.ts";
import type { Answer } from "../../src/quota/types.ts";
import { BINARY, within } from "../support/agent.ts";
import { needs } from "../support/needs.ts";
import { markedPids, until } from "../support/processes.ts";
import { envFor, homeWithPlan, KEYS, startProviders } from "../support/providers.ts";
import { Tmux } from "../support/tmux.ts";

const providers = startProviders();
const well = { ...providers.glm }.answer;
afterAll(() => providers.stop());

const web: Web = { clock: systemClock(), fetch: (url, init) => fetch(url, init) };
let home: string;
let env: Record<string, string>;
beforeEach(() => {
  home = homeWithPlan();
  env = envFor(providers, home);
  providers.glm.answer = well;
  for (const name of ["glm", "opencode", "ollama"] as const) providers[name].requests.length = 0;
});

async function run(words: readonly string[], more: Record<string, string> = {}, cwd = "/") {
  const child = Bun.spawn([...words], {
    env: { ...env, ...more },
    cwd,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, code] = await within(
    Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]),
    20_000,
    "the command",
  );
  return { code, out, err };
}

const quota = (args: readonly string[], more?: Record<string, string>, cwd?: string) =>
  run([BINARY, "quota", ...args], more, cwd);

const nobodyBehind = () =>
  until(
    "nobody is behind any more",
    15_000,
    async () => (await markedPids(`ZCODE_ACP_GLM_ORIGIN=${providers.glm.origin}`)).length === 0,
  );

async function glm(body: object): Promise<Answer<"glm">> {
  providers.glm.answer = () => Response.json(body);
  const provider = { id: "builtin:zai-coding-plan", apiKey: KEYS.glm, baseUrl: undefined };
  return askGlm(web, { provider, origin: providers.glm.origin });
}

test("Q2 Ollama: a plan named like a part of the language is one that nobody knows, and a period of the far future none", () => {
  const read = (me: object) => {
    const account = accountOf({ status: 200, location: undefined, text: JSON.stringify(me) });
    const text = JSON.stringify({ totals: { usage_usd: 1.5 } });
    return readOllama({ status: 200, location: undefined, text }, account, Date.now()).section;
  };
  const spend = { kind: "success", windows: [], spend: { usd: 1.5, range: "30d" } };
  for (const Plan of ["constructor", "__proto__"]) expect(read({ Plan })).toEqual(spend as never);
  const SubscriptionPeriodEnd = { Time: "9999-12-31T00:00:00Z", Valid: true };
  expect(read({ Plan: "pro", SubscriptionPeriodEnd })).toEqual({
    kind: "success",
    windows: [{ key: "monthly", label: "Month", usagePercent: 2.5 }],
  });
});

test("Q2 GLM: a field that is null is one that is not there, and a failure's own code is the reason", async () => {
  const limit = { type: "X", number: null, usage: null, currentValue: null, remaining: null };
  const limits = [{ ...limit, nextResetTime: null, percentage: 5, usageDetails: null }];
  expect((await glm({ success: true, data: { limits } })).section).toEqual({
    kind: "success",
    items: [{ key: "X", label: "X", usedPercent: 5 }],
  });
  expect((await glm({ success: false, code: 500, msg: "x" })).reason).toEqual(
    phrase("quota.reason.status", { status: 500 }),
  );
  expect((await glm({ success: false, code: "a key", msg: "x" })).reason).toEqual(
    phrase("quota.reason.status", { status: 200 }),
  );
});

test("Q2 Q4 nothing that a terminal would act on is in a reason, nor is one of any length", async () => {
  const type = `\x1b[2J\x1b]0;title\x07\u061c${"x".repeat(5_000)}`;
  providers.glm.answer = () => Response.json({ success: true, data: { limits: [{ type }] } });
  // As it was asked, and as it was kept.
  for (let time = 0; time < 2; time++) {
    const { code, err } = await quota(["glm", "--verbose"]);
    expect(code).toBe(1);
    expect(err).toContain("names no share");
    expect(err).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f\u061c]/);
    expect(err.length).toBeLessThan(200);
  }
  expect(providers.glm.requests).toHaveLength(1);
});

test("Q6 the hub's token is handed to no proxy", async () => {
  const seen: string[] = [];
  const proxy = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      seen.push(`${request.url} ${request.headers.get("authorization")}`);
      return new Response("", { status: 502 });
    },
  });
  try {
    const address = `http://127.0.0.1:${proxy.port}`;
    await quota([], {
      ZCODE_ACP_REMOTE_TOKEN: "hub-token-0123456789",
      ZCODE_ACP_HUB_PORT: "9",
      HTTP_PROXY: address,
      http_proxy: address,
    });
    // The providers are asked through it.
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.join("\n")).not.toContain("hub-token");
  } finally {
    await proxy.stop(true);
  }
});

test("Q1 Q6 a key that no request can carry is named as what is wrong, and asked with by nobody", async () => {
  const config = join(home, ".zcode", "v2", "config.json");
  const plan = { enabled: true, options: { apiKey: "key\r\nX-Other: 1" }, models: {} };
  writeFileSync(config, JSON.stringify({ provider: { "builtin:bigmodel-coding-plan": plan } }));
  const { out, err } = await quota(["--verbose"], { OLLAMA_API_KEY: "密钥" });
  expect(out).toContain("OpenCode Go");
  for (const name of ["GLM Coding Plan", "Ollama Cloud"])
    expect(err).toMatch(
      new RegExp(`^${name}: not signed in.*the key holds a character that no key has`, "m"),
    );
  expect(providers.glm.requests.length + providers.ollama.requests.length).toBe(0);
});

test("Q3 Q5 two terminals with a key of their own each are both asked for once, and both have their line", async () => {
  const share = (key: string | null) => (key?.includes("other") ? 0.5 : 0.25);
  const before = providers.ollama.answer;
  providers.ollama.answer = (request) =>
    Response.json({ limits: { session: { usage: share(request.headers.get("authorization")) } } });
  const other = { OLLAMA_API_KEY: "other-key-0123456789" };
  const asked = () => providers.ollama.requests.filter(({ path }) => path !== "/api/me").length;
  try {
    for (let time = 0; time < 3; time++) {
      expect((await quota([])).out).toContain("25%");
      expect((await quota([], other)).out).toContain("50%");
      expect((await quota(["ollama", "--line"])).out).toBe("5h 25%\n");
      expect((await quota(["ollama", "--line"], other)).out).toBe("5h 50%\n");
    }
    await nobodyBehind();
    expect(asked()).toBe(2);
    // Numbers before a failure are each one's own as well.
    const file = join(home, ".local", "state", "zcode-acp", "quota-ollama.json");
    writeFileSync(
      file,
      readFileSync(file, "utf8").replaceAll(/"at":(\d+)/g, (_, at) => `"at":${at - 60_000}`),
    );
    providers.ollama.answer = () => new Response("", { status: 502 });
    expect((await quota(["ollama"])).code).toBe(1);
    expect((await quota(["ollama"], other)).code).toBe(1);
    expect((await quota(["ollama", "--line"])).out).toBe("5h 25%\n");
    expect((await quota(["ollama", "--line"], other)).out).toBe("5h 50%\n");
    // Many accounts make no large file.
    for (let n = 0; n < 6; n++) await quota(["ollama"], { OLLAMA_API_KEY: `key-${n}-0123456789` });
    const kept = JSON.parse(readFileSync(file, "utf8")) as { others: object };
    expect(Object.keys(kept.others)).toHaveLength(3);
    expect(JSON.stringify(kept.others)).not.toContain('"others"');
  } finally {
    providers.ollama.answer = before;
    await nobodyBehind();
  }
}, 60_000);

test("Q3 what killed processes left beside the kept files is removed, and nothing else", async () => {
  await quota(["go"]);
  const dir = join(home, ".local", "state", "zcode-acp");
  const left = ["quota-glm.json.123.0a1b2c3d.tmp", `quota-go.json.lock.12.${crypto.randomUUID()}`];
  const others = ["quota-mine.json", "sessions.json.123.0a1b2c3d.tmp", "quota-glm.json.124.0a1b2c3d.tmp"];
  for (const name of [...left, ...others]) {
    writeFileSync(join(dir, name), "");
    const time = Date.now() / 1000 - (name.includes(".124.") ? 60 : 7_200);
    utimesSync(join(dir, name), time, time);
  }
  await quota(["glm"]);
  const there = readdirSync(dir);
  for (const name of left) expect(there).not.toContain(name);
  for (const name of others) expect(there).toContain(name);
});

test("Q5 a value that is empty is none", async () => {
  for (const words of [
    ["--warn-at="],
    ["--warn-at", ""],
    ["--warn-at", " "],
    ["-w", "--interval="],
    ["-w", "--interval", ""],
  ]) {
    const { code, err } = await quota(words);
    expect([words, code]).toEqual([words, 2]);
    expect(err).toContain("wants a number");
  }
});

test.skipIf(process.platform !== "linux")(
  "Q5 where the output cannot be written it says so in a sentence, and the line as well",
  async () => {
    await quota([]);
    for (const flag of ["", "--line", "--json"]) {
      const { code, err } = await run(["sh", "-c", `'${BINARY}' quota ${flag} >/dev/full`]);
      expect([flag, code]).toEqual([flag, 1]);
      expect(err).toStartWith("zcode-acp: The output cannot be written (ENOSPC). [ZACP-414]\n");
      expect(err.split("\n").length).toBe(3);
    }
    expect(readdirSync(join(home, ".local", "state", "zcode-acp")).join()).not.toContain(".log");
  },
);

test("Q3 Q5 the line asks behind for the same folder, also where it is meant from here", async () => {
  for (const more of [{ ZCODE_HOME: ".zcode" }, { HOME: "." }]) {
    const own = homeWithPlan();
    const settings = { HOME: own, ...more };
    expect((await quota(["--line"], settings, own)).out).toBe("");
    await nobodyBehind();
    expect((await quota(["--line"], settings, own)).out).toBe("5h 35% · Week 12%\n");
    await nobodyBehind();
  }
}, 60_000);

test("Q3 an account that changes while its keys are read is not taken for the one before or after", async () => {
  let account = "before";
  const kept: string[] = [];
  const cache = {
    async through(_name: string, of: string, _freshness: unknown, ask: () => Promise<Answer>) {
      kept.push(of);
      return { at: 0, answer: await ask() };
    },
  };
  const reader = new QuotaReader({
    web,
    cache: cache as never,
    account: () => account,
    sources() {
      account = "after";
      return {
        glm: { provider: undefined, origin: undefined },
        opencode: { workspaceId: undefined, authCookie: undefined, origin: undefined },
        ollama: { apiKey: KEYS.ollama, origin: providers.ollama.origin },
      };
    },
  });
  await reader.read(["ollama"]);
  expect(kept).toEqual(["before"]);
});

test("Q3 a lock of tomorrow that names nobody is broken as one of yesterday is: the clock was set back", async () => {
  await quota(["go"]);
  const lock = join(home, ".local", "state", "zcode-acp", "quota-glm.json.lock");
  writeFileSync(lock, "nobody");
  const tomorrow = Date.now() / 1000 + 86_400;
  utimesSync(lock, tomorrow, tomorrow);
  const started = performance.now();
  expect((await quota(["glm"])).out).toContain("35%");
  expect(performance.now() - started).toBeLessThan(5_000);
});

test("Q5 Q6 the watched card keeps no numbers of another account", async () => {
  const child = Bun.spawn([BINARY, "quota", "glm", "-w", "--interval", "10"], {
    env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const reader = child.stdout.getReader();
  const card = async () => new TextDecoder().decode((await reader.read()).value);
  expect(await card()).toContain("35%");
  const config = join(home, ".zcode", "v2", "config.json");
  const other = { enabled: true, options: { apiKey: "another-key-9876543210" }, models: {} };
  writeFileSync(config, JSON.stringify({ provider: { "builtin:bigmodel-coding-plan": other } }));
  providers.glm.answer = () => new Response("", { status: 502 });
  const shown = await card();
  expect(shown).not.toContain("35%");
  expect(shown).toContain("its usage cannot be read now");
  await reader.cancel();
  child.kill("SIGTERM");
  await child.exited;
}, 30_000);

test.skipIf(!needs("tmux"))(
  "Q4 a terminal that knows no commands is given none",
  async () => {
    const tmux = new Tmux(env, 70, 30);
    try {
      tmux.type(`TERM=dumb '${BINARY}' quota; echo code $?`);
      await tmux.shows("code 0");
      expect(tmux.screen()).toContain("35%");
      tmux.type(`TERM=dumb '${BINARY}' quota glm -w`);
      await until("it is watched", 10_000, () => (tmux.screen().match(/35%/g) ?? []).length > 1);
      tmux.run(["send-keys", "C-c"]);
      await Bun.sleep(200);
      // The shell itself may say what it likes.
      expect(await Bun.file(tmux.raw).text()).not.toMatch(/\x1b\[\?(?:2026|1049|25)[hl]/);
    } finally {
      tmux.end();
    }
  },
  30_000,
);

test.skipIf(!needs("tmux"))(
  "Q4 a terminal that is made narrower while an answer is waited for shows each section once",
  async () => {
    const held = Promise.withResolvers<void>();
    providers.glm.answer = async (request) => {
      await held.promise;
      return well(request);
    };
    const tmux = new Tmux(env, 80, 30);
    try {
      tmux.type(`'${BINARY}' quota; echo code $?`);
      await tmux.shows("68%");
      tmux.run(["resize-window", "-x", "40", "-y", "30"]);
      await Bun.sleep(300);
      held.resolve();
      await tmux.shows("code 0");
      expect(tmux.screen().match(/GLM Coding Plan|OpenCode Go|Ollama Cloud/g)).toEqual([
        "GLM Coding Plan",
        "OpenCode Go",
        "Ollama Cloud",
      ]);
    } finally {
      held.resolve();
      tmux.end();
    }
  },
  30_000,
);

test.skipIf(!needs("tmux"))(
  "Q5 the watched card ends with its terminal, also behind others, where no signal tells of that",
  async () => {
    const tmux = new Tmux(env, 80, 30);
    let ended = false;
    try {
      tmux.type(`set -m; '${BINARY}' quota -w --interval 10 &`);
      await tmux.shows("68%");
      tmux.end();
      ended = true;
      await nobodyBehind();
    } finally {
      if (!ended) tmux.end();
    }
  },
  30_000,
);
