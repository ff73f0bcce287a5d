/** The words of the turn rules: what goes into the reducer and what comes out. */

import type { TurnFailure } from "../translate/failure.ts";
import type { TurnUsage } from "../translate/usage.ts";

export type StopReason = "end_turn" | "max_turn_requests" | "cancelled";

/** How a prompt ended. `queue-full` and `lost` never reached a turn's end. */
export type Outcome =
  | { readonly kind: "ended"; readonly stopReason: StopReason; readonly usage: TurnUsage | undefined }
  | { readonly kind: "failed"; readonly failure: TurnFailure; readonly usage?: TurnUsage | undefined }
  | { readonly kind: "queue-full" }
  | { readonly kind: "lost"; readonly error: Error };

export type TimerName = "quiet" | "busy" | "stop" | "retry" | "lock" | "told";

export interface TurnStarted {
  readonly turnId: string | undefined;
  readonly inputId: string | undefined;
  readonly foregroundExecutionId: string | undefined;
  /** Started by the backend itself for a finished background task: waited for, never stopped. */
  readonly notification: boolean;
  /** Any other turn that no prompt asked for, such as a goal's. */
  readonly own: boolean;
  /** Works on the conversation's goal. */
  readonly goal?: boolean;
}

export type Wait = "task" | "compaction" | "prompts" | "busy";

/** What a person is told in one line, beside what the model says. */
export type Notice =
  | { readonly kind: "waiting"; readonly behind: Wait }
  | { readonly kind: "steered" }
  | { readonly kind: "goalPaused" }
  | { readonly kind: "silent" }
  | {
      readonly kind: "retry";
      readonly attempt: number;
      readonly attempts: number;
      readonly ms: number;
      readonly failure: TurnFailure;
    };

export type TurnEnd =
  | { readonly kind: "completed"; readonly resultType: string; readonly usage: TurnUsage | undefined }
  | { readonly kind: "failed"; readonly failure: TurnFailure };

export type Input =
  /** A prompt arrives; `key` is unique in this conversation. */
  | { readonly type: "prompt"; readonly key: number }
  | { readonly type: "accepted"; readonly key: number }
  /** The send was refused: busy, or for good. */
  | {
      readonly type: "refused";
      readonly key: number;
      readonly busy: boolean;
      readonly error: Error;
      /** Milliseconds that it took to be refused. */
      readonly took?: number;
    }
  | { readonly type: "started"; readonly turn: TurnStarted }
  /** `turn.steerDrained`: an input of ours was folded into a running turn, and ends with it. */
  | {
      readonly type: "steered";
      readonly inputId: string | undefined;
      readonly targetTurnId: string | undefined;
    }
  | {
      readonly type: "turnEnded";
      readonly turnId: string | undefined;
      readonly inputId?: string | undefined;
      readonly end: TurnEnd;
      /** Older builds refuse a busy prompt in this way. */
      readonly busy?: Error | undefined;
    }
  /** `compaction`: its turn belongs to no prompt, and is waited for. */
  | { readonly type: "lockTaken"; readonly compaction?: boolean }
  /** A compaction is about to be asked for. */
  | { readonly type: "compact" }
  /** It was answered or refused; where none has begun by then, none will. */
  | { readonly type: "compactAnswered" }
  /** `failed`: the backend said `prompt_failed`. */
  | { readonly type: "lockFree"; readonly failed: boolean }
  /** Cancels the running and all waiting prompts, or only the one named. */
  | { readonly type: "cancel"; readonly key?: number }
  | { readonly type: "timer"; readonly name: TimerName }
  /** The running turn is given up: it has been silent and without progress for too long. */
  | { readonly type: "silent" }
  /** The session was dropped, and is back: nothing runs in it. */
  | { readonly type: "gone" }
  /** The backend's process, or the session in it, is gone. */
  | { readonly type: "lost"; readonly error: Error };

export type Effect =
  /** `attempt` counts from 0; a further one repeats a prompt whose turn failed. */
  | { readonly type: "send"; readonly key: number; readonly inputId: string; readonly attempt: number }
  | { readonly type: "notice"; readonly notice: Notice }
  /** Ask the backend to stop; the guard names the turn that is meant. */
  | { readonly type: "stop"; readonly foregroundExecutionId: string | undefined }
  /** Nobody waits for the questions of the running turn any more. */
  | { readonly type: "abandon" }
  /** The last resort for a turn that does not stop: close the session, resume it at next use. */
  | { readonly type: "reset"; readonly turnId: string | undefined }
  | { readonly type: "settle"; readonly key: number; readonly outcome: Outcome }
  | { readonly type: "timer"; readonly name: TimerName; readonly ms: number }
  | { readonly type: "clearTimer"; readonly name: TimerName }
  /** A turn of any kind has begun or ended. */
  | { readonly type: "running"; readonly running: boolean };
