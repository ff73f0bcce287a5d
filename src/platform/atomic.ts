/** Files that are either old or new, never half: written beside the target, forced to disk, renamed over it. */
import {
  closeSync,
  fsyncSync,
  lstatSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { open, realpath, rename, rm } from "node:fs/promises";
import { NO_FILE } from "./files.ts";

/**
 * @param mode permission bits of the new file, whatever the old one had.
 * @param links whether a link that a person made (dotfiles kept elsewhere) stays one; else the file takes its place, since
 *   nobody has a reason to lead this one elsewhere.
 * @throws the system's error; the old file is then untouched and nothing is left beside it.
 */
export async function writeAtomic(
  path: string,
  data: string | Uint8Array,
  mode: number,
  links: "kept" | "replaced" = "kept",
): Promise<void> {
  const target = links === "kept" ? await realpath(path).catch(() => path) : path;
  if (links === "kept" || !isLink(target)) requireFile(target);
  const temporary = temporaryName(target);
  try {
    const file = await open(temporary, "wx", mode);
    try {
      await file.writeFile(data);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
}

/** As `writeAtomic`, for the moments when the process is about to end. */
export function writeAtomicSync(path: string, data: string | Uint8Array, mode: number): void {
  let target = path;
  try {
    target = realpathSync(path);
  } catch {
    // Not there yet.
  }
  requireFile(target);
  const temporary = temporaryName(target);
  try {
    const file = openSync(temporary, "wx", mode);
    try {
      writeFileSync(file, data);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, target);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

/** What a link leads to may be a device or a pipe, which a file must not take the place of. */
function requireFile(target: string): void {
  const stat = statSync(target, { throwIfNoEntry: false });
  if (stat && !stat.isFile()) throw Object.assign(new Error(`${NO_FILE}: ${target}`), { code: NO_FILE });
}

function temporaryName(target: string): string {
  return `${target}.${process.pid}.${crypto.randomUUID().slice(0, 8)}.tmp`;
}
