/** The command itself in processes of its own: its end, its store, its faults, its recordings. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Obj } from "../../src/sim/types.ts";
import { type Child, command, ownProcess, sessionId, tempDir, workspace } from "./driver.ts";
import { FRAMES } from "./recording.ts";

const alive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

async function turnedOn(sim: Child, id: string): Promise<void> {
  await sim.call("session/subscribe", { sessionId: id, deliveryKind: "desktop-continuous" });
}

describe("the end of the process", () => {
  test("P4: the end of stdin ends it with 0, and its commands with it", async () => {
    using home = tempDir();
    await using sim = ownProcess(["--stdio"], home.path);
    const id = await sim.open(home.path, { mode: "yolo" });
    await sim.call("session/send", { sessionId: id, content: "bash echo $$\\; exec sleep 30" });
    const progress = await sim.event("tool.updated", (payload) => payload.kind === "progress");
    const pid = Number((progress.payload as Obj).pid);
    expect(alive(pid)).toBe(true);
    sim.endInput();
    expect(await sim.ended()).toBe(0);
    expect(isRunning(pid)).toBe(false);
  });

  test.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
    ["SIGHUP", 129],
  ] as const)("%s ends it with %d", async (signal, code) => {
    using home = tempDir();
    await using sim = ownProcess([], home.path);
    await sim.call("runtime/capabilities");
    sim.child.kill(signal);
    expect(await sim.ended()).toBe(code);
  });

  test("stubborn stays when stdin ends and on SIGTERM", async () => {
    using home = tempDir();
    await using sim = ownProcess(["--stubborn"], home.path);
    await sim.call("runtime/capabilities");
    sim.endInput();
    sim.child.kill("SIGTERM");
    await Bun.sleep(300);
    expect(sim.exitCode).toBeUndefined();
  });

  test("the group's end takes what spawn has left, but not what has called setsid", async () => {
    using home = tempDir();
    await using sim = ownProcess([], home.path);
    const id = await sim.open(home.path);
    await sim.prompt(id, "spawn exec sleep 60; spawn-setsid exec sleep 60");
    const [inGroup, outside] = [...sim.text().matchAll(/Left behind: (\d+)/g)].map((match) =>
      Number(match[1]),
    );
    process.kill(-sim.child.pid, "SIGKILL");
    await sim.ended();
    for (let i = 0; i < 50 && isRunning(inGroup!); i++) await Bun.sleep(20);
    expect(isRunning(inGroup!)).toBe(false);
    expect(isRunning(outside!)).toBe(true);
    process.kill(outside!, "SIGKILL");
  });

  test("crash ends it with 1, and the prompt is in the history of the next process", async () => {
    using home = tempDir();
    await using first = ownProcess([], home.path);
    const id = await first.open(home.path);
    await first.call("session/send", { sessionId: id, content: "text before; crash" });
    expect(await first.ended()).toBe(1);
    await using second = ownProcess([], home.path);
    const back = await second.call("session/resume", { sessionId: id });
    expect(JSON.stringify(back.messages)).toContain("text before; crash");
  });

  test("print-version prints the era's number on one line", () => {
    const run = (era: string) => Bun.spawnSync(command(["--print-version", "--era", era])).stdout.toString();
    expect([run("0.15"), run("3.12"), run("0.16.9")]).toEqual(["0.15.2\n", "0.16.5\n", "0.16.9\n"]);
  });

  test("help lists the words and the flags", () => {
    const help = Bun.spawnSync(command(["--help"])).stdout.toString();
    for (const word of ["background CMD", "fail KIND", "silence S", "--era", "--cut-at", "--script"]) {
      expect(help).toContain(word);
    }
  });

  test("a missing table of builtin providers ends the start with one line on stderr", async () => {
    using home = tempDir();
    await using sim = ownProcess([], home.path, {
      ZCODE_BUILTIN_PROVIDER_CONFIG_FILE: join(home.path, "none.json"),
    });
    expect(await sim.ended()).toBe(1);
    expect(sim.lines).toEqual([]);
    expect(sim.stderr.join("")).toContain("none.json");
  });
});

/** A zombie is not running. */
function isRunning(pid: number): boolean {
  if (!alive(pid)) return false;
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return alive(pid);
  }
}

describe("the store", () => {
  test("P3: a session outlives its process; seq starts anew and the log is gone", async () => {
    using home = tempDir();
    await using first = ownProcess([], home.path);
    const id = await first.open(home.path);
    await first.prompt(id, "think; text remember me");
    first.endInput();
    await first.ended();
    await using second = ownProcess([], home.path);
    for (const method of ["session/send", "session/messages", "session/read", "session/stop"]) {
      const params = method === "session/send" ? { content: "x" } : {};
      expect((await second.refused(method, { sessionId: id, ...params })).code).toBe(-32004);
    }
    const back = await second.call("session/resume", { sessionId: id, workspace: workspace(home.path) });
    expect(JSON.stringify(back.messages)).toContain("remember me");
    expect((back.runtime as Obj).eventSeq).toBe(1);
    const { events } = await second.call("session/events", { sessionId: id });
    expect((events as Obj[]).map((event) => event.type)).toEqual(["session.resumed"]);
    await turnedOn(second, id);
    await second.prompt(id, "text again");
    expect((second.events("turn.started")[0]!.payload as Obj).turnNumber).toBe(2);
  });

  test("P3: a session that nobody prompted is not stored", async () => {
    using home = tempDir();
    await using first = ownProcess([], home.path);
    const id = await first.open(home.path);
    expect(((await first.call("session/list")).sessions as Obj[]).map((row) => row.sessionId)).toEqual([id]);
    first.endInput();
    await first.ended();
    await using second = ownProcess([], home.path);
    expect(await second.refused("session/resume", { sessionId: id })).toMatchObject({
      code: -32004,
      message: `Session not found: ${id}`,
    });
    expect((await second.call("session/list")).sessions).toEqual([]);
  });

  test("B20: two processes on one store never share an id, and see each other's sessions in the list", async () => {
    using home = tempDir();
    await using a = ownProcess([], home.path);
    await using b = ownProcess([], home.path);
    const ids = await Promise.all([
      a.open(home.path),
      b.open(home.path),
      a.open(home.path),
      b.open(home.path),
    ]);
    await Promise.all([a.prompt(ids[0]!, "text a"), b.prompt(ids[1]!, "text b")]);
    expect(new Set(ids).size).toBe(4);
    const events = [...a.events(), ...b.events()].map((event) => event.eventId);
    expect(new Set(events).size).toBe(events.length);
    const rows = (await a.call("session/list", { workspace: workspace(home.path) })).sessions as Obj[];
    expect(rows.map((row) => row.sessionId)).toContain(ids[1]!);
    const stored = rows.find((row) => row.sessionId === ids[0])!;
    expect(stored).toMatchObject({ mode: "build", status: "idle", title: expect.stringMatching(/text a/i) });
    expect(stored).not.toHaveProperty("model");
  });

  test("only the process that runs a turn streams it", async () => {
    using home = tempDir();
    await using a = ownProcess([], home.path);
    const id = await a.open(home.path);
    await a.prompt(id, "text one");
    await using b = ownProcess([], home.path);
    await b.call("session/resume", { sessionId: id });
    await turnedOn(b, id);
    await a.prompt(id, "text two");
    expect(b.events()).toEqual([]);
  });

  test.each([
    ["ZCODE_DATA_BASE_DIR", "base", "base/.zcode/sim"],
    ["ZCODE_HOME", "zhome", "zhome/sim"],
    ["HOME", ".", ".zcode/sim"],
  ])("it lies under %s", async (name, value, place) => {
    using home = tempDir();
    await using sim = ownProcess([], home.path, { [name]: join(home.path, value) });
    const id = await sim.open(home.path);
    await sim.prompt(id, "hello");
    expect(readdirSync(join(home.path, place, "sessions"))).toEqual([`${id}.json`]);
  });

  test("store names another directory, no-store writes nothing", async () => {
    using home = tempDir();
    const other = join(home.path, "other");
    await using a = ownProcess(["--store", other], home.path);
    await a.prompt(await a.open(home.path), "hello");
    expect(readdirSync(join(other, "sessions"))).toHaveLength(1);
    await using b = ownProcess(["--no-store"], home.path);
    await b.prompt(await b.open(home.path), "hello");
    expect(readdirSync(home.path)).not.toContain(".zcode");
  });

  test("deleteSession and renameSession change what is stored", async () => {
    using home = tempDir();
    await using sim = ownProcess([], home.path);
    const id = await sim.open(home.path);
    await sim.prompt(id, "hello");
    const send = (type: string, payload: Obj) =>
      sim.call("v4/command", { commandId: "c", clientId: "t", sessionId: id, type, payload, issuedAt: 1 });
    await send("renameSession", { title: "Mine" });
    expect(((await sim.call("session/list")).sessions as Obj[])[0]).toMatchObject({
      title: "Mine",
      titleSource: "custom",
    });
    await send("deleteSession", {});
    expect((await sim.call("session/list")).sessions).toEqual([]);
  });
});

describe("faults", () => {
  test("evict-after puts a session out of memory, subscribed or not; a resume brings it back", async () => {
    using home = tempDir();
    await using sim = ownProcess(["--evict-after", "0.2"], home.path);
    const id = await sim.open(home.path);
    await sim.prompt(id, "text kept");
    await Bun.sleep(500);
    expect((await sim.refused("session/send", { sessionId: id, content: "x" })).code).toBe(-32004);
    const back = await sim.call("session/resume", { sessionId: id });
    expect(JSON.stringify(back.messages)).toContain("kept");
  });

  test("without the flag a subscribed session stays, and the ones used longest ago leave above the limit", async () => {
    using home = tempDir();
    await using sim = ownProcess(["--residents", "4"], home.path);
    const kept = await sim.open(home.path);
    const others: string[] = [];
    for (let i = 0; i < 4; i++) {
      const id = sessionId(await sim.call("session/create", { workspace: workspace(home.path) }));
      others.push(id);
      if (i < 3) await sim.call("session/read", { sessionId: id });
    }
    await sim.call("session/read", { sessionId: kept });
    expect((await sim.refused("session/read", { sessionId: others[0]! })).code).toBe(-32004);
    await sim.call("session/read", { sessionId: others[3]! });
  });

  test("deaf-stop answers and lets the turn run on; the v4 stop still works", async () => {
    using home = tempDir();
    await using sim = ownProcess(["--deaf-stop"], home.path);
    const id = await sim.open(home.path);
    await sim.call("session/send", { sessionId: id, content: "sleep 30" });
    await sim.event("turn.started");
    expect(await sim.call("session/stop", { sessionId: id })).toEqual({});
    await Bun.sleep(100);
    expect(sim.events("turn.completed")).toHaveLength(0);
    await sim.call("v4/command", {
      commandId: "c",
      clientId: "t",
      sessionId: id,
      type: "stop",
      payload: {},
      issuedAt: 1,
    });
    await sim.state("prompt_failed");
  });

  test("slow-create holds up everything behind it", async () => {
    using home = tempDir();
    await using sim = ownProcess(["--slow-create", "0.3"], home.path);
    const begun = performance.now();
    const made = sim.call("session/create", { workspace: workspace(home.path) });
    await sim.call("session/list");
    expect(performance.now() - begun).toBeGreaterThan(250);
    await made;
  });

  test("cut-at ends the output in mid-line, and the process", async () => {
    using home = tempDir();
    await using sim = ownProcess(["--cut-at", "6000"], home.path);
    const id = await sim.open(home.path);
    await sim.ask("session/send", { sessionId: id, content: "burst 1000" }).catch(() => {});
    expect(await sim.ended()).toBe(1);
    expect(sim.lines.join("\n").length).toBe(6000);
    expect(() => JSON.parse(sim.lines.at(-1)!)).toThrow();
  });

  test("die-after ends the process after so many frames", async () => {
    using home = tempDir();
    await using sim = ownProcess(["--die-after", "12"], home.path);
    const id = await sim.open(home.path);
    await sim.ask("session/send", { sessionId: id, content: "hello" }).catch(() => {});
    expect(await sim.ended()).toBe(1);
  });

  test("doubled and reorder change how often and when events come, not which", async () => {
    using home = tempDir();
    await using twice = ownProcess(["--doubled"], home.path);
    await twice.prompt(await twice.open(home.path), "text a b c");
    const seqs = twice.events().map((event) => event.seq);
    expect(seqs.length).toBe(2 * new Set(seqs).size);
    await using mixed = ownProcess(["--reorder"], home.path);
    await mixed.prompt(await mixed.open(home.path), "text a b c d e f g h i");
    const order = mixed.events().map((event) => event.seq as number);
    expect(order).not.toEqual([...order].sort((a, b) => a - b));
    expect(new Set(order).size).toBe(order.length);
  });

  test("lose drops events of a type", async () => {
    using home = tempDir();
    await using sim = ownProcess(["--lose", "turn.completed,turn.started"], home.path);
    await sim.prompt(await sim.open(home.path), "text a");
    expect(sim.events("turn.completed").length + sim.events("turn.started").length).toBe(0);
    expect(sim.text()).toBe("a");
  });

  test("lose drops notifications too, one reason of them alone", async () => {
    using home = tempDir();
    await using sim = ownProcess(["--lose", "state.updated/prompt_completed,v4/telemetry/event"], home.path);
    const id = await sim.open(home.path);
    await sim.call("session/send", { sessionId: id, content: "text a" });
    await sim.event("session.titleUpdated", (payload) => payload.source === "generated");
    const left = sim.frames.map((frame) => String(frame.method ?? ""));
    expect(left.filter((method) => method === "state.updated")).toHaveLength(1);
    expect(left).not.toContain("v4/telemetry/event");
  });

  test("stuck-status lets the projection say running for ever", async () => {
    using home = tempDir();
    await using sim = ownProcess(["--stuck-status"], home.path);
    const id = await sim.open(home.path);
    await sim.prompt(id, "text a");
    const read = await sim.call("session/read", { sessionId: id });
    expect((read.projection as Obj).status).toBe("running");
    expect(read.runtime).not.toHaveProperty("activeTurnId");
  });

  test("a flag that cannot be used is a sentence and 2", () => {
    const run = Bun.spawnSync(command(["--era", "9"]), { stdin: "ignore" });
    expect(run.exitCode).toBe(2);
    expect(run.stderr.toString()).toContain("0.16.9");
  });

  test("silent, missing, refuse and slow are by method", async () => {
    using home = tempDir();
    const flags = [
      "--silent",
      "session/list",
      "--missing",
      "session/goal",
      "--refuse",
      "mcp/list:-32099",
      "--slow",
      "session/usage:0.2",
    ];
    await using sim = ownProcess(flags, home.path);
    void sim.ask("session/list").catch(() => {});
    expect((await sim.refused("session/goal", { sessionId: "x", action: "show" })).code).toBe(-32601);
    expect((await sim.refused("mcp/list", { workspace: workspace("/tmp") })).code).toBe(-32099);
    const begun = performance.now();
    await sim.call("session/usage", { sessionId: "x" });
    expect(performance.now() - begun).toBeGreaterThan(150);
    expect(sim.frames.some((frame) => frame.id === "t1")).toBe(false);
  });

  test("noise, and an end before anything was said", async () => {
    using home = tempDir();
    await using noisy = ownProcess(["--noise"], home.path);
    await noisy.call("runtime/capabilities");
    expect(noisy.lines[0]).toBe("noise before the first frame");
    expect(noisy.stderr.length).toBeGreaterThan(0);
    await using dead = ownProcess(["--fail-start", "7"], home.path);
    expect(await dead.ended()).toBe(7);
  });

  test("prefix-reads gives a part of a restored history first; duplicates gives answers twice", async () => {
    using home = tempDir();
    await using first = ownProcess([], home.path);
    const id = await first.open(home.path, { mode: "yolo" });
    await first.prompt(id, "bash true; text one");
    first.endInput();
    await first.ended();
    await using second = ownProcess(["--prefix-reads", "1", "--duplicates"], home.path);
    await second.call("session/resume", { sessionId: id });
    const count = async () =>
      ((await second.call("session/messages", { sessionId: id })).messages as Obj[]).length;
    const [part, whole] = [await count(), await count()];
    expect(part).toBeLessThan(whole);
    expect(whole).toBe(await count());
    const rows = (await second.call("session/messages", { sessionId: id })).messages as {
      info: Obj;
      parts: unknown[];
    }[];
    const ids = rows.map((row) => row.info.id);
    expect(new Set(ids).size).toBeLessThan(ids.length);
  });
});

describe("script", () => {
  test("it plays a recording to a client that speaks with ids of its own", async () => {
    using home = tempDir();
    await using sim = ownProcess(["--script", join(FRAMES, "02-text-turn.jsonl")], home.path, {
      ZCODE_ACP_INTERNAL_TIME_SCALE: "20",
    });
    await sim.call("provider/updateAccountConfig", {});
    const made = await sim.call("session/create", {});
    const id = sessionId(made);
    await sim.call("session/subscribe", { sessionId: id });
    await sim.prompt(id, "anything");
    expect(sim.text()).toContain("goods a buyer");
    await sim.call("session/read", { sessionId: id });
    await sim.call("session/usage", { sessionId: id });
    await sim.prompt(id, "anything else");
    sim.endInput();
    expect(await sim.ended()).toBe(0);
  });

  test("it says what it waited for when stdin ends before", async () => {
    using home = tempDir();
    await using sim = ownProcess(["--script", join(FRAMES, "17-catalogues.jsonl")], home.path);
    sim.endInput();
    expect(await sim.ended()).toBe(1);
    expect(sim.stderr.join("")).toContain("mcp/list");
  });
});

test("burst with a reader that is slow to read waits for it", async () => {
  using home = tempDir();
  mkdirSync(join(home.path, "w"));
  writeFileSync(join(home.path, "w", "x"), "");
  await using sim = ownProcess([], home.path);
  const id = await sim.open(home.path);
  const begun = performance.now();
  await sim.prompt(id, "burst 50000");
  expect(sim.text().split(" ").length).toBe(50_001);
  expect(performance.now() - begun).toBeLessThan(5000);
});
