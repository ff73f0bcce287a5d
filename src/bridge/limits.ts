/** Deadlines of a bridge's end, milliseconds of real time, and what else is bounded here. */

/** How long the last answers may take to leave before the process goes. */
export const FLUSH_DEADLINE_MS = 150;
/** The whole of a shutdown; what is left then is the watchdog's. */
export const CLOSE_DEADLINE_MS = 900;
/** So long after the start what the start took is given back to the system. */
export const IDLE_SHRINK_MS = 1_500;
/** After this long without a message and without a turn that runs, the bridge is at rest; milliseconds of the rules' time. */
export const REST_MS = 5_000;
/** After this long the start is over, and the engine may compile what runs often. */
export const JIT_MS = 60;
/** How much of a client's name for itself goes into the black box, in characters. */
export const CLIENT_NAME_CHARS = 40;
