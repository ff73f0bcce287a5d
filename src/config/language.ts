/**
 * The language that a person reads: what they said to this program, else what they chose in the ZCode app, else what
 * their system is set to. Each source that says nothing leaves it to the next one.
 */
import { join } from "node:path";
import type { Language } from "../locale/index.ts";
import { isObj, type Obj, text } from "../platform/json.ts";

/** The app's settings are some kilobytes; a file above this is something else, in bytes. */
const SETTING_BYTES = 1 << 20;

/**
 * @param zcodeHome the directory that holds `v2`.
 * @param readFile answers the text of a file of so many bytes at most, or throws.
 */
export function chosenLanguage(
  setting: "auto" | Language,
  env: Readonly<Record<string, string | undefined>>,
  zcodeHome: string,
  readFile: (path: string, most: number) => string,
): Language {
  if (setting !== "auto") return setting;
  return appLanguage(zcodeHome, readFile) ?? systemLanguage(env);
}

/** What `v2/setting.json` says; undefined where it says nothing, or is not there, or is not what it should be. */
function appLanguage(
  zcodeHome: string,
  readFile: (path: string, most: number) => string,
): Language | undefined {
  let setting: Obj;
  try {
    const value: unknown = JSON.parse(
      readFile(join(zcodeHome, "v2", "setting.json"), SETTING_BYTES).replace(/^\uFEFF/, ""),
    );
    if (!isObj(value)) return undefined;
    setting = value;
  } catch {
    // Whatever is wrong with it, the app's own files are reported where they are needed.
    return undefined;
  }
  return languageOf(setting.localePreference) ?? languageOf(setting.locale);
}

/** The first of the variables that is set counts, as everywhere on these systems. */
function systemLanguage(env: Readonly<Record<string, string | undefined>>): Language {
  return languageOf([env.LC_ALL, env.LC_MESSAGES, env.LANG].find(text)) ?? "en";
}

/**
 * The language of a locale's name, in either spelling (`zh_CN.UTF-8`, `zh-Hant-TW`): all of Chinese is Simplified, which
 * who reads the Traditional script reads sooner than English; all other languages are English. Undefined where it is no
 * locale's name, such as "system".
 */
function languageOf(name: unknown): Language | undefined {
  const language = /^\s*([a-z]{2,3})(?:[-_.@].*)?\s*$/i.exec(text(name) ?? "")?.[1]?.toLowerCase();
  if (language === undefined) return undefined;
  return language === "zh" ? "zh" : "en";
}
