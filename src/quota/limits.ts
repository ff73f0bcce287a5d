/** Durations and sizes of this room: deadlines on real requests and files, so the time scale shortens none of them. */

/** GLM's answer is waited for this long, in ms. */
export const GLM_DEADLINE_MS = 8_000;
/** OpenCode's page and Ollama's answers, in ms. */
export const PAGE_DEADLINE_MS = 10_000;
/** A body above this is no answer, in bytes. */
export const BODY_BYTES = 1024 * 1024;
/** Redirects within one origin that are followed. */
export const REDIRECTS = 3;
/** What a provider said counts for this long, in ms. */
export const FRESH_MS = 10_000;
/** A failure counts for less: it may pass any moment. */
export const FAILURE_FRESH_MS = 3_000;
/** Another process that asks is waited for a little longer than its own deadline, in ms. */
export const ASKING_MS = PAGE_DEADLINE_MS + 2_000;
/** Numbers older than this are not shown on a status line, in ms. */
export const LINE_AGE_MS = 24 * 60 * 60 * 1000;
/** Ollama's session window, in ms. */
export const OLLAMA_SESSION_MS = 5 * 60 * 60 * 1000;
/** A kept file above this is none of ours, in bytes. */
export const KEPT_BYTES = 256 * 1024;
/** A file that is being written is done by then, in ms. */
export const LEFT_MS = 60 * 60 * 1000;
/** Other accounts whose numbers are kept as well. */
export const OTHERS = 3;
