/** Flags as tables, and refusing what a command does not know before it runs: the parser itself lets all pass. */
import type { ArgDef } from "citty";
import { errors } from "../errors/index.ts";
import { type Phrase, phrase, type SentenceKey } from "../locale/index.ts";
import { nearest } from "./nearest.ts";

/** The parser's own definition of a flag, its description being a sentence of the one table. */
export type Flag = ArgDef & { readonly description: SentenceKey };
export type Flags = Record<string, Flag>;

/** Flags of a command; the parser infers its types from what this gives back. */
export function flags<Defs extends Flags>(defs: Defs): Defs {
  return defs;
}

/** Which ZCode a command is about. */
export const BACKEND = flags({
  backend: { type: "enum", options: ["auto", "sim"], description: "flag.backend" },
});

/** The value of `BACKEND` as the configuration takes it. */
export function backendOf(args: { readonly backend?: string | undefined }): { backend?: "auto" | "sim" } {
  return args.backend === "auto" || args.backend === "sim" ? { backend: args.backend } : {};
}

interface Known {
  readonly takesValue: boolean;
  readonly options: readonly string[] | undefined;
}

/**
 * @param command as in `zcode-acp doctor`.
 * @throws ProductError for a flag or word that `defs` does not define, a missing value, or one not among the options.
 */
export function checkFlags(rawArgs: readonly string[], defs: Flags, command: string): void {
  const known = knownFlags(defs);
  const names = [...known.keys()];
  let positionals = Object.values(defs).filter((def) => def.type === "positional").length;
  for (let i = 0; i < rawArgs.length; i++) {
    const word = rawArgs[i]!;
    if (word === "--") return;
    if (!word.startsWith("-") || word === "-") {
      if (positionals-- > 0) continue;
      throw errors.unexpectedWord(command, word, nearest(word, names));
    }
    const equals = word.indexOf("=");
    const name = equals < 0 ? word : word.slice(0, equals);
    const flag = known.get(name);
    if (!flag) throw errors.unknownFlag(command, name, nearest(name, names));
    if (!flag.takesValue) continue;
    const value = equals < 0 ? rawArgs[++i] : word.slice(equals + 1);
    if (value === undefined) throw errors.missingFlagValue(command, name, expected(flag));
    if (flag.options && !flag.options.includes(value)) {
      throw value === ""
        ? errors.missingFlagValue(command, name, expected(flag))
        : errors.badFlagValue(command, name, value, expected(flag));
    }
  }
}

function expected(flag: Known): Phrase {
  return flag.options
    ? phrase("expects.oneOf", { list: flag.options.join(", ") })
    : phrase("expects.value", {});
}

function knownFlags(defs: Flags): Map<string, Known> {
  const help: Known = { takesValue: false, options: undefined };
  const known = new Map([
    ["--help", help],
    ["-h", help],
  ]);
  for (const [name, def] of Object.entries(defs)) {
    if (def.type === "positional") continue;
    const flag: Known = {
      takesValue: def.type === "string" || def.type === "enum",
      options: def.type === "enum" ? def.options : undefined,
    };
    const aliases = "alias" in def && def.alias !== undefined ? [def.alias].flat() : [];
    for (const spelling of [name, ...aliases])
      known.set(spelling.length === 1 ? `-${spelling}` : `--${spelling}`, flag);
    if (def.type === "boolean" && !name.startsWith("no-")) known.set(`--no-${name}`, flag);
  }
  return known;
}
