/** What a recorded stream says of its world: providers, stored sessions, and what the model did in each turn. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { compactEvents } from "../../src/sim/compact.ts";
import type { Brain, BrainMaker, Failure, ModelStep } from "../../src/sim/model.ts";
import type { Provider } from "../../src/sim/models.ts";
import { memoryStore, type Store } from "../../src/sim/store.ts";
import { emptyUsage, isObj, type Obj, type StoredSession, type StoreMessage } from "../../src/sim/types.ts";

import { type Events, toolOf } from "./recordedTools.ts";

export const FRAMES = join(import.meta.dir, "..", "frames");

export interface Entry {
  dir: "in" | "out";
  at: number;
  frame: Obj;
}

export function readRecording(name: string): Entry[] {
  return readFileSync(join(FRAMES, name), "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Entry);
}

/** Every `{key: object}` under a value, wherever it stands. */
function* find(value: unknown, key: string): Generator<unknown> {
  if (Array.isArray(value)) for (const each of value) yield* find(each, key);
  else if (isObj(value)) {
    for (const [name, each] of Object.entries(value)) {
      if (name === key) yield each;
      yield* find(each, key);
    }
  }
}

/** The providers that the stream's lists of models show. */
export function providersOf(entries: Entry[]): Provider[] {
  const providers = new Map<string, Provider>();
  for (const available of find(entries, "available")) {
    for (const entry of available as Obj[]) {
      const ref = entry.ref as { providerId: string; modelId: string } | undefined;
      if (!ref) continue;
      let provider = providers.get(ref.providerId);
      if (!provider) {
        provider = { providerId: ref.providerId, label: String(entry.providerLabel), models: [] };
        const account = /^account:(\w+)-(.+)$/.exec(ref.providerId);
        if (account) provider.account = { accountType: account[1]!, mode: account[2]!, entitled: true };
        providers.set(ref.providerId, provider);
      }
      if (provider.models.some((model) => model.modelId === ref.modelId)) continue;
      const reasoning = entry.reasoning as { levels: { value: string }[]; defaultLevel: string } | undefined;
      provider.models.push({
        modelId: ref.modelId,
        label: String(entry.label),
        contextWindow: Number(entry.contextWindow),
        maxOutputTokens: Number(entry.maxOutputTokens),
        ...(entry.description ? { description: String(entry.description) } : {}),
        ...(reasoning
          ? { levels: reasoning.levels.map((level) => level.value), defaultLevel: reasoning.defaultLevel }
          : {}),
      });
    }
  }
  return [...providers.values()];
}

/** The sessions that must lie in the store before the stream begins. */
export function storeOf(entries: Entry[]): Store {
  const store = memoryStore(1);
  const blank = (sessionId: string, workspace: unknown): StoredSession => ({
    v: 1,
    sessionId,
    traceId: "trace_stored",
    workspace: workspace as StoredSession["workspace"],
    sessionKind: "interactive",
    title: "",
    titleSource: "default",
    mode: "build",
    modeBeforePlan: "build",
    planEnabled: false,
    createdAt: 0,
    updatedAt: 0,
    prompted: true,
    messages: [],
    todos: [],
    turnCount: 0,
    totals: { ...emptyUsage(), modelRequestCount: 0, modelErrorCount: 0 },
    contextUsed: 0,
    checkpoints: [],
    subagents: [],
  });
  const created = new Set<string>();
  // What the stream itself added to a conversation was not stored before it.
  let spoken = false;
  const complete = new Set<string>();
  const requests = new Map<unknown, Obj>();
  for (const { dir, frame } of entries) {
    if (dir === "in" && frame.method) requests.set(frame.id, frame);
    const request = dir === "out" && !frame.method ? requests.get(frame.id) : undefined;
    const result = frame.result as Obj | undefined;
    if (!request || !result) continue;
    if (request.method === "session/create") created.add(String((result.session as Obj).sessionId));
    if (request.method === "session/list") {
      for (const row of result.sessions as Obj[]) {
        if (created.has(String(row.sessionId)) || store.read(String(row.sessionId))) continue;
        store.write({
          ...blank(String(row.sessionId), row.workspace),
          ...(row as object),
          mode: "build",
        } as StoredSession);
      }
    }
    const id = String((request.params as Obj).sessionId);
    if (request.method === "session/resume") {
      const session = result.session as Obj;
      const projection = result.projection as Obj;
      if (created.has(id) || store.read(id)) continue;
      store.write({
        ...blank(id, session.workspace),
        title: String(session.title),
        titleSource: session.titleSource as StoredSession["titleSource"],
        model: ((result.settings as Obj).model as Obj).current as StoredSession["model"] & object,
        turnCount: Number(projection.turnCount),
        contextUsed: Number(projection.contextUsed),
        messages: (result.messages as Obj[]).map((message) => stored(message)),
      });
    }
    // The store's own form says more than a snapshot does; a whole list also has the ids that came twice.
    const known = request.method === "session/messages" ? store.read(id) : undefined;
    if (known) {
      const told = result.messages as StoreMessage[];
      const whole = new Map(told.map((message) => [message.info.id, message]));
      const { limit, afterMessageId } = request.params as Obj;
      const all = limit === undefined && afterMessageId === undefined && !spoken;
      if (all) complete.add(id);
      if (all) known.messages = told;
      else if (!complete.has(id))
        known.messages = known.messages.map((message) => whole.get(message.info.id) ?? message);
      store.write(known);
    }
    if (request.method === "session/send" || request.method === "session/compact") spoken = true;
  }
  return store;
}

/** A snapshot's message in the store's spelling. */
function stored(message: Obj): StoreMessage {
  const { messageId, sessionId, parentMessageId, model, ...info } = message.info as Obj;
  const pair = model as Obj | undefined;
  return {
    info: {
      ...info,
      id: String(messageId),
      role: info.role as "user",
      sessionID: sessionId,
      ...(parentMessageId ? { parentID: parentMessageId } : {}),
      ...(info.role === "user"
        ? { modelSelection: pair }
        : { modelId: pair?.modelId, providerId: pair?.providerId }),
    },
    parts: (message.parts as Obj[]).map(({ messageId, partId, sessionId, ...part }) => ({
      id: partId,
      messageID: messageId,
      sessionID: sessionId,
      ...part,
    })),
  };
}

interface RecordedTurn {
  id: string | undefined;
  events: Events;
}

/** Makes the recorded model: the n-th question is answered as the n-th recorded turn was. */
export function recordedModel(entries: Entry[]): BrainMaker {
  const turns: RecordedTurn[] = [];
  const byId = new Map<string, RecordedTurn>();
  const loose: RecordedTurn = { id: undefined, events: [] };
  for (const { dir, frame, at } of entries) {
    const params = frame.params as Obj | undefined;
    if (dir === "out" && frame.id !== undefined && frame.method) {
      // A request in a turn stands among its events.
      const turn = turns.at(-1);
      turn?.events.push({ type: `request:${String(frame.method)}`, payload: params ?? {}, at });
      continue;
    }
    if (frame.method !== "session/event" || !params) continue;
    const { type, turnId, payload } = params as { type: string; turnId?: string; payload: Obj };
    const event = { type, payload, at };
    if (type === "turn.started" && payload.input !== "/compact") {
      const turn: RecordedTurn = { id: turnId, events: [] };
      turns.push(turn);
      byId.set(turnId!, turn);
      continue;
    }
    const turn = turnId ? byId.get(turnId) : undefined;
    if (turn && type === "turn.steerDrained" && payload.drainedInputs && !isFeedback(turn)) {
      const next: RecordedTurn = { id: turnId, events: [] };
      turns.splice(turns.indexOf(turn) + 1, 0, next);
      byId.set(turnId!, next);
      continue;
    }
    (turn ?? loose).events.push(event);
  }
  // A turn's own events, and those beside every turn, such as the life of a background task.
  const all = [...turns.flatMap((turn) => turn.events), ...loose.events];
  let next = 0;
  return () => replayTurn(turns[next++]?.events ?? [], all);
}

function isFeedback(turn: RecordedTurn): boolean {
  return turn.events.some(
    (event) => event.type === "turn.steerQueued" && event.payload.source === "plan_approval_feedback",
  );
}

async function* replayTurn(events: Events, all: Events): Brain {
  const starts = events.flatMap((event, i) => (isStepStart(event) ? [i] : []));
  const modern = starts.length > 0;
  if (!modern) {
    yield oldStep(events, all);
    if (events.some((event) => event.payload.kind === "batch")) yield {};
    return;
  }
  for (let s = 0; s < starts.length; s++) {
    const from = s === 0 ? 0 : starts[s]!;
    const step = makeStep(events.slice(from, starts[s + 1]), all);
    const asked = s === 0 ? [] : clientRequestsBefore(events.slice(starts[s - 1]!, starts[s]));
    if (asked.length > 0) {
      step.before = async (stream) => {
        for (const { type, payload } of asked) {
          const method = type.slice("request:".length);
          await stream.live.world.interactions.ask(method, payload, {});
        }
      };
    }
    yield step;
  }
}

function isStepStart({ type, payload }: Events[number]): boolean {
  return type === "session.updated" && payload.iteration !== undefined && payload.messageCount !== undefined;
}

/** Requests to the client between the end of a step and the next. */
function clientRequestsBefore(events: Events): Events {
  const end = events.findLastIndex((event) => event.payload.kind === "batch");
  return end < 0
    ? []
    : events
        .slice(end)
        .filter((event) => /^request:(subagents|interaction\/requestOfficial)/.test(event.type));
}

function makeStep(events: Events, all: Events): ModelStep {
  const step: ModelStep = {};
  const deltas = events.filter(
    ({ type, payload }) =>
      type === "model.streaming" && /^(text|reasoning)_delta$/.test(String(payload.kind)),
  );
  const calls = events.filter(({ payload }) => payload.kind === "tool_call");
  const completed = events.find(({ payload }) => payload.type === "model_request_completed");
  const failed = events.filter(({ payload }) => payload.type === "model_request_failed");
  const failure = events.find(({ type }) => type === "turn.failed")?.payload.error as Failure | undefined;
  const known = events.find(({ payload }) => payload.operationId && payload.trigger === "auto");
  if (known) {
    step.before = async (stream) => {
      const told = compactEvents(stream.turn, "auto");
      told.started();
      await stream.wait(5);
      told.completed();
    };
  }
  if (failed.length > 0) {
    const { reason, retryable, statusCode } = failed[0]!.payload as {
      reason: string;
      retryable: boolean;
      statusCode?: number;
    };
    step.fail = {
      times: failed.length,
      recovers: !failure,
      failure: failure ?? {
        type: "UNKNOWN_ERROR",
        code: "model_request_failed",
        message: String(failed[0]!.payload.message),
        attribution: { reason, retryable, ...(statusCode ? { statusCode } : {}) },
      },
    };
  }
  step.stream = async (stream) => {
    for (const { payload } of deltas) {
      if (payload.kind === "text_delta") await stream.text(String(payload.delta));
      else await stream.reason(String(payload.delta));
    }
    if (!completed) await stream.wait(1e12);
  };
  if (completed) step.usage = completed.payload.usage as Obj;
  step.tools = calls.map(({ payload }) =>
    toolOf(String(payload.toolName), String(payload.toolCallId), payload.input as Obj, all),
  );
  return step;
}

/** The older streams show tools without the model's call, and one step a turn. */
function oldStep(events: Events, all: Events): ModelStep {
  const step = makeStep(events, all);
  const ended = events.some(
    ({ type, payload }) => type === "turn.completed" && payload.resultType !== "cancelled",
  );
  const error = events.find(({ type }) => type === "turn.failed")?.payload.error as Obj | undefined;
  const deltas = events.filter(({ type }) => type === "model.streaming");
  step.stream = async (stream) => {
    for (const { payload } of deltas) {
      if (payload.kind === "text_delta") await stream.text(String(payload.delta));
      else await stream.reason(String(payload.delta));
    }
    if (!ended) await stream.wait(1e12);
  };
  if (error) {
    const cause = (error.cause ?? error) as Obj;
    step.fail = {
      times: 1,
      recovers: false,
      failure: { type: "UNKNOWN_ERROR", code: String(cause.code), message: String(cause.message) },
    };
  }
  step.tools = events
    .filter(({ payload }) => payload.kind === "scheduled")
    .map(({ payload }) =>
      toolOf(String(payload.toolName), String(payload.toolCallId), payload.input as Obj, all),
    );
  return step;
}
