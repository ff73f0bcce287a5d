/** Deadlines of this room, milliseconds of real time. */

/** After the end of a client's input, how long its open requests may take to be answered. */
export const LAST_ANSWERS_MS = 100;
/** Open questions are put to a client this long after it has loaded or resumed a conversation; milliseconds. */
export const ASK_AGAIN_MS = 300;
