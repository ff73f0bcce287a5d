/** Every duration and bound of this room. Milliseconds unless the name says otherwise. */

/** A request to the app-server is given up after this long; a create on a cold process takes seconds. */
export const REQUEST_DEADLINE_MS = 120_000;
/** `--version` prints one line without touching providers; a slower one counts as unknown. */
export const VERSION_DEADLINE_MS = 5_000;
/** How much of what it prints is looked through for one, in characters. */
export const VERSION_CHARS = 16_384;
/** The account push and the era probe: small answers from memory. */
export const PROBE_DEADLINE_MS = 20_000;
/** How much of the app-server's stderr is kept for an error a person sees, in characters. */
export const STDERR_TAIL_CHARS = 4_000;
/** How many lines of it are shown. */
export const STDERR_SHOWN_LINES = 6;
/** The oldest app-server that has `session/subscribe`. */
export const OLDEST_VERSION = "0.14.8";
/** Waits before a process that died is started again, by how many have died in a row; milliseconds of the rules' clock. */
export const RESTART_MS: readonly number[] = [0, 1_000, 2_000, 5_000, 15_000, 30_000];
/** A process that lived this long since the last death starts the count anew. */
export const QUIET_RESET_MS = 5 * 60_000;
/** How long a process that has closed its output may take to end by itself; milliseconds of real time. */
export const SILENT_PROCESS_MS = 500;
/** Lists of providers whose revision is remembered. */
export const REVISIONS = 16;
