/** Mode and model of a conversation: what the backend says they are, and what a person wants them to be. */

import { sameProvider } from "../backend/account.ts";
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
  /** True while the models are those of ZCode's files and not of the session itself. */
  readonly fromFiles: boolean;
  /** Levels that the backend named beside the model's own. */
  readonly levels: readonly string[];
}

export const NO_SETTINGS: Settings = {
  mode: undefined,
  model: undefined,
  thought: undefined,
  models: [],
  fromFiles: false,
  levels: [],
};

/** Modes that every build knows; a session may be in another, which is then shown as well. */
export const MODES = ["build", "edit", "plan", "yolo"] as const;

/** The mode before the backend has named one: its own default. */
const DEFAULT_MODE = "build";

export function currentMode(settings: Settings): string {
  return settings.mode ?? DEFAULT_MODE;
}

/**
 * `settings` after a snapshot's `settings` or a `state.updated` patch; both have the same shape, which older
 * builds wrapped once more. Parts that are not named stay. Full model lists come only in some snapshots, so a
 * shorter one that names the current model alone replaces nothing.
 * @param whole the patch is of a snapshot with the full list.
 */
export function foldSettings(settings: Settings, patch: Obj, whole = false): Settings {
  const source = patch.settings === undefined ? patch : obj(patch.settings);
  const model = obj(source.model);
  const current = modelRef(model.current);
  const available = list(model.available).flatMap(modelChoice);
  const named = obj(source.thoughtLevel).available;
  const own = available.length > 1 || (available.length > 0 && (whole || settings.models.length === 0));
  return {
    mode: text(obj(source.mode).current) ?? settings.mode,
    model: current ?? settings.model,
    thought:
      text(obj(source.thoughtLevel).current) ??
      text(obj(obj(model.current).options).reasoningLevel) ??
      settings.thought,
    levels: named === undefined ? settings.levels : levelNames(named),
    models: own ? available : settings.models,
    fromFiles: own ? false : settings.fromFiles,
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

/** The level that is set, or the model's own default. A file that names none leaves it to the backend. */
export function currentLevel(settings: Settings): string | undefined {
  const levels = levelsOf(settings);
  const wanted = [settings.thought, chosenModel(settings)?.defaultLevel];
  const known = wanted.find((level) => level !== undefined && levels.includes(level));
  return known ?? (settings.fromFiles ? undefined : levels[0]);
}

/** What is known of the model that is chosen. */
export function chosenModel({ model, models }: Pick<Settings, "model" | "models">): ModelChoice | undefined {
  return models.find(({ ref }) => sameModel(ref, model));
}

export function sameModel(a: ModelRef | undefined, b: ModelRef | undefined): boolean {
  return a?.modelId === b?.modelId && a?.providerId === b?.providerId;
}

/** The model of a list that is meant by one which may have been named elsewhere: a plan has two spellings. */
export function meantModel(models: readonly ModelChoice[], ref: ModelRef): ModelChoice | undefined {
  return (
    chosenModel({ model: ref, models }) ??
    models.find(
      (choice) => choice.ref.modelId === ref.modelId && sameProvider(choice.ref.providerId, ref.providerId),
    )
  );
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
  const found = settings.models.find((choice) => {
    const { providerId, modelId } = choice.ref;
    return (
      value === `${providerId}\\${modelId}` ||
      value === `${providerId}/${modelId}` ||
      value === `custom:${encodeURIComponent(providerId)}:${modelId}` ||
      value === modelId
    );
  });
  if (found) return found;
  // An editor may have kept the value that another build gave it.
  const named = parseModel(value);
  return named && meantModel(settings.models, named);
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
    currentMode(a) === currentMode(b) &&
    levelsOf(a).join() === levelsOf(b).join() &&
    sameModel(a.model, b.model) &&
    currentLevel(a) === currentLevel(b) &&
    a.models.length === b.models.length &&
    a.models.every((choice, i) => sameChoice(choice, b.models[i]))
  );
}

function sameChoice(a: ModelChoice, b: ModelChoice | undefined): boolean {
  return (
    sameModel(a.ref, b?.ref) &&
    a.label === b?.label &&
    a.providerLabel === b.providerLabel &&
    a.defaultLevel === b.defaultLevel &&
    a.levels.join() === b.levels.join()
  );
}
