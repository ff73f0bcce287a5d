/** Sentences for people. Protocol messages, labels of other programs and log lines are not here. */

import { EN } from "./en.ts";

export type SentenceKey = keyof typeof EN;
export type Language = "en";
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

const TABLES: Readonly<Record<Language, Readonly<Record<SentenceKey, string>>>> = { en: EN };

/** One sentence, with exactly the values that it needs. */
export function t<Key extends SentenceKey>(key: Key, params: ParamsOf<Key>, language: Language): string {
  return sentence(key, params, language);
}

/** Part of a sentence, said when that is. */
export function phrase<Key extends SentenceKey>(key: Key, params: ParamsOf<Key>): Phrase {
  return { key, params };
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
