/** Sessions: made, restored, listed, read, forked, closed. */
import { sleep } from "../../platform/clock.ts";
import { LIST_LIMIT, PREFERENCES_S } from "../limits.ts";
import { addUserMessage, pickMessages } from "../messages.ts";
import { freshSession, Live, workspaceOf } from "../session.ts";
import { contextWindowOf, sessionInfo, snapshot } from "../snapshot.ts";
import {
  isObj,
  type ModelSelection,
  type Obj,
  type StoredSession,
  type StoreMessage,
  type Workspace,
} from "../types.ts";
import { BUSY, internal, NOT_ACTIVE, RpcError } from "../wire.ts";
import type { World } from "../world.ts";
import type { Handlers, Reply } from "./types.ts";

/** Asks for the preferences that a runtime starts with. An error is an answer too; only silence is none. */
export async function askPreferences(live: Live, scope: string): Promise<boolean> {
  const answer = await live.world.interactions.ask(
    "session/requestRuntimePreferences",
    { sessionId: live.id, scope },
    { timeoutS: PREFERENCES_S },
  );
  const given = answer.kind === "result" && isObj(answer.result) ? answer.result : {};
  // Left out, or answered by an error, means that questions answer themselves after a while.
  live.autoAnswers = given.askUserQuestionAutoResolutionEnabled !== false;
  return answer.kind !== "timeout";
}

async function materialize(live: Live): Promise<void> {
  if (live.world.era.preferences === "never") return;
  if (!(await askPreferences(live, "runtime-materialization"))) {
    throw new RpcError(-32022, "Client request timed out: session/requestRuntimePreferences");
  }
}

/** The selection that a new session gets: the pair keeps, its options are dropped; the level has a key of its own. */
function selectionFor(world: World, params: Obj): ModelSelection | undefined {
  const asked = params.model as ModelSelection | undefined;
  const level = params.thoughtLevel as string | undefined;
  if (!asked) return world.settings.pickModel ? world.registry.first() : undefined;
  const model: ModelSelection = { providerId: asked.providerId, modelId: asked.modelId };
  world.registry.check(asked, false);
  if (level !== undefined) {
    model.options = { reasoningLevel: level };
    world.registry.check(model, false);
  } else if (!world.era.modern && asked.options) model.options = asked.options;
  return model;
}

async function create(world: World, params: Obj): Promise<Reply> {
  if (params.sessionId && !params.importedHistory) {
    throw new RpcError(-32602, "Invalid params — sessionId: only together with importedHistory");
  }
  world.registry.lend(params.runtimeModel as Obj | undefined);
  const model = selectionFor(world, params);
  const data = freshSession(
    world,
    params.workspace as Workspace,
    (params.mode as string | undefined) ?? "build",
    model,
  );
  const live = new Live(world, data);
  live.titleGeneration = params.titleGenerationEnabled !== false;
  live.denylist = (params.toolDenylist as string[] | undefined) ?? [];
  await materialize(live);
  if (world.settings.slowCreate > 0) await sleep(world.clock, world.settings.slowCreate * 1000);
  live.event("session.created", { directory: live.cwd });
  world.pool.add(live);
  return { result: snapshot(live, { full: true }) };
}

async function resume(world: World, params: Obj): Promise<Reply> {
  const sessionId = params.sessionId as string;
  world.registry.lend(params.runtimeModel as Obj | undefined);
  const resident = world.pool.peek(sessionId);
  if (resident) {
    world.pool.get(sessionId);
    return { result: snapshot(resident, { full: true }) };
  }
  const stored = world.store.read(sessionId);
  if (!stored) throw new RpcError(NOT_ACTIVE, `Session not found: ${sessionId}`);
  const live = new Live(world, stored);
  await materialize(live);
  live.prefixReads = world.settings.prefixReads;
  live.denylist = (params.toolDenylist as string[] | undefined) ?? [];
  loseSubagents(live);
  const level = params.thoughtLevel as string | undefined;
  if (level !== undefined && live.data.model) live.data.model.options = { reasoningLevel: level };
  const { messages } = live.data;
  live.event("session.resumed", {
    directory: live.cwd,
    interruptedToolCount: runningTools(live),
    messageCount: messages.length,
    partCount: messages.reduce((sum, message) => sum + message.parts.length, 0),
    recoveredCompactTimelineCount: 0,
    recoveredSteerInputCount: 0,
    resumedTodoCount: live.data.todos.length,
  });
  world.pool.add(live);
  return { result: snapshot(live, { full: true }) };
}

/** Tools that ran when their process ended; the store keeps them as they were. */
function runningTools(live: Live): number {
  const parts = live.data.messages.flatMap((message) => message.parts);
  return parts.filter((part) => part.type === "tool" && (part.state as Obj).status === "running").length;
}

/** Sub-agents that worked when their process ended will not come back. */
function loseSubagents(live: Live): void {
  for (const each of live.data.subagents) {
    if (each.status !== "running") continue;
    each.status = "lost";
    each.endedAt = live.world.clock.now();
  }
}

function list(world: World, params: Obj): Reply {
  const ids = params.sessionIds as string[] | undefined;
  const workspace = params.workspace as Workspace | undefined;
  const limit = (params.limit as number | undefined) ?? LIST_LIMIT;
  const stored = world.store.list().sort((a, b) => b.updatedAt - a.updatedAt);
  const known = new Set(stored.map((each) => each.sessionId));
  // What was never prompted stands in the list of its own process alone.
  const unstored = world.pool.all().filter((live) => !known.has(live.id));
  const rows: { data: StoredSession; info: () => Obj }[] = [
    ...stored.map((data) => ({ data, info: () => storedInfo(data) })),
    ...unstored.map((live) => ({ data: live.data, info: () => sessionInfo(live) })),
  ];
  const wanted = rows.filter(({ data }) => {
    if (ids) return ids.includes(data.sessionId);
    if (data.archivedAt !== undefined && !params.includeArchived) return false;
    if (!["interactive", "fork"].includes(data.sessionKind)) return false;
    return !workspace || samePlace(workspace, data.workspace);
  });
  return { result: { sessions: wanted.slice(0, limit).map((row) => row.info()) } };
}

function samePlace(a: Workspace, b: Workspace): boolean {
  if (a.workspaceIdentity && b.workspaceIdentity) return a.workspaceIdentity === b.workspaceIdentity;
  return a.workspacePath === b.workspacePath;
}

/** Mode, status and model are placeholders for everything that is stored. */
function storedInfo(data: StoredSession): Obj {
  return {
    createdAt: data.createdAt,
    mode: "build",
    ...(data.parentSessionId ? { parentSessionId: data.parentSessionId } : {}),
    traceId: data.traceId,
    sessionId: data.sessionId,
    sessionKind: data.sessionKind,
    status: "idle",
    title: data.title,
    titleSource: data.titleSource,
    updatedAt: data.updatedAt,
    workspace: workspaceOf(data.workspace),
    ...(data.archivedAt === undefined ? {} : { archivedAt: data.archivedAt }),
  };
}

function read(world: World, params: Obj): Reply {
  const live = world.pool.get(params.sessionId as string);
  if (params.deliveryKind) live.subscribed = true;
  return { result: snapshot(live, { messageLimit: params.messageLimit as number | undefined }) };
}

function messages(world: World, params: Obj): Reply {
  const live = world.pool.get(params.sessionId as string);
  let all = live.data.messages;
  if (live.prefixReads > 0) {
    // While a session is being restored, its first part alone may be there.
    all = all.slice(0, Math.ceil(all.length / (live.prefixReads + 1)));
    live.prefixReads--;
  }
  if (world.settings.duplicates) all = withDuplicates(all);
  const { limit, afterMessageId } = params as { limit?: number; afterMessageId?: string };
  return { result: { messages: pickMessages(all, limit, afterMessageId) } };
}

/** Each answer of the model stands there twice: as it began, and whole one place later. */
function withDuplicates(all: StoreMessage[]): StoreMessage[] {
  const out: StoreMessage[] = [];
  let late: StoreMessage[] = [];
  for (const message of all) {
    if (message.info.role === "assistant" && message.parts.length > 1) {
      out.push({ info: message.info, parts: message.parts.slice(0, 1) }, ...late);
      late = [message];
    } else {
      out.push(message, ...late);
      late = [];
    }
  }
  return [...out, ...late];
}

function subscribe(world: World, params: Obj): Reply {
  const live = world.pool.get(params.sessionId as string);
  live.subscribed = true;
  const afterSeq = params.afterSeq as number | undefined;
  return {
    result: {
      sessionId: live.id,
      eventSeq: live.seq,
      events: afterSeq === undefined ? [] : live.events(afterSeq),
      ...(params.includeSnapshot ? { snapshot: snapshot(live) } : {}),
    },
  };
}

function events(world: World, params: Obj): Reply {
  const live = world.pool.get(params.sessionId as string);
  return {
    result: {
      events: live.events((params.afterSeq as number | undefined) ?? 0, params.limit as number | undefined),
    },
  };
}

async function close(world: World, params: Obj): Promise<Reply> {
  const live = world.pool.get(params.sessionId as string);
  for (const task of live.tasks.values()) if (task.running) void task.stop();
  live.turn?.abort.abort();
  live.pendingInputs = [];
  world.pool.remove(live.id);
  return { result: { closed: true } };
}

type Target =
  | { kind: "latestCheckpoint" }
  | { kind: "turn"; turnIndex: number }
  | { kind: "message"; messageId: string }
  | { kind: "checkpoint"; checkpointId: string };

/** The message up to which a fork goes. @throws -32603 */
function forkPoint(live: Live, target: Target): { messageId: string; checkpointId?: string } {
  const { checkpoints, messages: all } = live.data;
  switch (target.kind) {
    case "message":
      if (!all.some((each) => each.info.id === target.messageId)) {
        throw internal(`Fork target not found: ${target.messageId}`);
      }
      return { messageId: target.messageId };
    case "turn": {
      const prompts = all.filter(
        (each) => isObj(each.info.semantics) && each.info.semantics.origin === "real_user",
      );
      const next = prompts[target.turnIndex + 1];
      if (!prompts[target.turnIndex]) throw internal(`Fork target not found: turn ${target.turnIndex}`);
      const last = next ? all[all.indexOf(next) - 1] : all.at(-1);
      return { messageId: last!.info.id };
    }
    default: {
      const found =
        target.kind === "checkpoint"
          ? checkpoints.find((each) => each.checkpointId === target.checkpointId)
          : checkpoints.at(-1);
      if (!found) throw internal("No checkpoint to fork from");
      return found;
    }
  }
}

async function fork(world: World, params: Obj): Promise<Reply> {
  const live = world.pool.get(params.sessionId as string);
  if (live.lock) throw new RpcError(BUSY, "Cannot fork while a prompt is running");
  const target = (params.target as Target | undefined) ?? { kind: "latestCheckpoint" as const };
  const { messageId, checkpointId } = forkPoint(live, target);
  const data = freshSession(world, live.data.workspace, live.data.mode, live.data.model);
  data.sessionKind = "fork";
  data.parentSessionId = live.id;
  data.title = live.data.title;
  data.titleSource = live.data.titleSource;
  data.prompted = true;
  const upTo = live.data.messages.findIndex((each) => each.info.id === messageId);
  copyMessages(world, live.data.messages.slice(0, upTo + 1), data);
  const child = new Live(world, data);
  data.turnCount = data.messages.filter((each) => each.info.role === "user").length;
  const count = data.messages.length;
  addUserMessage(child, "", "This conversation is a copy of another one.", {
    kind: "fork_notice",
    hidden: true,
    source: "fork",
  });
  live.event("session.updated", {
    originalSessionId: live.id,
    forkedSessionId: child.id,
    forkPoint: target.kind,
    ...(target.kind === "message" ? { targetMessageId: messageId } : {}),
    restoredFileCount: 0,
    strategy: "fork_required",
  });
  await sleep(world.clock, world.settings.pace);
  world.pool.add(child);
  child.save();
  return {
    result: {
      forkedSessionId: child.id,
      parentSessionId: live.id,
      ...(target.kind === "message" ? { targetMessageId: messageId } : {}),
      ...(checkpointId ? { targetCheckpointId: checkpointId } : {}),
      response: `New session ${child.id} from ${messageId}: ${count} messages taken over, 0 files put back.`,
      snapshot: snapshot(child, { full: true }),
    },
  };
}

/** What a copy does not take over: the marks of requests, and what the model thought. */
const NOT_COPIED = new Set(["step-start", "step-finish", "reasoning"]);

/** Copies get ids of their own, parents too. */
function copyMessages(world: World, from: StoreMessage[], data: StoredSession): void {
  const renamed = new Map<unknown, string>();
  for (const message of from) {
    const copy = structuredClone(message);
    const id = `msg_${world.ids.uuid()}`;
    renamed.set(copy.info.id, id);
    copy.info.id = id;
    copy.info.sessionID = data.sessionId;
    if (copy.info.parentID) copy.info.parentID = renamed.get(copy.info.parentID) ?? copy.info.parentID;
    copy.parts = copy.parts.filter((part) => !NOT_COPIED.has(String(part.type)));
    for (const part of copy.parts) {
      part.id = `part_${world.ids.uuid()}`;
      part.messageID = id;
      part.sessionID = data.sessionId;
    }
    data.messages.push(copy);
  }
}

/** Numbers of a session, resident or not; zeros for one that is not known. */
function usage(world: World, params: Obj): Reply {
  const sessionId = params.sessionId as string;
  const data = world.pool.peek(sessionId)?.data ?? world.store.read(sessionId);
  const totals = data?.totals;
  return {
    result: {
      sessionId,
      totalTokens: totals?.totalTokens ?? 0,
      inputTokens: totals?.inputTokens ?? 0,
      outputTokens: totals?.outputTokens ?? 0,
      reasoningTokens: totals?.reasoningTokens ?? 0,
      cacheCreationTokens: totals?.cacheWriteTokens ?? 0,
      cacheReadTokens: totals?.cacheReadTokens ?? 0,
      modelRequestCount: totals?.modelRequestCount ?? 0,
      modelErrorCount: totals?.modelErrorCount ?? 0,
      inputBaselineBySource: {},
    },
  };
}

function subagents(world: World, params: Obj): Reply {
  const sessionId = params.sessionId as string;
  const live = world.pool.peek(sessionId);
  const all = (live?.data ?? world.store.read(sessionId))?.subagents ?? [];
  const limit = (params.endedLimit as number | undefined) ?? 100;
  const from = Number(params.endedCursor ?? 0);
  const ended = all.filter((each) => each.status !== "running");
  const items = ended.slice(from, from + limit);
  const next = from + items.length;
  return {
    result: {
      revision: live?.revision ?? 0,
      childSessionIds: all.map((each) => each.childSessionId),
      running: all.filter((each) => each.status === "running"),
      ended: { total: ended.length, items, ...(next < ended.length ? { nextCursor: String(next) } : {}) },
    },
  };
}

export const sessionHandlers: Handlers = {
  "session/create": create,
  "session/resume": resume,
  "session/list": list,
  "session/read": read,
  "session/messages": messages,
  "session/subscribe": subscribe,
  "session/events": events,
  "session/close": close,
  "session/fork": fork,
  "session/usage": usage,
  "session/subagents": subagents,
  "session/debug": (world, params) => {
    const live = world.pool.get(params.sessionId as string);
    return { result: { sessionId: live.id, eventSeq: live.seq, contextWindow: contextWindowOf(live) } };
  },
};
