/** The built binary where the machine around it is not as it should be: mute programs, odd files, folders that are gone. */

import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Agent, allowAll, BINARY, installZcode, launch, within } from "../support/agent.ts";
import { alive, pidsByArguments, until } from "../support/processes.ts";
import { tempDir } from "../support/temp.ts";

const needsProc = process.platform === "linux";

let unique = 0;
/** A `sleep` that no other test or process runs. */
function sleeper(): { seconds: string; pids(): number[] } {
  const seconds = `8${process.pid}.${++unique}`;
  return { seconds, pids: () => pidsByArguments(seconds) };
}

function script(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return path;
}

function pipe(path: string): string {
  mkdirSync(dirname(path), { recursive: true });
  expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0);
  return path;
}

/** A bridge whose backend's `--version` started a child and hangs; with it, what of it still runs. */
async function withMuteVersion(kind: "program" | "node"): Promise<{ agent: Agent; left: () => number[] }> {
  const dir = tempDir("mute");
  const inside = sleeper();
  const outside = sleeper();
  const hang = `(trap '' TERM HUP; exec sleep ${outside.seconds}) & sleep ${inside.seconds}`;
  const env: Record<string, string> = {};
  if (kind === "program") {
    env.ZCODE_BIN = script(
      join(dir, "zcode"),
      `if [ "$1" = --version ]; then ${hang}; exit 0; fi\nshift 2\nexec '${BINARY}' sim "$@"`,
    );
  } else {
    writeFileSync(join(dir, "zcode.cjs"), "");
    env.ZCODE_BIN = join(dir, "zcode.cjs");
    env.ZCODE_NODE = script(join(dir, "node"), hang);
  }
  const agent = launch({ args: ["stdio"], env });
  await agent.client.initialize();
  void agent.client.newSession(agent.workspace).catch(() => {});
  await until("it hangs", 5_000, () => inside.pids().length > 0 && outside.pids().length > 0);
  const left = () => [
    ...inside.pids(),
    ...outside.pids(),
    ...pidsByArguments(join(dir, "zcode"), "--version"),
  ];
  return { agent, left };
}

describe.if(needsProc)("a program that was asked for its version and hangs", () => {
  test.each(["program", "node"] as const)("B11 the %s is gone when stdin ends", async (kind) => {
    const { agent, left } = await withMuteVersion(kind);
    agent.endInput();
    expect(await within(agent.exited, 5_000, "the end")).toBe(0);
    await until("nothing is left", 5_000, () => left().length === 0);
  });

  test.each(["program", "node"] as const)("B11 the %s is gone at SIGTERM", async (kind) => {
    const { agent, left } = await withMuteVersion(kind);
    agent.child.kill("SIGTERM");
    expect(await within(agent.exited, 5_000, "the end")).toBe(143);
    await until("nothing is left", 5_000, () => left().length === 0);
  });

  test.each(["program", "node"] as const)(
    "B11 the %s is gone after a SIGKILL of the bridge",
    async (kind) => {
      const { agent, left } = await withMuteVersion(kind);
      agent.child.kill("SIGKILL");
      await agent.exited;
      await until("nothing is left", 10_000, () => left().length === 0);
    },
  );

  test.each(["program", "node"] as const)(
    "B11 the %s is gone at its deadline, with its children",
    async (kind) => {
      const { agent, left } = await withMuteVersion(kind);
      await until("nothing is left", 15_000, () => left().length === 0);
      expect(alive(agent.child.pid)).toBe(true);
      await agent.close();
    },
    // The deadline of a program on a disk is not scaled: it is waited for in full.
    30_000,
  );

  test("B11 it goes with a doctor that is killed", async () => {
    const dir = tempDir("mute");
    const inside = sleeper();
    const bin = script(join(dir, "zcode"), `sleep ${inside.seconds}`);
    const doctor = Bun.spawn([BINARY, "doctor"], {
      env: { HOME: tempDir("home"), PATH: process.env.PATH ?? "", ZCODE_BIN: bin },
      stdout: "ignore",
      stderr: "ignore",
    });
    await until("it hangs", 5_000, () => inside.pids().length > 0);
    doctor.kill("SIGKILL");
    await doctor.exited;
    await until("nothing is left", 10_000, () => inside.pids().length === 0);
  });
});

test("D8 a program that is asked for its version gets no variable of ours, nor the editor's origin", async () => {
  const dir = tempDir("version");
  const seen = join(dir, "seen");
  const bin = script(
    join(dir, "zcode"),
    `if [ "$1" = --version ]; then env >'${seen}'; echo 0.16.9; exit 0; fi\nshift 2\nexec '${BINARY}' sim "$@"`,
  );
  const env = { ZCODE_BIN: bin, ZCODE_ACP_REMOTE_TOKEN: "hush", ZCODE_BASE_URL: "https://x.test", KEPT: "1" };
  const agent = launch({ args: ["stdio"], env });
  // A prompt is answered by a backend whose version was asked for before.
  await agent.client.prompt(await agent.start(), "text hello");
  const text = readFileSync(seen, "utf8");
  const ours = text.split("\n").filter((line) => /^ZCODE_ACP_|^ZCODE_BASE_URL/.test(line));
  expect(ours.map((line) => line.split("=")[0])).toEqual(["ZCODE_ACP_INTERNAL_TREE"]);
  expect(text).toContain("KEPT=1");
  await agent.close();
});

test("D8 the last words of a backend show no key, wherever they are cut", async () => {
  const dir = tempDir("bin");
  const secret = "Zq7Xw2Lm9Rt4Vb8Nc1Kd6Pf3";
  const line = `key sk-proj-${secret} was refused`;
  for (const cut of [0, 5, 9, 14, 20, 30, line.length]) {
    const home = tempDir("home");
    const behind = "y".repeat(4_000 - cut - 1);
    writeFileSync(join(dir, "said"), `${"first\n".repeat(900)}${line}\n${behind}`);
    const bin = script(
      join(dir, "zcode"),
      `if [ "$1" = --version ]; then echo 0.16.9; exit 0; fi\ncat '${join(dir, "said")}' >&2; exit 3`,
    );
    const agent = launch({ args: ["stdio"], home, env: { ZCODE_BIN: bin } });
    const prompt = agent.start().then((session) => agent.client.prompt(session, "text Hello"));
    const error = await prompt.catch((failure: unknown) => failure);
    expect(error).toMatchObject({ data: { code: "ZACP-103" } });
    await agent.close();
    const log = readFileSync(
      join(home, ".local", "state", "zcode-acp", `stdio-${agent.child.pid}.log`),
      "utf8",
    );
    const shown = JSON.stringify(agent.client.frames) + log;
    for (let at = 0; at + 8 <= secret.length; at++) expect(shown).not.toContain(secret.slice(at, at + 8));
    expect(shown).toContain("yyyyyyyy");
  }
});

describe.if(process.platform !== "win32")("a pipe where a file should be", () => {
  const zcode = [
    "acp-lazy-sessions.json",
    "acp-lazy-sessions.json.lock",
    "config.json",
    "provider_config.json",
    "coding-plan-cache.json",
    "setting.json",
    "tasks-index.sqlite",
  ].map((name) => join(".zcode", "v2", name));
  const places = [...zcode, join(".config", "zcode-acp", "config.json")];

  test.each(places)("B14 D3 %s: prompts are answered", async (place) => {
    const home = tempDir("home");
    pipe(join(home, place));
    const agent = launch({ home });
    const session = await within(agent.start(), 10_000, "a session");
    const answer = agent.client.prompt(session, "text Hello");
    expect((await within(answer, 10_000, "a prompt")).stopReason).toBe("end_turn");
    agent.client.notify("session/cancel", { sessionId: session });
    await agent.close();
    if (/lazy-sessions.json$|zcode-acp/.test(place)) {
      const log = join(home, ".local", "state", "zcode-acp", `stdio-${agent.child.pid}.log`);
      const lines = readFileSync(log, "utf8").match(/(?<=Z ).*not a regular file/g) ?? [];
      expect(lines.length).toBeGreaterThan(0);
      expect(new Set(lines).size).toBe(lines.length);
    }
  });

  test("D3 doctor names them and ends", async () => {
    const home = tempDir("home");
    for (const place of places) pipe(join(home, place));
    const doctor = Bun.spawn([BINARY, "doctor"], {
      env: { HOME: home, PATH: "/usr/bin:/bin", ZCODE_BIN: installZcode(tempDir("bin")) },
      stdout: "pipe",
      stderr: "ignore",
    });
    const text = await within(new Response(doctor.stdout).text(), 10_000, "doctor");
    expect(await doctor.exited).toBe(1);
    expect(text).toContain(join(home, ".config", "zcode-acp", "config.json"));
    expect(text.match(/not a regular file/g)?.length).toBeGreaterThan(1);
  });
});

test.if(needsProc)(
  "B10 a backend starts again where the folder of the bridge is gone, and the home after it",
  async () => {
    const agent = launch({ env: { ZCODE_HOME: join(tempDir("zcode"), ".zcode") } });
    await agent.start();
    for (const gone of [agent.workspace, agent.home]) {
      const session = await agent.client.newSession(tempDir("work"));
      await agent.client.prompt(session, "text one");
      rmSync(gone, { recursive: true });
      await expect(agent.client.prompt(session, "crash")).rejects.toMatchObject({
        data: { code: "ZACP-104" },
      });
      expect((await agent.client.prompt(session, "text two")).stopReason).toBe("end_turn");
    }
    await agent.close();
  },
);

/** The binary where every write to a file fails; pipes work. */
function withoutFiles(home: string, workspace: string, ...words: string[]): Agent {
  const child = Bun.spawn(["sh", "-c", `ulimit -f 0; exec '${BINARY}' "$@"`, "sh", ...words], {
    cwd: workspace,
    env: { HOME: home, PATH: process.env.PATH ?? "" },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
  return new Agent(child, home, workspace);
}

async function runSim(home: string): Promise<{ said: string; code: number }> {
  const env = { HOME: home, PATH: process.env.PATH ?? "" };
  const sim = Bun.spawn([BINARY, "sim"], { env, stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  const said = await new Response(sim.stderr).text();
  return { said, code: await sim.exited };
}

describe("a simulator that cannot keep its sessions", () => {
  test("D3 HOME is a file: it runs without a store, and says which folder it could not use", async () => {
    const home = join(tempDir("home"), "file");
    writeFileSync(home, "");
    const agent = launch({ home });
    const session = await agent.start();
    expect((await agent.client.prompt(session, "text Hello")).stopReason).toBe("end_turn");
    await agent.close();
    const { said, code } = await runSim(home);
    expect(code).toBe(0);
    expect(said).toContain(join(home, ".zcode", "sim"));
    expect(said.trim().split("\n")).toHaveLength(1);
  });

  test.if(process.platform !== "win32")(
    "D3 no file can be written at all: prompts are answered",
    async () => {
      const home = tempDir("home");
      const agent = withoutFiles(home, tempDir("work"), "stdio", "--backend", "sim");
      const session = await within(agent.start(), 10_000, "a session");
      allowAll(agent.client);
      for (const words of ["text one", "text two; bash echo three"]) {
        const answer = agent.client.prompt(session, words);
        expect((await within(answer, 10_000, "a prompt")).stopReason).toBe("end_turn");
      }
      const listed = await agent.client.request("session/list", {});
      expect(JSON.stringify(listed)).toContain(session);
      await agent.close();
      expect(readdirSync(join(home, ".zcode", "v2"))).toEqual([]);
    },
  );
});
