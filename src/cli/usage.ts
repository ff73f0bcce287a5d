/** What `--help` of one command prints. */
import { type Language, type SentenceKey, sentence, t } from "../locale/index.ts";
import type { Flag, Flags } from "./flags.ts";

export interface Explained {
  /** As in `zcode-acp doctor`. */
  readonly name: string;
  readonly about: SentenceKey;
  readonly flags: Flags;
  /** What stands below the flags. */
  more?(language: Language): string;
}

/** The whole text, with its last line end. */
export function usage(command: Explained, language: Language): string {
  const parts = [
    sentence(command.about, {}, language),
    t("usage.line", { command: [command.name, ...wordsOf(command.flags)].join(" ") }, language),
    table(flagRows(command.flags, language)),
    ...(command.more ? [command.more(language)] : []),
  ];
  return `${parts.join("\n\n")}\n`;
}

export type Row = readonly [name: string, about: string];

/** Flags as they are spelt, with what each does; `--help` is the last. */
export function flagRows(flags: Flags, language: Language): Row[] {
  const rows = Object.entries(flags).map(([name, flag]): Row => {
    return [spelling(name, flag), sentence(flag.description, {}, language) + preset(flag, language)];
  });
  return [...rows, ["--help", t("flag.help", {}, language)]];
}

/** Two columns, the first as wide as it must be. */
export function table(rows: readonly Row[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, about]) => `  ${name.padEnd(width)}  ${about}`).join("\n");
}

/** What may stand behind the command's name and is no flag. */
function wordsOf(flags: Flags): string[] {
  return Object.entries(flags).flatMap(([name, flag]) =>
    flag.type === "positional" ? [spelling(name, flag)] : [],
  );
}

function spelling(name: string, flag: Flag): string {
  const hint = "valueHint" in flag ? flag.valueHint : undefined;
  if (flag.type === "positional") return flag.required === false ? `[${hint ?? name}]` : (hint ?? name);
  const aliases = "alias" in flag && flag.alias !== undefined ? [flag.alias].flat() : [];
  const short = aliases.filter((alias) => alias.length === 1).map((alias) => `-${alias}`);
  const words = [...short, `--${name}`].join(", ");
  if (flag.type === "enum") return `${words} ${(flag.options ?? []).join("|")}`;
  return hint ? `${words} ${hint}` : words;
}

function preset(flag: Flag, language: Language): string {
  return flag.default === undefined ? "" : t("usage.default", { value: String(flag.default) }, language);
}
