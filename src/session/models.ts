/**
 * Which models a conversation may choose from before its session tells, and what becomes of a choice whose model is
 * another one there, or none.
 */

import { accountId, builtinId, isPlan, sameProvider } from "../backend/account.ts";
import type { Backend } from "../backend/backend.ts";
import { CODE, RpcError } from "../backend/rpc.ts";
import { type Language, t } from "../locale/index.ts";
import { type Obj, obj, text } from "../platform/json.ts";
import { type Credentials, type ProviderEntry, selectedProvider } from "../store/providers.ts";
import type { Conversation } from "./conversation.ts";
import type { CallOptions } from "./residence.ts";
import {
  chosenModel,
  type ModelChoice,
  type ModelRef,
  meantModel,
  type Settings,
  sameModel,
} from "./settings.ts";

/** The models of ZCode's files. */
export interface Offered {
  readonly models: readonly ModelChoice[];
  /** What is used where a person chooses none. */
  readonly first: ModelRef | undefined;
}

export const NOTHING_OFFERED: Offered = { models: [], first: undefined };

export interface OfferInput {
  /** Whether the build is of app 3.12 or newer; undefined where none has said so yet. */
  readonly modern: boolean | undefined;
  /** `ZCODE_PROVIDER`. */
  readonly provider: string | undefined;
  /** `ZCODE_MODEL`, which older builds begin with. */
  readonly model: string | undefined;
}

/**
 * What the files offer to the build at hand, the provider that it begins with first. Before a build has told its age
 * the file that the newer app keeps stands for one.
 */
export function offeredModels(credentials: Credentials, input: OfferInput): Offered {
  const modern = input.modern ?? credentials.files.some(isNewFile);
  return modern ? newerModels(credentials, input) : olderModels(credentials, input);
}

function isNewFile({ path, problem }: Credentials["files"][number]): boolean {
  return problem === undefined && /[\\/]provider_config\.json$/.test(path);
}

function olderModels(credentials: Credentials, { provider, model }: OfferInput): Offered {
  const selected = selectedProvider(credentials, provider);
  const models = choices(inFront(credentials.providers, (entry) => entry === selected));
  const own = models.filter(({ ref }) => ref.providerId === selected?.id);
  const begun = own.find(({ ref }) => ref.modelId === model) ?? own[0];
  return { models, first: begun?.ref ?? models[0]?.ref };
}

/** Plans that the app alone can serve, for a captcha or an account of its own, are left to the session to name. */
function newerModels(credentials: Credentials, { provider: pinned }: OfferInput): Offered {
  const plans = credentials.providers.flatMap((entry) => {
    const id = entry.usable && entry.id.endsWith("-coding-plan") ? accountId(entry.id) : undefined;
    return id === undefined ? [] : [{ ...entry, id }];
  });
  const isPinned = ({ id }: ProviderEntry) => pinned !== undefined && sameProvider(id, pinned);
  const models = choices(inFront([...plans, ...credentials.personal], isPinned));
  const named = credentials.defaultModel && meantModel(models, credentials.defaultModel);
  const [first] = models;
  const begins = first !== undefined && pinned !== undefined && sameProvider(first.ref.providerId, pinned);
  return { models, first: (begins ? first : (named ?? first))?.ref };
}

function inFront<T>(all: readonly T[], first: (each: T) => boolean): T[] {
  return [...all.filter(first), ...all.filter((each) => !first(each))];
}

function choices(providers: readonly ProviderEntry[]): ModelChoice[] {
  return providers
    .filter(({ usable }) => usable)
    .flatMap(({ id: providerId, name, models }) =>
      models.map(({ id: modelId, contextWindow, levels, defaultLevel }) => ({
        ref: { providerId, modelId },
        label: modelId,
        providerLabel: name,
        contextWindow,
        levels,
        defaultLevel,
      })),
    );
}

/** Settings of a conversation that has no session yet. @param wished a person chose the model already. */
export function seeded(settings: Settings, { models, first }: Offered, wished: boolean): Settings {
  const { model } = settings;
  const kept = model && (meantModel(models, model)?.ref ?? model);
  return { ...settings, models, fromFiles: models.length > 0, model: wished ? kept : first };
}

/** Without what the files made it be: only its session tells what it uses. */
export function unguessed(settings: Settings): Settings {
  return { ...settings, model: undefined, thought: undefined };
}

/** A model may be chosen though no list names it: that of a plan, whose models stand in no file. */
export function takesByForm({ models, fromFiles }: Settings, ref: ModelRef): boolean {
  return models.length === 0 || (fromFiles && isPlan(ref.providerId));
}

/** What a session was made with, until it is known whether it has that. */
export interface Asked {
  readonly model: ModelRef | undefined;
  readonly thought: string | undefined;
  /** A person chose the model. */
  readonly chosen: boolean;
  /** The backend would not make a session with it. */
  readonly refused: boolean;
}

export interface ModelHooks {
  /** @param whole the settings that a whole snapshot is folded into. */
  settings(conversation: Conversation, patch: Obj, whole?: Settings): void;
  /** One line to the person, beside what the model says. */
  say(conversation: Conversation, words: string): void;
}

export type Call = (
  conversation: Conversation,
  method: string,
  params: Obj,
  optional?: readonly string[],
  options?: CallOptions,
) => Promise<unknown>;

export class Models {
  constructor(
    private readonly backend: Backend,
    private readonly hooks: ModelHooks,
    /** The provider that a person pinned. */
    private readonly provider: string | undefined,
    private readonly language: Language,
  ) {}

  /** The model and level that a new session is made with. */
  asked({ wanted, settings }: Conversation): Asked {
    const chosen = wanted.model !== undefined;
    const model = wanted.model ?? this.guessed(settings);
    const choice = model && meantModel(settings.models, model);
    const level = choice && levelFor(choice, wanted.thought);
    // Levels of a model that no list names are the backend's to judge.
    const thought = choice && choice.levels.length > 0 ? level : wanted.thought;
    return { model: model && this.spelled(model), thought, chosen, refused: false };
  }

  /** What was shown as the model is what is used. An older build that takes no list begins with the plan by itself. */
  private guessed({ model, fromFiles }: Settings): ModelRef | undefined {
    if (!fromFiles || model === undefined) return undefined;
    const { modern, listed } = this.backend;
    return modern === false && !listed && isPlan(model.providerId) ? undefined : model;
  }

  /** As the build at hand spells it. */
  private spelled(model: ModelRef): ModelRef {
    const { modern } = this.backend;
    if (modern === undefined) return model;
    const other = modern ? accountId(model.providerId) : builtinId(model.providerId);
    return { providerId: other ?? model.providerId, modelId: model.modelId };
  }

  /** After a session was made: it runs with what it was made with, or with what is there instead. */
  async settle(conversation: Conversation, call: Call, asked: Asked): Promise<void> {
    const { settings } = conversation;
    if (asked.model === undefined) return;
    if (settings.fromFiles || settings.models.length === 0) return;
    const meant = meantModel(settings.models, asked.model);
    if (meant) {
      const wanting = meant.levels.length > 0 && settings.thought === undefined;
      if (!asked.refused && !wanting && sameModel(settings.model, meant.ref)) return;
      try {
        return await this.set(conversation, call, meant.ref, asked.thought);
      } catch (error) {
        if (!(error instanceof RpcError) || error.code === CODE.notResident) throw error;
      }
    }
    if (!asked.refused && sameModel(settings.model, asked.model) && this.backend.lends(asked.model)) return;
    const current = chosenModel(settings) ?? (await this.first(conversation, call));
    if (asked.chosen && current && !sameModel(current.ref, asked.model))
      this.replaced(conversation, asked.model.modelId, current.label);
  }

  /** A session whose model is not there any more runs nothing: the first that is there takes its place, and is named. */
  async repair(conversation: Conversation, call: Call): Promise<void> {
    const { model, models, fromFiles } = conversation.settings;
    if (model === undefined || fromFiles || models.length === 0 || chosenModel(conversation.settings)) return;
    const meant = meantModel(models, model);
    if (meant) return this.set(conversation, call, meant.ref);
    if (this.backend.lends(model)) return;
    const first = await this.first(conversation, call);
    if (first) this.replaced(conversation, model.modelId, first.label);
  }

  /**
   * The backend says that the model of a restored session cannot be had; choosing one cures that.
   * @returns false where there is none to choose.
   */
  async cure(conversation: Conversation, call: Call): Promise<boolean> {
    const { backendId: sessionId, cwd } = conversation;
    const workspace = { workspacePath: cwd, workspaceKey: cwd };
    const snapshot = obj(await call(conversation, "session/resume", { sessionId, workspace }));
    this.hooks.settings(conversation, obj(snapshot.settings), conversation.settings);
    const { settings } = conversation;
    if (settings.fromFiles || settings.models.length === 0) return false;
    const meant = settings.model && meantModel(settings.models, settings.model);
    if (meant) await this.set(conversation, call, meant.ref);
    else {
      const first = await this.first(conversation, call);
      if (first) this.replaced(conversation, settings.model?.modelId, first.label);
    }
    return true;
  }

  /** The same where the session cannot even be resumed, and no list but an earlier one or the files' is at hand. */
  async cureUnseen(conversation: Conversation, call: Call): Promise<boolean> {
    const { model, fromFiles } = conversation.settings;
    const first = await this.first(conversation, call);
    if (first) this.replaced(conversation, fromFiles ? undefined : model?.modelId, first.label);
    return first !== undefined;
  }

  /** A model that is not there any more was replaced; the names of both, where the former is known. */
  private replaced(conversation: Conversation, gone: string | undefined, instead: string): void {
    const words =
      gone === undefined
        ? t("notice.modelGone", { instead }, this.language)
        : t("notice.modelReplaced", { gone, instead }, this.language);
    this.hooks.say(conversation, words);
  }

  /** Chooses the first that is there, of the pinned provider's where it has one. */
  async first(conversation: Conversation, call: Call): Promise<ModelChoice | undefined> {
    const { models } = conversation.settings;
    const { provider } = this;
    const pinned = models.find(({ ref }) => provider !== undefined && sameProvider(ref.providerId, provider));
    const first = pinned ?? models[0];
    if (first) await this.set(conversation, call, first.ref);
    return first;
  }

  /** Sets a model with a level that it knows: one that declares levels refuses a choice without. */
  async set(conversation: Conversation, call: Call, ref: ModelRef, thought?: string): Promise<void> {
    const { models, fromFiles } = conversation.settings;
    const model = fromFiles ? this.spelled(ref) : { providerId: ref.providerId, modelId: ref.modelId };
    const choice = chosenModel({ model: ref, models });
    const level = choice && levelFor(choice, thought, true);
    const selection = { ...model, ...(level === undefined ? {} : { options: { reasoningLevel: level } }) };
    const sessionId = conversation.backendId;
    let answer: unknown;
    try {
      const params = { sessionId, model: selection, persistAsWorkspaceLastUsed: false };
      answer = await call(conversation, "session/setModel", params, ["persistAsWorkspaceLastUsed"], {
        model,
      });
    } catch (error) {
      if (!wantsName(error)) throw error;
      answer = await call(conversation, "session/setModel", { sessionId, ...model }, ["providerId"], {
        model,
      });
      if (level !== undefined)
        answer = await call(conversation, "session/setThoughtLevel", { sessionId, thoughtLevel: level });
    }
    // A build that answers no snapshot has still taken it.
    const taken = level === undefined ? {} : { thoughtLevel: { current: level } };
    this.hooks.settings(conversation, {
      model: { current: selection },
      ...taken,
      ...obj(obj(answer).settings),
    });
  }
}

/** A level that the model knows: the wished one, else its default. @param any the first where it has no default. */
function levelFor(choice: ModelChoice, wished: string | undefined, any = false): string | undefined {
  const { levels, defaultLevel } = choice;
  if (wished !== undefined && levels.includes(wished)) return wished;
  return defaultLevel ?? (any ? levels[0] : undefined);
}

/** The oldest builds take a model's name in place of a selection. */
function wantsName(error: unknown): boolean {
  return (
    error instanceof RpcError &&
    error.code === CODE.invalidParams &&
    /(?<![.\w])modelId\b/.test(error.message)
  );
}

/** A session was not made because of its model or level, and may be without them. */
export function refusesModel(error: unknown): boolean {
  if (!(error instanceof RpcError)) return false;
  if (isModelGone(error)) return true;
  if (error.code !== CODE.internal) return false;
  const { name, code } = obj(error.data);
  return (
    name === "ModelProtocolError" ||
    /^(?:model_not_found|provider_not_found|invalid_model_\w+)$/.test(text(code) ?? "") ||
    /Provider Registry|Reasoning (?:level|effort)|Model not found/.test(error.message)
  );
}

/** `-32031` has other meanings; these words have not. */
export function isModelGone(error: unknown): boolean {
  return (
    error instanceof RpcError &&
    error.code === CODE.modelUnavailable &&
    /ZCODE_RUNTIME_MODEL_UNAVAILABLE|模型已不可用/.test(
      `${error.message} ${text(obj(error.data).code) ?? ""}`,
    )
  );
}
