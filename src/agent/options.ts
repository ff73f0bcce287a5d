/** `configOptions` and `modes`: the same settings in the two forms that clients read. */

import type { Clients } from "../clients/clients.ts";
import { type Language, t } from "../locale/index.ts";
import type { Conversation } from "../session/conversation.ts";
import {
  currentLevel,
  currentMode,
  levelsOf,
  MODES,
  type ModelChoice,
  modelValue,
  type Settings,
} from "../session/settings.ts";

const MODE_NAMES: Readonly<Record<string, "mode.build" | "mode.edit" | "mode.plan" | "mode.yolo">> = {
  build: "mode.build",
  edit: "mode.edit",
  plan: "mode.plan",
  yolo: "mode.yolo",
};

/** Modes to choose from; the one that the backend is in is always among them. */
export function modeIds(settings: Settings): string[] {
  const current = currentMode(settings);
  return (MODES as readonly string[]).includes(current) ? [...MODES] : [...MODES, current];
}

/** ACP's `SessionModeState`. */
export function modeState(conversation: Conversation, language: Language) {
  return {
    currentModeId: currentMode(conversation.settings),
    availableModes: modeIds(conversation.settings).map((id) => ({ id, ...modeText(id, language) })),
  };
}

/** ACP's select options `mode` and, where models are known, `model`. */
export function configOptions(conversation: Conversation, language: Language) {
  const { settings } = conversation;
  const mode = {
    type: "select" as const,
    id: "mode",
    name: t("option.mode", {}, language),
    category: "mode",
    currentValue: currentMode(settings),
    options: modeIds(settings).map((value) => ({ value, ...modeText(value, language) })),
  };
  const { model, models, fromFiles } = settings;
  const thought = thoughtOption(settings, language);
  // Files tell what there is to choose from, and never what a session has chosen.
  if (fromFiles && model === undefined) return [mode, ...thought];
  const known = models.some(
    (choice) => choice.ref.modelId === model?.modelId && choice.ref.providerId === model?.providerId,
  );
  const listed = [
    ...models.map((choice) => ({ value: modelValue(choice.ref), name: modelName(choice, models) })),
    ...(model && !known ? [{ value: modelValue(model), name: model.modelId }] : []),
  ];
  const first = models[0];
  const current = model ?? first?.ref;
  if (!current) return [mode, ...thought];
  return [
    mode,
    {
      type: "select" as const,
      id: "model",
      name: t("option.model", {}, language),
      category: "model",
      currentValue: modelValue(current),
      options: listed,
    },
    ...thought,
  ];
}

/** The model's own levels; a model without any has no such option. */
function thoughtOption(settings: Settings, language: Language) {
  const levels = levelsOf(settings);
  const current = currentLevel(settings);
  if (current === undefined) return [];
  return [
    {
      type: "select" as const,
      id: "thought",
      name: t("option.thought", {}, language),
      category: "thought_level",
      currentValue: current,
      options: levels.map((value) => ({ value, name: value })),
    },
  ];
}

/** A model's label, with its provider where two share it or the id; providers of one name are told apart by theirs. */
function modelName(choice: ModelChoice, all: readonly ModelChoice[]): string {
  const { label, providerLabel, ref } = choice;
  const twins = all.filter(
    (other) => other !== choice && (other.label === label || other.ref.modelId === ref.modelId),
  );
  if (twins.length === 0) return label;
  const alike = twins.some((other) => other.providerLabel === providerLabel && other.label === label);
  return `${label} (${alike ? ref.providerId : (providerLabel ?? ref.providerId)})`;
}

function modeText(id: string, language: Language): { name: string; description?: string } {
  const key = Object.hasOwn(MODE_NAMES, id) ? MODE_NAMES[id] : undefined;
  if (!key) return { name: id };
  return { name: t(key, {}, language), description: t(`${key}.about`, {}, language) };
}

/** Tells every client the settings as they are now, in both forms: some read only the one, some only the other. */
export function announceSettings(
  clients: Clients,
  conversation: Conversation,
  before: Settings,
  language: Language,
): void {
  clients.publishBody(conversation.id, {
    sessionUpdate: "config_option_update",
    configOptions: configOptions(conversation, language),
  });
  const mode = currentMode(conversation.settings);
  if (mode === currentMode(before)) return;
  clients.publishBody(conversation.id, { sessionUpdate: "current_mode_update", currentModeId: mode });
}
