/** A resident session: what is stored of it, and what lives only as long as it stays in memory. */
import type { BackgroundTask } from "./background.ts";
import type { Turn } from "./turn.ts";
import { emptyUsage, type ModelSelection, type Obj, type StoredSession, type Workspace } from "./types.ts";
import type { World } from "./world.ts";

/** Events kept for `session/events` and `afterSeq`; older ones are forgotten. */
const LOG_LENGTH = 20_000;

export interface PendingInput {
  pendingInputId: string;
  inputId?: string;
  text: string;
  delivery: "queue" | "guide";
  /** It came by `session/send`, so it holds the prompt lock. */
  locks: boolean;
}

export class Live {
  seq = 0;
  revision = 1;
  subscribed = false;
  /** What holds the prompt lock. */
  lock: "prompt" | "compact" | "goal" | undefined;
  turn: Turn | undefined;
  status: "idle" | "running" | "waiting" | "error" = "idle";
  lastError: Obj | undefined;
  pendingPermissions: (Obj & { requestId: string })[] = [];
  activeTools: { toolCallId: string; toolName: string; status: string }[] = [];
  tasks = new Map<string, BackgroundTask>();
  /** Finished background work that still wants its turn. */
  notices: BackgroundTask[] = [];
  pendingInputs: PendingInput[] = [];
  /** Queued inputs stay where they are after a stop by `v4/command`. */
  held = false;
  /** A stop came while the turn was about to start. */
  stopEarly = false;
  askedUserExecution = false;
  /** Questions answer themselves when nobody does. */
  autoAnswers = true;
  titleGeneration = true;
  denylist: string[] = [];
  toolDenylistOfTurn: string[] = [];
  prefixReads = 0;
  /** Old builds: one send was folded into the running turn. */
  folded = false;
  private log: string[] = [];
  private logStart = 1;

  constructor(
    readonly world: World,
    readonly data: StoredSession,
  ) {}

  get id(): string {
    return this.data.sessionId;
  }

  get cwd(): string {
    return this.data.workspace.workspacePath;
  }

  /** True while something would be lost by eviction. */
  get busy(): boolean {
    const running = [...this.tasks.values()].some((task) => task.running);
    return Boolean(
      this.lock || this.turn || this.notices.length > 0 || this.pendingPermissions.length > 0 || running,
    );
  }

  /** Adds one event to the log and, when subscribed, to the stream. */
  event(type: string, payload: Obj, turnId?: string): number {
    const { world } = this;
    const seq = ++this.seq;
    const text = JSON.stringify({
      deliveryKind: "desktop-continuous",
      eventId: world.ids.event(),
      payload,
      seq,
      sessionId: this.id,
      timestamp: world.clock.now(),
      traceId: this.data.traceId,
      ...(turnId ? { turnId } : {}),
      type,
    });
    this.record(text);
    if (this.subscribed) world.out.line(`{"method":"session/event","params":${text}}`, type);
    return seq;
  }

  /** Notes an event that was serialised elsewhere. */
  record(text: string): void {
    this.log.push(text);
    if (this.log.length > 2 * LOG_LENGTH) {
      const gone = this.log.length - LOG_LENGTH;
      this.log = this.log.slice(gone);
      this.logStart += gone;
    }
  }

  /** Events after `afterSeq`; with `limit` the newest of them. */
  events(afterSeq: number, limit?: number): unknown[] {
    const from = Math.max(0, afterSeq + 1 - this.logStart);
    let picked = this.log.slice(from);
    if (limit !== undefined) picked = picked.slice(-limit);
    return picked.map((text) => JSON.parse(text) as unknown);
  }

  /** A `state.updated` notification; with `settings` as its patch unless another is given. */
  stateUpdated(reason: string, patch: Obj): void {
    const { workspace } = this.data;
    this.world.out.notify("state.updated", {
      type: "state.updated",
      scope: "session",
      workspace: workspaceOf(workspace),
      sessionId: this.id,
      revision: ++this.revision,
      reason,
      patch,
    });
  }

  /** A fact for the client's telemetry; the only place where the end of a turn is told by name. */
  telemetry(kind: string, eventSeq: number, more: Obj): void {
    const { world } = this;
    world.out.notify("v4/telemetry/event", {
      version: 1,
      kind,
      eventId: world.ids.uuid(),
      eventSeq,
      occurredAt: world.clock.now(),
      sessionId: this.id,
      ...more,
    });
  }

  /** Plumbing that a client passes over. */
  operation(kind: string, more: Obj): void {
    if (!this.world.era.modern) return;
    this.world.out.notify("computer-use/operation-event", {
      eventId: this.world.ids.uuid(),
      sequenceNumber: this.seq,
      sessionId: this.id,
      timestamp: this.world.clock.now(),
      kind,
      ...more,
    });
  }

  /** Writes the session, unless no person has ever prompted it. */
  save(): void {
    this.data.updatedAt = this.world.clock.now();
    if (this.data.prompted) this.world.store.write(this.data);
  }

  setTitle(title: string, source: "first_input" | "generated" | "custom", messageID?: string): void {
    const previousTitle = this.data.title;
    this.data.title = title;
    this.data.titleSource = source;
    if (this.world.era.modern) {
      this.event("session.titleUpdated", {
        ...(messageID ? { messageID } : {}),
        previousTitle,
        source,
        title,
      });
    }
    this.save();
  }
}

export function workspaceOf(workspace: Workspace): Obj {
  return { ...workspace };
}

/** A new session's data; nothing of it is on disk before the first prompt. */
export function freshSession(
  world: World,
  workspace: Workspace,
  mode: string,
  model?: ModelSelection,
): StoredSession {
  const now = world.clock.now();
  return {
    v: 1,
    sessionId: `sess_${world.ids.uuid()}`,
    traceId: `trace_${world.ids.uuid()}`,
    workspace,
    sessionKind: "interactive",
    title: "",
    titleSource: "default",
    mode,
    modeBeforePlan: mode === "plan" ? "build" : mode,
    planEnabled: mode === "plan",
    ...(model ? { model } : {}),
    createdAt: now,
    updatedAt: now,
    prompted: false,
    messages: [],
    todos: [],
    turnCount: 0,
    totals: { ...emptyUsage(), modelRequestCount: 0, modelErrorCount: 0 },
    contextUsed: 0,
    checkpoints: [],
    subagents: [],
  };
}
