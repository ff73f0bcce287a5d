/** What a recorded stream says of its world: providers, stored sessions, and what the model did in each turn. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { sleep } from "../../src/platform/clock.ts";
import type { CommandEnd } from "../../src/sim/commands.ts";
import { compactEvents } from "../../src/sim/compact.ts";
import type {
  AskPlan,
  Brain,
  BrainMaker,
  Failure,
  ModelStep,
  ToolEnd,
  ToolPlan,
} from "../../src/sim/model.ts";
import { Stopped } from "../../src/sim/model.ts";
import type { Provider } from "../../src/sim/models.ts";
import { memoryStore, type Store } from "../../src/sim/store.ts";
import {
  emptyUsage,
  isObj,
  type Obj,
  type StoredSession,
  type StoreMessage,
  type Todo,
} from "../../src/sim/types.ts";
import { agentPlan } from "../../src/sim/words/agents.ts";
import {
  askClient,
  clientTool,
  type Elicitation,
  mcpOrder,
  modeTool,
  planTool,
  todoTool,
} from "../../src/sim/words/asking.ts";
import { startBackground } from "../../src/sim/words/bash.ts";

export const FRAMES = join(import.meta.dir, "frames");

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
  events: { type: string; payload: Obj; at: number }[];
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

type Events = RecordedTurn["events"];

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

/** A tool that does what the recorded one did. */
function toolOf(name: string, callId: string, input: Obj, all: Events): ToolPlan {
  const mine = all.filter(({ type, payload }) => payload.toolCallId === callId && type !== "model.streaming");
  const of = (kind: string) =>
    mine.find(({ type, payload }) => type === "tool.updated" && payload.kind === kind)?.payload;
  const asked = mine.find(
    ({ type }) => type === "permission.requested" || type === "request:interaction/requestPermission",
  )?.payload;
  const started = of("started");
  const plain: ToolPlan = {
    name,
    input,
    callId,
    readOnly: started?.readOnly === true,
    scope: (started?.sideEffectScope as ToolPlan["scope"] | undefined) ?? "system",
    parallel: of("scheduled")?.canRunParallel === true,
    ...(asked ? { ask: askOf(name, asked) } : {}),
    run: (context) => replayTool(context, mine, all),
  };
  const error = of("error")?.error as Obj | undefined;
  if (error?.type === "TOOL_NOT_FOUND") return { ...plain, unknown: true };
  if (name === "ExitPlanMode")
    return { ...plain, run: (context) => planTool(String(input.plan)).run(context) };
  if (name === "EnterPlanMode") return { ...plain, run: (context) => modeTool().run(context) };
  if (name === "TodoWrite") {
    return { ...plain, run: (context) => todoTool(context.live, input.todos as Todo[]).run(context) };
  }
  if (name.startsWith("mcp__")) {
    const asked = all.find(
      ({ type, payload }) => type === "request:interaction/requestUserInput" && payload.toolCallId === callId,
    );
    const { message, requestedSchema } = asked!.payload.input as Obj & Elicitation;
    return { ...mcpOrder(name.split("__")[1]!, input, { message, requestedSchema }), callId };
  }
  if (name === "Agent") return agentOf(callId, input, all);
  if (name === "Bash" && input.run_in_background)
    return { ...plain, run: async (context) => background(context, mine, input) };
  const requests = clientRequests(mine, all, callId);
  if (requests.length > 0) {
    return {
      ...clientTool(name, input, plain.readOnly, async (context) => {
        for (const { type, payload } of requests)
          await askClient(context, type.slice("request:".length), payload);
        return { kind: "error", error: error! };
      }),
      callId,
    };
  }
  return plain;
}

function clientRequests(mine: Events, all: Events, callId: string): Events {
  const start = mine.find(({ payload }) => payload.kind === "started")?.at ?? Number.POSITIVE_INFINITY;
  const end = mine.find(({ payload }) => payload.kind === "error" || payload.kind === "result")?.at ?? 0;
  void callId;
  return all.filter(
    ({ type, at }) =>
      /^request:(automation|offPeak|interaction\/browser)/.test(type) && at > start && at < end,
  );
}

function askOf(name: string, asked: Obj): AskPlan {
  const always = (asked.options as Obj[]).find((option) => option.optionId === "allow_project")?.response as
    | Obj
    | undefined;
  const rule = (
    (always?.permissionUpdates as Obj[] | undefined)?.[0]?.rules as AskPlan["rule"][] | undefined
  )?.[0];
  return {
    kind: name === "AskUserQuestion" ? "questions" : name === "ExitPlanMode" ? "plan" : "permission",
    risk: asked.riskLevel as AskPlan["risk"],
    reason: String(asked.reason),
    ...(rule ? { rule } : {}),
  };
}

async function replayTool(
  context: Parameters<ToolPlan["run"]>[0],
  mine: Events,
  all: Events,
): Promise<ToolEnd> {
  const { world } = context.live;
  for (const { payload } of mine.filter(({ payload }) => payload.kind === "progress")) {
    if (!(await sleep(world.clock, 5, context.signal))) throw new Stopped();
    const {
      toolCallId: _id,
      toolName: _name,
      agentId: _a,
      agentType: _t,
      childSessionId: _s,
      childToolCallId: _c,
      description: _d,
      parentToolCallId: _p,
      source: _so,
      ...rest
    } = payload;
    context.progress(rest);
  }
  const error = mine.find(({ payload }) => payload.kind === "error")?.payload.error as Obj | undefined;
  const result = mine.find(({ payload }) => payload.kind === "result")?.payload.result as Obj | undefined;
  if ((!error && !result) || error?.type === "TOOL_CANCELLED") {
    await sleep(world.clock, 1e12, context.signal);
    throw new Stopped();
  }
  if (error) return { kind: "error", error };
  const { content, display, perf, truncated, originalBytes, artifactPath } = result as {
    content: string;
    display?: Obj;
    perf: Obj;
    truncated?: boolean;
    originalBytes?: number;
    artifactPath?: string;
  };
  const { toolCallId } = mine[0]!.payload;
  const batch = all.findIndex(
    ({ payload }) =>
      payload.kind === "batch" && (payload.toolCallIds as string[]).includes(String(toolCallId)),
  );
  const checkpoint = batch >= 0 && all[batch + 1]?.type === "checkpoint.created";
  const touched = checkpoint || display?.kind === "file_diff";
  return {
    kind: "result",
    content,
    ...(display ? { display } : {}),
    ...(perf.detail ? { detail: perf.detail as Obj } : {}),
    ...(perf.exitCode === undefined ? {} : { exitCode: Number(perf.exitCode) }),
    ...(truncated ? { truncated: { originalBytes: originalBytes!, artifactPath: artifactPath! } } : {}),
    checkpoint,
    ...(touched
      ? { changes: [{ path: String(display?.filePath ?? "new"), additions: 1, deletions: 0 }] }
      : {}),
  };
}

function agentOf(callId: string, input: Obj, all: Events): ToolPlan {
  const inner = all.filter(
    ({ type, payload }) => type === "tool.updated" && payload.parentToolCallId === callId,
  );
  const calls = inner.filter(({ payload }) => payload.kind === "scheduled");
  const end = all.find(
    ({ payload }) => payload.parentToolCallId === callId && payload.totalTokens !== undefined,
  );
  // Work that was stopped from outside never ends by itself.
  const endless = end?.payload.status === "cancelled";
  const tools = calls.map(({ payload }): ToolPlan => {
    const card = String(payload.toolCallId);
    const plan = toolOf(String(payload.toolName), card, payload.input as Obj, all);
    return { ...plan, callId: String(payload.childToolCallId), scope: plan.scope };
  });
  return agentPlan(
    {
      agentType: String(input.subagent_type),
      description: String(input.description),
      prompt: String(input.prompt),
      tools,
      answer: "The work is done.",
      tokens: 5200,
      thinkMs: endless ? 1e12 : 900,
    },
    input.run_in_background === true,
    callId,
  );
}

function background(context: Parameters<ToolPlan["run"]>[0], mine: Events, input: Obj): ToolEnd {
  const { clock } = context.live.world;
  const told = mine.filter(({ type, payload }) => type === "session.updated" && payload.taskId !== undefined);
  const progress = told.filter(
    ({ payload }) => payload.status === "running" && payload.pid !== undefined && !payload.cancelRequestedAt,
  );
  const last = told.at(-1)!.payload;
  return startBackground(context, String(input.command), String(input.description), (onProgress) => {
    const abort = new AbortController();
    const end = (exitCode: number): CommandEnd => ({
      exitCode,
      output: String(last.outputTail),
      stdout: String(last.stdoutTail),
      stderr: "",
      outputBytes: Number(last.outputBytes),
      firstOutputMs: 1,
      runMs: 10,
    });
    const run = async (): Promise<CommandEnd> => {
      for (const { payload } of progress) {
        if (!(await sleep(clock, 1000, abort.signal))) return end(137);
        onProgress({
          elapsedMs: 1,
          pid: Number(payload.pid),
          stdoutBytes: Number(payload.stdoutBytes),
          stderrBytes: 0,
          outputBytes: Number(payload.outputBytes),
          stdoutTail: String(payload.stdoutTail),
          stderrTail: "",
        });
      }
      await sleep(clock, last.status === "cancelled" ? 1e12 : 800, abort.signal);
      return end(Number(last.exitCode ?? 137));
    };
    return { pid: Number(last.pid), done: run(), kill: () => abort.abort() };
  });
}
