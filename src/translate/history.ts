/**
 * Stored messages in, the updates that replay them out. Both spellings of ids are read everywhere: the store's
 * own (`id`, `callID`) and the snapshots' (`messageId`, `callId`). Plumbing that a person must not see is left out.
 */

import { isObj, list, num, type Obj, obj, str, text } from "../platform/json.ts";
import { BROKEN_OFF } from "./cards.ts";
import { type TranslateState, thoughtId, translateEvent } from "./events.ts";
import { isPassing, turnFailure } from "./failure.ts";
import type { Update } from "./updates.ts";

/** True for an answer that ended in a failure after which the same prompt is tried again. */
export function failedInPassing(info: Obj): boolean {
  if (!isObj(info.error)) return false;
  const { data } = info.error;
  return isPassing(turnFailure(isObj(data) ? data : info.error));
}

export interface Message {
  /** Its place in the whole history, where that is known. */
  readonly at: number;
  readonly id: string | undefined;
  readonly info: Obj;
  readonly parts: readonly Obj[];
  /** The message that is stored before it; undefined where that is not known, or has no id. */
  readonly before: string | undefined;
}

/**
 * Of several messages with one id the latest, at the first one's place.
 * @param offset how many stand before these.
 * @param before tells whether a message's first place is before these: then it is not one of these.
 */
export function latestById(
  messages: readonly unknown[],
  offset = 0,
  before: (id: string) => boolean = () => false,
): Message[] {
  const order: Message[] = [];
  const places = new Map<string, number>();
  let last: string | undefined;
  for (const [index, value] of messages.entries()) {
    const info = obj(obj(value).info);
    const id = messageIdOf(info);
    const message = { at: offset + index, id, info, parts: list(obj(value).parts).map(obj), before: last };
    last = id;
    const place = id === undefined ? undefined : places.get(id);
    if (place !== undefined) {
      const { at, before } = order[place] ?? message;
      order[place] = { ...message, at, before };
      continue;
    }
    if (id !== undefined) {
      if (before(id)) continue;
      places.set(id, order.length);
    }
    order.push(message);
  }
  return order;
}

export function messageIdOf(info: Obj): string | undefined {
  return text(info.messageId) ?? text(info.id);
}

export function* assistantPart(
  state: TranslateState,
  part: Obj,
  messageId: string | undefined,
  drawn: Set<string>,
): Generator<Update> {
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
      yield* toolPart(state, part, drawn);
  }
}

/** The call that a stored tool part is of. */
export function toolCallIdOf(part: Obj): string | undefined {
  return text(part.callID) ?? text(part.callId) ?? text(part.partId) ?? text(part.id);
}

/** A stored tool part goes the way of its live events, so that both look alike. */
function* toolPart(state: TranslateState, part: Obj, drawn: Set<string>): Generator<Update> {
  const toolCallId = toolCallIdOf(part);
  const toolName = text(part.tool);
  if (toolCallId === undefined || toolName === undefined || drawn.has(toolCallId)) return;
  drawn.add(toolCallId);
  const stored = obj(part.state);
  const metadata = { ...obj(part.metadata), ...obj(stored.metadata) };
  const head = { toolCallId, toolName };
  yield* translateEvent(state, "tool.updated", { ...head, kind: "scheduled", input: stored.input });
  if (stored.status === "completed") {
    const perf = obj(metadata.perf ?? stored.perf);
    const detail = obj(perf.detail);
    const command = obj(detail.command);
    const result = {
      success: true,
      content: str(stored.output) ?? "",
      perf: {
        ...perf,
        exitCode: num(metadata.exitCode) ?? perf.exitCode,
        // A replay leaves no card open: a command in the background is shown as far as its launch.
        detail: { ...detail, command: { ...command, status: endOf(command.status) } },
      },
      ...(metadata.display === undefined ? {} : { display: metadata.display }),
    };
    yield* translateEvent(state, "tool.updated", { ...head, kind: "result", result });
  } else if (stored.status === "error") {
    const error = { message: str(stored.error) ?? str(stored.output) ?? "" };
    yield* translateEvent(state, "tool.updated", { ...head, kind: "error", error });
  }
}

function endOf(status: unknown): string {
  return BROKEN_OFF.has(str(status) ?? "") ? (status as string) : "completed";
}
