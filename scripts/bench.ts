/**
 * `bun scripts/bench.ts`: the built binary beside the programs that it is measured against, in one run. What counts
 * are ratios of medians; nothing here is asserted. What was reached is kept in `bench.md`.
 */
import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { benchFolder, crowdedFolder } from "./bench/folder.ts";
import { measureHistory } from "./bench/history.ts";
import { measureMany } from "./bench/many.ts";
import { measureMemory } from "./bench/memory.ts";
import { mono } from "./bench/mono.ts";
import { INITIALIZE, median, Program, quantile, report } from "./bench/program.ts";
import { measureQuota } from "./bench/quota.ts";

const ROOT = join(import.meta.dir, "..");
const dir = benchFolder(join(ROOT, "dist"));
// A copy, as new as what it is compared with: how the system holds a file in memory is a fifth of a start.
const BINARY = join(dir, "zcode-acp");
copyFileSync(join(ROOT, "dist", "zcode-acp"), BINARY);
const CROWD = 10_000;
let crowd: string | undefined;
/** Below a folder of so many entries. */
const crowded = () => (crowd ??= crowdedFolder(dir, CROWD));
const only = process.argv.slice(2);
const wanted = (name: string) => only.length === 0 || only.includes(name);

function compile(name: string): string {
  const out = join(dir, name);
  const built = Bun.spawnSync(
    [process.execPath, "build", "--compile", join(import.meta.dir, "bench", `${name}.ts`), "--outfile", out],
    { cwd: ROOT, stdout: "ignore", stderr: "pipe" },
  );
  if (built.exitCode !== 0) throw new Error(built.stderr.toString());
  return out;
}

async function start(argv: readonly string[], cwd: string): Promise<number> {
  const began = mono();
  const program = new Program(argv, cwd);
  await program.ask(INITIALIZE);
  const took = mono() - began;
  await program.end();
  return took;
}

/** Proportional set size in MiB once the program is idle. */
async function idle(argv: readonly string[]): Promise<number> {
  const program = new Program(argv, dir);
  await program.ask(INITIALIZE);
  await Bun.sleep(3000);
  const size = program.pss();
  await program.end();
  return size / 1024;
}

/** A bridge with one conversation, or a relay in front of the same source; `prompt` starts one turn. */
interface Rig {
  readonly program: Program;
  prompt(text: string): void;
}

let id = 100;
async function bridgeRig(source: string): Promise<Rig> {
  const program = new Program([BINARY, "stdio"], dir, { ZCODE_BIN: source });
  await program.ask(INITIALIZE);
  const made = await program.ask({
    jsonrpc: "2.0",
    id: ++id,
    method: "session/new",
    params: { cwd: dir, mcpServers: [] },
  } as { id: number });
  const sessionId = made.result?.sessionId;
  const prompt = (text: string) => ({
    jsonrpc: "2.0",
    id: ++id,
    method: "session/prompt",
    params: { sessionId, prompt: [{ type: "text", text }] },
  });
  await program.ask(prompt("warm"));
  return { program, prompt: (text) => program.send(prompt(text)) };
}

async function relayRig(relay: string, source: string): Promise<Rig> {
  const program = new Program([relay, source], dir);
  await program.ask({ id: ++id, method: "session/create", params: {} } as { id: number });
  return {
    program,
    prompt: (text) =>
      program.send({ id: ++id, method: "session/send", params: { content: text, inputId: "i" } }),
  };
}

/** Deltas a second until the last byte of the last one is out; throws where one is lost, joined or out of order. */
async function burst(rig: Rig, count: number): Promise<number> {
  const parts: Uint8Array[] = [];
  const last = new TextEncoder().encode(`w${count - 1} `);
  const done = new Promise<number>((resolve) => {
    rig.program.onBytes = (bytes) => {
      parts.push(bytes.slice());
      if (Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).lastIndexOf(last) >= 0)
        resolve(mono());
    };
  });
  const began = mono();
  rig.prompt(`burst ${count}`);
  const took = (await done) - began;
  rig.program.onBytes = undefined;
  const text = Buffer.concat(parts).toString();
  let next = 0;
  for (const match of text.matchAll(/"(?:text|delta)":"w(\d+) "/g)) {
    if (Number(match[1]) !== next++) throw new Error(`delta ${match[1]} where ${next - 1} was due`);
  }
  if (next !== count) throw new Error(`${next} deltas of ${count}`);
  return count / (took / 1000);
}

/** Milliseconds from a delta's writing at the source to its arrival here, one value a delta. */
async function latencies(rig: Rig, count: number, rate: number): Promise<number[]> {
  const values: number[] = [];
  const done = new Promise<void>((resolve) => {
    rig.program.onLine = (line, at) => {
      const sent = /"@(\d+\.\d+)"/.exec(line)?.[1];
      if (sent === undefined) return;
      values.push(at - Number(sent));
      if (values.length === count) resolve();
    };
  });
  rig.prompt(`paced ${count} ${rate}`);
  await done;
  return values;
}

/** Milliseconds from a prompt's writing here to the arrival of its send at the source. */
async function promptDelays(rig: Rig, count: number): Promise<number[]> {
  const values: number[] = [];
  for (let i = 0; i < count; i++) {
    const sent = mono();
    const arrived = await new Promise<number>((resolve) => {
      rig.program.onLine = (line) => {
        const at = /"@(\d+\.\d+)"/.exec(line)?.[1];
        if (at !== undefined) resolve(Number(at));
      };
      rig.prompt("now");
    });
    values.push(arrived - sent);
    await Bun.sleep(5);
  }
  return values;
}

try {
  console.log(`${"".padEnd(46)} ${"ours".padStart(10)} ${"other".padStart(10)}        ratio  goal`);
  const source = compile("source");
  if (wanted("start") || wanted("idle")) {
    const bare = compile("bare");
    const ours = [BINARY, "stdio"];
    if (wanted("start")) {
      for (const [what, cwd, goal] of [
        ["start to initialize answered, median of 61", dir, "<= 0.85"],
        [`the same below a folder of ${CROWD} entries`, crowded(), ""],
      ] as const) {
        const times: [number[], number[]] = [[], []];
        for (let i = 0; i < 61; i++) {
          times[0].push(await start(ours, cwd));
          times[1].push(await start([bare], cwd));
        }
        report(what, median(times[0]), median(times[1]), "ms", goal);
      }
    }
    if (wanted("idle") && process.platform === "linux") {
      const sizes: [number[], number[]] = [[], []];
      for (let i = 0; i < 3; i++) {
        sizes[0].push(await idle(ours));
        sizes[1].push(await idle([bare]));
      }
      report("idle memory (PSS), median of 3", median(sizes[0]), median(sizes[1]), "MiB", "<= 1.10");
    }
  }
  const relay = compile("relay");
  if (wanted("burst")) {
    const rates: [number[], number[]] = [[], []];
    for (let i = 0; i < 5; i++) {
      for (const [at, rig] of [await bridgeRig(source), await relayRig(relay, source)].entries()) {
        rates[at]?.push(await burst(rig, 200_000));
        await rig.program.end();
      }
    }
    report(
      "burst of 200,000 deltas, median of 5",
      median(rates[0]) / 1000,
      median(rates[1]) / 1000,
      "k/s",
      ">= 0.60",
    );
  }
  if (wanted("latency")) {
    const both: [number[], number[]] = [[], []];
    for (let i = 0; i < 3; i++) {
      for (const [at, rig] of [await bridgeRig(source), await relayRig(relay, source)].entries()) {
        both[at]?.push(...(await latencies(rig, 6_000, 2_000)));
        await rig.program.end();
      }
    }
    const [ours, other] = both;
    report("latency at 2,000/s, p50", quantile(ours, 0.5), quantile(other, 0.5), "ms", "");
    report("latency at 2,000/s, p99", quantile(ours, 0.99), quantile(other, 0.99), "ms", "");
    console.log(
      `${"added at p99".padEnd(46)} ${(quantile(ours, 0.99) - quantile(other, 0.99)).toFixed(2).padStart(10)}${"".padEnd(12)}ms             <= 2.00`,
    );
  }
  if (wanted("prompt")) {
    const both: [number[], number[]] = [[], []];
    for (let i = 0; i < 3; i++) {
      for (const [at, rig] of [await bridgeRig(source), await relayRig(relay, source)].entries()) {
        await promptDelays(rig, 400);
        both[at]?.push(...(await promptDelays(rig, 200)));
        await rig.program.end();
      }
    }
    report("prompt to first frame, warm, median of 600", median(both[0]), median(both[1]), "ms", "<= 1.20");
  }
  if (wanted("many")) await measureMany([BINARY, "stdio"], source, dir);
  if (wanted("history")) await measureHistory([BINARY, "stdio"], compile("stored"), dir);
  if (wanted("memory") && process.platform === "linux")
    await measureMemory([BINARY, "stdio"], compile("recorded"), dir);
  if (wanted("quota")) await measureQuota(BINARY, compile("line"), dir, crowded());
} finally {
  rmSync(dir, { recursive: true, force: true });
}
