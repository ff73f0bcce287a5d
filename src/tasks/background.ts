/**
 * Background tasks of one conversation: commands and sub-agents that run on after the tool call that launched them. A
 * command stays on its launch card; anything else, and a command whose card is not known, gets a card of its own. Which
 * of the two is told by the tool call that an event names, never by the kind of task.
 */

import { isPhrase, said, t, type Value } from "../locale/index.ts";
import { type Obj, text } from "../platform/json.ts";
import {
  appendOutput,
  appendTails,
  BROKEN_OFF,
  type Card,
  closeCard,
  isOpen,
  openCard,
} from "../translate/cards.ts";
import type { TranslateState } from "../translate/events.ts";
import { appendedTail } from "../translate/output.ts";
import { oneLine } from "../translate/tools.ts";
import type { Update } from "../translate/updates.ts";

interface Task {
  readonly id: string;
  /** The card that shows it. */
  readonly card: Card;
  /** The call that launched it, where one is named. */
  readonly toolCallId: string | undefined;
  /** A person asked for its end. */
  cancelled: boolean;
}

/** The tasks that were seen in a conversation; they outlive evictions and restarts of the backend. */
export interface TaskBook {
  readonly tasks: Map<string, Task>;
}

export function newTaskBook(): TaskBook {
  return { tasks: new Map() };
}

/** True where a task was seen in this conversation: nothing else may be cancelled from it. */
export function knowsTask(book: TaskBook, taskId: string): boolean {
  return book.tasks.has(taskId);
}

/** How many tasks still run. */
export function openTasks(book: TaskBook): number {
  return openCards(book).length;
}

/** The cards of those that still run. */
export function openCards({ tasks }: TaskBook): Card[] {
  return [...tasks.values()].map(({ card }) => card).filter(isOpen);
}

/** One `session.updated` that names a task; any other gives nothing. */
export function taskUpdated(book: TaskBook, state: TranslateState, payload: Obj): Update[] {
  const id = text(payload.taskId);
  const status = text(payload.status);
  if (id === undefined || status === undefined) return [];
  const updates: Update[] = [];
  let task = book.tasks.get(id);
  if (!task) {
    task = adopt(book, state, id, payload);
    // A copy, since a task whose first event is its last closes the card before this is drawn.
    const own = task.card.id !== task.toolCallId;
    updates.push({ kind: "tool", change: own ? "opened" : "status", card: { ...task.card } });
  }
  const { card } = task;
  if (!isOpen(card)) return updates;
  if (card.command) updates.push(...output(card, payload));
  if (status !== "running" && (status === "completed" || BROKEN_OFF.has(status))) {
    updates.push(...end(book, task, state, status, text(payload.blockedReason)));
  }
  return updates;
}

/** A person cancelled the task: its card says so, whichever of the answer and the event comes first. */
export function cancelTask(book: TaskBook, taskId: string): void {
  const task = book.tasks.get(taskId);
  if (!task) return;
  task.cancelled = true;
  task.card.task = { id: taskId, cancelled: true };
}

/** The backend refused to cancel, so nobody did. */
export function keepTask(book: TaskBook, taskId: string): void {
  const task = book.tasks.get(taskId);
  if (!task || !isOpen(task.card)) return;
  task.cancelled = false;
  task.card.task = { id: taskId, cancelled: false };
}

/** Ends one task, or every one that runs, as the backend ended it or took it along. */
export function endTasks(book: TaskBook, state: TranslateState, status: string, taskId?: string): Update[] {
  return [...book.tasks.values()]
    .filter((task) => isOpen(task.card) && (taskId === undefined || task.id === taskId))
    .flatMap((task) => end(book, task, state, status, undefined));
}

function adopt(book: TaskBook, state: TranslateState, id: string, payload: Obj): Task {
  const toolCallId = text(payload.toolCallId);
  const launch = toolCallId === undefined ? undefined : state.cards.get(toolCallId);
  const reused = launch?.command && isOpen(launch) ? launch : undefined;
  const card = reused ?? ownCard(state, id, payload);
  card.status = "in_progress";
  card.launched = true;
  card.background = true;
  card.task = { id, cancelled: false };
  const task: Task = { id, card, toolCallId, cancelled: false };
  book.tasks.set(id, task);
  return task;
}

function ownCard(state: TranslateState, id: string, payload: Obj): Card {
  const command = text(payload.command);
  const name = text(payload.toolName) ?? (command === undefined ? "Agent" : "Bash");
  const card = openCard(state, `bg_${id}`, name, command === undefined ? {} : { command }, undefined);
  const what = oneLine(text(payload.description) ?? command ?? name);
  card.title = t("tool.background", { what }, state.language);
  card.kind = "other";
  return card;
}

/** Cumulative tails of a running command; the last event may hold the whole of it under another name. */
function output(card: Card, payload: Obj): Update[] {
  const updates = appendTails(card, payload);
  const tail = text(payload.outputTail);
  if (tail === undefined || card.stdout !== "" || card.stderr !== "") return updates;
  const appended = appendedTail(card.output, tail);
  return appended === "" ? updates : [...updates, appendOutput(card, appended)];
}

/** An end that is neither success nor failure, in words. */
function howEnded(status: string): Value {
  const ended = { key: `task.${status}`, params: {} };
  return isPhrase(ended) ? ended : status.replaceAll("_", " ");
}

function end(
  book: TaskBook,
  task: Task,
  state: TranslateState,
  status: string,
  reason: string | undefined,
): Update[] {
  const { card } = task;
  const completed = status === "completed";
  if (card.command) card.exitCode = completed ? 0 : 1;
  if (!completed && status !== "failed") card.failure = reason ?? said(howEnded(status), state.language);
  const updates: Update[] = [];
  // What a sub-agent still had open ends with it.
  if (task.toolCallId !== undefined) {
    for (const inner of state.cards.values()) {
      if (inner.parentId === task.toolCallId && isOpen(inner)) updates.push(closeCard(inner, "failed"));
    }
  }
  updates.push(closeCard(card, completed ? "completed" : "failed"));
  state.cards.delete(card.id);
  // That it was here is remembered, and nothing of what it wrote.
  const light = { ...card, output: "", rawInput: undefined, diffs: [] };
  book.tasks.set(task.id, { ...task, card: light });
  return updates;
}
