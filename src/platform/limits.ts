/**
 * Durations and sizes of this room. These are deadlines on real processes and files, so none of them is
 * shortened by the time scale of end-to-end tests.
 */

/** What a process tree gets between SIGTERM and SIGKILL, in ms. */
export const TERM_GRACE_MS = 250;

/** From the first SIGKILL on, how long a tree is searched for survivors before giving up, in ms. */
export const KILL_DEADLINE_MS = 450;

/** Between two searches for survivors, in ms. */
export const KILL_PAUSE_MS = 10;

/** Searches in a row that must find nothing before a tree counts as gone: one alone can miss a process in its exec. */
export const KILL_CLEAN_PASSES = 2;

/** `ps` and `taskkill` are given up after this, in ms. */
export const TOOL_DEADLINE_MS = 400;

/** A log file is turned over above this, in bytes. */
export const LOG_MAX_BYTES = 1024 * 1024;

/** How many log files are kept, the current one included. */
export const LOG_FILES = 3;

/** Log and black-box files older than this are removed, in ms. */
export const LOG_MAX_AGE_MS = 7 * 24 * 60 * 60 * 1000;

/** One log line is cut above this, in characters. */
export const LOG_LINE_CHARS = 4000;

/** How many frame heads the black box keeps. */
export const BLACKBOX_FRAMES = 2000;

/** A lock between processes is waited on for this long at most, in ms. */
export const LOCK_WAIT_MS = 2_000;

/** Between two tries to take a lock, in ms. */
export const LOCK_POLL_MS = 15;

/** A lock file that names no holder is broken after this, in ms. */
export const LOCK_UNREADABLE_MS = 1_000;

/** A lock whose holder cannot be told from another process of its number is broken after this, in ms. */
export const LOCK_HELD_MS = 60_000;
