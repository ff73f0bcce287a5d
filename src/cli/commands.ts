/** The commands by name, with what is needed to list them; the code of each loads when it is asked for. */
import { type ArgsDef, type CommandDef, defineCommand, renderUsage, runCommand } from "citty";
import { errors } from "../errors/index.ts";
import type { SentenceKey } from "../locale/index.ts";

/** A command with its own types put away. */
export interface Command {
  readonly args: ArgsDef;
  run(rawArgs: string[]): Promise<unknown>;
  usage(): Promise<string>;
}

export interface CommandEntry {
  readonly about: Extract<SentenceKey, `command.${string}`>;
  load(): Promise<Command>;
}

export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  stdio: { about: "command.stdio", load: async () => plain(stdio) },
  login: { about: "command.login", load: async () => plain((await import("./login.ts")).default) },
  doctor: { about: "command.doctor", load: async () => plain((await import("./doctor.ts")).default) },
  sim: { about: "command.sim", load: async () => plain((await import("./sim.ts")).default) },
  serve: later("serve"),
  hub: later("hub"),
  quota: later("quota"),
  chat: later("chat"),
};

const stdio = defineCommand({
  meta: { name: "zcode-acp stdio", description: "An ACP agent on stdin and stdout: what editors start." },
  args: {
    backend: {
      type: "enum",
      options: ["auto", "sim"],
      description: "auto finds ZCode; sim is the built-in simulator, which needs no account",
    },
  },
  async run({ args }) {
    const { run } = await import("./stdio.ts");
    await run(args.backend === "auto" || args.backend === "sim" ? { backend: args.backend } : {});
  },
});

function plain<Args extends ArgsDef>(def: CommandDef<Args>): Command {
  return {
    args: typeof def.args === "object" && !(def.args instanceof Promise) ? def.args : {},
    run: (rawArgs) => runCommand(def, { rawArgs }),
    usage: () => renderUsage(def),
  };
}

/** A command that is announced and not there yet: it says so, whatever follows it. */
function later(name: string): CommandEntry {
  return {
    about: "command.later",
    load: () => Promise.reject(errors.notBuilt(name)),
  };
}
