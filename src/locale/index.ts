/** Every sentence that a person reads, by key and language. */
import { en, type SentenceKey } from "./en.ts";

export type { SentenceKey } from "./en.ts";

/** Languages that sentences exist in; another one is one more table with the same keys. */
export type Language = "en";

type Names<Sentence> = Sentence extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never;

/** The values that a sentence needs: one for each `{name}` in it. */
export type Params<Key extends SentenceKey> = Readonly<Record<Names<(typeof en)[Key]>, string | number>>;

const TABLES: Readonly<Record<Language, Readonly<Record<SentenceKey, string>>>> = { en };

/** The sentence of `key` with its `{names}` filled in. */
export function t<Key extends SentenceKey>(key: Key, params: Params<Key>, language: Language): string {
  return fill(TABLES[language][key], params);
}

/** As `t`, for callers that carry key and values as data; a name without a value stays as it is. */
export function sentence(
  key: SentenceKey,
  params: Readonly<Record<string, string | number>>,
  language: Language,
): string {
  return fill(TABLES[language][key], params);
}

function fill(template: string, params: Readonly<Record<string, string | number>>): string {
  return template.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = Object.hasOwn(params, name) ? params[name] : undefined;
    return value === undefined ? whole : String(value);
  });
}
