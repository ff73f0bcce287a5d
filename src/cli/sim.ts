/** `zcode-acp sim`: a simulated app-server on stdin and stdout. */
import { writeSync } from "node:fs";
import { defineCommand } from "citty";
import { systemClock } from "../platform/clock.ts";
import { ERA_NAMES, eraOf } from "../sim/era.ts";
import { wordsHelp } from "../sim/words/list.ts";

const number = (value: unknown): number | undefined => {
  if (value === undefined || value === "") return undefined;
  const parsed = Number(value);
  if (!Number.isFinite(parsed)) throw new Error(`Not a number: ${String(value)}`);
  return parsed;
};
const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

/** What `make` gives; a flag that it cannot use ends the process with a sentence and 2. */
function orGo<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    writeSync(2, `zcode-acp sim: ${(error as Error).message}\n`);
    process.exit(2);
  }
}

/** Leaves out what was not given, since an absent option is not the same as an undefined one. */
function given<T extends object>(options: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}

export default defineCommand({
  meta: {
    name: "sim",
    description: `A simulated ZCode app-server on stdin and stdout, for tests, demos and authors of clients.

What it does is chosen by the prompt: words joined by ";". Any other prompt gets a short plain answer.

${wordsHelp()}`,
  },
  args: {
    stdio: { type: "boolean", description: "Accepted and ignored: there is no other way" },
    cwd: { type: "string", description: "Accepted and ignored, as is --surface", valueHint: "DIR" },
    surface: { type: "string", description: "Accepted and ignored", valueHint: "NAME" },
    era: { type: "string", description: `Which build it plays: ${ERA_NAMES.join(", ")}`, default: "0.16.9" },
    seed: { type: "string", description: "Ids follow from this number", valueHint: "N" },
    store: { type: "string", description: "Directory of the sessions", valueHint: "DIR" },
    "no-store": { type: "boolean", description: "Keep sessions in memory only" },
    plan: {
      type: "boolean",
      description: "No models before provider/updateAccountConfig, then account models",
    },
    "expect-key": {
      type: "string",
      description: "Account models take this key and no other",
      valueHint: "KEY",
    },
    pace: { type: "string", description: "Milliseconds between two pieces of text", valueHint: "MS" },
    script: { type: "string", description: "Play a recorded stream instead", valueHint: "FILE" },
    "evict-after": {
      type: "string",
      description: "Sessions leave memory after S idle seconds, subscribed or not",
      valueHint: "S",
    },
    residents: {
      type: "string",
      description: "Sessions in memory above which the oldest leave",
      valueHint: "N",
    },
    "slow-create": { type: "string", description: "Seconds that session/create takes", valueHint: "S" },
    "deaf-stop": { type: "boolean", description: "session/stop is answered and does nothing" },
    "deaf-v4-stop": { type: "boolean", description: "The v4 stop is accepted and does nothing" },
    "own-turn": { type: "boolean", description: "A send behind a notification's turn gets its own turn" },
    "prefix-reads": {
      type: "string",
      description: "So many reads after a resume give a part of the messages",
      valueHint: "N",
    },
    duplicates: { type: "boolean", description: "session/messages holds the model's answers twice" },
    "stuck-status": { type: "boolean", description: "The projection says running after the first turn" },
    "cut-at": {
      type: "string",
      description: "Output ends in mid-line after N characters, then exit 1",
      valueHint: "N",
    },
    "die-after": { type: "string", description: "Exit 1 after N frames", valueHint: "N" },
    doubled: { type: "boolean", description: "Every session event leaves twice" },
    reorder: { type: "boolean", description: "Every third session event trades places with the next" },
    lose: {
      type: "string",
      description: "Events of these types, or METHOD or METHOD/REASON, never leave",
      valueHint: "TYPE,…",
    },
    silent: { type: "string", description: "These methods are never answered", valueHint: "METHOD,…" },
    missing: { type: "string", description: "These methods do not exist", valueHint: "METHOD,…" },
    refuse: { type: "string", description: "These methods answer an error", valueHint: "METHOD:CODE,…" },
    slow: { type: "string", description: "These methods take S seconds", valueHint: "METHOD:S,…" },
    noise: { type: "boolean", description: "Junk on stdout before the first frame, and on stderr" },
    "fail-start": { type: "string", description: "Exit at once with this code", valueHint: "CODE" },
    stubborn: { type: "boolean", description: "Stay when stdin ends, and on SIGTERM" },
    "print-version": { type: "boolean", description: "Print the build's version and exit" },
  },
  async run({ args }) {
    if (args["print-version"]) {
      await Bun.write(Bun.stdout, `${orGo(() => eraOf(args.era)).version}\n`);
      return;
    }
    const { runSim } = await import("../sim/index.ts");
    type Options = Parameters<typeof runSim>[0];
    // citty takes `--no-store` for the negation of `store`.
    const noStore = args["no-store"] || (args.store as unknown) === false;
    orGo(() => eraOf(args.era));
    const options = orGo(() =>
      given<Options>({
        era: args.era,
        seed: number(args.seed),
        store: noStore ? false : text(args.store),
        plan: args.plan,
        expectKey: text(args["expect-key"]),
        pace: number(args.pace),
        script: text(args.script),
        evictAfter: number(args["evict-after"]),
        residents: number(args.residents),
        slowCreate: number(args["slow-create"]),
        deafStop: args["deaf-stop"],
        deafV4Stop: args["deaf-v4-stop"],
        ownTurn: args["own-turn"],
        prefixReads: number(args["prefix-reads"]),
        duplicates: args.duplicates,
        stuckStatus: args["stuck-status"],
        cutAt: number(args["cut-at"]),
        dieAfter: number(args["die-after"]),
        doubled: args.doubled,
        reorder: args.reorder,
        lose: text(args.lose)?.split(","),
        silent: text(args.silent),
        missing: text(args.missing),
        refuse: text(args.refuse),
        slow: text(args.slow),
        noise: args.noise,
        failStart: number(args["fail-start"]),
        stubborn: args.stubborn,
      }),
    );
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
