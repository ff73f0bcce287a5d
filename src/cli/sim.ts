/** `zcode-acp sim`: a simulated app-server on stdin and stdout. */
import { readFileSync } from "node:fs";
import { defineCommand } from "citty";
import { errors, fileProblem } from "../errors/index.ts";
import { isPhrase, type Language, phrase, said, t } from "../locale/index.ts";
import { systemClock } from "../platform/clock.ts";
import { obj, str } from "../platform/json.ts";
import { ERA_NAMES, eraOf } from "../sim/era.ts";
import type { SimOptions } from "../sim/index.ts";
import { wordsHelp } from "../sim/words/list.ts";
import { flags } from "./flags.ts";
import { writable } from "./writable.ts";

const NAME = "zcode-acp sim";

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

/** @throws ProductError where it is none. */
function number(flag: string, value: unknown): number | undefined {
  const words = text(value);
  if (words === undefined) return undefined;
  const parsed = Number(words);
  if (Number.isFinite(parsed)) return parsed;
  throw errors.badFlagValue(NAME, `--${flag}`, words, phrase("expects.number", {}));
}

/** `METHOD[:NUMBER][,…]`. @throws ProductError where it is not that. */
function methodNumbers(flag: string, value: unknown): string | undefined {
  const words = text(value);
  if (words === undefined || /^[^:,]+(:-?\d+(\.\d+)?)?(,[^:,]+(:-?\d+(\.\d+)?)?)*$/.test(words)) return words;
  throw errors.badFlagValue(NAME, `--${flag}`, words, phrase("expects.methodNumbers", {}));
}

/** Leaves out what was not given, since an absent option is not the same as an undefined one. */
function given<T extends object>(options: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}

/** @throws ProductError for files that it is told to use and cannot. */
async function check(options: SimOptions): Promise<void> {
  if (options.script !== undefined) {
    const { readScript } = await import("../sim/script.ts");
    try {
      readScript(readFileSync(options.script, "utf8"));
    } catch (error) {
      const code = str(obj(error).code);
      const problem = code
        ? phrase("problem.unreadable", { code: fileProblem(code) })
        : phrase("problem.noFrames", {});
      throw errors.badRecording(options.script, problem);
    }
    return;
  }
  // The one that nobody named may be unusable: the simulator then keeps nothing, and says so.
  if (typeof options.store !== "string" || options.failStart !== undefined) return;
  if (!writable(options.store)) throw errors.notWritable(options.store);
}

/** The words of a prompt, for the end of its help. */
export function words(language: Language): string {
  const help = wordsHelp((word) => aboutWord(word, language));
  return `${t("about.sim.words", {}, language)}\n\n${help}`;
}

/** What a word of a prompt does. */
export function aboutWord(word: string, language: Language): string {
  const about = { key: `word.${word}`, params: {} };
  return isPhrase(about) ? said(about, language) : "";
}

export const FLAGS = flags({
  stdio: { type: "boolean", description: "flag.sim.stdio" },
  cwd: { type: "string", description: "flag.sim.ignored", valueHint: "DIR" },
  surface: { type: "string", description: "flag.sim.ignored", valueHint: "NAME" },
  era: { type: "enum", options: [...ERA_NAMES], default: "0.16.9", description: "flag.sim.era" },
  seed: { type: "string", description: "flag.sim.seed", valueHint: "N" },
  store: { type: "string", description: "flag.sim.store", valueHint: "DIR" },
  "no-store": { type: "boolean", description: "flag.sim.noStore" },
  plan: { type: "boolean", description: "flag.sim.plan" },
  "expect-key": { type: "string", description: "flag.sim.expectKey", valueHint: "KEY" },
  pace: { type: "string", description: "flag.sim.pace", valueHint: "MS" },
  script: { type: "string", description: "flag.sim.script", valueHint: "FILE" },
  "evict-after": { type: "string", description: "flag.sim.evictAfter", valueHint: "S" },
  residents: { type: "string", description: "flag.sim.residents", valueHint: "N" },
  "slow-create": { type: "string", description: "flag.sim.slowCreate", valueHint: "S" },
  "deaf-stop": { type: "boolean", description: "flag.sim.deafStop" },
  "deaf-v4-stop": { type: "boolean", description: "flag.sim.deafV4Stop" },
  "own-turn": { type: "boolean", description: "flag.sim.ownTurn" },
  "prefix-reads": { type: "string", description: "flag.sim.prefixReads", valueHint: "N" },
  duplicates: { type: "boolean", description: "flag.sim.duplicates" },
  "stuck-status": { type: "boolean", description: "flag.sim.stuckStatus" },
  "cut-at": { type: "string", description: "flag.sim.cutAt", valueHint: "N" },
  "die-after": { type: "string", description: "flag.sim.dieAfter", valueHint: "N" },
  doubled: { type: "boolean", description: "flag.sim.doubled" },
  reorder: { type: "boolean", description: "flag.sim.reorder" },
  lose: { type: "string", description: "flag.sim.lose", valueHint: "TYPE,…" },
  silent: { type: "string", description: "flag.sim.silent", valueHint: "METHOD,…" },
  missing: { type: "string", description: "flag.sim.missing", valueHint: "METHOD,…" },
  refuse: { type: "string", description: "flag.sim.refuse", valueHint: "METHOD:CODE,…" },
  slow: { type: "string", description: "flag.sim.slow", valueHint: "METHOD:S,…" },
  noise: { type: "boolean", description: "flag.sim.noise" },
  "fail-start": { type: "string", description: "flag.sim.failStart", valueHint: "CODE" },
  stubborn: { type: "boolean", description: "flag.sim.stubborn" },
  "print-version": { type: "boolean", description: "flag.sim.printVersion" },
});

export default defineCommand({
  args: FLAGS,
  async run({ args }) {
    if (args["print-version"]) {
      await Bun.write(Bun.stdout, `${eraOf(args.era ?? "0.16.9").version}\n`);
      return;
    }
    const { runSim } = await import("../sim/index.ts");
    type Options = Parameters<typeof runSim>[0];
    // citty takes `--no-store` for the negation of `store`.
    const noStore = args["no-store"] || (args.store as unknown) === false;
    const options = given<Options>({
      era: args.era,
      seed: number("seed", args.seed),
      store: noStore ? false : text(args.store),
      plan: args.plan,
      expectKey: text(args["expect-key"]),
      pace: number("pace", args.pace),
      script: text(args.script),
      evictAfter: number("evict-after", args["evict-after"]),
      residents: number("residents", args.residents),
      slowCreate: number("slow-create", args["slow-create"]),
      deafStop: args["deaf-stop"],
      deafV4Stop: args["deaf-v4-stop"],
      ownTurn: args["own-turn"],
      prefixReads: number("prefix-reads", args["prefix-reads"]),
      duplicates: args.duplicates,
      stuckStatus: args["stuck-status"],
      cutAt: number("cut-at", args["cut-at"]),
      dieAfter: number("die-after", args["die-after"]),
      doubled: args.doubled,
      reorder: args.reorder,
      lose: text(args.lose)?.split(","),
      silent: text(args.silent),
      missing: text(args.missing),
      refuse: methodNumbers("refuse", args.refuse),
      slow: methodNumbers("slow", args.slow),
      noise: args.noise,
      failStart: number("fail-start", args["fail-start"]),
      stubborn: args.stubborn,
    });
    await check(options);
    await runSim(options, {
      stdin: Bun.stdin.stream(),
      sink: Bun.stdout.writer(),
      env: process.env,
      clock: systemClock(),
      exit: (code) => process.exit(code),
      stderr: (line) => void Bun.stderr.write(`${line}\n`),
      onSignal: (run) => {
        process.on("SIGTERM", () => run(143));
        process.on("SIGINT", () => run(130));
        process.on("SIGHUP", () => run(129));
      },
    });
  },
});
