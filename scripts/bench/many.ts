/**
 * What an event costs where many conversations stream at once, beside what it costs where one does.
 *
 * Processor time is that of the same turns, at once in all conversations or one after the other in one, at a pace that
 * every program keeps up with: at full speed the output queues, and what is measured then is how often the collector
 * looks through that queue. Time on the clock is that of one turn in each conversation at full speed.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { mono } from "./mono.ts";
import { INITIALIZE, median, Program, report } from "./program.ts";

const CONVERSATIONS = 200;
const DELTAS = 200_000;
const PAIRS = 7;
/** Deltas a second at which processor time is taken. */
const PACE = 100_000;
/** Until the files that new conversations are noted in are written and a start's memory is given back. */
const SETTLE_MS = 2_500;
/** Before it counts: what runs often is compiled by then. */
const WARM_DELTAS = 40_000;

export async function measureMany(argv: readonly string[], source: string, dir: string): Promise<void> {
  const kinds = process.platform === "linux" ? (["cpu", "wall"] as const) : (["wall"] as const);
  for (const kind of kinds) {
    const taken: [number[], number[]] = [[], []];
    for (let pair = 0; pair < PAIRS; pair++) {
      for (const [at, count] of [CONVERSATIONS, 1].entries()) {
        // A home of its own: the others' conversations would stand in this one's files.
        const home = join(dir, `many-${kind}-${pair}-${count}`);
        mkdirSync(home);
        const rig = await conversations(argv, source, home, count);
        const took = await (kind === "cpu" ? processorTime(rig) : clockTime(rig));
        await rig.program.end();
        taken[at]?.push((took / DELTAS) * 1000);
      }
    }
    const what = `event among ${CONVERSATIONS} conversations (${kind})`;
    report(what, median(taken[0]), median(taken[1]), "us", "<= 1.15");
  }
}

/** In each answer to a prompt and nowhere else. */
const ANSWER = '"stopReason"';

interface Rig {
  readonly program: Program;
  readonly sessions: readonly string[];
  prompt(session: string | undefined, text: string): { id: number };
}

/** A bridge with so many conversations, each of which was used. */
async function conversations(
  argv: readonly string[],
  source: string,
  dir: string,
  count: number,
): Promise<Rig> {
  const program = new Program([...argv], dir, { ZCODE_BIN: source });
  await program.ask(INITIALIZE);
  let id = 1;
  const request = (method: string, params: unknown) => ({ jsonrpc: "2.0", id: ++id, method, params });
  const prompt = (sessionId: string | undefined, text: string) =>
    request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
  const sessions: string[] = [];
  for (let n = 0; n < count; n++) {
    const made = await program.ask(request("session/new", { cwd: dir, mcpServers: [] }));
    sessions.push(String(made.result?.sessionId));
  }
  // In their order, so that the source's first session is the first conversation's.
  for (const session of sessions) await program.ask(prompt(session, "warm"));
  await program.ask(prompt(sessions[0], `burst ${WARM_DELTAS}`));
  await Bun.sleep(SETTLE_MS);
  return { program, sessions, prompt };
}

/** Milliseconds of the bridge's processor time, from the first prompt to the last answer. */
async function processorTime({ program, sessions, prompt }: Rig): Promise<number> {
  const decoder = new TextDecoder();
  let parts: string[] = [];
  let answers = 0;
  let wake = () => {};
  let cut = "";
  program.onBytes = (bytes) => {
    const part = decoder.decode(bytes, { stream: true });
    parts.push(part);
    const text = cut + part;
    answers += text.split(ANSWER).length - 1;
    // An answer's mark may be cut in two; what is carried on is too short to be counted twice.
    cut = text.slice(1 - ANSWER.length);
    wake();
  };
  const used = program.cpu();
  const rounds = CONVERSATIONS / sessions.length;
  const words = `together ${DELTAS / rounds} ${sessions.length} ${PACE}`;
  for (let round = 1; round <= rounds; round++) {
    for (const session of sessions) program.send(prompt(session, words));
    while (answers < round * sessions.length) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    verified(parts.join(""), sessions, DELTAS / rounds);
    parts = [];
  }
  return program.cpu() - used;
}

/** Milliseconds from the first delta's writing to the last one's arrival, all of them as fast as they are taken. */
async function clockTime({ program, sessions, prompt }: Rig): Promise<number> {
  const parts: Uint8Array[] = [];
  const last = Buffer.from(`"w${DELTAS - 1} "`);
  const done = new Promise<number>((resolve) => {
    program.onBytes = (bytes) => {
      parts.push(bytes.slice());
      if (Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).lastIndexOf(last) >= 0)
        resolve(mono());
    };
  });
  for (const session of sessions) program.send(prompt(session, `together ${DELTAS} ${sessions.length}`));
  const ended = await done;
  const text = Buffer.concat(parts).toString();
  verified(text, sessions, DELTAS);
  return ended - Number(/"@(\d+\.\d+)"/.exec(text)?.[1]);
}

/** Throws where a delta is lost, out of order, or not its conversation's. */
function verified(text: string, sessions: readonly string[], count: number): void {
  let next = 1;
  for (const [, session, delta] of text.matchAll(/"sessionId":"([^"]+)","update":[^\n]*"text":"w(\d+) "/g)) {
    if (Number(delta) !== next || sessions[next % sessions.length] !== session)
      throw new Error(`delta ${delta} of ${session} where ${next} was due`);
    next++;
  }
  if (next !== count) throw new Error(`${next} deltas of ${count}`);
}
