/** Loads and pages of short and long conversations: a tail costs the same in each, and all pages together as much as they hold. */
import { mono } from "./mono.ts";
import { INITIALIZE, median, Program, report } from "./program.ts";

const SIZES = [200, 2_000, 20_000];
const TAIL = 30;
const TAILS = 200;
const PAGE = 50;
/** All pages again, so often; what stays behind then was left by pages. */
const WALKS = 5;
const REST_MS = 3_000;

interface Measured {
  readonly tail: number;
  readonly page: number;
  readonly grown: number;
}

export async function measureHistory(argv: readonly string[], source: string, dir: string): Promise<void> {
  const results = new Map<number, Measured>();
  for (const size of SIZES) results.set(size, await measure(argv, source, dir, size));
  const few = results.get(200)!;
  for (const size of SIZES.slice(1)) {
    const many = results.get(size)!;
    report(`tail of 30 from ${size} messages`, many.tail, few.tail, "ms", size === 20_000 ? "<= 1.30" : "");
    report(`a message of all pages, of ${size}`, many.page, few.page, "µs", "linear");
  }
  console.log(
    `${"memory (PSS) left by 2,000 more pages of 20000".padEnd(46)} ${(results.get(20_000)!.grown / 1024).toFixed(1).padStart(10)} MiB`,
  );
}

async function measure(
  argv: readonly string[],
  source: string,
  dir: string,
  size: number,
): Promise<Measured> {
  const program = new Program([...argv], dir, { ZCODE_BIN: source });
  await program.ask(INITIALIZE);
  let id = 1;
  let written = Number.NaN;
  const ask = (method: string, params: Record<string, unknown>) =>
    new Promise<{ at: number; meta: { cursor: string; hasMore: boolean; replayedMessages: number } }>(
      (resolve, reject) => {
        const wanted = ++id;
        program.onLine = (line, at) => {
          const stamp = /"@(\d+\.?\d*)"/.exec(line)?.[1];
          if (stamp !== undefined) written = Number(stamp);
          if (!line.includes(`"id":${wanted}`)) return;
          const { result, error } = JSON.parse(line);
          if (error) reject(new Error(JSON.stringify(error)));
          else resolve({ at, meta: result.replayMeta });
        };
        program.send({ jsonrpc: "2.0", id: wanted, method, params: { sessionId: `h${size}`, ...params } });
      },
    );
  const load = (limit: number) =>
    ask("session/load", { cwd: dir, mcpServers: [], _meta: { zcode: { limit } } });
  await load(TAIL);
  const tails: number[] = [];
  for (let n = 0; n < TAILS; n++) {
    const { at } = await load(TAIL);
    tails.push(at - written);
  }
  const walk = async () => {
    let { meta } = await load(TAIL);
    let messages = meta.replayedMessages;
    const began = mono();
    while (meta.hasMore) {
      ({ meta } = await ask("session/load_earlier", { before: meta.cursor, limit: PAGE }));
      messages += meta.replayedMessages;
    }
    if (messages !== size + 1) throw new Error(`${messages} messages of ${size + 1}`);
    return mono() - began;
  };
  const took = await walk();
  await Bun.sleep(REST_MS);
  const before = program.pss();
  for (let n = 0; n < WALKS; n++) await walk();
  await Bun.sleep(REST_MS);
  const grown = program.pss() - before;
  await program.end();
  return { tail: median(tails), page: (took * 1000) / size, grown };
}
