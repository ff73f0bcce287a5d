/**
 * Backend events in, neutral updates out. The state belongs to one conversation and is changed in place; there
 * is no I/O and no clock. Every field of a payload may be missing or of another type.
 */

import type { Language } from "../locale/index.ts";
import { list, num, type Obj, obj, str, text } from "../platform/json.ts";
import {
  appendOutput,
  appendTails,
  BROKEN_OFF,
  type Card,
  closeCard,
  isOpen,
  openCard,
  refreshCard,
} from "./cards.ts";
import { finalRemainder, OUTPUT_CHARS } from "./output.ts";
import { Shown } from "./shown.ts";
import { displayDiffs, resultFiles } from "./tools.ts";
import type { PlanEntry, SubagentResult, ToolCard, Update } from "./updates.ts";
import { tokens } from "./usage.ts";

export interface TranslateState {
  readonly cwd: string;
  readonly language: Language;
  /** Open cards and those of the running turn, by tool call id. */
  readonly cards: Map<string, Card>;
  /** Name and input of calls that the model has made and that are not scheduled yet. */
  readonly calls: Map<string, { name: string; input: Obj }>;
  /** The last window size above 0 that anything named, in tokens. */
  contextWindow: number;
  lastUsed: number;
  lastPlan: string;
  /** A plan was told, of which a client may hold what it was shown. */
  planned: boolean;
  readonly shown: Shown;
}

export function newTranslateState(cwd: string, language: Language): TranslateState {
  return {
    cwd,
    language,
    cards: new Map(),
    calls: new Map(),
    contextWindow: 0,
    lastUsed: -1,
    lastPlan: "[]",
    planned: false,
    shown: new Shown(),
  };
}

/**
 * The plan as it is now. An empty one takes an older one away, and is told where there may be such.
 * @param planned whether something was planned before that was told by others, such as a bridge that is gone.
 */
export function planShown(state: TranslateState, planned: boolean): Update[] {
  const entries = JSON.parse(state.lastPlan) as PlanEntry[];
  return entries.length > 0 || state.planned || planned ? [{ kind: "plan", entries }] : [];
}

/** One `session/event`: its `type` and `payload`. Turn events other than their effect on cards are not drawn here. */
export function translateEvent(state: TranslateState, type: string, payload: Obj): Update[] {
  switch (type) {
    case "model.streaming":
      return streaming(state, payload);
    case "tool.updated":
      return tool(state, payload);
    case "permission.resolved":
      return payload.decision === "deny" ? deny(state, payload) : [];
    case "session.updated":
      return sessionUpdated(state, payload);
    case "session.titleUpdated": {
      const title = text(payload.title);
      return title === undefined ? [] : [{ kind: "title", title, source: str(payload.source) ?? "" }];
    }
    case "turn.completed":
      state.shown.turnOver();
      return [...turnUsage(state, payload), ...closeOpenCards(state)];
    case "turn.failed":
      state.shown.turnOver();
      return closeOpenCards(state);
    default:
      return [];
  }
}

/** Every card still open at its turn's end had no result that could be told: it is closed as failed. */
export function closeOpenCards(state: TranslateState): Update[] {
  const updates: Update[] = [];
  state.calls.clear();
  for (const [id, card] of state.cards) {
    if (card.launched && isOpen(card)) continue;
    if (isOpen(card)) updates.push(closeCard(card, "failed"));
    state.cards.delete(id);
  }
  return updates;
}

/** The session is gone: what its cards waited for may be told by its history, once it is back. */
export function cutOpenCards(state: TranslateState): Update[] {
  const updates: Update[] = [];
  state.calls.clear();
  for (const card of state.cards.values()) {
    if (!isOpen(card)) continue;
    card.cut = true;
    updates.push(closeCard(card, "failed"));
  }
  return updates;
}

/**
 * The card for a tool call that a question names, opened where no event has done so: a client must know the call
 * before it is asked about it.
 */
export function ensureCard(
  state: TranslateState,
  id: string,
  name: string,
  input: Obj,
): { card: ToolCard; updates: Update[] } {
  const known = state.cards.get(id);
  if (known)
    return {
      card: known,
      updates: known.rawInput === undefined && isOpen(known) ? refreshCard(state, known, input) : [],
    };
  const card = openCard(state, id, name, input, undefined);
  return { card, updates: [{ kind: "tool", change: "opened", card }] };
}

function streaming(state: TranslateState, payload: Obj): Update[] {
  const delta = payload.delta;
  switch (payload.kind) {
    case "text_delta": {
      if (typeof delta !== "string" || delta === "") return [];
      const id = text(payload.assistantMessageId);
      state.shown.said(id, "agent", delta.length);
      return [{ kind: "text", role: "agent", messageId: id, text: delta }];
    }
    case "reasoning_delta": {
      if (typeof delta !== "string" || delta === "") return [];
      const id = text(payload.assistantMessageId);
      state.shown.said(id, "thought", delta.length);
      return [{ kind: "text", role: "thought", messageId: id && thoughtId(id), text: delta }];
    }
    case "tool_call": {
      const id = text(payload.toolCallId);
      const name = text(payload.toolName);
      const messageId = text(payload.assistantMessageId);
      if (messageId !== undefined) state.shown.said(messageId, "agent", 0);
      if (id !== undefined && name !== undefined) state.calls.set(id, { name, input: obj(payload.input) });
      return [];
    }
    default:
      return [];
  }
}

/** The id of the thought that belongs to a message, the same live and at replay. */
export function thoughtId(messageId: string): string {
  return `thought_${messageId}`;
}

function tool(state: TranslateState, payload: Obj): Update[] {
  const id = text(payload.toolCallId);
  if (id === undefined) return [];
  const updates: Update[] = [];
  let card = state.cards.get(id);
  if (!card) {
    const call = state.calls.get(id);
    const name = text(payload.toolName) ?? call?.name;
    const kind = payload.kind;
    if (
      name === undefined ||
      (kind !== "scheduled" &&
        kind !== "started" &&
        kind !== "progress" &&
        kind !== "result" &&
        kind !== "error")
    ) {
      return [];
    }
    const input = payload.input === undefined ? (call?.input ?? {}) : obj(payload.input);
    card = openCard(state, id, name, input, text(payload.parentToolCallId));
    // What a sub-agent does in the background ends with it, not with the turn that sent it out.
    card.launched = payload.background === true || state.cards.get(card.parentId ?? "")?.background === true;
    // A copy: where its result is the first that is heard of a call, the card is closed before this is drawn.
    updates.push({ kind: "tool", change: "opened", card: { ...card } });
  }
  state.calls.delete(id);
  if (!isOpen(card)) return updates;
  switch (payload.kind) {
    case "scheduled":
      if (payload.input !== undefined && updates.length === 0)
        updates.push(...refreshCard(state, card, obj(payload.input)));
      break;
    case "started":
      if (card.status !== "in_progress") {
        card.status = "in_progress";
        updates.push({ kind: "tool", change: "status", card });
      }
      break;
    case "progress":
      if (card.command) updates.push(...appendTails(card, payload));
      break;
    case "result":
      updates.push(...result(state, card, obj(payload.result)));
      break;
    case "error": {
      const error = payload.error;
      card.failure = text(obj(error).message) ?? text(error) ?? "";
      updates.push(closeCard(card, "failed"));
      break;
    }
  }
  return updates;
}

function result(state: TranslateState, card: Card, value: Obj): Update[] {
  const updates: Update[] = [];
  const content = resultText(value.content);
  const perf = obj(value.perf);
  const command = obj(obj(perf.detail).command);
  const status = str(command.status) ?? "";
  const failed = value.success === false || (card.command && BROKEN_OFF.has(status));
  if (card.command) {
    if (!failed && (status === "backgrounded" || (card.background && status !== "completed"))) {
      // The launch is over, the command is not: its card stays open until the task ends, and shows what that writes
      // rather than the note to the model that it runs.
      card.background = true;
      card.launched = true;
      return updates;
    }
    const rest = finalRemainder(card.output, content);
    if (rest !== "") updates.push(appendOutput(card, rest));
    card.exitCode = num(command.exitCode) ?? num(perf.exitCode) ?? exitCodeIn(content);
    if (card.exitCode === undefined) card.exitCode = failed ? 1 : 0;
    updates.push(closeCard(card, failed || card.exitCode !== 0 ? "failed" : "completed"));
    return updates;
  }
  const diffs = displayDiffs(value, state.cwd);
  if (diffs.length > 0) card.diffs = diffs;
  const files = resultFiles(value)
    .map((file) => text(obj(file).filePath))
    .filter((path) => path !== undefined);
  if (files.length > 0 && card.locations.length === 0) card.locations = files.map((path) => ({ path }));
  if (card.name === "Agent" || card.name === "Task") {
    const { body, subagent } = subagentResult(content);
    card.subagent = subagent;
    card.output = body;
  } else if (card.name !== "TodoWrite" && card.kind !== "edit") {
    card.output = content.length > OUTPUT_CHARS ? content.slice(0, OUTPUT_CHARS) : content;
  }
  if (failed) card.failure = text(obj(value.error).message) ?? text(value.error) ?? content;
  updates.push(closeCard(card, failed ? "failed" : "completed"));
  if (card.name === "TodoWrite" && !failed)
    updates.push(...planUpdate(state, todosOf(content, card.rawInput)));
  return updates;
}

/** The to-dos that a finished `TodoWrite` left: its result names them all, older builds only echo the input. */
function todosOf(content: string, input: unknown): readonly unknown[] {
  try {
    const todos = obj(JSON.parse(content)).todos;
    if (Array.isArray(todos)) return todos;
  } catch {
    // Older builds answer with a sentence.
  }
  return list(obj(input).todos);
}

/** A plan for to-dos in any spelling, or nothing where it says what was said last. */
export function planUpdate(state: TranslateState, todos: readonly unknown[]): Update[] {
  const entries: PlanEntry[] = todos.map(obj).flatMap((todo) => {
    const content = text(todo.content);
    if (content === undefined) return [];
    const priority = todo.priority === "high" || todo.priority === "low" ? todo.priority : "medium";
    const status = todo.status === "completed" || todo.status === "in_progress" ? todo.status : "pending";
    return [{ content, priority, status }];
  });
  const key = JSON.stringify(entries);
  if (key === state.lastPlan) return [];
  state.lastPlan = key;
  state.planned = true;
  return [{ kind: "plan", entries }];
}

function deny(state: TranslateState, payload: Obj): Update[] {
  const id = text(payload.toolCallId);
  const card = id === undefined ? undefined : state.cards.get(id);
  if (!card || !isOpen(card)) return [];
  card.failure = text(payload.reason);
  return [closeCard(card, "failed")];
}

function resultText(content: unknown): string {
  if (typeof content === "string") return content;
  return list(content)
    .map((part) => str(part) ?? str(obj(part).text) ?? "")
    .filter((part) => part !== "")
    .join("\n");
}

function exitCodeIn(content: string): number | undefined {
  const match = /^Exit code (\d+)/.exec(content);
  return match ? Number(match[1]) : undefined;
}

function subagentResult(content: string): { body: string; subagent: SubagentResult | undefined } {
  // The last one: the sub-agent's own words may look like it.
  const id = [...content.matchAll(/^agentId: (\S+)/gm)].at(-1);
  if (!id?.[1]) return { body: content, subagent: undefined };
  const lines = content.slice(id.index).replace(/<\/?usage>/g, "\n");
  const number = (name: string) => {
    const match = new RegExp(`^${name}: (\\d+)`, "m").exec(lines);
    return match ? Number(match[1]) : undefined;
  };
  const tokens = number("subagent_tokens");
  const toolUses = number("tool_uses");
  const durationMs = number("duration_ms");
  return {
    body: content.slice(0, id.index).trimEnd(),
    subagent: {
      agentId: id[1],
      ...(tokens !== undefined ? { tokens } : {}),
      ...(toolUses !== undefined ? { toolUses } : {}),
      ...(durationMs !== undefined ? { durationMs } : {}),
    },
  };
}

function sessionUpdated(state: TranslateState, payload: Obj): Update[] {
  if (payload.taskId !== undefined) return [];
  const source = str(payload.querySource);
  const updates: Update[] = [];
  // Titles and compaction make model requests of their own, which say nothing of this conversation's context.
  if (source === undefined || source === "main_turn") {
    const window = num(payload.contextWindow);
    if (payload.usage === undefined || payload.type !== undefined)
      updates.push(...setWindow(state, window ?? 0));
    else updates.push(...usage(state, obj(payload.usage), window));
  }
  const compacted = num(payload.truePostCompactTokenCount) ?? num(payload.postCompactTokenCount);
  if (compacted !== undefined) updates.push(...contextUsage(state, compacted, undefined));
  const mode = text(payload.mode);
  if (mode !== undefined && payload.previousMode !== undefined) updates.push({ kind: "mode", mode });
  return updates;
}

function turnUsage(state: TranslateState, payload: Obj): Update[] {
  state.contextWindow = tokens(obj(payload.usage).contextWindow) || state.contextWindow;
  return [];
}

function usage(state: TranslateState, value: Obj, size: number | undefined): Update[] {
  const used =
    tokens(value.totalTokens) ?? (tokens(value.inputTokens) ?? 0) + (tokens(value.outputTokens) ?? 0);
  return contextUsage(state, used, size);
}

/** The window is another one from here on: told where something is known to be in it. */
export function setWindow(state: TranslateState, size: number): Update[] {
  const window = tokens(size) ?? 0;
  if (window === 0 || window === state.contextWindow) return [];
  state.contextWindow = window;
  return state.lastUsed > 0 ? [{ kind: "usage", used: state.lastUsed, size: window }] : [];
}

/** A usage update for `used` tokens, or nothing where the window is not known or nothing changed. */
export function contextUsage(state: TranslateState, used: number, size: number | undefined): Update[] {
  const before = state.contextWindow;
  state.contextWindow = tokens(size) || before;
  const count = tokens(used) ?? 0;
  if (state.contextWindow === 0 || count === 0) return [];
  if (count === state.lastUsed && state.contextWindow === before) return [];
  state.lastUsed = count;
  return [{ kind: "usage", used: count, size: state.contextWindow }];
}
