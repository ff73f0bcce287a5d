/**
 * `bun scripts/soak.ts [TURNS]`: many turns of every kind through the built binary and the simulator. Each request
 * must be answered once, nothing but ACP may stand on stdout, and (on Linux) the bridge must not have grown by more
 * than `GROWTH_MIB` from the first fifth to the end. Prints what it measured; exits with 1 where that is not so.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Agent, allowAll, launch, within } from "../test/support/agent.ts";
import type { Json } from "../test/support/plainClient.ts";
import { Random } from "../test/support/random.ts";
import { removeTempDirs } from "../test/support/temp.ts";

export const TURNS = 10_000;
/** What the bridge may hold more at the end than after a fifth of the turns. */
const GROWTH_MIB = 5;
/** Conversations at a time, and turns at once. */
const OPEN = 4;
/** One turn may take this long, in ms. */
const TURN_MS = 30_000;
/**
 * Rules wait so many times shorter. At 50 a stopped turn is given up as soon as a killed command lets go of its pipes,
 * and which of the two comes first is chance.
 */
const SCALE = "10";
/** How often memory is looked at; each time the bridge first comes to rest, and gives back what it took. */
const LOOKS = 20;
/** Its rules call it rest after ten seconds of their own time at most. */
const REST_MS = 1_500;
/** The least of so many looks counts: what runs beside this decides when the system gets memory back. */
const JUDGED = 5;

export interface SoakReport {
  readonly seed: number;
  readonly turns: number;
  readonly requests: number;
  readonly kinds: Readonly<Record<string, number>>;
  readonly seconds: number;
  /** The bridge's PSS in MiB, by turns done; empty where it cannot be read. */
  readonly pss: readonly { readonly turns: number; readonly mib: number }[];
  /** MiB from the first fifth to the end, each the least of some looks; NaN where memory was not looked at. */
  readonly grown: number;
  /** What was not as it must be, at most a few. */
  readonly faults: readonly string[];
}

/** Proportional set size of `pid` in MiB. */
function pssOf(pid: number): number | undefined {
  try {
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
    return Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1]) / 1024;
  } catch {
    return undefined;
  }
}

function least(looks: readonly { readonly mib: number }[]): number {
  return looks.length === 0 ? Number.NaN : Math.min(...looks.map((look) => look.mib));
}

/** Counts answers, and drops every frame once it was counted: the client must not grow either. */
class Answers {
  /** Requests that wait for theirs. */
  private readonly open = new Set<number>();
  readonly faults: string[] = [];
  asked = 0;

  constructor(private readonly agent: Agent) {
    const { client } = agent;
    const receive = client.receive.bind(client);
    client.receive = (line) => {
      receive(line);
      const frame = client.frames.at(-1);
      client.frames.length = 0;
      if (frame && !("method" in frame) && "id" in frame) this.answered(frame);
    };
  }

  /** Sends a request; resolves with its answer, or with undefined where that is an error. */
  async ask(method: string, params: Json): Promise<Json | undefined> {
    const answer = this.agent.client.request(method, params);
    this.open.add(answer.id);
    this.asked++;
    try {
      return await within(answer, TURN_MS, method);
    } catch (error) {
      this.fault(`${method}: ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    }
  }

  /** What is still without an answer. */
  end(): void {
    for (const id of this.open) this.fault(`request ${id} was never answered`);
    for (const line of this.agent.strays) this.fault(`a stray line on stdout: ${line.slice(0, 200)}`);
  }

  fault(what: string): void {
    if (this.faults.length < 20) this.faults.push(what);
  }

  private answered(frame: Json): void {
    if (!this.open.delete(frame.id as number)) this.fault(`an answer too many for request ${frame.id}`);
  }
}

type Kind = (run: Turn) => Promise<string | undefined>;

interface Turn {
  readonly random: Random;
  readonly session: string;
  /** Sends a prompt; resolves with its stop reason. */
  prompt(text: string): Promise<string | undefined>;
  cancel(): void;
}

/** How often each kind comes, and what it does; each resolves with what was wrong, if anything was. */
const KINDS: Readonly<Record<string, readonly [weight: number, run: Kind]>> = {
  text: [6, ended(({ random }) => `text ${"word ".repeat(random.int(1, 60))}`)],
  think: [4, ended(({ random }) => `think ${"thought ".repeat(random.int(1, 40))}; text done`)],
  bash: [4, ended(({ random }) => `bash seq ${random.int(1, 200)}`)],
  todo: [2, ended(() => "todo; text listed")],
  read: [4, ended(() => "read notes.txt; text read")],
  plain: [2, ended(({ random }) => `What is ${random.int(1, 99)}?`)],
  burst: [1, ended(() => "burst 200")],
  fail: [1, async (turn) => expected(await turn.prompt("hiccup; text after all"), "end_turn")],
  cancel: [
    3,
    async (turn) => {
      const stopped = turn.prompt(
        turn.random.pick(["sleep 500", "bash sleep 20", "text before; silence 500"]),
      );
      await Bun.sleep(turn.random.int(0, 30));
      turn.cancel();
      return expected(await stopped, "cancelled");
    },
  ],
};

function ended(words: (turn: Turn) => string): Kind {
  return async (turn) => expected(await turn.prompt(words(turn)), "end_turn");
}

function expected(reason: string | undefined, wanted: string): string | undefined {
  return reason === wanted ? undefined : `${reason} where ${wanted} was due`;
}

/** Each kind as often as it weighs. */
const BAG = Object.entries(KINDS).flatMap(([kind, [weight]]) => Array.from({ length: weight }, () => kind));

/**
 * Plays the turns, a few at a time in as many conversations; a conversation is closed and another opened now and then.
 * @param memory whether to look at the bridge's memory and judge it.
 */
export async function soak(turns: number, seed: number, memory: boolean): Promise<SoakReport> {
  const began = performance.now();
  const agent = launch({ sim: "--pace 0", env: { ZCODE_ACP_INTERNAL_TIME_SCALE: SCALE } });
  writeFileSync(join(agent.workspace, "notes.txt"), "one\ntwo\nthree\n");
  allowAll(agent.client);
  const answers = new Answers(agent);
  const kinds: Record<string, number> = {};
  const count = (kind: string) => {
    kinds[kind] = (kinds[kind] ?? 0) + 1;
  };
  const open = async (random: Random): Promise<string> => {
    const made = await answers.ask("session/new", { cwd: agent.workspace, mcpServers: [] });
    const session = String(made?.sessionId);
    await answers.ask("session/set_mode", {
      sessionId: session,
      modeId: random.pick(["yolo", "yolo", "build"]),
    });
    return session;
  };
  const play = async (session: string, turn: number): Promise<string> => {
    // Of its own, so that it does the same again whatever runs beside it.
    const random = new Random(seed + turn);
    const kind = random.pick(BAG);
    count(kind);
    const problem = await KINDS[kind]![1]({
      random,
      session,
      prompt: async (text) =>
        (await answers.ask("session/prompt", { sessionId: session, prompt: [{ type: "text", text }] }))
          ?.stopReason as string | undefined,
      cancel: () => agent.client.notify("session/cancel", { sessionId: session }),
    });
    if (problem !== undefined) answers.fault(`${kind}: ${problem}`);
    if (!random.chance(0.05)) return session;
    count("close and new");
    await answers.ask("session/close", { sessionId: session });
    return open(random);
  };

  await answers.ask("initialize", { protocolVersion: 1, clientCapabilities: {} });
  let sessions: string[] = [];
  for (let i = 0; i < OPEN; i++) sessions.push(await open(new Random(seed - i)));
  const pss: { turns: number; mib: number }[] = [];
  for (let done = 0; done < turns && answers.faults.length === 0; ) {
    const before = done;
    sessions = await Promise.all(sessions.map((session, i) => play(session, before + i + 1)));
    done += sessions.length;
    const step = Math.max(1, Math.floor(turns / LOOKS));
    if (!memory || (Math.floor(before / step) === Math.floor(done / step) && done < turns)) continue;
    await Bun.sleep(REST_MS);
    const mib = pssOf(agent.child.pid);
    if (mib !== undefined) pss.push({ turns: done, mib });
  }
  const code = await agent.close();
  if (code !== 0) answers.fault(`the bridge ended with ${code}`);
  answers.end();
  const early = least(pss.filter((look) => look.turns >= turns / 5).slice(0, JUDGED));
  const late = least(pss.slice(-JUDGED));
  if (late > early + GROWTH_MIB)
    answers.fault(`PSS grew from ${early.toFixed(1)} to ${late.toFixed(1)} MiB, by more than ${GROWTH_MIB}`);
  return {
    seed,
    turns,
    requests: answers.asked,
    kinds,
    seconds: (performance.now() - began) / 1000,
    pss,
    grown: late - early,
    faults: answers.faults,
  };
}

/** What was measured, for a person. */
export function told(report: SoakReport): string {
  const kinds = Object.entries(report.kinds).map(([kind, times]) => `${times} ${kind}`);
  return [
    `${report.turns} turns, ${report.requests} requests, seed ${report.seed}, ${report.seconds.toFixed(1)} s`,
    `  ${kinds.join(", ")}`,
    ...report.pss.map(
      ({ turns, mib }) => `  after ${String(turns).padStart(6)} turns: ${mib.toFixed(1)} MiB`,
    ),
    ...(Number.isNaN(report.grown)
      ? []
      : [`  from the first fifth to the end: ${report.grown.toFixed(1)} MiB`]),
    ...(report.faults.length === 0
      ? ["  each request was answered once, and nothing else stood on stdout"]
      : report.faults.map((fault) => `  FAULT: ${fault}`)),
  ].join("\n");
}

/** One that is printed, or the one that the environment asks for. */
export function someSeed(): number {
  const seed = Number(process.env.ZCODE_ACP_TEST_SEED || Math.floor(Math.random() * 1e9));
  console.log(`soak: seed ${seed} (ZCODE_ACP_TEST_SEED=${seed} plays the same turns again)`);
  return seed;
}

if (import.meta.main) {
  const turns = Number(process.argv[2] ?? TURNS);
  const seed = someSeed();
  const report = await soak(turns, seed, true);
  console.log(told(report));
  if (report.pss.length === 0) console.log("  memory: this system does not tell");
  removeTempDirs();
  process.exit(report.faults.length === 0 ? 0 : 1);
}
