/**
 * When a turn that says nothing counts as alive, as a pure reducer. It is looked at each `LOOK_MS`; an open tool call or
 * an open question means life without a look at the backend, else its own progress numbers are asked for. Numbers that
 * stand still for `FROZEN_MS`, with nothing else to wait for, mean that nothing will come.
 */

import { FROZEN_MS, LOOK_MS, PROGRESS_MS } from "./limits.ts";

export interface Silence {
  /** When the turn last said anything, on the rules' clock. */
  readonly heardAt: number;
  /** When the client was last told that it lives. */
  readonly toldAt: number;
  /** The numbers of the last look, and since when they have stood still. */
  readonly numbers: string | undefined;
  readonly frozenSince: number | undefined;
}

export function newSilence(now: number): Silence {
  return { heardAt: now, toldAt: now, numbers: undefined, frozenSince: undefined };
}

/** The turn said something. */
export function heard(now: number): Silence {
  return newSilence(now);
}

/** What a look finds without asking the backend. */
export interface Look {
  readonly openTool: boolean;
  readonly openQuestion: boolean;
}

export type LookResult = "quiet" | "ask" | "alive";

/** @returns whether nothing is to be done yet, the backend is to be asked, or the turn lives anyway. */
export function look(silence: Silence, now: number, found: Look): { silence: Silence; result: LookResult } {
  if (now - silence.heardAt < LOOK_MS) return { silence, result: "quiet" };
  if (found.openTool || found.openQuestion) {
    return { silence: { ...silence, numbers: undefined, frozenSince: undefined }, result: "alive" };
  }
  return { silence, result: "ask" };
}

/**
 * The backend's progress numbers, as one comparable text; undefined where it did not answer, which proves nothing.
 * @returns `end` where they have stood still for too long.
 */
export function answered(
  silence: Silence,
  now: number,
  numbers: string | undefined,
): { silence: Silence; result: "alive" | "frozen" | "end" } {
  if (numbers !== undefined && numbers !== silence.numbers) {
    return { silence: { ...silence, numbers, frozenSince: undefined }, result: "alive" };
  }
  const frozenSince = silence.frozenSince ?? now;
  return {
    silence: { ...silence, frozenSince },
    result: now - frozenSince >= FROZEN_MS ? "end" : "frozen",
  };
}

/** @returns whether the client is due a sign of life, and the state after it was given. */
export function progressDue(silence: Silence, now: number): { silence: Silence; due: boolean } {
  if (now - Math.max(silence.heardAt, silence.toldAt) < PROGRESS_MS) return { silence, due: false };
  return { silence: { ...silence, toldAt: now }, due: true };
}
