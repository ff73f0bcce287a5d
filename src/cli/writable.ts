import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** Whether files can be made under `path`, without making any: the nearest folder that exists decides. */
export function writable(path: string): boolean {
  let at = path;
  while (!existsSync(at) && dirname(at) !== at) at = dirname(at);
  try {
    accessSync(at, constants.W_OK | constants.X_OK);
    return statSync(at).isDirectory();
  } catch {
    return false;
  }
}
