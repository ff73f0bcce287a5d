/** `quota`: its line beside a program that prints one, and its card beside that and the slowest answer. */
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mono } from "./mono.ts";
import { median, report } from "./program.ts";

const RUNS = 61;
/** What each provider takes to answer, in ms. */
const ANSWER_MS = 100;

const ANSWERS: Readonly<Record<string, unknown>> = {
  "/api/monitor/usage/quota/limit": {
    success: true,
    data: {
      limits: [
        { type: "TOKENS_LIMIT", number: 5, percentage: 35 },
        { type: "TOKENS_LIMIT", number: 7, percentage: 12 },
      ],
    },
  },
  "/api/usage": { limits: { session: { usage: 0.3 } } },
  "/api/me": { Plan: "pro" },
};

/** Milliseconds that the whole process takes: a shell's prompt waits for its end. */
function whole(argv: readonly string[], env: Record<string, string>, cwd: string): number {
  const began = mono();
  const ran = Bun.spawnSync([...argv], { env, cwd, stdin: "ignore", stdout: "pipe", stderr: "ignore" });
  const took = mono() - began;
  if (ran.exitCode !== 0 || !ran.stdout.toString().startsWith("5h 35%"))
    throw new Error(`${argv.join(" ")} printed no line`);
  return took;
}

/** Milliseconds until the program has said its first word. */
async function firstWord(argv: readonly string[], env: Record<string, string>): Promise<number> {
  const began = mono();
  const child = Bun.spawn([...argv], {
    env,
    cwd: env.HOME ?? ".",
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
  });
  await child.stdout.getReader().read();
  const took = mono() - began;
  await child.exited;
  return took;
}

/**
 * @param bare a compiled program that prints one line.
 * @param crowded a folder below one of many entries.
 */
export async function measureQuota(
  binary: string,
  bare: string,
  dir: string,
  crowded: string,
): Promise<void> {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      await Bun.sleep(ANSWER_MS);
      const { pathname } = new URL(request.url);
      if (pathname.endsWith("/go")) return new Response("rollingUsage:{usagePercent:5,resetInSec:60}");
      return Response.json(ANSWERS[pathname] ?? {});
    },
  });
  const origin = `http://127.0.0.1:${server.port}`;
  const home = () => {
    const made = mkdtempSync(join(dir, "home-"));
    mkdirSync(join(made, ".zcode", "v2"), { recursive: true });
    const provider = { "builtin:bigmodel-coding-plan": { enabled: true, options: { apiKey: "key" } } };
    writeFileSync(join(made, ".zcode", "v2", "config.json"), JSON.stringify({ provider }));
    return made;
  };
  const env = (home: string) => ({
    PATH: process.env.PATH ?? "",
    HOME: home,
    ZCODE_ACP_GLM_ORIGIN: origin,
    ZCODE_ACP_OPENCODE_ORIGIN: origin,
    ZCODE_ACP_OLLAMA_ORIGIN: origin,
    OLLAMA_API_KEY: "key",
    OPENCODE_GO_WORKSPACE_ID: "w",
    OPENCODE_GO_AUTH_COOKIE: "c",
  });
  const kept = home();
  const times = { word: [] as number[], card: [] as number[] };
  for (const [what, cwd, goal] of [
    [`quota --line, median of ${RUNS}`, kept, "<= 1.30"],
    ["the same below a crowded folder", crowded, ""],
  ] as const) {
    // The numbers are new, so that nobody asks behind the line.
    await firstWord([binary, "quota"], env(kept));
    const pairs = { bare: [] as number[], line: [] as number[] };
    for (let n = 0; n < RUNS; n++) {
      pairs.bare.push(whole([bare], env(kept), cwd));
      pairs.line.push(whole([binary, "quota", "--line"], env(kept), cwd));
    }
    report(what, median(pairs.line), median(pairs.bare), "ms", goal);
  }
  for (let n = 0; n < RUNS; n++) {
    times.word.push(await firstWord([bare], env(kept)));
    times.card.push(await firstWord([binary, "quota"], env(home())));
  }
  await server.stop(true);
  report(
    `quota, answers after ${ANSWER_MS} ms`,
    median(times.card),
    median(times.word) + ANSWER_MS,
    "ms",
    "<= 1.30",
  );
}
