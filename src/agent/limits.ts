/** Deadlines of this room, milliseconds of real time. */

/** After the end of a client's input, how long its open requests may take to be answered. */
export const LAST_ANSWERS_MS = 100;
/** Open questions are put to a client this long after it has loaded or resumed a conversation; milliseconds. */
export const ASK_AGAIN_MS = 300;
/** A load or a page brings no more messages than this, but for the rest of a turn. */
export const MAX_REPLAY = 500;
/** Messages of a page whose size nobody names. */
export const PAGE_MESSAGES = 50;
/** Messages that a terminal client is shown behind the answer to its resume. */
export const RESUMED_TAIL = 200;
/** So long a batch of history is shown at a stretch, before others have their turn; milliseconds. */
export const STRETCH_MS = 10;
/** The time is looked at after so many updates. */
export const STRETCH_LOOK = 16;
