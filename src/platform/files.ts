/** Files and folders that a person, or another program, may have put something else in the place of. */
import { accessSync, closeSync, constants, fstatSync, openSync, readFileSync, statSync } from "node:fs";

/** Stands where the system's error has its code, and in the log in its place. */
export const NO_FILE = "not a regular file";

/**
 * The text of a regular file. A pipe or a device is an error with the code `NO_FILE`: reading one stops the whole
 * process for as long as nobody writes to it.
 * @param most a file of more bytes is an error with the code `EFBIG`.
 * @throws the system's error.
 */
export function readRegular(path: string, most = Number.POSITIVE_INFINITY): string {
  // Opening a pipe waits for its other end unless told not to; what was opened is then looked at, and not its path.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) {
      const code = stat.isDirectory() ? "EISDIR" : NO_FILE;
      throw Object.assign(new Error(`${code}: ${path}`), { code });
    }
    if (stat.size > most) throw Object.assign(new Error(`EFBIG: ${path}`), { code: "EFBIG" });
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}

/** The first of some folders that a process can be started in, or the last of them. */
export function usableFolder(folders: readonly string[]): string {
  return folders.find(usable) ?? folders.at(-1) ?? "/";
}

function usable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
