import { afterEach, describe, expect, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/platform/clock.ts";
import { type Child, createGuard, type Guard, killTree, spawnGroup } from "../../src/platform/process.ts";
import { WATCHDOG, WATCHDOG_NAME } from "../../src/platform/processGuard.ts";
import { bornOf, membersOf, type ProcessRow, parsePs } from "../../src/platform/processTable.ts";
import { needs } from "../support/needs.ts";
import { alive, markedPids, pidsByArguments, until } from "../support/processes.ts";
import { tempDir } from "../support/temp.ts";

const clock = systemClock();
const guards: Guard[] = [];

function guarded(): Guard {
  const guard = createGuard(clock);
  guards.push(guard);
  return guard;
}

afterEach(() => {
  for (const guard of guards.splice(0)) guard.close();
});

function start(script: string, guard: Guard = guarded(), env = process.env): Child {
  return spawnGroup({ argv: ["/bin/sh", "-c", script], cwd: "/", env }, guard);
}

/** Reads `count` lines that hold a pid each. */
async function pids(stream: ReadableStream<Uint8Array>, count: number): Promise<number[]> {
  const reader = stream.getReader();
  let text = "";
  while (text.split("\n").length <= count) {
    const { value, done } = await reader.read();
    if (done) break;
    text += new TextDecoder().decode(value);
  }
  reader.releaseLock();
  return text.split("\n").slice(0, count).map(Number);
}

async function expectGone(all: number[], ms = 1000): Promise<void> {
  await until(`processes ${all} to end`, ms, () => all.every((pid) => !alive(pid)));
}

// `setsid` of util-linux is not everywhere; perl and python are neither: bun itself starts the session.
const SETSID = join(import.meta.dir, "fixtures", "setsid.ts");
const BUN = process.execPath;
const setsid = (script: string) => `'${BUN}' '${SETSID}' wait '${script}'`;
const daemon = (script: string) => `'${BUN}' '${SETSID}' leave '${script}'`;

describe("killTree", () => {
  test("B11 a member of the group ends with its leader", async () => {
    const child = start("sleep 300 & echo $!; echo $$; wait");
    const members = await pids(child.stdout, 2);
    expect(await killTree(child)).toBe(true);
    await expectGone(members);
  });

  test("B11 a setsid child outside the group ends too", async () => {
    const child = start(`${setsid("echo $$; exec sleep 300")}; wait`);
    const [stray] = await pids(child.stdout, 1);
    expect(alive(stray!)).toBe(true);
    expect(await killTree(child)).toBe(true);
    await expectGone([stray!]);
  });

  test("B11 a double-forked daemon, whose parents are gone, ends too", async () => {
    const child = start(`${daemon("echo $$; exec sleep 300")} ; sleep 300`);
    const [orphan] = await pids(child.stdout, 1);
    expect(await killTree(child)).toBe(true);
    await expectGone([orphan!]);
  });

  test("B11 a child that cleared its environment and left the group is found by its parents", async () => {
    const child = start(`${setsid('exec env -i /bin/sh -c "echo \\$\\$; exec sleep 300"')} ; sleep 300`);
    const [stray] = await pids(child.stdout, 1);
    expect(await killTree(child)).toBe(true);
    await expectGone([stray!]);
  });

  test("B11 processes that ignore SIGTERM and the end of stdin are killed after the grace", async () => {
    const child = start(
      `trap '' TERM HUP INT; ${setsid('trap "" TERM HUP INT; echo $$; while :; do sleep 1; done')} & echo $$; while :; do sleep 1; done`,
    );
    const all = await pids(child.stdout, 2);
    const began = performance.now();
    expect(await killTree(child)).toBe(true);
    expect(performance.now() - began).toBeLessThan(900);
    await expectGone(all);
  });

  test("B11 a leader that ends by itself takes what it left behind along", async () => {
    let exits = 0;
    const child = spawnGroup(
      {
        argv: ["/bin/sh", "-c", `${daemon("echo $$; exec sleep 300")} ; exit 7`],
        cwd: "/",
        env: process.env,
        onExit: () => exits++,
      },
      guarded(),
    );
    const [stray] = await pids(child.stdout, 1);
    expect(await child.exited).toEqual({ code: 7, signal: null });
    await expectGone([stray!]);
    expect(exits).toBe(1);
  });

  test("B11 a leader that obeys is not waited for longer than it takes", async () => {
    const child = start("cat >/dev/null");
    const began = performance.now();
    expect(await killTree(child)).toBe(true);
    expect(performance.now() - began).toBeLessThan(200);
    expect(await killTree(child)).toBe(true);
  });

  test("B11 strangers and neighbouring trees are not harmed", async () => {
    const stranger = Bun.spawn(["sleep", "300"], { detached: true });
    const guard = guarded();
    const neighbour = start(`${setsid("echo $$; exec sleep 300")} ; sleep 300`, guard);
    const [stray] = await pids(neighbour.stdout, 1);
    const child = start("echo $$; sleep 300", guard);
    await pids(child.stdout, 1);
    expect(await killTree(child)).toBe(true);
    expect([alive(stranger.pid), alive(neighbour.pid), alive(stray!)]).toEqual([true, true, true]);
    stranger.kill("SIGKILL");
    expect(await killTree(neighbour)).toBe(true);
  });

  test("B11 a tree inside another bridge's tree carries both markers", async () => {
    const child = start('echo "$ZCODE_ACP_INTERNAL_TREE"', guarded(), {
      ...process.env,
      ZCODE_ACP_INTERNAL_TREE: "outer-1.",
    });
    expect(await new Response(child.stdout).text()).toBe(`outer-1.,${child.tree.marker}\n`);
  });

  test("a program that does not exist is an error with its code, and no process", () => {
    expect(() => spawnGroup({ argv: ["/nowhere/zcode"], cwd: "/", env: process.env }, guarded())).toThrow(
      expect.objectContaining({ code: "ENOENT" }),
    );
  });
});

describe("the watchdog", () => {
  const FIXTURE = join(import.meta.dir, "fixtures", "spawner.ts");

  function bridge(count: number, script: string) {
    const parent = Bun.spawn([BUN, FIXTURE, String(count), script], { stdout: "pipe", stderr: "inherit" });
    const reader = parent.stdout.getReader();
    let text = "";
    const lines = async (n: number): Promise<string[]> => {
      while (text.split("\n").length <= n) {
        const { value, done } = await reader.read();
        if (done) break;
        text += new TextDecoder().decode(value);
      }
      return text.split("\n").slice(0, n);
    };
    return { parent, lines };
  }

  /** One look can miss it, in the moment when the shell that was started leaves the one that stays. */
  async function expectWatchdogGone(parent: Bun.Subprocess): Promise<void> {
    let looks = 0;
    await until("the watchdog to end", 5000, () => {
      looks = pidsByArguments(WATCHDOG_NAME, String(parent.pid)).length === 0 ? looks + 1 : 0;
      return looks >= 10;
    });
  }

  async function expectNothingLeft(parent: Bun.Subprocess, nonce: string): Promise<void> {
    await expectWatchdogGone(parent);
    expect(await markedPids(nonce)).toEqual([]);
  }

  test("B11 SIGKILL of the bridge: group, setsid child, daemon and TERM-ignorer are gone within 2 s", async () => {
    const { parent, lines } = bridge(
      1,
      [
        "trap '' TERM",
        `${setsid('trap "" TERM; echo $$; while :; do sleep 1; done')} & ${daemon("echo $$; exec sleep 300")}`,
        `${setsid('exec env -i /bin/sh -c "echo \\$\\$; exec sleep 300"')} & sleep 300 & echo $!; echo $$`,
        "while :; do sleep 1; done",
      ].join("; "),
    );
    const [nonce, ...numbers] = await lines(6);
    const all = numbers.map(Number);
    expect(all.every(alive)).toBe(true);
    const stranger = Bun.spawn(["sleep", "300"], { detached: true });
    parent.kill("SIGKILL");
    await expectGone(all, 2000);
    await expectNothingLeft(parent, nonce!);
    expect(alive(stranger.pid)).toBe(true);
    stranger.kill("SIGKILL");
  });

  test("B11 TERM, HUP and INT do not stop the watchdog", async () => {
    const { parent, lines } = bridge(1, "echo $$; exec sleep 300");
    const [nonce, leader] = await lines(2);
    // Two for a moment: the shell that leaves and the one that stays.
    const watchdog = await until("one watchdog", 2000, () => {
      const found = pidsByArguments(WATCHDOG_NAME, String(parent.pid));
      return found.length === 1 ? found[0] : undefined;
    });
    for (const signal of ["SIGTERM", "SIGHUP", "SIGINT"] as const) process.kill(watchdog, signal);
    parent.kill("SIGKILL");
    await expectGone([Number(leader)], 2000);
    await expectNothingLeft(parent, nonce!);
  });

  test("B11 a bridge killed while it spawns leaves nothing, whenever it happens", async () => {
    for (const delay of [0, 0, 0.3, 0.6, 1, 1.5, 2, 3, 5, 8]) {
      const { parent, lines } = bridge(6, `${setsid("exec sleep 300")} & exec sleep 300`);
      const [nonce] = await lines(1);
      if (delay > 0) await Bun.sleep(delay);
      parent.kill("SIGKILL");
      await parent.exited;
      await expectNothingLeft(parent, nonce!);
    }
  }, 60_000);

  test("B11 it is started anew when somebody kills it", async () => {
    const guard = guarded();
    const first = start("exec sleep 300", guard);
    let looks = 0;
    await until("no watchdog", 2000, () => {
      const found = pidsByArguments(WATCHDOG_NAME, String(process.pid));
      for (const pid of found) process.kill(pid, "SIGKILL");
      looks = found.some(alive) ? 0 : looks + 1;
      return looks >= 10;
    });
    const second = start("exec sleep 300", guard);
    await until("a new watchdog", 1000, () => pidsByArguments(WATCHDOG_NAME, String(process.pid)).length > 0);
    expect(await killTree(first)).toBe(true);
    expect(await killTree(second)).toBe(true);
  });

  test("B11 a pid that came round again is not killed", async () => {
    const stranger = Bun.spawn(["sleep", "300"], { detached: true });
    const ours = Bun.spawn(["sleep", "300"], { detached: true });
    const lines = `m ${"0".repeat(32)}\n+ ${stranger.pid} 1\n+ ${ours.pid} ${bornOf(ours.pid) ?? ""}\n`;
    const shell = Bun.spawn(["/bin/sh", "-c", `exec 3<&0; ${WATCHDOG}`], { stdin: new Blob([lines]) });
    await shell.exited;
    await expectGone([ours.pid], 2000);
    expect(alive(stranger.pid)).toBe(true);
    stranger.kill("SIGKILL");
  });

  test.skipIf(!needs("busybox"))(
    "B11 busybox alone is enough for it, as on small Linux systems",
    async () => {
      const tools = tempDir("busybox");
      const busybox = Bun.which("busybox")!;
      for (const name of ["sh", "grep", "cat", "tr", "sleep"]) symlinkSync(busybox, join(tools, name));
      const nonce = crypto.randomUUID();
      const env = { ...process.env, MARK: nonce };
      const marked = Bun.spawn(["sleep", "300"], { detached: true, env });
      const group = Bun.spawn(["sleep", "300"], { detached: true });
      const stranger = Bun.spawn(["sleep", "300"], { detached: true });
      const shell = Bun.spawn([join(tools, "sh"), "-c", `exec 3<&0; ${WATCHDOG}`], {
        stdin: new Blob([`m ${nonce}\n+ ${group.pid}\n`]),
        env: { PATH: tools },
      });
      await shell.exited;
      await expectGone([marked.pid, group.pid], 2000);
      expect(alive(stranger.pid)).toBe(true);
      stranger.kill("SIGKILL");
    },
  );

  test("B11 without anything to guard it ends quietly", async () => {
    const { parent, lines } = bridge(0, "");
    await lines(1);
    parent.kill("SIGKILL");
    await expectWatchdogGone(parent);
  });

  test("B11 closing a guard kills what is still registered", async () => {
    const guard = guarded();
    const child = start("trap '' TERM; echo $$; while :; do sleep 1; done", guard);
    const [leader] = await pids(child.stdout, 1);
    guard.close();
    await expectGone([leader!], 2000);
  });
});

describe("membersOf", () => {
  const row = (pid: number, ppid: number, pgid: number, more: Partial<ProcessRow> = {}): ProcessRow => ({
    pid,
    ppid,
    pgid,
    born: `b${pid}`,
    zombie: false,
    marked: false,
    ...more,
  });
  const root = { pid: 100, born: "b100", ended: false };
  const found = (rows: ProcessRow[], more: Partial<typeof root> = {}, known: string[] = []) =>
    membersOf(rows, { ...root, ...more }, new Set(known))
      .map((member) => member.pid)
      .sort((a, b) => a - b);

  test("B11 takes the group, the descendants and the marked, and nobody else", () => {
    const rows = [row(100, 1, 100), row(101, 1, 100), row(102, 101, 102), row(103, 1, 103, { marked: true })];
    expect(found([...rows, row(104, 103, 104), row(200, 1, 200)])).toEqual([100, 101, 102, 103, 104]);
  });

  test("B11 a leader's number that somebody else has now is left alone, with its group", () => {
    const reused = [row(100, 1, 100, { born: "later" }), row(101, 100, 100)];
    expect(found(reused)).toEqual([]);
    expect(found([row(100, 1, 100), row(101, 100, 100)], { ended: true })).toEqual([]);
  });

  test("B11 zombies do not count, their children do", () => {
    expect(found([row(100, 1, 100, { zombie: true }), row(101, 100, 101)])).toEqual([101]);
    expect(found([row(100, 1, 100, { zombie: true }), row(101, 1, 100)], { ended: true })).toEqual([101]);
  });

  test("B11 a process seen before is known by pid and birth", () => {
    expect(found([row(300, 1, 300)], {}, ["300/b300"])).toEqual([300]);
    expect(found([row(300, 1, 300, { born: "other" })], {}, ["300/b300"])).toEqual([]);
  });

  test("the rows of ps as macOS prints them", () => {
    const text = [
      "    1     0     1 Ss   Sun Nov 30 18:00:00 2025     /sbin/launchd",
      "  512     1   512 S+   Sun Nov 30 18:31:07 2025     node app-server A=b ZCODE_ACP_INTERNAL_TREE=x-1. C=d",
      "  513   512   512 Z    Sun Nov 30 18:31:08 2025     (node)",
      "  600   512   512 R    Sun Nov 30 18:31:09 2025     ps -axEww",
    ].join("\n");
    expect(parsePs(text, "x-1.", 600)).toEqual([
      { pid: 1, ppid: 0, pgid: 1, born: "Sun Nov 30 18:00:00 2025", zombie: false, marked: false },
      { pid: 512, ppid: 1, pgid: 512, born: "Sun Nov 30 18:31:07 2025", zombie: false, marked: true },
      { pid: 513, ppid: 512, pgid: 512, born: "Sun Nov 30 18:31:08 2025", zombie: true, marked: false },
    ]);
  });
});
