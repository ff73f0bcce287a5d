/**
 * The configuration. Precedence, here and nowhere else: a command's flag, then the variable, then the file, then
 * the default. A value that is not right is reported and passed over, so the next one in line counts. Keys that
 * are not known are left alone: a newer release may know them.
 */
import { errors, fileProblem, type ProductError } from "../errors/index.ts";
import { type Language, phrase } from "../locale/index.ts";
import { readRegular } from "../platform/files.ts";
import { isObj, type Obj, obj, str } from "../platform/json.ts";
import { maskedHead } from "../platform/mask.ts";
import { expandHome, type Paths } from "../platform/paths.ts";
import { chosenLanguage } from "./language.ts";
import { type SettingInfo, type SettingName, settingInfo, settings } from "./settings.ts";

export interface Config {
  readonly bin: string | undefined;
  readonly node: string | undefined;
  readonly provider: string | undefined;
  readonly backend: "auto" | "sim";
  readonly simArgs: readonly string[];
  readonly language: Language;
  /** The folder that frames are recorded in. */
  readonly record: string | undefined;
  readonly keepHappyEyeballs: boolean;
  /** Tokens; undefined for never. */
  readonly autoCompactThreshold: number | undefined;
  readonly quota: {
    readonly ollamaApiKey: string | undefined;
    readonly opencodeWorkspace: string | undefined;
    readonly opencodeCookie: string | undefined;
    readonly glmOrigin: string | undefined;
    readonly opencodeOrigin: string | undefined;
    readonly ollamaOrigin: string | undefined;
  };
  readonly hub: { readonly token: string | undefined; readonly host: string; readonly port: number };
  /** How many times shorter the waits of rules are; 1 outside tests. */
  readonly timeScale: number;
  /** What was wrong with variables and file, in the order it was found. */
  readonly problems: readonly ProductError[];
}

/** Settings that a command line named. */
export interface Flags {
  readonly backend?: "auto" | "sim" | undefined;
}

/**
 * @param readFile answers a file's text, or throws the system's error, also where it has more than `most` bytes. It is
 *   asked for the configuration and, where no language is set, for the ZCode app's settings: once each.
 */
export function loadConfig(
  env: Readonly<Record<string, string | undefined>>,
  paths: Pick<Paths, "configFile" | "home" | "zcodeHome">,
  flags: Flags = {},
  readFile: (path: string, most?: number) => string = readRegular,
): Config {
  const problems: ProductError[] = [];
  const file = readConfigFile(paths.configFile, readFile, problems);
  const chosen: Partial<Record<SettingName, unknown>> = {};
  for (const name of Object.keys(settings.shape) as SettingName[]) {
    const field = settings.shape[name];
    const info = settingInfo.get(field);
    if (!info) continue;
    for (const { where, value } of sources(name, info, env, file, paths.configFile)) {
      if (field.safeParse(value).success) {
        chosen[name] = value;
        break;
      }
      problems.push(
        errors.badConfig(where, phrase("problem.value", { value: shown(value), expects: info.expects })),
      );
    }
  }
  const parsed = settings.parse(chosen);
  const path = (value: string | undefined) =>
    value === undefined ? undefined : expandHome(value, paths.home);
  return {
    bin: path(parsed.bin),
    node: path(parsed.node),
    provider: parsed.provider,
    backend: flags.backend ?? parsed.backend,
    simArgs: parsed.simArgs,
    language: chosenLanguage(parsed.language, env, paths.zcodeHome, readFile),
    record: path(parsed.record),
    keepHappyEyeballs: parsed.keepHappyEyeballs,
    autoCompactThreshold: parsed.autoCompactThreshold,
    quota: {
      ollamaApiKey: parsed.ollamaApiKey,
      opencodeWorkspace: parsed.opencodeWorkspace,
      opencodeCookie: parsed.opencodeCookie,
      glmOrigin: parsed.glmOrigin,
      opencodeOrigin: parsed.opencodeOrigin,
      ollamaOrigin: parsed.ollamaOrigin,
    },
    hub: { token: parsed.remoteToken, host: parsed.hubHost, port: parsed.hubPort },
    timeScale: parsed.timeScale,
    problems,
  };
}

function* sources(
  name: SettingName,
  info: SettingInfo,
  env: Readonly<Record<string, string | undefined>>,
  file: Obj,
  configFile: string,
): Generator<{ where: string; value: unknown }> {
  const variable = env[info.variable];
  // Set to nothing is how an editor's settings unset a variable.
  if (variable) yield { where: info.variable, value: variable };
  if (!info.inFile) return;
  const key = info.key ?? name;
  const value = key.split(".").reduce<unknown>((inner, part) => obj(inner)[part], file);
  if (value !== undefined) yield { where: `"${key}" in ${configFile}`, value };
}

function readConfigFile(path: string, readFile: (path: string) => string, problems: ProductError[]): Obj {
  let bytes: string;
  try {
    bytes = readFile(path);
  } catch (error) {
    const code = str(obj(error).code);
    // A file where a folder should be is no file either.
    if (code !== "ENOENT" && code !== "ENOTDIR") {
      problems.push(
        errors.badConfigFile(path, phrase("problem.unreadable", { code: fileProblem(code ?? "?") })),
      );
    }
    return {};
  }
  try {
    const value: unknown = JSON.parse(bytes.replace(/^\uFEFF/, ""));
    if (isObj(value)) return value;
    problems.push(errors.badConfigFile(path, phrase("problem.noObject", {})));
  } catch {
    problems.push(errors.badConfigFile(path, phrase("problem.noJson", {})));
  }
  return {};
}

/** So much of a wrong value is shown. */
const SHOWN_CHARS = 60;

function shown(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
  return `\`${maskedHead(text, SHOWN_CHARS)}\``;
}
