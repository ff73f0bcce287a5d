/** Which program this is: its version, and how to start it again. */
import { join } from "node:path";

// Put in by `scripts/build.ts`; not there when the sources run as they are.
declare const __VERSION__: string;
declare const __COMMIT__: string;

export const VERSION: string = typeof __VERSION__ === "string" ? __VERSION__ : "0.0.0-dev";

/** The commit it was built from, short; `unknown` outside a build. */
export const COMMIT: string = typeof __COMMIT__ === "string" ? __COMMIT__ : "unknown";

/** Whether this is the compiled file rather than the sources. */
const COMPILED: boolean = typeof __VERSION__ === "string";

/** The words that start this very program; a command's own words follow them. */
export function programWords(): string[] {
  return COMPILED ? [process.execPath] : [process.execPath, join(import.meta.dir, "..", "main.ts")];
}
