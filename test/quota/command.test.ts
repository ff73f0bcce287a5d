/** `zcode-acp quota` as a person, a script and a status bar run it. */

import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { BINARY, launch, within } from "../support/agent.ts";
import type { Json } from "../support/plainClient.ts";
import { markedPids, until } from "../support/processes.ts";
import { envFor, GLM_BODY, homeWithPlan, KEYS, startProviders } from "../support/providers.ts";
import { tempDir } from "../support/temp.ts";

const providers = startProviders();
const well = {
  glm: providers.glm.answer,
  opencode: providers.opencode.answer,
  ollama: providers.ollama.answer,
};
afterAll(() => providers.stop());

let home: string;
let env: Record<string, string>;
beforeEach(() => {
  home = homeWithPlan();
  env = envFor(providers, home);
  for (const name of ["glm", "opencode", "ollama"] as const) {
    providers[name].answer = well[name];
    providers[name].requests.length = 0;
  }
});

interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function quota(args: readonly string[], more: Record<string, string> = {}): Promise<Outcome> {
  const child = Bun.spawn([BINARY, "quota", ...args], {
    env: { ...env, ...more },
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

const asked = () =>
  [providers.glm, providers.opencode, providers.ollama].map(
    ({ requests }) => requests.filter(({ path }) => path !== "/api/me").length,
  );

const stateFile = (name: string) => join(home, ".local", "state", "zcode-acp", `quota-${name}.json`);

describe("what it shows", () => {
  test("Q4 Q5 a card of all three, its widths from the environment, and 0", async () => {
    const { code, out, err } = await quota([], { COLUMNS: "60" });
    expect([code, err]).toEqual([0, ""]);
    for (const word of [
      "GLM Coding Plan · pro",
      "OpenCode Go",
      "Ollama Cloud",
      "35%",
      "68%",
      "search-prime 2",
    ])
      expect(out).toContain(word);
    expect(out).not.toContain("\x1b");
    expect(out).toMatch(/[█░]/);
    for (const row of out.split("\n")) expect(Bun.stringWidth(row)).toBeLessThanOrEqual(60);
  });

  test("Q4 a reset is told in the person's own time", async () => {
    for (const [zone, time] of [
      ["UTC", "2096-10-02 07:06"],
      ["Asia/Kolkata", "2096-10-02 12:36"],
      ["Pacific/Honolulu", "2096-10-01 21:06"],
    ]) {
      expect((await quota(["glm"], { TZ: zone! })).out).toContain(`${time!} (in `);
    }
  });

  test("Q5 R28 R29 --json is the body, and the same as account/usage_stats", async () => {
    const { code, out } = await quota(["--json"]);
    expect(code).toBe(0);
    const agent = launch({ home, env });
    await agent.client.initialize();
    // The same kept numbers: nothing is asked twice.
    expect(await agent.client.request("account/usage_stats", {})).toEqual(JSON.parse(out) as Json);
    expect(await agent.client.request("_account/usage_stats", {})).toEqual(JSON.parse(out) as Json);
    expect(asked()).toEqual([1, 1, 1]);
    await agent.close();
    expect(Object.keys(JSON.parse(out) as Json)).toEqual(["glm", "opencode", "ollama"]);
  });

  test("Q1 Q5 one by name alone; failures go to stderr, with the reason where it is wanted", async () => {
    expect((await quota(["go"])).out).toStartWith("OpenCode Go\n");
    providers.ollama.answer = () => new Response("<html>", { status: 502 });
    const all = await quota([]);
    expect(all.code).toBe(0);
    expect(all.out).not.toContain("Ollama");
    expect(all.err).toContain("Ollama Cloud: its usage cannot be read now");
    expect(all.err).not.toContain("502");
    const one = await quota(["ollama", "--verbose"]);
    expect([one.code, one.out]).toEqual([1, ""]);
    expect(one.err).toContain("it answers 502");
  });

  test("Q5 a reader who has left is no fault", async () => {
    await quota([]);
    for (const args of ["--json", "--line", "--plain"]) {
      const words = `{ sleep 0.3; '${BINARY}' quota ${args}; echo "code $?" >&2; } | true`;
      const child = Bun.spawn(["sh", "-c", words], { env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
      expect(await within(new Response(child.stderr).text(), 10_000, "the command")).toBe("code 0\n");
    }
  }, 30_000);

  test("Q1 Q5 who is not set up is left out, and explained when asked for by name", async () => {
    const bare = { OLLAMA_API_KEY: "", OPENCODE_GO_WORKSPACE_ID: "", OPENCODE_GO_AUTH_COOKIE: "" };
    const all = await quota([], bare);
    expect([all.code, all.err]).toEqual([0, ""]);
    expect(all.out).not.toContain("Ollama");
    const one = await quota(["ollama"], bare);
    expect([one.code, one.out]).toEqual([1, ""]);
    expect(one.err).toContain("OLLAMA_API_KEY");
    const nobody = await quota([], { ...bare, HOME: tempDir("nobody") });
    expect([nobody.code, nobody.out]).toEqual([1, ""]);
    for (const word of ["zcode-acp login", "OLLAMA_API_KEY", "OPENCODE_GO_AUTH_COOKIE"])
      expect(nobody.err).toContain(word);
  });

  test("Q1 keys of files count as well, field by field and behind the environment's", async () => {
    const pi = join(home, ".pi", "agent");
    mkdirSync(pi, { recursive: true });
    writeFileSync(
      join(pi, "opencode-go.json"),
      JSON.stringify({ workspaceId: "file", authCookie: "file-cookie" }),
    );
    await quota(["go"], { OPENCODE_GO_AUTH_COOKIE: "" });
    expect(providers.opencode.requests[0]!.path).toBe("/workspace/wrk/go");
    expect(providers.opencode.requests[0]!.headers.get("cookie")).toBe("auth=file-cookie");
    const config = join(home, ".config", "zcode-acp");
    mkdirSync(config, { recursive: true });
    writeFileSync(join(config, "config.json"), JSON.stringify({ quota: { ollamaApiKey: "from-file" } }));
    await quota(["ollama"], { OLLAMA_API_KEY: "" });
    expect(providers.ollama.requests[0]!.headers.get("authorization")).toBe("Bearer from-file");
  });

  test("Q5 exit codes: 3 above --warn-at, 2 for what cannot be meant", async () => {
    expect((await quota(["--warn-at", "67"])).code).toBe(3);
    expect((await quota(["glm", "--warn-at", "35"])).code).toBe(0);
    expect((await quota(["glm", "--warn-at", "34.9", "--json"])).code).toBe(3);
    for (const wrong of [
      ["xx"],
      ["--interval", "9"],
      ["--watch", "--interval", "9"],
      ["--watch", "--interval", "86401"],
      ["--interval", "abc"],
      ["--interval", "60"],
      ["--interval=60", "--json"],
      ["glm", "--line", "--interval", "60"],
      ["--warn-at", "101"],
      ["--warn-at", "-1"],
      ["--line", "--json"],
      ["--line", "--watch"],
      ["glm", "go"],
      ["--nope"],
    ]) {
      const { code, out, err } = await quota(wrong);
      expect([wrong, code, out]).toEqual([wrong, 2, ""]);
      expect(err).toContain("ZACP-");
    }
    expect((await quota(["--interval", "60"])).err).toContain(
      "`--interval` of `zcode-acp quota` means nothing without `--watch`.",
    );
  });

  test("Q2 Q5 of an answer that cannot be unpacked it says so in its own words, and only where it is asked why", async () => {
    for (const packing of ["gzip", "br", "zstd", "deflate", "mystery"]) {
      for (const name of ["glm", "opencode", "ollama"] as const)
        providers[name].answer = () =>
          new Response("neither gzip nor anything", { headers: { "content-encoding": packing } });
      const short = await quota(["ollama"], { HOME: homeWithPlan() });
      expect([short.code, short.out, short.err]).toEqual([
        1,
        "",
        "Ollama Cloud: its usage cannot be read now\n",
      ]);
      const { err } = await quota(["--json", "--verbose"], { HOME: homeWithPlan() });
      expect(err.trim().split("\n")).toEqual(
        ["GLM Coding Plan", "OpenCode Go", "Ollama Cloud"].map(
          (provider) => `${provider}: its usage cannot be read now (its answer cannot be unpacked)`,
        ),
      );
    }
  }, 30_000);
});

describe("asking once", () => {
  test("Q3 ten at once ask each provider once, also where it is slow", async () => {
    for (const name of ["glm", "opencode", "ollama"] as const) {
      providers[name].answer = async (request) => {
        await Bun.sleep(name === "glm" ? 2_500 : 50);
        return well[name](request);
      };
    }
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => quota(["--json"])));
    expect(outcomes.map(({ code }) => code)).toEqual(Array.from({ length: 10 }, () => 0));
    expect(new Set(outcomes.map(({ out }) => out)).size).toBe(1);
    expect(asked()).toEqual([1, 1, 1]);
  }, 40_000);

  test("Q3 a failure is asked again sooner, a success not within ten seconds, another account at once", async () => {
    await quota(["glm"]);
    await quota(["glm"]);
    expect(asked()[0]).toBe(1);
    await quota(["ollama"]);
    await quota(["ollama"], { OLLAMA_API_KEY: "another" });
    expect(asked()[2]).toBe(2);
    // Who knows another key of one provider asks for the same account of the others.
    await quota(["glm"], { OLLAMA_API_KEY: "another", OPENCODE_GO_WORKSPACE_ID: "" });
    expect(asked()[0]).toBe(1);
    // As if it had been written so long ago.
    const age = (name: string, ms: number) => {
      const entry = JSON.parse(readFileSync(stateFile(name), "utf8")) as { at: number };
      writeFileSync(stateFile(name), JSON.stringify({ ...entry, at: entry.at - ms }));
    };
    age("glm", 9_000);
    await quota(["glm"]);
    expect(asked()[0]).toBe(1);
    age("glm", 1_500);
    await quota(["glm"]);
    expect(asked()[0]).toBe(2);
    // A time to come is a clock that was set back.
    age("glm", -60_000);
    await quota(["glm"]);
    expect(asked()[0]).toBe(3);
    providers.opencode.answer = () => new Response("", { status: 500 });
    await quota(["go"]);
    await quota(["go"]);
    expect(asked()[1]).toBe(1);
    age("opencode", 3_500);
    await quota(["go"]);
    expect(asked()[1]).toBe(2);
  }, 30_000);

  test("Q3 Q6 what is kept is payload and time, for its owner alone; whatever else lies there is passed over", async () => {
    await quota([]);
    for (const name of ["glm", "opencode", "ollama"]) {
      expect(statSync(stateFile(name)).mode & 0o777).toBe(0o600);
      const text = readFileSync(stateFile(name), "utf8");
      for (const key of Object.values(KEYS)) expect(text).not.toContain(key);
    }
    for (const broken of [
      "",
      "{",
      "null",
      '{"v":1}',
      '{"v":1,"at":9e15,"of":"x","section":{"kind":"success"}}',
    ]) {
      writeFileSync(stateFile("glm"), broken);
      expect((await quota(["glm"])).out).toContain("35%");
    }
    // A newer release's file is read by that alone, and stays.
    const newer = JSON.stringify({ v: 2, at: 1, of: "x", section: {} });
    writeFileSync(stateFile("glm"), newer);
    expect((await quota(["glm"])).out).toContain("35%");
    expect(readFileSync(stateFile("glm"), "utf8")).toBe(newer);
    expect(
      readdirSync(join(home, ".local", "state", "zcode-acp")).filter((name) => name.endsWith(".lock")),
    ).toEqual([]);
  }, 30_000);

  test("Q3 a disk that takes nothing keeps nobody from knowing", async () => {
    mkdirSync(join(home, ".local"), { recursive: true });
    writeFileSync(join(home, ".local", "state"), "a file in the place of a folder");
    const { code, out } = await quota([]);
    expect(code).toBe(0);
    expect(out).toContain("35%");
    expect((await quota(["--line"])).code).toBe(1);
    await until(
      "nobody asks behind any more",
      15_000,
      async () => (await markedPids(`HOME=${home}`)).length === 0,
    );
    // What cannot be kept is not asked for behind: each prompt of a shell would ask anew.
    expect(asked()).toEqual([1, 1, 1]);
  });

  test("Q3 a holder that died while it asked keeps nobody waiting", async () => {
    providers.glm.answer = () => new Promise<Response>(() => {});
    const child = Bun.spawn([BINARY, "quota", "glm"], {
      env,
      stdin: "ignore",
      stdout: "ignore",
      stderr: "ignore",
    });
    await until("the first has asked", 10_000, () => providers.glm.requests.length > 0);
    child.kill("SIGKILL");
    await child.exited;
    providers.glm.answer = well.glm;
    const started = performance.now();
    expect((await quota(["glm"])).out).toContain("35%");
    expect(performance.now() - started).toBeLessThan(5_000);
  }, 20_000);
});

describe("the hub", () => {
  test("Q3 R28 is asked first where there is one, and one that is slow, wrong or not there is passed over", async () => {
    const { out } = await quota(["--json"]);
    const seen: (string | null)[] = [];
    let answer: () => Response | Promise<Response> = () =>
      Response.json({
        ...(JSON.parse(out) as Json),
        extra: 1,
        glm: { kind: "success", level: "hub", items: [] },
      });
    const hub = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch(request) {
        seen.push(request.headers.get("authorization"));
        return answer();
      },
    });
    try {
      const more = { ZCODE_ACP_HUB_PORT: String(hub.port), ZCODE_ACP_REMOTE_TOKEN: "hub-token-0123456789" };
      expect((await quota([], more)).out).toContain("· hub");
      expect(seen).toEqual(["Bearer hub-token-0123456789"]);
      // One that only hangs costs next to nothing: the provider is asked in its place.
      const came: number[] = [];
      answer = () => {
        came.push(performance.now());
        return new Promise<Response>(() => {});
      };
      providers.glm.answer = (request) => {
        came.push(performance.now());
        return well.glm(request);
      };
      expect((await quota(["glm"], { ...more, HOME: homeWithPlan() })).out).toContain("· pro");
      expect(came).toHaveLength(2);
      expect(came[1]! - came[0]!).toBeLessThan(500);
      // Who is not set up there is left out, as here.
      const none = { kind: "not_configured" };
      answer = () =>
        Response.json({ ...(JSON.parse(out) as Json), opencode: none, ollama: none, extra: undefined });
      const few = await quota([], more);
      expect([few.code, few.err]).toEqual([0, ""]);
      expect(few.out).not.toMatch(/OpenCode|Ollama/);
      for (const other of [
        () => new Response("", { status: 502 }),
        () => new Response("<html>"),
        () => Response.json({ glm: {} }),
        () => new Promise<Response>(() => {}),
      ]) {
        answer = other;
        const outcome = await quota([], more);
        expect(outcome.out).toContain("· pro");
        expect(outcome.out + outcome.err).not.toContain("hub-token");
      }
      // Nobody sends a token that is not set.
      const before = seen.length;
      await quota([], { ZCODE_ACP_HUB_PORT: String(hub.port) });
      expect(seen.length).toBe(before);
    } finally {
      await hub.stop(true);
    }
    expect((await quota([], { ZCODE_ACP_HUB_PORT: "1", ZCODE_ACP_REMOTE_TOKEN: "t" })).out).toContain(
      "· pro",
    );
  }, 30_000);
});

describe("the line", () => {
  test("Q5 prints what was known last, at once, and asks behind", async () => {
    const first = await quota(["--line"]);
    expect([first.code, first.out]).toEqual([1, ""]);
    // The one behind it has asked by and by.
    await until("the numbers are there", 15_000, () => existsSync(stateFile("refreshed")));
    await until(
      "the one behind has ended",
      15_000,
      async () => (await markedPids(`HOME=${home}`)).length === 0,
    );
    expect((await quota(["--line"])).out).toBe("5h 35% · Week 12%\n");
    expect((await quota(["ollama", "--line"])).out).toBe("5h 31% · Week 68%\n");
    expect((await quota(["--line", "--warn-at", "30"])).code).toBe(3);
    // What the line does not show is above it, and does not count.
    expect((await quota(["--line", "--warn-at", "60"])).code).toBe(0);
    expect((await quota(["--warn-at", "60"])).code).toBe(3);
    expect(asked()).toEqual([1, 1, 1]);
    // Old numbers are shown while nobody answers, and new ones are asked for.
    for (const path of [stateFile("glm"), stateFile("refreshed")]) {
      const entry = JSON.parse(readFileSync(path, "utf8")) as { at: number };
      writeFileSync(path, JSON.stringify({ ...entry, at: entry.at - 3_600_000 }));
    }
    providers.glm.answer = () =>
      Response.json({ ...GLM_BODY, data: { limits: [{ type: "TOKENS_LIMIT", number: 5, percentage: 50 }] } });
    expect((await quota(["--line"])).out).toBe("5h 35% · Week 12%\n");
    await until("it was asked", 15_000, () =>
      readFileSync(stateFile("glm"), "utf8").includes('"usedPercent":50'),
    );
    expect((await quota(["--line"])).out).toBe("5h 50%\n");
    // A provider that cannot be read for a while is not taken for another one, nor for nothing.
    for (const status of [502, 429]) {
      const before = JSON.parse(readFileSync(stateFile("glm"), "utf8")) as { at: number };
      writeFileSync(stateFile("glm"), JSON.stringify({ ...before, at: before.at - 60_000 }));
      providers.glm.answer = () => new Response("", { status });
      expect((await quota(["glm"])).code).toBe(1);
      expect((await quota(["--line"])).out).toBe("5h 50%\n");
    }
    const old = JSON.parse(readFileSync(stateFile("glm"), "utf8")) as { at: number };
    writeFileSync(stateFile("glm"), JSON.stringify({ ...old, at: old.at - 60_000 }));
    providers.glm.answer = () => new Response("", { status: 401 });
    expect((await quota(["glm"])).code).toBe(1);
    expect((await quota(["glm", "--line"])).out).toBe("");
    await until(
      "nobody is behind any more",
      15_000,
      async () => (await markedPids(`HOME=${home}`)).length === 0,
    );
  }, 60_000);

  test("Q5 of the first provider that has numbers its own windows are shown, and count for --warn-at", async () => {
    const limits = [
      { type: "TOKENS_LIMIT", number: 5, percentage: 35 },
      { type: "TIME_LIMIT", percentage: 90 },
    ];
    providers.glm.answer = () => Response.json({ ...GLM_BODY, data: { limits } });
    expect((await quota(["--warn-at", "80"])).code).toBe(3);
    const line = await quota(["--line", "--warn-at", "80"]);
    expect([line.code, line.out]).toEqual([0, "5h 35%\n"]);
    // Numbers of the day before are none; the next provider's are shown.
    const age = (name: string, hours: number) => {
      const entry = JSON.parse(readFileSync(stateFile(name), "utf8")) as { at: number };
      writeFileSync(stateFile(name), JSON.stringify({ ...entry, at: entry.at - hours * 3_600_000 }));
    };
    age("glm", 25);
    const next = "5h 5% · Week 25%\n";
    expect((await quota(["--line"])).out).toBe(next);
    // Who has failed for good hides nobody, nor does what stands in the place of a kept file.
    providers.glm.answer = () => new Response("", { status: 401 });
    expect((await quota(["glm"])).code).toBe(1);
    expect((await quota(["--line"])).out).toBe(next);
    rmSync(stateFile("glm"));
    mkdirSync(stateFile("glm"));
    expect((await quota(["--line"])).out).toBe(next);
    expect((await quota(["glm", "--line"])).code).toBe(1);
  }, 30_000);

  test("Q5 Q3 asks behind only where it is due, for all, and in a process that no key typed at this terminal ends", async () => {
    await quota([]);
    rmSync(stateFile("ollama"));
    for (let time = 0; time < 3; time++) expect((await quota(["--line"])).code).toBe(0);
    const behind = () => markedPids(`HOME=${home}`);
    await until("nobody is behind", 15_000, async () => (await behind()).length === 0);
    expect(asked()).toEqual([1, 1, 1]);
    let answer!: () => void;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    providers.ollama.answer = async (request) => {
      await answered;
      return well.ollama(request);
    };
    rmSync(stateFile("refreshed"));
    expect((await quota(["--line"])).out).toBe("5h 35% · Week 12%\n");
    await until("it is asked for behind", 15_000, () => asked()[2] === 2);
    const [pid] = await behind();
    const group = Bun.spawnSync(["ps", "-o", "pgid=", "-p", String(pid)]).stdout.toString();
    expect(Number(group)).toBe(pid!);
    answer();
    await until("it has ended", 15_000, async () => (await behind()).length === 0);
    expect(existsSync(stateFile("ollama"))).toBe(true);
  }, 60_000);

  test("Q5 Q3 where files were given a time in whole seconds, it tells accounts apart all the same", async () => {
    const config = join(home, ".zcode", "v2", "config.json");
    const text = readFileSync(config, "utf8");
    utimesSync(config, 1_790_000_000, 1_790_000_000);
    expect((await quota(["glm"])).code).toBe(0);
    expect((await quota(["glm", "--line"])).out).toBe("5h 35% · Week 12%\n");
    // Who asks behind it would ask with the other key, and keep what it was told.
    await until(
      "nobody is behind any more",
      15_000,
      async () => (await markedPids(`HOME=${home}`)).length === 0,
    );
    const other = `${config}.other`;
    writeFileSync(other, text.replace(KEYS.glm, KEYS.glm.replace(/.$/, "x")));
    utimesSync(other, 1_790_000_000, 1_790_000_000);
    renameSync(other, config);
    expect((await quota(["glm", "--line"])).out).toBe("");
    await until(
      "nobody is behind any more",
      15_000,
      async () => (await markedPids(`HOME=${home}`)).length === 0,
    );
  }, 60_000);
});

describe("secrets", () => {
  test("Q6 D8 no key is in any output, log or file, whatever goes wrong", async () => {
    const echo = (request: Request) =>
      new Response(`${request.headers.get("authorization")} ${request.headers.get("cookie")}`, {
        status: 500,
      });
    const said: string[] = [];
    const named = (msg: string) => () => Response.json({ success: false, msg });
    for (const answer of [
      echo,
      named(`bad key ${KEYS.glm}`),
      named(`invalid api key ${KEYS.glm}`),
      named(`too many requests of ${KEYS.glm}`),
    ]) {
      for (const name of ["glm", "opencode", "ollama"] as const) providers[name].answer = answer;
      for (const args of [
        [],
        ["--verbose"],
        ["--json", "--verbose"],
        ["glm", "--verbose"],
        ["go", "--verbose"],
      ]) {
        const { out, err } = await quota(args, { ZCODE_ACP_DEBUG: "1" });
        said.push(out, err);
      }
      // The next is asked for anew.
      for (const name of ["glm", "opencode", "ollama"]) rmSync(stateFile(name), { force: true });
    }
    const { out, err } = await quota(["--verbose"], {
      OLLAMA_API_KEY: `${KEYS.ollama}\n`,
      OPENCODE_GO_AUTH_COOKIE: `${KEYS.cookie}é`,
      ZCODE_ACP_DEBUG: "1",
    });
    said.push(out, err);
    const state = join(home, ".local", "state", "zcode-acp");
    for (const name of readdirSync(state)) said.push(readFileSync(join(state, name), "utf8"));
    for (const key of Object.values(KEYS)) expect(said.join("\n")).not.toContain(key);
  }, 30_000);

  test("Q3 a folder that may not be written breaks nothing", async () => {
    const state = join(home, ".local", "state", "zcode-acp");
    mkdirSync(state, { recursive: true });
    chmodSync(state, 0o500);
    expect((await quota(["glm"])).out).toContain("35%");
    chmodSync(state, 0o700);
  });
});
