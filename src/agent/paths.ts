/** Paths and URIs as editors send them: percent-encoded, with a drive letter, with a trailing slash. */

import { isAbsolute } from "node:path";

/** The local path of a `file:` URI, or undefined for any other URI and for one that is malformed. */
export function fileUriPath(uri: string): string | undefined {
  const match = /^file:\/\/(?:localhost)?(\/.*)$/i.exec(uri) ?? /^file:(\/[^/].*)$/i.exec(uri);
  if (!match?.[1]) return undefined;
  let path: string;
  try {
    path = decodeURIComponent(match[1].replace(/[?#].*$/, ""));
  } catch {
    return undefined;
  }
  if (path.includes("\0")) return undefined;
  return /^\/[A-Za-z]:[\\/]/.test(path) ? path.slice(1) : path;
}

/**
 * The root that an editor names: absolute, given as a path or a `file:` URI, without a trailing slash.
 * @returns undefined where it is no absolute path.
 */
export function rootPath(cwd: string): string | undefined {
  const path = fileUriPath(cwd) ?? cwd;
  if (!isAbsolute(path) && !/^[A-Za-z]:[\\/]/.test(path)) return undefined;
  const trimmed = path.replace(/[\\/]+$/, "");
  if (trimmed === "") return "/";
  return /^[A-Za-z]:$/.test(trimmed) ? `${trimmed}\\` : trimmed;
}
