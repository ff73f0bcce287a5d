/**
 * ZCode's own files about providers, keys and entitlement, read only. Every field may be missing or wrong;
 * a file that cannot be read counts as absent, and its name and reason are kept for whoever reports it.
 * Read again at each use: signing in elsewhere must be enough.
 */

import { statSync } from "node:fs";
import { join } from "node:path";
import { fileProblem } from "../errors/index.ts";
import { phrase, type Value } from "../locale/index.ts";
import { readRegular } from "../platform/files.ts";
import { isObj, list, num, type Obj, obj, str, text } from "../platform/json.ts";

/** One model that a provider offers, as `v2/config.json` or `v2/provider_config.json` names it. */
export interface ModelEntry {
  readonly id: string;
  /** Tokens; undefined where the file does not say. */
  readonly contextWindow: number | undefined;
  readonly levels: readonly string[];
  readonly defaultLevel: string | undefined;
}

export interface ProviderEntry {
  readonly id: string;
  readonly name: string;
  /** What it speaks, in the words of `v2/config.json`; undefined where that does not say. */
  readonly kind: string | undefined;
  readonly apiKey: string | undefined;
  readonly baseUrl: string | undefined;
  /** Whether a model request through it can work at all: enabled, and a key where one is needed. */
  readonly usable: boolean;
  readonly models: readonly ModelEntry[];
}

/** A file that was looked at, and why it gave nothing (undefined: it was read). */
export interface FileNote {
  readonly path: string;
  readonly problem: Value | undefined;
}

export interface Credentials {
  /** From `v2/config.json`. */
  readonly providers: readonly ProviderEntry[];
  /** From `v2/provider_config.json`, the desktop app's own list since 3.12. */
  readonly personal: readonly ProviderEntry[];
  /** Built-in plan ids that `v2/coding-plan-cache.json` calls available. */
  readonly cachedPlans: readonly string[];
  /** Built-in plan ids that the person chose in `v2/setting.json`. */
  readonly selectedPlans: readonly string[];
  /** The model that `v2/provider_config.json` begins with. */
  readonly defaultModel?: { readonly providerId: string; readonly modelId: string } | undefined;
  readonly files: readonly FileNote[];
}

/** The provider that a build without a registry of its own is started with. */
export function selectedProvider(
  credentials: Credentials,
  pinned: string | undefined,
): ProviderEntry | undefined {
  const usable = credentials.providers.filter((provider) => provider.usable);
  if (pinned !== undefined) return usable.find((provider) => provider.id === pinned);
  return usable.find((provider) => provider.id.endsWith("-coding-plan")) ?? usable[0];
}

/** A file of more bytes is none that a person or the app has written: it is read before every new conversation. */
const MAX_BYTES = 8 * 1024 * 1024;

const FILES = ["config.json", "provider_config.json", "coding-plan-cache.json", "setting.json"] as const;

/** Changes whenever one of the files does; cheap enough to ask for before each prompt. */
export function credentialsStamp(zcodeHome: string): string {
  return FILES.map((name) => {
    try {
      const { mtimeMs, size, ino } = statSync(join(zcodeHome, "v2", name));
      return `${mtimeMs}:${size}:${ino}`;
    } catch {
      return "-";
    }
  }).join(" ");
}

/** @param zcodeHome the directory that holds `v2`, usually `~/.zcode`. */
export function readCredentials(zcodeHome: string): Credentials {
  const files: FileNote[] = [];
  const read = (name: (typeof FILES)[number]): Obj => {
    const path = join(zcodeHome, "v2", name);
    try {
      const value: unknown = JSON.parse(readRegular(path, MAX_BYTES).replace(/^\uFEFF/, ""));
      if (!isObj(value)) {
        files.push({ path, problem: phrase("problem.noObjectFile", {}) });
        return {};
      }
      files.push({ path, problem: undefined });
      return value;
    } catch (error) {
      const code = str(obj(error).code);
      const problem =
        code === undefined
          ? phrase("problem.noJsonFile", {})
          : code === "ENOENT"
            ? phrase("problem.notThere", {})
            : fileProblem(code);
      files.push({ path, problem });
      return {};
    }
  };
  const config = read("config.json");
  const personal = read("provider_config.json");
  const cache = read("coding-plan-cache.json");
  const setting = read("setting.json");
  return {
    providers: Object.entries(obj(config.provider)).map(([id, value]) => configProvider(id, obj(value))),
    personal: personalProviders(personal),
    cachedPlans: Object.entries(obj(obj(cache.entryStatus).items))
      .filter(([, item]) => obj(item).status === "available")
      .map(([id]) => id),
    selectedPlans: selectedKeys(setting.modelProviderFamilySelectedKeys),
    defaultModel: defaultModel(obj(personal.config).defaultModelSelection),
    files,
  };
}

function configProvider(id: string, entry: Obj): ProviderEntry {
  const options = obj(entry.options);
  const apiKey = text(options.apiKey);
  const baseUrl = text(options.baseURL);
  const usable = id.startsWith("builtin:")
    ? entry.enabled === true && apiKey !== undefined
    : entry.enabled !== false &&
      (apiKey !== undefined || options.apiKeyRequired === false || isLocalUrl(baseUrl));
  return {
    id,
    name: text(entry.name) ?? id,
    kind: text(entry.kind),
    apiKey,
    baseUrl,
    usable,
    models: Object.entries(obj(entry.models)).map(([modelId, value]) => {
      const model = obj(value);
      const reasoning = obj(model.reasoning);
      return {
        id: modelId,
        contextWindow: num(obj(model.limit).context),
        levels: reasoning.enabled === false ? [] : levelNames(reasoning.variants),
        defaultLevel: text(reasoning.defaultVariant),
      };
    }),
  };
}

function personalProviders(file: Obj): ProviderEntry[] {
  const config = obj(file.config);
  const modelRules = obj(config.modelConfigRules);
  const rules = [...list(modelRules.providerModelRules), ...list(modelRules.manualProviderModelRules)].map(
    obj,
  );
  return list(obj(config.providerConfigRules).providerRules)
    .map(obj)
    .flatMap((rule) => {
      const id = text(rule.providerId);
      if (id === undefined) return [];
      const inner = obj(rule.config);
      const apiKey = text(obj(inner.access).apiKey);
      const baseUrl = text(obj(inner.api).baseUrl);
      const own = rules.filter((entry) => entry.providerId === id && obj(entry.config).enabled !== false);
      const ids = new Set([...list(inner.personalModelIds), ...own.map((entry) => entry.modelId)]);
      const models = [...ids].flatMap((modelId) => {
        if (typeof modelId !== "string" || modelId === "") return [];
        const detail = obj(own.find((entry) => entry.modelId === modelId)?.config);
        return [
          {
            id: modelId,
            contextWindow: num(obj(detail.properties).contextWindow),
            levels: levelNames(obj(obj(detail.optionSpecs).reasoningLevel).values),
            defaultLevel: undefined,
          },
        ];
      });
      const usable = rule.enabled !== false && (apiKey !== undefined || isLocalUrl(baseUrl));
      return [{ id, name: text(rule.providerName) ?? id, kind: undefined, apiKey, baseUrl, usable, models }];
    });
}

function defaultModel(value: unknown): Credentials["defaultModel"] {
  const providerId = text(obj(value).providerId);
  const modelId = text(obj(value).modelId);
  return providerId === undefined || modelId === undefined ? undefined : { providerId, modelId };
}

function levelNames(value: unknown): string[] {
  const items = isObj(value) ? Object.keys(value) : list(value);
  return items.flatMap((item) => text(item) ?? text(obj(item).value) ?? []);
}

function selectedKeys(value: unknown): string[] {
  const items = isObj(value) ? Object.values(value) : list(value);
  return items.flatMap((item) => text(item) ?? []);
}

function isLocalUrl(url: string | undefined): boolean {
  if (url === undefined) return false;
  try {
    const host = new URL(url).hostname;
    return host === "localhost" || host === "[::1]" || /^127(?:\.\d+){3}$/.test(host);
  } catch {
    return false;
  }
}
