/**
 * Sentences for people, in each language. A language is handed down as data: `config/` chooses it, and whoever speaks is
 * given it, since many bridges run in one process.
 *
 * English in every language, and not here: log lines and `Error.message`, which are for whoever looks after the program;
 * JSON-RPC messages that the protocol fixes (`Parse error`, a method that is not found, the SDK's words for parameters
 * that do not fit, a request that was cancelled); what programs read (`--json`, `--line` and so the names of windows,
 * codes, ids); and whatever ZCode itself or a provider says, which is passed on as it is. What the bridge answers ZCode
 * for a person, as why nobody allowed a tool, is here: ZCode puts it into the conversation.
 */

import { EN } from "./en.ts";
import { zh } from "./zh.ts";

export type SentenceKey = keyof typeof EN;
export type Language = "en" | "zh";
/** A value that is itself words for a person, so that it is said in the language of the sentence around it. */
export interface Phrase {
  readonly key: SentenceKey;
  readonly params: Params;
}
export type Value = string | number | Phrase;
export type Params = Readonly<Record<string, Value>>;

type Names<Sentence> = Sentence extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never;

/** The values that a sentence needs: one for each `{name}` in it. */
export type ParamsOf<Key extends SentenceKey> = Readonly<Record<Names<(typeof EN)[Key]>, Value>>;

type Table = Readonly<Record<SentenceKey, string>>;

const TABLES: Readonly<Record<Language, Table>> = {
  en: EN,
  get zh(): Table {
    const value = zh();
    Object.defineProperty(this, "zh", { value });
    return value;
  },
};
const FULL_STOP: Readonly<Record<Language, string>> = { en: ".", zh: "。" };

/** One sentence, with exactly the values that it needs. */
export function t<Key extends SentenceKey>(key: Key, params: ParamsOf<Key>, language: Language): string {
  return sentence(key, params, language);
}

/** Part of a sentence, said when that is. */
export function phrase<Key extends SentenceKey>(key: Key, params: ParamsOf<Key>): Phrase {
  return { key, params };
}

/** Values one after the other, with what a language puts between them. */
export function listOf(values: readonly Value[]): Value {
  return values.length === 0 ? "" : values.reduceRight((rest, first) => phrase("list", { first, rest }));
}

/** True for a phrase of the table, such as one that another process wrote down. */
export function isPhrase(
  value: { readonly key: string; readonly params: Params } | undefined,
): value is Phrase {
  return value !== undefined && Object.hasOwn(EN, value.key);
}

/** As `t`, for callers that carry key and values as data; a value that is missing stays visible as `{name}`. */
export function sentence(key: SentenceKey, params: Params, language: Language): string {
  return TABLES[language][key].replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = Object.hasOwn(params, name) ? params[name] : undefined;
    return value === undefined ? whole : said(value, language);
  });
}

/** A value as it stands in a sentence. */
export function said(value: Value, language: Language): string {
  return typeof value === "object" ? sentence(value.key, value.params, language) : String(value);
}

/** Sentences one behind the other. Each that something follows ends in a mark, also where a value ends it. */
export function inOneLine(sentences: readonly string[], language: Language): string {
  let line = "";
  for (const each of sentences) {
    if (each === "") continue;
    // Chinese marks bring their own room.
    const room = line === "" || (language === "zh" && /[。！？：…]$/.test(line)) ? "" : " ";
    line += room + each;
    if (!/[.!?:…。！？：]$/.test(line)) line += FULL_STOP[language];
  }
  return line;
}
