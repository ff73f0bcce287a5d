/** The shapes that the simulator keeps and sends, in its own words: nothing here is shared with the bridge. */

/** A JSON object whose content is looked at key by key. */
export type Obj = Record<string, unknown>;

export interface ModelSelection {
  providerId: string;
  modelId: string;
  options?: { reasoningLevel?: string | undefined } | undefined;
}

export interface Workspace {
  workspacePath: string;
  workspaceKey: string;
  workspaceIdentity?: string;
  remoteSessionId?: string;
}

export interface Todo {
  content: string;
  status: "pending" | "in_progress" | "completed";
  priority: "high" | "medium" | "low";
}

/** Token counts of one request or of a whole turn. `inputTokens` includes what came from the cache. */
export interface Usage {
  inputTokens: number;
  outputTokens: number;
  totalTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  reasoningTokens: number;
}

/** A message as the store keeps it; `parts` hold `id`, `messageID`, `sessionID` and `type`. */
export interface StoreMessage {
  info: Obj & { id: string; role: "user" | "assistant" };
  parts: Obj[];
}

export type TitleSource = "default" | "first_input" | "generated" | "custom";

export interface GoalTarget {
  sessionId: string;
  targetId: string;
  objective: string;
  summaryTitle: string | null;
  status: "active" | "paused";
  tokenBudget: number | null;
  tokensUsed: number;
  timeUsedSeconds: number;
  activeInputId: string | null;
  activeRunStartedAtMs: number | null;
  activeRunLastSeenAtMs: number | null;
  createdAt: number;
  updatedAt: number;
}

/** One sub-agent that the conversation has had; `endedAt` is absent while it works. */
export interface SubagentRecord {
  childSessionId: string;
  agentId: string;
  toolCallId: string;
  subagentType: string;
  title: string;
  startedAt: number;
  endedAt?: number;
  status: "running" | "success" | "failed" | "cancelled" | "lost";
}

/** What one session's file holds. Times are milliseconds since the epoch. */
export interface StoredSession {
  v: 1;
  sessionId: string;
  traceId: string;
  workspace: Workspace;
  sessionKind: string;
  parentSessionId?: string;
  title: string;
  titleSource: TitleSource;
  mode: string;
  /** The mode that leaving plan mode goes back to. */
  modeBeforePlan: string;
  planEnabled: boolean;
  model?: ModelSelection;
  createdAt: number;
  updatedAt: number;
  archivedAt?: number;
  prompted: boolean;
  messages: StoreMessage[];
  todos: Todo[];
  todosSince?: number;
  todosAt?: number;
  turnCount: number;
  totals: Usage & { modelRequestCount: number; modelErrorCount: number };
  contextUsed: number;
  goal?: GoalTarget;
  checkpoints: { checkpointId: string; messageId: string }[];
  subagents: SubagentRecord[];
  toolDenylist?: string[];
}

export function emptyUsage(): Usage {
  return {
    inputTokens: 0,
    outputTokens: 0,
    totalTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
  };
}

export function addUsage(to: Usage, more: Usage): void {
  to.inputTokens += more.inputTokens;
  to.outputTokens += more.outputTokens;
  to.totalTokens += more.totalTokens;
  to.cacheReadTokens += more.cacheReadTokens;
  to.cacheWriteTokens += more.cacheWriteTokens;
  to.reasoningTokens += more.reasoningTokens;
}

export function isObj(value: unknown): value is Obj {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
