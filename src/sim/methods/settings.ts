/** Mode, model and level of thought; each answers a whole snapshot. */
import type { Live } from "../session.ts";
import { contextWindowOf, selectionOf, settingsChanged, snapshot } from "../snapshot.ts";
import { isObj, type ModelSelection, type Obj } from "../types.ts";
import { BAD_PARAMS, internal, RpcError } from "../wire.ts";
import type { World } from "../world.ts";
import type { Handlers, Reply } from "./types.ts";

function setMode(world: World, params: Obj): Reply {
  const live = world.pool.get(params.sessionId as string);
  const { data } = live;
  const mode = params.mode as string;
  const previousMode = data.mode;
  const wasPlan = data.planEnabled;
  if (mode === "plan" && !wasPlan) data.modeBeforePlan = previousMode;
  data.mode = mode;
  data.planEnabled = mode === "plan";
  settingsChanged(world, live, "mode_changed", {
    mode,
    previousMode,
    source: "command",
    ...(data.planEnabled !== wasPlan ? { planEnabled: data.planEnabled, previousPlanEnabled: wasPlan } : {}),
  });
  return { result: snapshot(live) };
}

function setModel(world: World, params: Obj): Reply {
  const live = world.pool.get(params.sessionId as string);
  world.registry.lend(params.runtimeModel as Obj | undefined);
  const model = world.era.modelAsString ? modelByName(world, params) : (params.model as ModelSelection);
  // The older builds fell back to a level by themselves.
  world.registry.check(model, world.era.modern);
  changeModel(live, model, "model_changed");
  return { result: snapshot(live) };
}

function modelByName(world: World, params: Obj): ModelSelection {
  const modelId = params.modelId as string;
  const lent = isObj(params.runtimeModel) ? (params.runtimeModel.model as ModelSelection) : undefined;
  if (lent?.modelId === modelId) return { providerId: lent.providerId, modelId };
  for (const provider of world.registry.providers()) {
    if (params.providerId && params.providerId !== provider.providerId) continue;
    if (provider.models.some((model) => model.modelId === modelId))
      return { providerId: provider.providerId, modelId };
  }
  throw internal(`Model not found: ${modelId}`, "ModelProtocolError", "model_not_found");
}

/** Sets the selection and tells of it. */
export function changeModel(live: Live, model: ModelSelection, reason: string): void {
  const { world, data } = live;
  const previous = data.model;
  data.model = model;
  const level = model.options?.reasoningLevel;
  settingsChanged(world, live, reason, {
    modelSelection: selectionOf(model),
    ...(level ? { effectiveReasoningLevel: level } : {}),
    ...(previous ? { previousModelSelection: selectionOf(previous) } : {}),
    supportedThoughtLevels: world.registry.find(model)?.model.levels ?? [],
    contextWindow: contextWindowOf(live),
  });
}

function setThoughtLevel(world: World, params: Obj): Reply {
  const live = world.pool.get(params.sessionId as string);
  const level = params.thoughtLevel as string | undefined;
  if (level === undefined) throw new RpcError(BAD_PARAMS, "thoughtLevel is required");
  const { model } = live.data;
  if (!model)
    throw internal("Select a model before continuing", "ModelProtocolError", "invalid_model_selection");
  const next: ModelSelection = {
    providerId: model.providerId,
    modelId: model.modelId,
    options: { reasoningLevel: level },
  };
  world.registry.check(next, true);
  changeModel(live, next, "thought_level_changed");
  return { result: snapshot(live) };
}

export const settingsHandlers: Handlers = {
  "session/setMode": setMode,
  "session/setModel": setModel,
  "session/setThoughtLevel": setThoughtLevel,
};
