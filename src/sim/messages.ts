/** Messages: how the store keeps them, and the other spelling that snapshots use. */
import type { Live } from "./session.ts";
import { isObj, type Obj, type StoreMessage, type Usage } from "./types.ts";

const OPEN = { uiVisibility: "visible", providerVisibility: "visible", transcriptVisibility: "visible" };
const HIDDEN = { uiVisibility: "hidden", providerVisibility: "visible", transcriptVisibility: "hidden" };

/** Adds a user's message. `hidden` ones are plumbing: notifications, reminders, hand-overs. */
export function addUserMessage(
  live: Live,
  turnId: string,
  text: string,
  options: {
    kind?: string;
    hidden?: boolean;
    source?: string;
    parts?: Obj[];
    id?: string;
    metadata?: Obj;
  } = {},
): StoreMessage {
  const { world, data } = live;
  const now = world.clock.now();
  const id = options.id ?? `msg_${world.ids.uuid()}`;
  const kind = options.kind ?? (text.trimStart().startsWith("/") ? "slash_command" : "user_prompt");
  const message: StoreMessage = {
    info: {
      id,
      sessionID: live.id,
      role: "user",
      time: { created: now },
      agent: "zcode-agent",
      ...(data.model ? { modelSelection: { ...data.model } } : {}),
      semantics: options.hidden
        ? { origin: "agent_runtime", kind, ...HIDDEN, ...(options.source ? { source: options.source } : {}) }
        : { origin: "real_user", kind, ...OPEN },
      ...(options.hidden
        ? { synthetic: true, ...(options.source ? { source: options.source } : {}), visibility: "model-only" }
        : { anchor: { turnId, origin: "realUser" } }),
      ...(options.metadata ? { metadata: options.metadata } : {}),
    },
    parts: [
      {
        id: `part_${world.ids.uuid()}`,
        sessionID: live.id,
        messageID: id,
        type: "text",
        text,
        time: { start: now, end: now },
        ...(options.hidden ? { synthetic: true } : {}),
      },
      ...(options.parts ?? []).map((part) => ({
        id: `part_${world.ids.uuid()}`,
        sessionID: live.id,
        messageID: id,
        ...part,
      })),
    ],
  };
  data.messages.push(message);
  return message;
}

/** One model step's message while it grows. */
export class AssistantMessage {
  readonly message: StoreMessage;

  constructor(
    private readonly live: Live,
    turnId: string,
    parentID: string,
    kind = "assistant_response",
  ) {
    const { world, data } = live;
    const id = `msg_${world.ids.uuid()}`;
    const level = data.model?.options?.reasoningLevel;
    this.message = {
      info: {
        id,
        sessionID: live.id,
        role: "assistant",
        time: { created: world.clock.now() },
        parentID,
        modelId: data.model?.modelId ?? "",
        providerId: data.model?.providerId ?? "",
        ...(level ? { reasoningLevel: level } : {}),
        mode: data.mode,
        planEnabled: data.planEnabled,
        agent: "zcode-agent",
        path: { cwd: live.cwd, root: live.cwd },
        cost: 0,
        tokens: tokens(),
        semantics: { origin: "agent_runtime", kind, ...OPEN },
        anchor: { turnId },
      },
      parts: [],
    };
    if (kind === "assistant_response") this.part({ type: "step-start" });
  }

  get id(): string {
    return this.message.info.id;
  }

  /** The parts stand in the conversation from now on. */
  keep(): void {
    this.live.data.messages.push(this.message);
  }

  part(part: Obj): Obj {
    const whole = {
      id: `part_${this.live.world.ids.uuid()}`,
      sessionID: this.live.id,
      messageID: this.id,
      ...part,
    };
    this.message.parts.push(whole);
    return whole;
  }

  text(type: "text" | "reasoning", text: string): void {
    const now = this.live.world.clock.now();
    this.part({
      type,
      text,
      time: { start: now, end: now },
      ...(type === "reasoning" ? { metadata: {} } : {}),
    });
  }

  /** Ends the message: `finish` is the reason, `error` its mishap. */
  finish(finish: string, usage?: Usage, error?: Obj): void {
    const info = this.message.info as Obj;
    info.time = { ...(info.time as Obj), completed: this.live.world.clock.now() };
    info.finish = finish;
    if (usage) info.tokens = tokens(usage);
    if (error) info.error = error;
    else this.part({ type: "step-finish", reason: finish, cost: 0, tokens: tokens(usage) });
  }
}

function tokens(usage?: Usage): Obj {
  return {
    total: usage?.totalTokens ?? 0,
    input: usage?.inputTokens ?? 0,
    output: usage?.outputTokens ?? 0,
    reasoning: usage?.reasoningTokens ?? 0,
    cache: { read: usage?.cacheReadTokens ?? 0, write: usage?.cacheWriteTokens ?? 0 },
  };
}

/** Keys of a stored `info` that a snapshot leaves out. */
const NOT_IN_SNAPSHOT = new Set([
  "id",
  "sessionID",
  "parentID",
  "modelId",
  "providerId",
  "modelSelection",
  "reasoningLevel",
  "mode",
  "planEnabled",
  "summary",
  "anchor",
]);

/** The spelling of snapshots: `messageId`, `partId`, `callId`, `startedAt`. */
export function snapshotMessage(message: StoreMessage): Obj {
  const info: Obj = {};
  for (const [key, value] of Object.entries(message.info)) if (!NOT_IN_SNAPSHOT.has(key)) info[key] = value;
  const { id, sessionID, parentID, modelId, providerId, modelSelection } = message.info as Obj;
  info.messageId = id;
  info.sessionId = sessionID;
  if (parentID !== undefined) info.parentMessageId = parentID;
  if (isObj(modelSelection)) {
    info.model = { providerId: modelSelection.providerId, modelId: modelSelection.modelId };
  } else if (modelId) info.model = { providerId, modelId };
  return { info, parts: message.parts.map(snapshotPart) };
}

const COMPACTION_METADATA = new Set([
  "operationId",
  "trigger",
  "phase",
  "timelineStatus",
  "startedAt",
  "endedAt",
]);

function snapshotPart(part: Obj): Obj {
  const { id, sessionID, messageID, callID, declarationIndex, ...rest } = part;
  const out: Obj = { messageId: messageID, partId: id, sessionId: sessionID, ...rest };
  if (callID !== undefined) out.callId = callID;
  switch (part.type) {
    case "text":
    case "reasoning":
    case "retry":
      delete out.time;
      break;
    case "file":
      delete out.source;
      break;
    case "subtask":
      out.type = "subagent";
      break;
    case "tool": {
      const { time, ...state } = part.state as Obj;
      const span = isObj(time) ? time : {};
      if (isObj(state.metadata)) {
        const { readFileState: _state, ...metadata } = state.metadata;
        state.metadata = metadata;
      }
      out.state = {
        ...state,
        ...(span.start !== undefined ? { startedAt: span.start } : {}),
        ...(span.end !== undefined ? { completedAt: span.end } : {}),
      };
      break;
    }
    case "compaction": {
      const kept: Obj = {
        messageId: messageID,
        partId: id,
        sessionId: sessionID,
        type: "compaction",
        auto: part.auto,
      };
      if (part.summaryMessageId) kept.summaryMessageId = part.summaryMessageId;
      const metadata = Object.fromEntries(
        Object.entries(rest).filter(([key]) => COMPACTION_METADATA.has(key)),
      );
      if (Object.keys(metadata).length > 0) kept.metadata = metadata;
      return kept;
    }
  }
  return out;
}

/** The latest content of each id, where the id stood first; the store may hold one several times. */
export function latestMessages(messages: StoreMessage[]): StoreMessage[] {
  const latest = new Map<string, StoreMessage>();
  for (const message of messages) latest.set(message.info.id, message);
  return latest.size === messages.length ? messages : [...latest.values()];
}

/** `session/messages`: the newest `limit`, or all after an id; an unknown id counts as absent. */
export function pickMessages(
  messages: StoreMessage[],
  limit?: number,
  afterMessageId?: string,
): StoreMessage[] {
  let picked = messages;
  if (afterMessageId) {
    const at = messages.findIndex((message) => message.info.id === afterMessageId);
    if (at >= 0) picked = messages.slice(at + 1);
  }
  return limit === undefined ? picked : limit === 0 ? [] : picked.slice(-limit);
}
