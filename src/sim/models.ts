/**
 * Which models there are. Plan models come from an account push, personal ones from a file, older builds get
 * theirs by a registry push; without any of these the simulator has two of its own that need no sign-in.
 */
import { createHash } from "node:crypto";
import { readRegular } from "../platform/files.ts";
import { isObj, type ModelSelection, type Obj } from "./types.ts";
import { internal } from "./wire.ts";

export interface ModelInfo {
  modelId: string;
  label: string;
  description?: string;
  contextWindow: number;
  maxOutputTokens: number;
  /** Values of the levels, from weak to strong; absent when the model has none. */
  levels?: string[];
  defaultLevel?: string;
  images?: boolean;
}

export interface Provider {
  providerId: string;
  label: string;
  /** Set when every request to it needs headers from the client. */
  account?: { accountType: string; mode: string; entitled: boolean };
  /** The key that came with it. */
  key?: string;
  models: ModelInfo[];
}

const LEVELS = ["low", "high", "max"];

/** The provider that needs no sign-in. */
export const BUILT_IN: Provider = {
  providerId: "sim",
  label: "Simulator",
  models: [
    {
      modelId: "sim-large",
      label: "Sim Large",
      description: "Has levels of thought",
      contextWindow: 200_000,
      maxOutputTokens: 32_000,
      levels: LEVELS,
      defaultLevel: "high",
      images: true,
    },
    {
      modelId: "sim-small",
      label: "Sim Small",
      contextWindow: 64_000,
      maxOutputTokens: 8_192,
      images: false,
    },
  ],
};

const PLAN_MODELS: ModelInfo[] = [
  {
    modelId: "GLM-5.3",
    label: "GLM-5.3",
    description: "Plan model",
    contextWindow: 200_000,
    maxOutputTokens: 32_000,
    levels: LEVELS,
    defaultLevel: "high",
    images: true,
  },
  { modelId: "GLM-5.3-Air", label: "GLM-5.3-Air", contextWindow: 128_000, maxOutputTokens: 16_000 },
];

const ACCOUNT_ID = /^account:(zai|bigmodel)-(individual-coding-plan|team-coding-plan|start-plan|off-peak)$/;
const PLAN_LABELS: Record<string, string> = {
  "individual-coding-plan": "Coding Plan",
  "team-coding-plan": "Team Plan",
  "start-plan": "Start Plan",
  "off-peak": "Off-peak",
};

export interface RegistryOptions {
  /** Only account models, as an app from 3.12 on has them: nothing before the push. */
  plan: boolean;
  /** The file of a person's own providers is read. */
  personal: boolean;
  env: Record<string, string | undefined>;
  /** Used instead of every other source; tests give what a recorded stream shows. */
  fixed?: Provider[];
}

export class Registry {
  private accounts: Provider[] = [];
  private pushed: Provider[] = [];
  private pushedRevision: string | undefined;
  /** Providers that came beside a choice of a model. */
  private readonly lent = new Map<string, Provider>();
  private accountRevision: string | undefined;

  constructor(private readonly options: RegistryOptions) {}

  providers(): Provider[] {
    if (this.options.fixed) return this.options.fixed;
    const personal = this.options.personal ? this.personal() : [];
    const known = [...this.accounts, ...personal, ...this.pushed];
    if (known.length > 0 || this.options.plan) return known;
    return [BUILT_IN];
  }

  /** One that came beside a choice is newer than the list. */
  private provider(id: string): Provider | undefined {
    return this.lent.get(id) ?? this.providers().find((each) => each.providerId === id);
  }

  /** Takes the `runtimeModel` of an older build. */
  lend(runtimeModel: Obj | undefined): void {
    if (!runtimeModel) return;
    const provider = readProvider(runtimeModel.provider as Obj);
    this.lent.set(provider.providerId, provider);
  }

  find(selection: ModelSelection): { provider: Provider; model: ModelInfo } | undefined {
    const provider = this.provider(selection.providerId);
    const model = provider?.models.find((each) => each.modelId === selection.modelId);
    return provider && model ? { provider, model } : undefined;
  }

  /** The first model with its default level; what a session gets that names none. */
  first(): ModelSelection | undefined {
    const provider = this.providers()[0];
    const model = provider?.models[0];
    if (!provider || !model) return undefined;
    const selection: ModelSelection = { providerId: provider.providerId, modelId: model.modelId };
    if (model.defaultLevel) selection.options = { reasoningLevel: model.defaultLevel };
    return selection;
  }

  /** @throws `-32603` in the words of the app-server when the choice cannot be used. */
  check(selection: ModelSelection, needsLevel: boolean): void {
    const name = `${selection.providerId}/${selection.modelId}`;
    const provider = this.provider(selection.providerId);
    const refuse = (message: string, code: string) => internal(message, "ModelProtocolError", code);
    if (!provider) {
      throw refuse(`Provider Registry 中不存在 Provider: ${selection.providerId}`, "provider_not_found");
    }
    const model = provider.models.find((each) => each.modelId === selection.modelId);
    if (!model) throw refuse(`Provider Registry 中不存在 Model: ${name}`, "model_not_found");
    const level = selection.options?.reasoningLevel;
    if (level === undefined) {
      if (model.levels && needsLevel)
        throw refuse(`Reasoning level is required for ${name}`, "invalid_model_request");
    } else if (!model.levels?.includes(level)) {
      throw refuse(`Reasoning effort "${level}" is not supported by ${name}`, "invalid_model_request");
    }
  }

  /** Takes `provider/updateAccountConfig`; `unchanged` when the revision is the one it has. */
  pushAccounts(params: Obj): "received" | "unchanged" {
    if (params.revision === this.accountRevision) return "unchanged";
    this.accountRevision = params.revision as string;
    // A push on another basis is taken without a word and has no effect.
    if (!this.basisIsRight(params.basedOnZCodeBuiltinRevision as string)) {
      this.accounts = [];
      return "received";
    }
    const states = params.states as Record<string, { availability: string; entitled: boolean }>;
    this.accounts = [];
    for (const [providerId, entry] of Object.entries(params.providers as Record<string, Obj>)) {
      const match = ACCOUNT_ID.exec(providerId);
      const access = entry.access as { entitled: boolean };
      const state = states[providerId];
      if (!match || !access.entitled || !state?.entitled || state.availability !== "available") continue;
      const only = entry.builtinModelIds as string[] | undefined;
      this.accounts.push({
        providerId,
        label: PLAN_LABELS[match[2]!]!,
        account: { accountType: match[1]!, mode: match[2]!, entitled: true },
        models: PLAN_MODELS.filter((model) => !only || only.includes(model.modelId)),
      });
    }
    return "received";
  }

  /** Takes the registry of an older build; `unchanged` when the revision is the one it has. */
  pushRegistry(registry: Obj): "applied" | "unchanged" {
    if (registry.revision === this.pushedRevision) return "unchanged";
    this.pushedRevision = registry.revision as string;
    this.pushed = (registry.providers as Obj[]).map(readProvider);
    return "applied";
  }

  private basisIsRight(basis: string): boolean {
    const { env } = this.options;
    const file = env.ZCODE_BUILTIN_PROVIDER_CONFIG_FILE;
    if (!file) return true;
    // With this variable alone the table is copied elsewhere, so that the path of the basis is another one.
    if (!env.ZCODE_PERSONAL_PROVIDER_CONFIG_FILE) return false;
    const revision = readJson(file)?.revision;
    return basis === `zcode-builtin:${revision}:${createHash("sha256").update(file).digest("hex")}`;
  }

  private personal(): Provider[] {
    const file = this.options.env.ZCODE_PERSONAL_PROVIDER_CONFIG_FILE;
    const config = file ? readJson(file)?.config : undefined;
    if (!isObj(config)) return [];
    const rules = isObj(config.providerConfigRules) ? config.providerConfigRules.providerRules : undefined;
    const found: Provider[] = [];
    for (const rule of Array.isArray(rules) ? rules : []) {
      if (!isObj(rule) || typeof rule.providerId !== "string" || !isObj(rule.config)) continue;
      const { api, access, personalModelIds } = rule.config;
      // Without a known kind of API the app-server drops the whole file without a word.
      if (!isObj(api) || !/^(anthropic-messages|openai-(chat-completions|responses))$/.test(String(api.type)))
        return [];
      if (rule.enabled === false || !isObj(access) || !access.apiKey || !Array.isArray(personalModelIds))
        continue;
      found.push({
        providerId: rule.providerId,
        label: String(rule.providerName ?? rule.providerId),
        models: personalModelIds.map((modelId) => readModel({ modelId: String(modelId) })),
      });
    }
    return found;
  }
}

function readJson(file: string): Obj | undefined {
  try {
    const value: unknown = JSON.parse(readRegular(file));
    return isObj(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function readProvider(each: Obj): Provider {
  const providerId = each.providerId as string;
  const key = isObj(each.apiKey) ? each.apiKey.value : undefined;
  return {
    providerId,
    label: (each.label as string | undefined) ?? providerId,
    ...(typeof key === "string" ? { key } : {}),
    models: (each.models as Obj[]).map(readModel),
  };
}

function readModel(model: Obj): ModelInfo {
  const reasoning = isObj(model.reasoning) ? model.reasoning : undefined;
  const levels = Array.isArray(reasoning?.levels)
    ? (reasoning.levels as { value: string }[]).map((level) => level.value)
    : undefined;
  const info: ModelInfo = {
    modelId: String(model.modelId),
    label: String(model.label ?? model.modelId),
    contextWindow: Number(model.contextWindow ?? 32_000),
    maxOutputTokens: Number(model.maxOutputTokens ?? 4_096),
  };
  if (levels?.length) {
    info.levels = levels;
    info.defaultLevel = String(reasoning?.defaultLevel ?? levels[0]);
  }
  return info;
}

/** One entry of `settings.model.available`. */
export function modelEntry(provider: Provider, model: ModelInfo, modern: boolean): Obj {
  const { modelId, label, description, contextWindow, maxOutputTokens, levels, defaultLevel, images } = model;
  return {
    ref: { providerId: provider.providerId, modelId },
    label,
    providerLabel: provider.label,
    ...(description ? { description } : {}),
    contextWindow,
    maxOutputTokens,
    ...(levels
      ? { reasoning: { levels: levels.map((value) => ({ value, label: value })), defaultLevel } }
      : {}),
    ...(modern
      ? {
          properties: {
            inputFormat: { supportsText: true, supportsImage: images ?? false },
            outputFormat: { supportsText: true },
          },
        }
      : {}),
  };
}
