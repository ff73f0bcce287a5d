/** Durations and sizes of the simulator; milliseconds unless named otherwise. */

/** A session without calls leaves memory after this. */
export const IDLE_MS = 10 * 60_000;
export const RESIDENTS_HIGH = 16;
export const RESIDENTS_LOW = 8;
/** The client has so many seconds to answer for the preferences. */
export const PREFERENCES_S = 15;
/** After the end of stdin what is written may still leave for this long. */
export const DRAIN_MS = 100;
/** Between two pieces of text. */
export const PACE_MS = 4;
/** Between the end of background work and the turn that tells of it. */
export const NOTICE_MS = 120;
/** To-dos are written this long after the result of the tool that changed them. */
export const TODO_MS = 200;
/** Progress of a command is told no more often than this. */
export const PROGRESS_MS = 100;
/** Characters kept of a command's output for its progress. */
export const TAIL_CHARS = 16_384;
/** Characters of a command's output that go to the model; more of it is kept in a file. */
export const OUTPUT_CHARS = 30_000;
/** Deltas in one block of a burst. */
export const BURST_BLOCK = 1_000;
/** What the model is told that it could call. */
export const TOOL_COUNT = 24;
/** Default number of sessions in a list. */
export const LIST_LIMIT = 50;
