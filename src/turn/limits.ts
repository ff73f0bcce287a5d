/** Waits and bounds of the turn rules. Milliseconds of the rules' clock unless the name says otherwise. */

/** Prompts that may wait behind a running one. */
export const MAX_WAITING = 32;
/** A build that sends no sign of a free prompt lock is taken to be free this long after a turn's end. */
export const QUIET_LOCK_MS = 1_000;
/** How long a busy answer is retried. */
export const BUSY_BUDGET_MS = 30_000;
/** The same while a notification turn of the backend runs: a real model turn, which drains in the end. */
export const BUSY_NOTIFICATION_BUDGET_MS = 180_000;
/** Between two tries of a busy send. */
export const BUSY_RETRY_MS = 250;
/** After so many milliseconds of busy answers the person is told; a multiple of the above. */
export const BUSY_TOLD_MS = 2_000;
/** A stopped turn that has not ended by then is ended by closing its session. */
export const STOP_ESCALATION_MS = 10_000;
/** Waits before each further try of a prompt whose turn failed for a passing reason. */
export const RETRY_MS: readonly number[] = [1_000, 2_000, 4_000, 4_000, 4_000];
/** A turn that says nothing is looked at this often. */
export const LOOK_MS = 15_000;
/** A silent turn whose numbers have stood still this long, with nothing open, is over. */
export const FROZEN_MS = 10 * 60_000;
/** A silent turn that lives shows it to the client at least once a minute; looks are 15 s apart. */
export const PROGRESS_MS = 45_000;
/** Ends of turns that are remembered, so that one which is told again settles nothing. */
export const REMEMBERED_ENDS = 16;
/** How long a turn may take to begin whose end seemed to come before the answer to its send; milliseconds. */
export const FREED_EARLY_MS = 5_000;
