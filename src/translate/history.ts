/**
 * Stored messages in, the updates that replay them out. Both spellings of ids are read everywhere: the store's
 * own (`id`, `callID`) and the snapshots' (`messageId`, `callId`). Plumbing that a person must not see is left out.
 */

import { list, num, type Obj, obj, str, text } from "../platform/json.ts";
import { closeOpenCards, newTranslateState, thoughtId, translateEvent } from "./events.ts";
import type { Update } from "./updates.ts";

const REMINDER = /\n*<system-reminder>[\s\S]*?<\/system-reminder>\n*/g;

/** @param messages `{info, parts}` in order; the latest of several with one id counts, at the first one's place. */
export function replayUpdates(messages: readonly unknown[], cwd: string): Update[] {
  const state = newTranslateState(cwd);
  const updates: Update[] = [];
  for (const { info, parts } of latestById(messages)) {
    if (isHidden(info)) continue;
    const id = messageIdOf(info);
    if (info.role === "user") {
      const said = userText(parts);
      if (said !== "") updates.push({ kind: "text", role: "user", messageId: id, text: said });
    } else {
      for (const part of parts) updates.push(...assistantPart(state, part, id));
      updates.push(...closeOpenCards(state));
    }
  }
  return updates;
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

function assistantPart(
  state: ReturnType<typeof newTranslateState>,
  part: Obj,
  messageId: string | undefined,
): Update[] {
  switch (part.type) {
    case "text": {
      const words = text(part.text);
      return words === undefined ? [] : [{ kind: "text", role: "agent", messageId, text: words }];
    }
    case "reasoning": {
      const words = text(part.text) ?? text(part.content);
      if (words === undefined) return [];
      return [{ kind: "text", role: "thought", messageId: messageId && thoughtId(messageId), text: words }];
    }
    case "tool":
      return toolPart(state, part);
    default:
      return [];
  }
}

/** A stored tool part goes the way of its live events, so that both look alike. */
function toolPart(state: ReturnType<typeof newTranslateState>, part: Obj): Update[] {
  const toolCallId = text(part.callID) ?? text(part.callId) ?? text(part.partId) ?? text(part.id);
  const toolName = text(part.tool);
  if (toolCallId === undefined || toolName === undefined) return [];
  const stored = obj(part.state);
  const metadata = { ...obj(part.metadata), ...obj(stored.metadata) };
  const head = { toolCallId, toolName };
  const updates = translateEvent(state, "tool.updated", { ...head, kind: "scheduled", input: stored.input });
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
    updates.push(...translateEvent(state, "tool.updated", { ...head, kind: "result", result }));
  } else if (stored.status === "error") {
    updates.push(
      ...translateEvent(state, "tool.updated", {
        ...head,
        kind: "error",
        error: { message: str(stored.error) ?? str(stored.output) ?? "" },
      }),
    );
  }
  return updates;
}
