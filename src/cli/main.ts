/** All command lines but the editor's: finds the command, refuses what it does not know, and says what went wrong. */
import { isatty } from "node:tty";
import { type ErrorName, errors, ProductError } from "../errors/index.ts";
import { type Language, t } from "../locale/index.ts";
import { systemClock } from "../platform/clock.ts";
import { createLog } from "../platform/log.ts";
import { resolvePaths } from "../platform/paths.ts";
import { COMMANDS, type CommandEntry, PROGRAM } from "./commands.ts";
import { BACKEND, checkFlags, flags } from "./flags.ts";
import { nearest } from "./nearest.ts";
import { print, printError } from "./print.ts";
import { COMMIT, VERSION } from "./program.ts";
import { flagRows, table, usage } from "./usage.ts";

/** Exit codes of the commands that a person runs. */
const EXIT = { problem: 1, usage: 2 } as const;

/** Words on the command line that cannot be meant. */
const USAGE_ERRORS: ReadonlySet<ErrorName> = new Set<ErrorName>([
  "unknownCommand",
  "unknownFlag",
  "unexpectedWord",
  "badFlagValue",
  "missingFlagValue",
  "badRecording",
  "flagsTogether",
  "flagNeeds",
]);

const HELP: ReadonlySet<string> = new Set(["help", "--help", "-h"]);
const VERSIONS: ReadonlySet<string> = new Set(["--version", "-v", "-V"]);
const VERSION_FLAGS = flags({
  version: { type: "boolean", alias: ["v", "V"], description: "flag.version" },
  json: { type: "boolean", description: "flag.version.json" },
});

export async function main(argv: readonly string[]): Promise<void> {
  try {
    await dispatch(argv);
  } catch (error) {
    await fail(error);
  }
}

/** Says what went wrong, and ends with the code for it. */
export async function fail(error: unknown): Promise<never> {
  const shown = error instanceof ProductError ? error : logged(error, process.env);
  await printError(shown, await language());
  process.exit(USAGE_ERRORS.has(shown.which) ? EXIT.usage : EXIT.problem);
}

/** Writes a fault of this program into the log, and gives the error that says where that lies. */
export function logged(
  fault: unknown,
  env: Readonly<Record<string, string | undefined>>,
  pid = process.pid,
): ProductError {
  const { stateDir } = resolvePaths(env, process.platform);
  const log = createLog({ dir: stateDir, name: `cli-${pid}`, clock: systemClock(), env });
  const error = fault instanceof Error ? fault : undefined;
  log.write("error", error?.stack ?? error?.message ?? typeof fault);
  return errors.internal(error?.name ?? typeof fault, stateDir);
}

/** What is said without a configuration of a command's own. Loaded where something is said. */
async function language(): Promise<Language> {
  const { loadConfig } = await import("../config/index.ts");
  return loadConfig(process.env, resolvePaths(process.env, process.platform)).language;
}

async function dispatch(argv: readonly string[]): Promise<void> {
  const [first, ...rest] = argv;
  if (first === undefined) return help([]);
  if (HELP.has(first)) return help(rest);
  if (VERSIONS.has(first) || (first === "--json" && VERSIONS.has(rest[0] ?? ""))) return version(argv);
  if (first === "--backend" || first.startsWith("--backend=")) return withBackend(argv);
  if (first.startsWith("-"))
    throw errors.unknownFlag(PROGRAM, first, nearest(first, ["--help", "--version", "--backend"]));
  // Editors append `login` to the words that start the agent.
  if (first === "stdio" && rest.at(-1) === "login") return dispatch(["login", ...rest.slice(0, -1)]);
  const command = await entryOf(first).load();
  checkFlags(rest, command.flags, command.name);
  if (rest.includes("--help") || rest.includes("-h")) return print(usage(command, await language()));
  await command.run(rest);
}

/** The flag before a command, or without one. */
async function withBackend(argv: readonly string[]): Promise<void> {
  const length = argv[0] === "--backend" ? 2 : 1;
  const flag = argv.slice(0, length);
  checkFlags(flag, BACKEND, PROGRAM);
  const [command, ...rest] = argv.slice(length);
  if (command === undefined) return isatty(0) ? help([]) : dispatch(["stdio", ...flag]);
  return dispatch(command.startsWith("-") ? [command, ...rest] : [command, ...flag, ...rest]);
}

function entryOf(name: string): CommandEntry {
  const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!entry)
    throw errors.unknownCommand(name, nearest(name, [...Object.keys(COMMANDS), "--version", "--help"]));
  return entry;
}

/** @param words what follows `help` or `--help`: a command, or nothing. */
async function help(words: readonly string[]): Promise<void> {
  const [name, ...rest] = words;
  if (name !== undefined && !name.startsWith("-")) return dispatch([name, ...rest, "--help"]);
  checkFlags(words, {}, PROGRAM);
  const reads = await language();
  const commands = Object.entries(COMMANDS).map(
    ([command, { about }]) => [command, t(about, {}, reads)] as const,
  );
  const parts = [
    t("help.head", { version: VERSION }, reads),
    table(commands),
    table(flagRows({ ...BACKEND, ...VERSION_FLAGS }, reads)),
    t("help.note", {}, reads),
  ];
  await print(`${parts.join("\n\n")}\n`);
}

async function version(words: readonly string[]): Promise<void> {
  checkFlags(words, VERSION_FLAGS, PROGRAM);
  if (!words.includes("--json")) return print(`zcode-acp ${VERSION} (${COMMIT})\n`);
  const facts = {
    name: "zcode-acp",
    version: VERSION,
    commit: COMMIT,
    platform: process.platform,
    arch: process.arch,
    bun: Bun.version,
  };
  await print(`${JSON.stringify(facts)}\n`);
}
