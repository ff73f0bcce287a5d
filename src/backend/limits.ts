/** Every duration and bound of this room. Milliseconds unless the name says otherwise. */

/** A request to the app-server is given up after this long; a create on a cold process takes seconds. */
export const REQUEST_DEADLINE_MS = 120_000;
/** `--version` prints one line without touching providers; a slower one counts as unknown. */
export const VERSION_DEADLINE_MS = 5_000;
/** The account push and the era probe: small answers from memory. */
export const PROBE_DEADLINE_MS = 20_000;
/** How much of the app-server's stderr is kept for an error a person sees, in characters. */
export const STDERR_TAIL_CHARS = 4_000;
/** How many lines of it are shown. */
export const STDERR_SHOWN_LINES = 6;
/** The oldest app-server that has `session/subscribe`. */
export const OLDEST_VERSION = "0.14.8";
