/** The commands by name, with what is needed to list them; the code of each loads when it is asked for. */
import { type ArgsDef, type CommandDef, defineCommand, runCommand } from "citty";
import { errors } from "../errors/index.ts";
import type { SentenceKey } from "../locale/index.ts";
import { BACKEND, backendOf, type Flags } from "./flags.ts";
import type { Explained } from "./usage.ts";

/** A command with its own types put away. */
export interface Command extends Explained {
  run(rawArgs: string[]): Promise<unknown>;
}

export interface CommandEntry {
  readonly about: Extract<SentenceKey, `command.${string}`>;
  load(): Promise<Command>;
}

export const PROGRAM = "zcode-acp";

export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  stdio: {
    about: "command.stdio",
    load: async () => plain("stdio", "about.stdio", BACKEND, stdio),
  },
  login: {
    about: "command.login",
    load: async () => plain("login", "about.login", BACKEND, (await import("./login.ts")).default),
  },
  doctor: {
    about: "command.doctor",
    load: async () => {
      const { default: def, FLAGS } = await import("./doctor.ts");
      return plain("doctor", "about.doctor", FLAGS, def);
    },
  },
  sim: {
    about: "command.sim",
    load: async () => {
      const { default: def, FLAGS, words } = await import("./sim.ts");
      return { ...plain("sim", "about.sim", FLAGS, def), more: words };
    },
  },
  quota: {
    about: "command.quota",
    load: async () => {
      const { default: def, FLAGS } = await import("./quota.ts");
      return plain("quota", "about.quota", FLAGS, def);
    },
  },
  serve: later("serve"),
  hub: later("hub"),
  chat: later("chat"),
};

const stdio = defineCommand({
  args: BACKEND,
  async run({ args }) {
    const { run } = await import("./stdio.ts");
    await run(backendOf(args));
  },
});

function plain<Args extends ArgsDef>(
  name: string,
  about: SentenceKey,
  flags: Flags,
  def: CommandDef<Args>,
): Command {
  return { name: `${PROGRAM} ${name}`, about, flags, run: (rawArgs) => runCommand(def, { rawArgs }) };
}

/** A command that is announced and not there yet: it says so, whatever follows it. */
function later(name: string): CommandEntry {
  return {
    about: "command.later",
    load: () => Promise.reject(errors.notBuilt(name)),
  };
}
