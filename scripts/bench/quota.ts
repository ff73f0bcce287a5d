/** `quota`: its line beside a program that prints one, and its card beside that and the slowest answer. */
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mono } from "./mono.ts";
import { median, report } from "./program.ts";

const RUNS = 31;
/** What each provider takes to answer, in ms. */
const ANSWER_MS = 100;

const ANSWERS: Readonly<Record<string, unknown>> = {
  "/api/monitor/usage/quota/limit": {
    success: true,
    data: { limits: [{ type: "TOKENS_LIMIT", number: 5, percentage: 35 }] },
  },
  "/api/usage": { limits: { session: { usage: 0.3 } } },
  "/api/me": { Plan: "pro" },
};

/** Milliseconds that the whole process takes: a shell's prompt waits for its end. */
function whole(argv: readonly string[], env: Record<string, string>): number {
  const began = mono();
  Bun.spawnSync([...argv], { env, cwd: env.HOME ?? ".", stdin: "ignore", stdout: "pipe", stderr: "ignore" });
  return mono() - began;
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

/** @param bare a compiled program that prints one line. */
export async function measureQuota(binary: string, bare: string, dir: string): Promise<void> {
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
  const times = { bare: [] as number[], line: [] as number[], word: [] as number[], card: [] as number[] };
  await firstWord([binary, "quota"], env(kept));
  for (let n = 0; n < RUNS; n++) {
    times.bare.push(whole([bare], env(kept)));
    times.line.push(whole([binary, "quota", "--line"], env(kept)));
  }
  for (let n = 0; n < RUNS; n++) {
    times.word.push(await firstWord([bare], env(kept)));
    times.card.push(await firstWord([binary, "quota"], env(home())));
  }
  await server.stop(true);
  report(`quota --line, median of ${RUNS}`, median(times.line), median(times.bare), "ms", "<= 1.30");
  report(
    `quota, answers after ${ANSWER_MS} ms`,
    median(times.card),
    median(times.word) + ANSWER_MS,
    "ms",
    "<= 1.30",
  );
}
