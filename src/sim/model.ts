/**
 * What a model does, apart from how it is told: a turn is a row of steps, each one request to the model with
 * what it streams and which tools it calls. The words of a prompt make such a row; so does a recorded stream
 * in the tests. The turn (turn.ts) adds everything else.
 */
import type { Live } from "./session.ts";
import type { Turn } from "./turn.ts";
import type { Obj, Usage } from "./types.ts";

/** Where a step streams to. Each call waits as long as the pace says. */
export interface StepStream {
  readonly signal: AbortSignal;
  readonly live: Live;
  readonly turn: Turn;
  text(delta: string): Promise<void>;
  reason(delta: string): Promise<void>;
  /** `count` deltas as fast as they are read, or `perSecond` of them. */
  burst(count: number, perSecond?: number): Promise<void>;
  /** Milliseconds of nothing. Rejects with `Stopped` when the turn is stopped. */
  wait(ms: number): Promise<void>;
}

export interface ModelStep {
  /** Before the request is made: things such as compaction. */
  before?: (stream: StepStream) => Promise<void>;
  stream?: (stream: StepStream) => Promise<void>;
  tools?: ToolPlan[];
  /** The request fails so many times; then it goes well, or the turn fails. */
  fail?: { failure: Failure; times: number; recovers: boolean };
  usage?: Partial<Usage>;
}

export type Brain = AsyncGenerator<ModelStep, void, StepOutcome>;

/** What became of a step's tools, in their order. */
export interface StepOutcome {
  tools: ToolEnd[];
}

/** @param input what is asked; an input drained into the turn makes another brain. */
export type BrainMaker = (input: string, live: Live, turn: Turn) => Brain;

export type Scope = "none" | "session" | "workspace" | "system" | "external";

export interface ToolPlan {
  name: string;
  input: Obj;
  readOnly: boolean;
  scope: Scope;
  /** It runs while the model still speaks. */
  parallel?: boolean;
  ask?: AskPlan;
  /** No tool has this name: an error follows at once. */
  unknown?: boolean;
  callId?: string;
  run(context: ToolContext): Promise<ToolEnd>;
}

/** A question before the tool runs. */
export interface AskPlan {
  kind: "permission" | "questions" | "plan";
  risk: "low" | "medium" | "high" | "critical";
  reason: string;
  /** What "always" would allow; absent when that is not offered. */
  rule?: { toolName: string; ruleContent?: string };
}

export interface ToolContext {
  readonly live: Live;
  readonly turn: Turn;
  readonly signal: AbortSignal;
  readonly callId: string;
  /** The input, as the person may have changed it. */
  readonly input: Obj;
  /** Milliseconds since the tool started. */
  elapsed(): number;
  progress(payload: Obj): void;
}

export interface FileChange {
  path: string;
  additions: number;
  deletions: number;
}

export type ToolEnd =
  | {
      kind: "result";
      content: string;
      display?: Obj;
      /** `perf.detail` of the newer builds. */
      detail?: Obj;
      exitCode?: number;
      truncated?: { originalBytes: number; artifactPath?: string };
      /** Told after the result, before the batch. */
      after?: () => void;
      /** Files that were changed. */
      changes?: FileChange[];
      /** A checkpoint of the changes follows the batch. */
      checkpoint?: boolean;
      totalMs?: number;
    }
  | { kind: "error"; error: Obj }
  /** The person said no; nothing is told of the tool any more. */
  | { kind: "denied"; feedback?: string; endsTurn?: boolean };

/** How a model request fails; which shapes it has depends on the build. */
export interface Failure {
  code: string;
  type: string;
  message: string;
  /** Without it the failure has nothing to do with a provider. */
  attribution?: Obj & { reason: string; retryable: boolean; statusCode?: number };
  underlyingErrorMessage?: string;
  underlyingErrorDetail?: string;
  detail?: string;
  turnPhase?: string;
}

/** Thrown through a turn that was stopped. */
export class Stopped extends Error {
  override name = "Stopped";
}

/** Thrown through a turn whose model failed. */
export class TurnFailed extends Error {
  override name = "TurnFailed";
  constructor(readonly failure: Failure) {
    super(failure.message);
  }
}
