/** Refusing what a command does not know, before it runs: the parser itself lets everything pass. */
import type { ArgsDef } from "citty";
import { errors } from "../errors/index.ts";
import { nearest } from "./nearest.ts";

interface Flag {
  readonly takesValue: boolean;
  readonly options: readonly string[] | undefined;
}

/**
 * @throws ProductError for a flag or word that `args` does not define, a missing value, or one not among the options.
 */
export function checkFlags(rawArgs: readonly string[], args: ArgsDef): void {
  const flags = flagsOf(args);
  let positionals = Object.values(args).filter((arg) => arg.type === "positional").length;
  for (let i = 0; i < rawArgs.length; i++) {
    const word = rawArgs[i]!;
    if (word === "--") return;
    if (!word.startsWith("-") || word === "-") {
      if (positionals-- > 0) continue;
      throw errors.unknownFlag(word, nearest(`--${word}`, [...flags.keys()]));
    }
    const equals = word.indexOf("=");
    const name = equals < 0 ? word : word.slice(0, equals);
    const flag = flags.get(name);
    if (!flag) throw errors.unknownFlag(name, nearest(name, [...flags.keys()]));
    if (!flag.takesValue) continue;
    const value = equals < 0 ? rawArgs[++i] : word.slice(equals + 1);
    if (value === undefined) throw errors.badFlagValue(name, "", flag.options?.join(" or ") ?? "a value");
    if (flag.options && !flag.options.includes(value)) {
      throw errors.badFlagValue(name, value, flag.options.join(" or "));
    }
  }
}

function flagsOf(args: ArgsDef): Map<string, Flag> {
  const flags = new Map<string, Flag>([["--help", { takesValue: false, options: undefined }]]);
  for (const [name, arg] of Object.entries(args)) {
    if (arg.type === "positional") continue;
    const flag: Flag = {
      takesValue: arg.type === "string" || arg.type === "enum",
      options: arg.type === "enum" ? arg.options : undefined,
    };
    const aliases = "alias" in arg && arg.alias !== undefined ? [arg.alias].flat() : [];
    for (const spelling of [name, ...aliases])
      flags.set(spelling.length === 1 ? `-${spelling}` : `--${spelling}`, flag);
    if (arg.type === "boolean" && !name.startsWith("no-")) flags.set(`--no-${name}`, flag);
  }
  return flags;
}
