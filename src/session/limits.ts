/** Durations and bounds of this room. */

/** So many sessions the backend is asked for; its own default is 50. */
export const LIST_LIMIT = 10_000;
/** So many a client is listed at once. */
export const PAGE = 200;
/** How long the next page of a list may be asked for without its order changing; milliseconds of real time. */
export const WALK_AGE_MS = 600_000;
/** Lists that are read page by page at one time. */
export const MAX_WALKS = 8;
/** The backend writes a to-do list up to this long after the tool result that changed it; milliseconds. */
export const TODO_REREAD_MS = 650;
/** A conversation in whose prompt or resume the backend died this often in a row is set aside. */
export const SET_ASIDE_DEATHS = 3;
/** How long events behind a hole wait for the backend to fill it; milliseconds of real time. */
export const FILL_DEADLINE_MS = 5_000;
/** A look at a silent turn's numbers; milliseconds of real time. */
export const LOOK_DEADLINE_MS = 10_000;
/** Reading the history of a turn that is given up; milliseconds of real time. */
export const HISTORY_DEADLINE_MS = 10_000;
/** The longest title that is made of a prompt, in characters. */
export const TITLE_CHARS = 80;
/** An answer waits this long for its conversation to be written down; milliseconds of real time. */
export const RECORD_MS = 1_000;
/** The same where it was cancelled, which is answered within 200 ms. */
export const RECORD_CANCELLED_MS = 100;
/** How often a session is brought up again that the backend drops before it is used. */
export const BRING_UP_TRIES = 5;
/** A resident session that was quiet this long is asked for what it has before it is used; milliseconds. */
export const RESIDENT_TRUST_MS = 300_000;
/** More events than this are never missing at once: a number beyond is no place in the order. */
export const MAX_HOLE = 100_000;
/** How far one state revision may be from the last that was told. */
export const REVISION_STEP = 4;
/** A workspace's skills and commands are read again when they are older than this; milliseconds of real time. */
export const CATALOGUE_AGE_MS = 10_000;
/** A backend that does not list them by then has none for now; milliseconds of real time. */
export const CATALOGUE_DEADLINE_MS = 5_000;
/** So many of them are offered. */
export const MAX_OFFERS = 500;
/** Workspaces whose list is kept. */
export const MAX_WORKSPACES = 32;
/** Messages that are asked for beyond a tail, so that the turn of its oldest one is among them. */
export const TURN_SLACK = 20;
/** What was read for a page and not shown waits so long for the next page; milliseconds of real time. */
export const EARLIER_MS = 60_000;
/** So long after a resume its session may still be being restored; milliseconds of real time. */
export const RESTORE_MS = 30_000;
/** How often a history is read again that was not whole, and the time between; milliseconds of real time. */
export const PREFIX_READS = 20;
export const PREFIX_WAIT_MS = 100;
/** The longest description of a skill or a command, in characters. */
export const MAX_DESCRIPTION = 1_024;
