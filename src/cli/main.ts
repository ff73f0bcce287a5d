/** All command lines but the editor's: finds the command, refuses what it does not know, and says what went wrong. */
import { isatty } from "node:tty";
import { errors, ProductError } from "../errors/index.ts";
import { type Language, t } from "../locale/index.ts";
import { COMMANDS, type CommandEntry } from "./commands.ts";
import { checkFlags } from "./flags.ts";
import { nearest } from "./nearest.ts";
import { print, printError } from "./print.ts";
import { COMMIT, VERSION } from "./program.ts";

const LANGUAGE: Language = "en";

/** Exit codes of the commands that a person runs. */
const EXIT = { problem: 1, usage: 2 } as const;

/** Words on the command line that name nothing. */
const USAGE_ERRORS: ReadonlySet<string> = new Set(["unknownCommand", "unknownFlag", "badFlagValue"]);

export async function main(argv: readonly string[]): Promise<void> {
  try {
    await dispatch(argv);
  } catch (error) {
    const known = error instanceof ProductError ? error : undefined;
    const shown = known ?? errors.internal(error instanceof Error ? error.name : typeof error);
    await printError(shown, LANGUAGE);
    if (!known && process.env.ZCODE_ACP_DEBUG === "1" && error instanceof Error) {
      await Bun.stderr.write(`${error.stack}\n`);
    }
    process.exit(known && USAGE_ERRORS.has(known.which) ? EXIT.usage : EXIT.problem);
  }
}

async function dispatch(argv: readonly string[]): Promise<void> {
  const [first, ...rest] = argv;
  if (first === undefined || first === "help" || first === "--help" || first === "-h") return help(rest[0]);
  if (
    first === "--version" ||
    first === "-v" ||
    first === "-V" ||
    (first === "--json" && rest[0] === "--version")
  ) {
    return version([first, ...rest]);
  }
  if (first.startsWith("-"))
    throw errors.unknownFlag(first, nearest(first, ["--help", "--version", "--json"]));
  // Editors append `login` to the words that start the agent.
  if (first === "stdio" && rest[0] === "login") return dispatch(rest);
  const entry = entryOf(first);
  const command = await entry.load();
  if (rest.includes("--help") || rest.includes("-h")) {
    const usage = await command.usage();
    return print(`${isatty(1) ? usage : Bun.stripANSI(usage)}\n`);
  }
  checkFlags(rest, command.args);
  await command.run(rest);
}

function entryOf(name: string): CommandEntry {
  const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!entry) throw errors.unknownCommand(name, nearest(name, Object.keys(COMMANDS)));
  return entry;
}

async function help(name: string | undefined): Promise<void> {
  if (name !== undefined && !name.startsWith("-")) return dispatch([name, "--help"]);
  const width = Math.max(...Object.keys(COMMANDS).map((command) => command.length));
  const rows = Object.entries(COMMANDS).map(
    ([command, { about }]) => `  ${command.padEnd(width)}  ${t(about, {}, LANGUAGE)}`,
  );
  await print(
    `${t("help.head", { version: VERSION }, LANGUAGE)}\n\n${rows.join("\n")}\n\n${t("help.tail", {}, LANGUAGE)}\n`,
  );
}

async function version(words: readonly string[]): Promise<void> {
  checkFlags(
    words.filter((word) => word !== "-v" && word !== "-V"),
    { version: { type: "boolean" }, json: { type: "boolean" } },
  );
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
