/** Sentences for people. Protocol messages, labels of other programs and log lines are not here. */

import { EN } from "./en.ts";

export type SentenceKey = keyof typeof EN;
export type Language = "en";
export type Params = Readonly<Record<string, string | number>>;

const TABLES: Readonly<Record<Language, Readonly<Record<SentenceKey, string>>>> = { en: EN };

/** One sentence; a parameter that is missing stays visible as `{name}`. */
export function t(key: SentenceKey, params: Params, language: Language): string {
  return TABLES[language][key].replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = params[name];
    return value === undefined ? whole : String(value);
  });
}
