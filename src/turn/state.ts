/** What the rules of one conversation's turns remember. */

import type { TurnEnd } from "./types.ts";

export interface Turn {
  readonly turnId: string | undefined;
  readonly inputId: string | undefined;
  readonly foregroundExecutionId: string | undefined;
  readonly notification: boolean;
  readonly goal: boolean;
  readonly compaction: boolean;
}

/** The prompt that was sent and not yet settled. */
export interface Active {
  readonly key: number;
  readonly inputId: string;
  readonly accepted: boolean;
  readonly turnId: string | undefined;
  /** Milliseconds of busy answers so far. */
  readonly busyFor: number;
  /** The last answer was busy, and its next send waits for its time: nothing of it is under way. */
  readonly busy: boolean;
  /** Turns of it that failed for a passing reason. */
  readonly attempt: number;
  /** What looked like its end, told before its turn began or its send was answered. */
  readonly freed: TurnEnd | undefined;
  /** Its next try waits for its time, or for the lock. */
  readonly retry: "waits" | "due" | undefined;
}

export interface TurnState {
  /** Prefix of the `inputId`s of this conversation, so that they are unique over restarts. */
  readonly idPrefix: string;
  readonly waiting: readonly number[];
  readonly active: Active | undefined;
  /** The turn that the backend runs now, whoever asked for it. */
  readonly turn: Turn | undefined;
  readonly lockHeld: boolean;
  /** The running turn is to be stopped; `sent` once the backend was told. */
  readonly stopping:
    | {
        readonly sent: boolean;
        readonly inputId: string | undefined;
        /** The turn has been silent for too long: not even a notification turn is waited for. */
        readonly givenUp?: boolean;
      }
    | undefined;
  /** A compaction: wanted by this bridge, or seen to hold the lock. Prompts wait for it. */
  readonly compacting: "asked" | "runs" | undefined;
  /** The last prompt whose wait was told, by its key; keys grow. */
  readonly waitTold: number;
  /** Turns whose end has been seen: a second end settles nothing. */
  readonly ended: readonly string[];
}

export function newTurnState(idPrefix: string): TurnState {
  return {
    idPrefix,
    waiting: [],
    active: undefined,
    turn: undefined,
    lockHeld: false,
    stopping: undefined,
    compacting: undefined,
    waitTold: 0,
    ended: [],
  };
}
