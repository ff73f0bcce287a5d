/**
 * Stored messages in, the updates that replay them out. Both spellings of ids are read everywhere: the store's
 * own (`id`, `callID`) and the snapshots' (`messageId`, `callId`). Plumbing that a person must not see is left out.
 */

import { list, num, type Obj, obj, str, text } from "../platform/json.ts";
import {
  closeOpenCards,
  newTranslateState,
  type TranslateState,
  thoughtId,
  translateEvent,
} from "./events.ts";
import type { Update } from "./updates.ts";

const REMINDER = /\n*<system-reminder>[\s\S]*?<\/system-reminder>\n*/g;

/**
 * Updates in order, each to be rendered before the next is taken: a card is one object that changes as it goes.
 * @param messages `{info, parts}` in order; the latest of several with one id counts, at the first one's place.
 */
export function* replayUpdates(messages: readonly unknown[], cwd: string): Generator<Update> {
  const state = newTranslateState(cwd);
  for (const { info, parts } of latestById(messages)) {
    if (isHidden(info)) continue;
    const id = messageIdOf(info);
    if (info.role === "user") {
      const said = userText(parts);
      if (said !== "") yield { kind: "text", role: "user", messageId: id, text: said };
    } else {
      for (const part of parts) yield* assistantPart(state, part, id);
      yield* closeOpenCards(state);
    }
  }
}

interface Message {
  readonly info: Obj;
  readonly parts: readonly Obj[];
}

function latestById(messages: readonly unknown[]): Message[] {
  const order: Message[] = [];
  const places = new Map<string, number>();
  for (const value of messages) {
    const message: Message = { info: obj(obj(value).info), parts: list(obj(value).parts).map(obj) };
    const id = messageIdOf(message.info);
    const place = id === undefined ? undefined : places.get(id);
    if (place !== undefined) {
      order[place] = message;
    } else {
      if (id !== undefined) places.set(id, order.length);
      order.push(message);
    }
  }
  return order;
}

function messageIdOf(info: Obj): string | undefined {
  return text(info.messageId) ?? text(info.id);
}

function isHidden(info: Obj): boolean {
  const semantics = obj(info.semantics);
  return semantics.transcriptVisibility === "hidden" || info.visibility === "model-only";
}

/** A person's words, without the reminders that the agent's runtime appended to them. */
function userText(parts: readonly Obj[]): string {
  return parts
    .filter((part) => part.type === "text" && part.synthetic !== true)
    .map((part) => (str(part.text) ?? "").replace(REMINDER, "\n").trim())
    .filter((words) => words !== "")
    .join("\n");
}

function* assistantPart(state: TranslateState, part: Obj, messageId: string | undefined): Generator<Update> {
  switch (part.type) {
    case "text": {
      const words = text(part.text);
      if (words !== undefined) yield { kind: "text", role: "agent", messageId, text: words };
      return;
    }
    case "reasoning": {
      const words = text(part.text) ?? text(part.content);
      if (words === undefined) return;
      yield { kind: "text", role: "thought", messageId: messageId && thoughtId(messageId), text: words };
      return;
    }
    case "tool":
      yield* toolPart(state, part);
  }
}

/** A stored tool part goes the way of its live events, so that both look alike. */
function* toolPart(state: TranslateState, part: Obj): Generator<Update> {
  const toolCallId = text(part.callID) ?? text(part.callId) ?? text(part.partId) ?? text(part.id);
  const toolName = text(part.tool);
  if (toolCallId === undefined || toolName === undefined) return;
  const stored = obj(part.state);
  const metadata = { ...obj(part.metadata), ...obj(stored.metadata) };
  const head = { toolCallId, toolName };
  yield* translateEvent(state, "tool.updated", { ...head, kind: "scheduled", input: stored.input });
  if (stored.status === "completed") {
    const perf = metadata.perf ?? stored.perf;
    const result = {
      success: true,
      content: str(stored.output) ?? "",
      ...(perf === undefined ? {} : { perf }),
      ...(metadata.display === undefined ? {} : { display: metadata.display }),
      ...(num(metadata.exitCode) === undefined
        ? {}
        : { perf: { ...obj(perf), exitCode: metadata.exitCode } }),
    };
    yield* translateEvent(state, "tool.updated", { ...head, kind: "result", result });
  } else if (stored.status === "error") {
    const error = { message: str(stored.error) ?? str(stored.output) ?? "" };
    yield* translateEvent(state, "tool.updated", { ...head, kind: "error", error });
  }
}
