/** Snapshots: what create, resume, read, subscribe and the setters answer. */
import { latestMessages, snapshotMessage } from "./messages.ts";
import { modelEntry } from "./models.ts";
import { type Live, workspaceOf } from "./session.ts";
import type { ModelSelection, Obj } from "./types.ts";
import type { World } from "./world.ts";

/** The settings object, also the patch of `state.updated`. `full` lists every model, else only the current one. */
export function settingsOf(live: Live, full: boolean): Obj {
  const { world, data } = live;
  const current = data.model;
  const found = current ? world.registry.find(current) : undefined;
  const available: Obj[] = [];
  if (full) {
    for (const provider of world.registry.providers()) {
      for (const model of provider.models) available.push(modelEntry(provider, model, world.era.modern));
    }
  } else if (found) available.push(modelEntry(found.provider, found.model, world.era.modern));
  const levels = found?.model.levels;
  const level = current?.options?.reasoningLevel;
  return {
    mode: { current: data.mode },
    model: {
      available,
      ...(current ? { current: selectionOf(current), lastUsed: pairOf(current) } : {}),
    },
    permission: { mode: data.mode },
    thoughtLevel: levels
      ? {
          available: levels.map((value) => ({ label: value, value })),
          ...(level ? { current: level } : {}),
          defaultLevel: found?.model.defaultLevel ?? levels[0],
          enabled: true,
        }
      : { available: [], enabled: false },
  };
}

function pairOf(model: ModelSelection): Obj {
  return { providerId: model.providerId, modelId: model.modelId };
}

export function selectionOf(model: ModelSelection): Obj {
  const level = model.options?.reasoningLevel;
  return { ...pairOf(model), ...(level ? { options: { reasoningLevel: level } } : {}) };
}

export function contextWindowOf(live: Live): number {
  const { model } = live.data;
  return (model ? live.world.registry.find(model)?.model.contextWindow : undefined) ?? 32_000;
}

export function sessionInfo(live: Live): Obj {
  const { data } = live;
  return {
    createdAt: data.createdAt,
    mode: data.mode,
    ...(data.model ? { model: pairOf(data.model) } : {}),
    ...(data.parentSessionId ? { parentSessionId: data.parentSessionId } : {}),
    traceId: data.traceId,
    sessionId: live.id,
    sessionKind: data.sessionKind,
    status: live.status,
    ...(data.goal ? { target: data.goal } : {}),
    title: data.title,
    titleSource: data.titleSource,
    updatedAt: data.updatedAt,
    workspace: workspaceOf(data.workspace),
  };
}

export function snapshot(
  live: Live,
  options: { full?: boolean; messageLimit?: number | undefined } = {},
): Obj {
  const { data, turn } = live;
  const window = contextWindowOf(live);
  return {
    // A snapshot's limit counts from the beginning, unlike that of `session/messages`.
    messages: latestMessages(data.messages).slice(0, options.messageLimit).map(snapshotMessage),
    projection: {
      sessionId: live.id,
      status: live.status,
      mode: data.mode,
      turnCount: data.turnCount,
      totalTokenCount: data.totals.totalTokens,
      contextUsed: data.contextUsed,
      contextWindow: window,
      ...(turn ? { currentTurnId: turn.id } : {}),
      pendingPermissions: live.pendingPermissions,
      activeToolCalls: live.activeTools,
      backgroundJobs: [],
      ...(live.lastError ? { lastError: live.lastError } : {}),
      ...(data.goal ? { target: data.goal } : {}),
    },
    protocol: { name: "ZCode Protocol", version: 1 },
    runtime: {
      eventSeq: live.seq,
      stateRevision: live.revision,
      ...(live.subscribed ? { deliveryKind: "desktop-continuous" } : {}),
      ...(turn
        ? { activeTurnId: turn.id, activeTurnKind: turn.kind === "compact" ? "compact" : "regular" }
        : {}),
      pendingRequestIds: live.pendingPermissions.map((each) => each.requestId),
      goalVerifications: [],
      goalVerificationTimeline: [],
      ...(data.contextUsed > 0 ? { contextUsage: { cost: null, size: window, used: data.contextUsed } } : {}),
    },
    session: sessionInfo(live),
    settings: settingsOf(live, options.full ?? false),
    slashCommands: SLASH_COMMANDS,
    ...(data.goal
      ? {
          goalStats: {
            timeUsedSeconds: data.goal.timeUsedSeconds,
            tokensUsed: data.goal.tokensUsed,
            tokenBudget: null,
            contextUsed: data.contextUsed,
            contextWindow: window,
            toolCallCount: 0,
            iterationCount: 0,
          },
        }
      : {}),
    todos: data.todos,
    todoGroups:
      data.todos.length === 0
        ? []
        : [
            {
              id: "session",
              source: "session",
              startedAt: data.todosSince ?? data.createdAt,
              updatedAt: data.todosAt ?? data.updatedAt,
              todos: data.todos,
            },
          ],
  };
}

/** Commands that the backend expands itself. */
export const SLASH_COMMANDS: Obj[] = [
  { name: "compact", description: "Make room in the conversation", source: "builtin" },
  {
    name: "goal",
    description: "Look at the goal or set one",
    inputHint: "/goal <objective>",
    source: "builtin",
  },
  { name: "init", description: "Write down how this project works", source: "builtin" },
  { name: "plan", description: "Think before files are changed", source: "builtin" },
  { name: "shout", description: "Say it louder", inputHint: "<words>", source: "custom" },
];

/** Tells of new settings: the event first, then the state, both before the answer of the request. */
export function settingsChanged(world: World, live: Live, reason: string, event: Obj): void {
  if (world.era.modern) live.event("session.updated", event);
  live.save();
  const patch = settingsOf(live, false);
  live.stateUpdated(reason, world.era.name === "0.15" ? { settings: patch } : patch);
}
