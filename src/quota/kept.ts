/** Reading what was kept on disk, and whose it is. */

import { statSync } from "node:fs";
import { readRegular } from "../platform/files.ts";
import type { Obj } from "../platform/json.ts";
import { KEPT_BYTES } from "./limits.ts";
import {
  type AccountFiles,
  answerIn,
  type Dated,
  keptPath,
  keyFiles,
  markOf,
  objectIn,
  refreshedPath,
  stampsOf,
} from "./stored.ts";
import type { ProviderName } from "./types.ts";

export { type Dated, FRESHNESS, type Freshness, isFresh, keptPath, PASSING } from "./stored.ts";

/** The file of one provider, whatever it says; undefined where it says nothing. */
export function keptFile(dir: string, name: ProviderName): Obj | undefined {
  try {
    // Nothing that we have kept is larger.
    return objectIn(readRegular(keptPath(dir, name), KEPT_BYTES));
  } catch {
    // Not there: asking anew is all that is needed.
    return undefined;
  }
}

/**
 * The last answer that was kept for this account, however old.
 * @param of stands for the account.
 */
export function readKept<Name extends ProviderName>(
  dir: string,
  name: Name,
  of: string,
): Dated<Name> | undefined {
  return answerIn(keptFile(dir, name), name, of);
}

/** When all providers were asked last, whatever the file says. */
export function refreshedFile(dir: string): Obj | undefined {
  try {
    return objectIn(readRegular(refreshedPath(dir), KEPT_BYTES));
  } catch {
    return undefined;
  }
}

/** What stands for the accounts of all providers, from the files as they are now. */
export function accountStamps(files: AccountFiles): Readonly<Record<ProviderName, string>> {
  const paths = keyFiles(files);
  const { config, glm, opencode } = paths;
  return stampsOf(files, paths, {
    config: fullMark(config),
    glm: fullMark(glm),
    opencode: fullMark(opencode),
  });
}

function fullMark(path: string): string {
  const { mark, whole } = markOf(path);
  if (!whole) return mark;
  try {
    return `${mark}:${statSync(path).ino}`;
  } catch {
    return mark;
  }
}
