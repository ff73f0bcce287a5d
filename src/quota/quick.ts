/**
 * What `kept.ts` reads, for a status bar, which wants it in the time that a process takes to start: `node:fs` alone takes a
 * quarter of that to load. What cannot be read or told in this way is `kept.ts`'s to read.
 */

import type { Obj } from "../platform/json.ts";
import { KEPT_BYTES } from "./limits.ts";
import { type AccountFiles, keyFiles, markOf, objectIn, stampsOf } from "./stored.ts";
import type { ProviderName } from "./types.ts";

/** What stands for the accounts of all providers; undefined where an inode is needed to tell. */
export function quickStamps(files: AccountFiles): Readonly<Record<ProviderName, string>> | undefined {
  const paths = keyFiles(files);
  const config = markOf(paths.config);
  const glm = markOf(paths.glm);
  const opencode = markOf(paths.opencode);
  if (config.whole || glm.whole || opencode.whole) return undefined;
  return stampsOf(files, paths, { config: config.mark, glm: glm.mark, opencode: opencode.mark });
}

/**
 * A kept file, whatever it says; undefined where it says nothing. Such files are replaced and never cut, so that what is
 * mapped stays there.
 * @throws where it cannot be read in this way: it may not be written to, say, or the system maps no files.
 */
export function quickFile(path: string): Obj | undefined {
  // A pipe's size is infinite, that of a file that is not there nothing.
  const { size } = Bun.file(path);
  if (size === 0 || size > KEPT_BYTES) return undefined;
  return objectIn(new TextDecoder().decode(Bun.mmap(path, { shared: false })));
}
