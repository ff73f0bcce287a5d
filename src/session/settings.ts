/** Mode and model of a conversation: what the backend says they are, and what a person wants them to be. */

import { list, num, type Obj, obj, str, text } from "../platform/json.ts";

/** The backend's `ModelSelection`. */
export interface ModelRef {
  readonly providerId: string;
  readonly modelId: string;
}

export interface ModelChoice {
  readonly ref: ModelRef;
  readonly label: string;
  readonly providerLabel: string | undefined;
  /** Tokens. */
  readonly contextWindow: number | undefined;
  readonly levels: readonly string[];
  readonly defaultLevel: string | undefined;
}

export interface Settings {
  readonly mode: string | undefined;
  readonly model: ModelRef | undefined;
  readonly thought: string | undefined;
  /** Empty until the backend or a file named some. */
  readonly models: readonly ModelChoice[];
  /** Levels that the backend named beside the model's own. */
  readonly levels: readonly string[];
}

export const NO_SETTINGS: Settings = {
  mode: undefined,
  model: undefined,
  thought: undefined,
  models: [],
  levels: [],
};

/** Modes that every build knows; a session may be in another, which is then shown as well. */
export const MODES = ["build", "edit", "plan", "yolo"] as const;

/**
 * `settings` after a snapshot's `settings` or a `state.updated` patch; both have the same shape, which older
 * builds wrapped once more. Parts that are not named stay. Full model lists come only in some snapshots, so a
 * shorter one that names the current model alone replaces nothing.
 */
export function foldSettings(settings: Settings, patch: Obj): Settings {
  const source = patch.settings === undefined ? patch : obj(patch.settings);
  const model = obj(source.model);
  const current = modelRef(model.current);
  const available = list(model.available).flatMap(modelChoice);
  const named = obj(source.thoughtLevel).available;
  return {
    mode: text(obj(source.mode).current) ?? settings.mode,
    model: current ?? settings.model,
    thought:
      text(obj(source.thoughtLevel).current) ??
      text(obj(obj(model.current).options).reasoningLevel) ??
      settings.thought,
    levels: named === undefined ? settings.levels : levelNames(named),
    models: available.length > 1 || settings.models.length === 0 ? available : settings.models,
  };
}

function levelNames(levels: unknown): string[] {
  return list(levels).flatMap((level) => text(obj(level).value) ?? text(level) ?? []);
}

/** Thinking levels to choose from: the chosen model's own, where it names some. */
export function levelsOf(settings: Settings): readonly string[] {
  const own = chosenModel(settings)?.levels ?? [];
  return own.length > 0 ? own : settings.levels;
}

/** The level that is set, or the model's own default. */
export function currentLevel(settings: Settings): string | undefined {
  const levels = levelsOf(settings);
  const wanted = settings.thought ?? chosenModel(settings)?.defaultLevel;
  return wanted !== undefined && levels.includes(wanted) ? wanted : levels[0];
}

/** What is known of the model that is chosen. */
export function chosenModel({ model, models }: Pick<Settings, "model" | "models">): ModelChoice | undefined {
  return models.find(({ ref }) => ref.modelId === model?.modelId && ref.providerId === model.providerId);
}

export function modelRef(value: unknown): ModelRef | undefined {
  const modelId = text(obj(value).modelId);
  return modelId === undefined ? undefined : { providerId: str(obj(value).providerId) ?? "", modelId };
}

function modelChoice(value: unknown): ModelChoice[] {
  const entry = obj(value);
  const ref = modelRef(entry.ref);
  if (!ref || text(entry.disabledReason) !== undefined) return [];
  const reasoning = obj(entry.reasoning);
  return [
    {
      ref,
      label: text(entry.label) ?? ref.modelId,
      providerLabel: text(entry.providerLabel),
      contextWindow: num(entry.contextWindow),
      levels: levelNames(reasoning.levels),
      defaultLevel: text(reasoning.defaultLevel),
    },
  ];
}

/** The option value of a model: `<providerId>\<modelId>`; a backslash, since ids hold slashes. */
export function modelValue(ref: ModelRef): string {
  return ref.providerId === "" ? ref.modelId : `${ref.providerId}\\${ref.modelId}`;
}

/**
 * The model that a person's words name among the known ones: `provider\model`, `provider/model`, a bare model id,
 * or an agent definition's `custom:<url-encoded provider>:<model>`. Ids are case-sensitive.
 */
export function findModel(settings: Settings, value: string): ModelChoice | undefined {
  return settings.models.find((choice) => {
    const { providerId, modelId } = choice.ref;
    return (
      value === `${providerId}\\${modelId}` ||
      value === `${providerId}/${modelId}` ||
      value === `custom:${encodeURIComponent(providerId)}:${modelId}` ||
      value === modelId
    );
  });
}

/** The same words read without a list to look in; undefined where they do not name a provider. */
export function parseModel(value: string): ModelRef | undefined {
  const custom = /^custom:([^:]+):(.+)$/.exec(value);
  if (custom?.[1] && custom[2]) {
    try {
      return { providerId: decodeURIComponent(custom[1]), modelId: custom[2] };
    } catch {
      return undefined;
    }
  }
  const match = /^([^\\]+)\\(.+)$/.exec(value) ?? /^([^/]+)\/(.+)$/.exec(value);
  return match?.[1] && match[2] ? { providerId: match[1], modelId: match[2] } : undefined;
}

/** True where nothing that a person sees of them differs. */
export function sameSettings(a: Settings, b: Settings): boolean {
  return (
    a.mode === b.mode &&
    a.thought === b.thought &&
    a.levels.join() === b.levels.join() &&
    a.model?.providerId === b.model?.providerId &&
    a.model?.modelId === b.model?.modelId &&
    a.models.length === b.models.length &&
    a.models.every(
      (choice, i) =>
        choice.ref.modelId === b.models[i]?.ref.modelId &&
        choice.ref.providerId === b.models[i]?.ref.providerId,
    )
  );
}
