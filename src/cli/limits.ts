/** Deadlines of this room, milliseconds of real time. */

/** How long a running bridge may take to write its black box. */
export const DOCTOR_BLACKBOX_MS = 2_000;
