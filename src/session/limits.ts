/** Durations and bounds of this room. */

/** The page that `session/list` asks the backend for; its own default is 50. */
export const LIST_LIMIT = 1_000;
