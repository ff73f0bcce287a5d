/** Life and death of the built binary, of the backend under it, and of everything that one started. */

import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Agent, allowAll, installZcode, launch, within } from "../support/agent.ts";
import { RemoteError } from "../support/plainClient.ts";
import { alive, pidsByArguments, until } from "../support/processes.ts";
import { tempDir } from "../support/temp.ts";

let unique = 0;
/** A `sleep` that no other test or process runs, as words and as a command. */
function sleeper(): { seconds: string; command: string; pids(): number[] } {
  const seconds = `7${process.pid}.${++unique}`;
  return { seconds, command: `sleep ${seconds}`, pids: () => pidsByArguments(seconds) };
}

/** An agent whose backend has started a child in its group, one outside it, and one that ignores TERM. */
async function withChildren(
  options: { sim?: string } = {},
): Promise<{ agent: Agent; left: () => number[]; backend: number }> {
  const agent = launch(options);
  const session = await agent.start();
  allowAll(agent.client);
  const group = sleeper();
  const outside = sleeper();
  const deaf = sleeper();
  const script = join(agent.workspace, "deaf.sh");
  writeFileSync(script, `#!/bin/sh\ntrap '' TERM HUP INT\nwhile :; do sleep ${deaf.seconds}; done\n`, {
    mode: 0o755,
  });
  await agent.client.prompt(
    session,
    `spawn ${group.command}; spawn-setsid ${outside.command}; spawn ${script}`,
  );
  const left = () => [...group.pids(), ...outside.pids(), ...deaf.pids(), ...pidsByArguments(script)];
  await until(
    "the children run",
    5_000,
    () => group.pids().length > 0 && outside.pids().length > 0 && deaf.pids().length > 0,
  );
  const backend = backendOf(agent);
  expect(backend).toBeDefined();
  return { agent, left, backend: backend! };
}

/** The simulator's process below a bridge. */
function backendOf(agent: Agent): number | undefined {
  return pidsByArguments("sim").find((pid) => parentOf(pid) === agent.child.pid);
}

function parentOf(pid: number): number | undefined {
  try {
    return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  } catch {
    return undefined;
  }
}

const needsProc = process.platform === "linux";

describe.if(needsProc)("the end of a bridge takes all along", () => {
  // A second for the bridge's own end and two where it was killed, each with fivefold slack.
  test("B11 R2 its stdin closes: group member, setsid child and a child that ignores TERM are gone", async () => {
    const { agent, left, backend } = await withChildren();
    agent.endInput();
    expect(await within(agent.exited, 5_000, "the end")).toBe(0);
    await until("nothing is left", 5_000, () => left().length === 0 && !alive(backend));
  });

  test.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const)("B11 %s ends it with code %d and takes all along", async (signal, code) => {
    const { agent, left, backend } = await withChildren();
    agent.child.kill(signal);
    expect(await within(agent.exited, 5_000, "the end")).toBe(code);
    await until("nothing is left", 5_000, () => left().length === 0 && !alive(backend));
  });

  test("B11 a SIGKILL of the bridge leaves nothing behind", async () => {
    const { agent, left, backend } = await withChildren();
    agent.child.kill("SIGKILL");
    await agent.exited;
    await until("nothing is left", 10_000, () => left().length === 0 && !alive(backend));
  });

  test("B11 a backend that stays when its stdin ends, and at SIGTERM, does not stay", async () => {
    const { agent, left, backend } = await withChildren({ sim: "--stubborn" });
    agent.endInput();
    expect(await within(agent.exited, 5_000, "the end")).toBe(0);
    await until("nothing is left", 5_000, () => left().length === 0 && !alive(backend));
  });

  test.each([0, 2, 5, 10, 20, 40])(
    "B11 a bridge killed %d ms into its first session leaves no backend",
    async (ms) => {
      const agent = launch({ sim: `--seed ${9000 + ms}` });
      await agent.client.initialize();
      void agent.client.newSession(agent.workspace).catch(() => {});
      await Bun.sleep(ms);
      agent.child.kill("SIGKILL");
      await agent.exited;
      await until(
        "no simulator of this test is left",
        10_000,
        () => pidsByArguments("sim", String(9000 + ms)).length === 0,
      );
    },
  );

  test("B11 M9 prompts that wait at SIGTERM are answered as cancelled before the process goes", async () => {
    const agent = launch();
    const session = await agent.start();
    const running = agent.client.prompt(session, "text before; silence 60");
    await agent.client.update((update) => JSON.stringify(update).includes("before"));
    agent.child.kill("SIGTERM");
    expect((await running).stopReason).toBe("cancelled");
    await agent.exited;
  });
});

test.each(["stdin", "SIGTERM"] as const)(
  "M9 B11 prompts that wait behind a load are answered as cancelled at the end: %s",
  async (how) => {
    const first = launch();
    const session = await first.start();
    await first.client.prompt(session, "text stored");
    await first.close();
    const agent = launch({ sim: "--slow session/resume:5", home: first.home, workspace: first.workspace });
    await agent.client.initialize();
    void agent.client
      .request("session/load", { sessionId: session, cwd: agent.workspace, mcpServers: [] })
      .catch(() => {});
    const waiting = [agent.client.prompt(session, "text one"), agent.client.prompt(session, "text two")];
    if (how === "stdin") agent.endInput();
    else agent.child.kill(how);
    await within(agent.exited, 5_000, "the end");
    expect((await Promise.all(waiting)).map((answer) => answer.stopReason)).toEqual([
      "cancelled",
      "cancelled",
    ]);
  },
);

describe("a backend that dies", () => {
  test("B10 mid-turn: that prompt is an error, the next one starts a fresh backend, resumes and works", async () => {
    const agent = launch();
    const session = await agent.start();
    await agent.client.prompt(session, "text Before the crash");
    await expect(agent.client.prompt(session, "text cut; crash")).rejects.toMatchObject({
      data: { code: "ZACP-104" },
    });
    expect((await agent.client.prompt(session, "text After the crash")).stopReason).toBe("end_turn");
    expect(agent.client.text()).toContain("After the crash");
    await agent.close();
    const next = launch({ home: agent.home, workspace: agent.workspace });
    await next.client.initialize();
    await next.client.request("session/load", { sessionId: session, cwd: agent.workspace, mcpServers: [] });
    expect(next.client.text("agent_message_chunk")).toContain("Before the crash");
    expect(next.client.text("agent_message_chunk")).toContain("After the crash");
    await next.close();
  });

  test.if(needsProc)("B10 killed with SIGKILL in a turn and between turns", async () => {
    const agent = launch();
    const session = await agent.start();
    await agent.client.prompt(session, "text one");
    process.kill(backendOf(agent)!, "SIGKILL");
    await until("it is gone", 5_000, () => backendOf(agent) === undefined);
    // A prompt that was written before the bridge saw the end is cut by it, as any other; it is not sent twice.
    const cut = await agent.client.prompt(session, "text two").catch((error: unknown) => error);
    if (cut instanceof RemoteError) expect(cut).toMatchObject({ data: { code: "ZACP-104" } });
    expect((await agent.client.prompt(session, "text two")).stopReason).toBe("end_turn");
    const running = agent.client.prompt(session, "text three; silence 60");
    await agent.client.update((update) => JSON.stringify(update).includes("three"));
    process.kill(backendOf(agent)!, "SIGKILL");
    await expect(running).rejects.toMatchObject({ data: { code: "ZACP-104" } });
    expect((await agent.client.prompt(session, "text four")).stopReason).toBe("end_turn");
    await agent.close();
  });

  test("B10 a second conversation of a dead backend is resumed as well", async () => {
    const agent = launch();
    const one = await agent.start();
    const two = await agent.client.newSession(agent.workspace);
    await agent.client.prompt(one, "text one");
    await agent.client.prompt(two, "text two");
    await expect(agent.client.prompt(one, "crash")).rejects.toThrow();
    const both = await Promise.all([
      agent.client.prompt(one, "text again"),
      agent.client.prompt(two, "text again"),
    ]);
    expect(both.map((result) => result.stopReason)).toEqual(["end_turn", "end_turn"]);
    await agent.close();
  });

  test("B10 a conversation in which it dies three times in a row is set aside; the others go on, and opening it again tries anew", async () => {
    const agent = launch({ env: { ZCODE_ACP_INTERNAL_TIME_SCALE: "60" } });
    const bad = await agent.start();
    const good = await agent.client.newSession(agent.workspace);
    await agent.client.prompt(bad, "text stored");
    for (let i = 0; i < 3; i++) {
      await expect(agent.client.prompt(bad, "crash")).rejects.toMatchObject({ data: { code: "ZACP-104" } });
    }
    await expect(agent.client.prompt(bad, "text again")).rejects.toMatchObject({
      data: { code: "ZACP-207" },
    });
    await expect(
      agent.client.request("session/set_mode", { sessionId: bad, modeId: "plan" }),
    ).rejects.toMatchObject({ data: { code: "ZACP-207" } });
    expect((await agent.client.prompt(good, "text fine")).stopReason).toBe("end_turn");
    await agent.client.request("session/load", { sessionId: bad, cwd: agent.workspace, mcpServers: [] });
    expect((await agent.client.prompt(bad, "text again")).stopReason).toBe("end_turn");
    await agent.close();
  });

  test("B10 its death and its failed start stand in the log, and in debug mode on stderr", async () => {
    const agent = launch({ env: { ZCODE_ACP_DEBUG: "1" } });
    const session = await agent.start();
    await expect(agent.client.prompt(session, "text secretword; crash")).rejects.toThrow();
    expect((await agent.client.prompt(session, "text on")).stopReason).toBe("end_turn");
    await agent.close();
    const dir = join(agent.home, ".local", "state", "zcode-acp");
    const log = readdirSync(dir)
      .map((name) => readFileSync(join(dir, name), "utf8"))
      .join("");
    expect(log).toContain("the app-server ended (code 1)");
    expect(agent.stderr).toContain("the app-server ended (code 1)");
    expect(agent.stderr).toContain("started ");
    expect(log + agent.stderr).not.toContain("secretword");
  });

  test("B10 at its start: the first prompt says so with its last words, secrets masked", async () => {
    const dir = tempDir("bin");
    const path = join(dir, "zcode");
    writeFileSync(path, '#!/bin/sh\necho "no table here, apiKey=sk-verysecretvalue123456" >&2\nexit 3\n', {
      mode: 0o755,
    });
    const agent = launch({ args: ["stdio"], env: { ZCODE_BIN: path } });
    const session = await agent.start();
    const failure = (await agent.client.prompt(session, "hi").catch((error: unknown) => error)) as {
      message: string;
      data: unknown;
    };
    expect(failure).toMatchObject({ data: { code: "ZACP-103" } });
    expect(failure.message).toContain("no table here");
    expect(JSON.stringify([failure.message, failure.data])).not.toContain("verysecretvalue");
    await agent.close();
  });
});

describe("finding it", () => {
  test("A1 with an empty HOME and no ZCode, initialize and session/new work; the first prompt names what was looked for and the ways out", async () => {
    const agent = launch({ args: ["stdio"], env: { PATH: "/usr/bin:/bin" } });
    const session = await agent.start();
    const failure = (await agent.client.prompt(session, "hi").catch((error: unknown) => error)) as {
      message: string;
    };
    expect(failure).toMatchObject({ data: { code: "ZACP-101" } });
    for (const word of ["zcode on PATH", "zcode-acp doctor", "ZCODE_BIN", "--backend sim"])
      expect(failure.message).toContain(word);
    const first = await agent.client.initialize();
    expect((first.authMethods as unknown[]).length).toBeGreaterThan(0);
    await agent.close();
  });

  test("B4 a zcode on PATH is found; ZCODE_BIN comes before it", async () => {
    const dir = tempDir("bin");
    installZcode(dir);
    const agent = launch({ args: ["stdio"], env: { PATH: `${dir}:/usr/bin:/bin` } });
    const session = await agent.start();
    expect((await agent.client.prompt(session, "text found")).stopReason).toBe("end_turn");
    await agent.close();
    const wrong = launch({
      args: ["stdio"],
      env: { PATH: `${dir}:/usr/bin:/bin`, ZCODE_BIN: join(dir, "none") },
    });
    const other = await wrong.start();
    await expect(wrong.client.prompt(other, "hi")).rejects.toMatchObject({ data: { code: "ZACP-101" } });
    await wrong.close();
  });

  test("P35 a version below 0.14.8 fails the first prompt with found and needed; an unknown one is tried", async () => {
    const old = installZcode(tempDir("bin"), { version: "0.14.7" });
    const agent = launch({ args: ["stdio"], env: { ZCODE_BIN: old } });
    const session = await agent.start();
    const failure = (await agent.client.prompt(session, "hi").catch((error: unknown) => error)) as {
      message: string;
    };
    expect(failure).toMatchObject({ data: { code: "ZACP-102" } });
    expect(failure.message).toContain("0.14.7");
    expect(failure.message).toContain("0.14.8");
    await agent.close();
    for (const version of ["0.14.8", "nightly"]) {
      const bin = installZcode(tempDir("bin"), { version });
      const next = launch({ args: ["stdio"], env: { ZCODE_BIN: bin } });
      expect((await next.client.prompt(await next.start(), "text fine")).stopReason).toBe("end_turn");
      await next.close();
    }
  });

  test.each([
    ["ends at once", "exit 0"],
    ["knows no app-server", "echo unknown command app-server >&2; exit 2"],
    ["says nothing", "sleep 60"],
  ])("P35 a version that is too old is said so even where it %s", async (_, rest) => {
    const path = join(tempDir("bin"), "zcode");
    writeFileSync(path, `#!/bin/sh\n[ "$1" = --version ] && { echo 0.14.2; exit; }\n${rest}\n`, {
      mode: 0o755,
    });
    const agent = launch({ args: ["stdio"], env: { ZCODE_BIN: path } });
    const session = await agent.start();
    const failure = (await within(agent.client.prompt(session, "hi"), 10_000, "the refusal").catch(
      (error: unknown) => error,
    )) as { message: string };
    expect(failure).toMatchObject({ data: { code: "ZACP-102" } });
    expect(failure.message).toContain("0.14.2");
    await agent.close();
  });

  test.each(["0.15", "0.16.5", "0.16.9"])(
    "P35 B2 B3 the era %s holds a conversation: only what it accepts is sent",
    async (era) => {
      const agent = launch({ sim: `--era ${era}` });
      const session = await agent.start();
      allowAll(agent.client);
      expect((await agent.client.prompt(session, "think; bash echo hi; text done")).stopReason).toBe(
        "end_turn",
      );
      expect((await agent.client.prompt(session, "text again")).stopReason).toBe("end_turn");
      expect(agent.client.text()).toContain("again");
      const running = agent.client.prompt(session, "text wait; silence 60");
      await agent.client.update((update) => JSON.stringify(update).includes("wait"));
      agent.client.notify("session/cancel", { sessionId: session });
      expect((await running).stopReason).toBe("cancelled");
      expect((await agent.client.prompt(session, "text after")).stopReason).toBe("end_turn");
      await agent.close();
    },
  );
});
