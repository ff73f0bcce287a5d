/**
 * Stored messages in, the updates that replay them out. Both spellings of ids are read everywhere: the store's
 * own (`id`, `callID`) and the snapshots' (`messageId`, `callId`). Plumbing that a person must not see is left out.
 */

import type { Language } from "../locale/index.ts";
import { isObj, list, num, type Obj, obj, str, text } from "../platform/json.ts";
import { BROKEN_OFF } from "./cards.ts";
import {
  closeOpenCards,
  newTranslateState,
  type TranslateState,
  thoughtId,
  translateEvent,
} from "./events.ts";
import { isPassing, turnFailure } from "./failure.ts";
import { Repeats } from "./repeat.ts";
import type { Update } from "./updates.ts";
import { typedWords } from "./wording.ts";

/** What the agent's runtime put among a person's words: reminders anywhere, notices of tasks on lines of their own. */
const REMINDER =
  /\n*(?:<system-reminder>[\s\S]*?<\/system-reminder>|^<task-notification>[\s\S]*?<\/task-notification>$)\n*/gm;
/** Texts that stand in a person's place and are none of theirs: hand-overs and rewritten tool calls. */
const PLUMBING =
  /^(?:This session is being continued from a previous conversation\b|Called the \S+ tool with the following input\b)/;

/**
 * Updates in order, each to be rendered before the next is taken: a card is one object that changes as it goes.
 * @param messages `{info, parts}` in order; the latest of several with one id counts, at the first one's place.
 */
export function* replayUpdates(
  messages: readonly unknown[],
  cwd: string,
  language: Language,
): Generator<Update> {
  const state = newTranslateState(cwd, language);
  const drawn = new Set<string>();
  const repeats = { agent: new Repeats(), thought: new Repeats() };
  let last: string | undefined;
  /** The person's last words, where nothing answered them yet, or a failure that is tried again. */
  let tried: string | undefined;
  for (const { info, parts } of latestById(messages)) {
    if (isHidden(info)) continue;
    const id = messageIdOf(info);
    if (info.role === "user") {
      const said = userText(parts);
      if (said === "") continue;
      // A prompt that was tried again is stored once a try; its words, and what a try repeats, are shown once.
      const again = said === tried;
      for (const each of Object.values(repeats)) each.begin(again);
      if (!again) yield { kind: "text", role: "user", messageId: id, text: said };
      last = said;
      // A try that failed before the model said anything may leave no answer at all.
      tried = said;
      continue;
    }
    tried = failedInPassing(info) ? last : undefined;
    for (const part of parts) {
      for (const update of assistantPart(state, part, id, drawn)) {
        if (update.kind !== "text" || update.role === "user") yield update;
        else {
          const words = repeats[update.role].filter(update.text);
          if (words !== "") yield { ...update, text: words };
        }
      }
    }
    yield* closeOpenCards(state);
  }
}

/** True for an answer that ended in a failure after which the same prompt is tried again. */
function failedInPassing(info: Obj): boolean {
  if (!isObj(info.error)) return false;
  const { data } = info.error;
  return isPassing(turnFailure(isObj(data) ? data : info.error));
}

interface Message {
  readonly info: Obj;
  readonly parts: readonly Obj[];
}

export function latestById(messages: readonly unknown[]): Message[] {
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

export function messageIdOf(info: Obj): string | undefined {
  return text(info.messageId) ?? text(info.id);
}

export function isHidden(info: Obj): boolean {
  const semantics = obj(info.semantics);
  return semantics.transcriptVisibility === "hidden" || info.visibility === "model-only";
}

/** A person's words, without the reminders that the agent's runtime appended to them. */
export function userText(parts: readonly Obj[]): string {
  return parts
    .filter((part) => part.type === "text" && part.synthetic !== true)
    .map((part) => typedWords((str(part.text) ?? "").replace(REMINDER, "\n").trim()).trim())
    .filter((words) => words !== "" && !PLUMBING.test(words))
    .join("\n");
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

/** A stored tool part goes the way of its live events, so that both look alike. */
function* toolPart(state: TranslateState, part: Obj, drawn: Set<string>): Generator<Update> {
  const toolCallId = text(part.callID) ?? text(part.callId) ?? text(part.partId) ?? text(part.id);
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
