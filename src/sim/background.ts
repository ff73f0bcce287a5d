/** Work that outlives its turn, and the turn by which the model hears of its end. */
import type { CommandEnd, CommandProgress } from "./commands.ts";
import { NOTICE_MS } from "./limits.ts";
import type { Live, PendingInput } from "./session.ts";
import { runTurn, type TurnSpec } from "./turn.ts";
import type { Obj } from "./types.ts";

export type TaskStatus =
  | "running"
  | "completed"
  | "failed"
  | "timed_out"
  | "cancelled"
  | "spawn_error"
  | "lost";

export class BackgroundTask {
  status: TaskStatus = "running";
  /** What every `session.updated` of it repeats. */
  facts: Obj;
  /** Further keys of the notification: `<result>`, `<usage>`. */
  outcome: { summary: string; extra?: string; consumed?: boolean } = { summary: "" };

  constructor(
    readonly live: Live,
    readonly taskId: string,
    readonly kind: "bash" | "subagent",
    readonly toolCallId: string,
    readonly title: string,
    readonly outputPath: string,
    facts: Obj,
    /** Ends it; resolves when it has ended. */
    readonly stop: () => Promise<void>,
  ) {
    this.facts = {
      taskId,
      toolCallId,
      toolName: kind === "bash" ? "Bash" : "Agent",
      taskKind: kind,
      ...facts,
    };
    live.tasks.set(taskId, this);
  }

  get running(): boolean {
    return this.status === "running";
  }

  /** The task as `session.updated` and cancelBackgroundTask show it. */
  snapshot(): Obj {
    return { ...this.facts, status: this.status };
  }

  /** @param turnId the turn that started it, while that still runs. */
  tell(turnId?: string): void {
    this.live.event("session.updated", this.snapshot(), turnId);
  }

  /** The end: told, and then brought to the model in a turn of its own. */
  finish(status: TaskStatus, more: Obj): void {
    if (!this.running) return;
    this.status = status;
    this.facts = { ...this.facts, cancellable: false, ...more };
    this.tell();
  }

  notice(): void {
    this.live.notices.push(this);
    afterTurn(this.live);
  }

  notification(): string {
    const status = this.status === "cancelled" ? "killed" : this.status;
    return [
      "<task-notification>",
      `<task-id>${this.taskId}</task-id>`,
      `<tool-use-id>${this.toolCallId}</tool-use-id>`,
      `<output-file>${this.outputPath}</output-file>`,
      `<status>${status}</status>`,
      `<summary>${this.outcome.summary}</summary>`,
      ...(this.outcome.extra ? [this.outcome.extra] : []),
      "</task-notification>",
    ].join("\n");
  }
}

/** What a command's progress adds to its task. */
export function commandFacts(progress: CommandProgress, startedAt: number): Obj {
  return {
    pid: progress.pid,
    startedAt: new Date(startedAt).toISOString(),
    stdoutBytes: progress.stdoutBytes,
    stderrBytes: progress.stderrBytes,
    stdoutTail: progress.stdoutTail,
    stderrTail: progress.stderrTail,
    outputTail: progress.stdoutTail + progress.stderrTail,
    outputBytes: progress.outputBytes,
  };
}

export function commandEndFacts(end: CommandEnd, pid: number, startedAt: number, now: number): Obj {
  return {
    pid,
    startedAt: new Date(startedAt).toISOString(),
    stdoutBytes: Buffer.byteLength(end.stdout),
    stderrBytes: Buffer.byteLength(end.stderr),
    stdoutTail: end.stdout,
    stderrTail: end.stderr,
    outputTail: end.stdout + end.stderr,
    outputBytes: end.outputBytes,
    exitCode: end.exitCode,
    completedAt: new Date(now).toISOString(),
    outputTruncated: false,
  };
}

/** Starts what waits for the end of a turn: first inputs that a person sent, then notices. */
export function afterTurn(live: Live): void {
  const { world } = live;
  if (live.turn) return;
  const input = live.held ? undefined : live.pendingInputs.shift();
  if (input) {
    void runTurn(live, inputTurn(live, input));
    return;
  }
  if (live.lock || live.notices.length === 0) return;
  world.clock.after(NOTICE_MS, () => {
    if (live.turn || live.lock || world.pool.peek(live.id) !== live) return;
    const task = live.notices.shift();
    if (task) void runTurn(live, noticeTurn(live, task));
  });
}

function inputTurn(live: Live, input: PendingInput): TurnSpec {
  return {
    kind: "prompt",
    input: input.text,
    ...(input.inputId ? { inputId: input.inputId } : {}),
    brain: lateBrain(live, input.text),
  };
}

function noticeTurn(live: Live, task: BackgroundTask): TurnSpec {
  const input = task.notification();
  const origin = { backgroundSource: task.kind, title: task.title, workId: task.taskId };
  return {
    kind: "background",
    input,
    inputId: live.world.ids.uuid(),
    started: {
      inputSource: "background_task",
      inputVisibility: "model-only",
      originMeta: origin,
      backgroundSource: task.kind,
    },
    message: { kind: "background_notification", hidden: true, source: "background_task", metadata: origin },
    completed: task.outcome.consumed ? { backgroundSubagentResultConsumed: true } : {},
    brain: lateBrain(live, input),
  };
}

/** A brain that is made when its turn is there. */
export async function* lateBrain(live: Live, input: string): ReturnType<Live["world"]["think"]> {
  yield* live.world.think(input, live, live.turn!);
}
