/** What an event costs where many conversations stream at once, beside what it costs where one does. */
import { mono } from "./mono.ts";
import { INITIALIZE, median, Program, report } from "./program.ts";

const CONVERSATIONS = 200;
const DELTAS = 200_000;
const PAIRS = 7;
/** Before it counts: what runs often is compiled by then. */
const WARM_DELTAS = 40_000;

interface Took {
  /** Milliseconds from the first delta's writing to the last one's arrival. */
  readonly wall: number;
  /** Milliseconds of the bridge's processor time in that span. */
  readonly cpu: number;
}

export async function measureMany(argv: readonly string[], source: string, dir: string): Promise<void> {
  const taken: [Took[], Took[]] = [[], []];
  for (let pair = 0; pair < PAIRS; pair++) {
    for (const [at, count] of [CONVERSATIONS, 1].entries())
      taken[at]?.push(await stream(argv, source, dir, count));
  }
  const kinds = process.platform === "linux" ? (["cpu", "wall"] as const) : (["wall"] as const);
  for (const kind of kinds) {
    const [many, one] = taken.map((all) => median(all.map((each) => each[kind])));
    const what = `an event among ${CONVERSATIONS} conversations (${kind})`;
    report(what, ((many ?? 0) / DELTAS) * 1000, ((one ?? 0) / DELTAS) * 1000, "us", "<= 1.15");
  }
}

/** One bridge whose conversations stream together; throws where a delta is lost, or is not its conversation's. */
async function stream(argv: readonly string[], source: string, dir: string, count: number): Promise<Took> {
  const program = new Program([...argv], dir, { ZCODE_BIN: source });
  await program.ask(INITIALIZE);
  let id = 1;
  const request = (method: string, params: unknown) => ({ jsonrpc: "2.0", id: ++id, method, params });
  const sessions: string[] = [];
  for (let n = 0; n < count; n++) {
    const made = await program.ask(request("session/new", { cwd: dir, mcpServers: [] }));
    sessions.push(String(made.result?.sessionId));
  }
  const prompt = (sessionId: string | undefined, text: string) =>
    request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
  // In their order, so that the source's first session is the first conversation's.
  for (const session of sessions) await program.ask(prompt(session, "warm"));
  await program.ask(prompt(sessions[0], `burst ${WARM_DELTAS}`));

  const parts: Uint8Array[] = [];
  const last = Buffer.from(`"w${DELTAS - 1} "`);
  let ready = 0;
  let used = 0;
  const done = new Promise<number>((resolve) => {
    program.onBytes = (bytes) => {
      if (ready < count) {
        ready += Buffer.from(bytes).toString().split('"ready"').length - 1;
        if (ready === count) used = process.platform === "linux" ? program.cpu() : 0;
        return;
      }
      parts.push(bytes.slice());
      if (Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).lastIndexOf(last) >= 0)
        resolve(mono());
    };
  });
  for (const session of sessions) program.send(prompt(session, `together ${DELTAS} ${count}`));
  const ended = await done;
  const cpu = process.platform === "linux" ? program.cpu() - used : 0;
  await program.end();

  const text = Buffer.concat(parts).toString();
  const began = Number(/"@(\d+\.\d+)"/.exec(text)?.[1]);
  let next = 1;
  for (const [, session, delta] of text.matchAll(/"sessionId":"([^"]+)","update":[^\n]*"text":"w(\d+) "/g)) {
    if (Number(delta) !== next || sessions[next % count] !== session)
      throw new Error(`delta ${delta} of ${session} where ${next} was due`);
    next++;
  }
  if (next !== DELTAS) throw new Error(`${next} deltas of ${DELTAS}`);
  return { wall: ended - began, cpu };
}
