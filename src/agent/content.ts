/** ACP's content blocks of a prompt, as `session/send` takes them: one string and a list of attachments. */

import { accessSync, constants, statSync } from "node:fs";
import { basename, extname } from "node:path";
import { list, type Obj, obj, str, text } from "../platform/json.ts";
import type { PromptContent } from "../session/conversation.ts";
import { fileUriPath } from "./paths.ts";

/** The largest files that the backend reads from an attachment, in bytes; larger ones are only named. */
const MAX_BYTES = {
  file: 256 * 1024,
  image: 20 * 1024 * 1024,
  pdf: 20 * 1024 * 1024,
  video: 30 * 1024 * 1024,
} as const;
/** The same for a file of no other kind whose bytes come along, and which are then taken for UTF-8. */
const MAX_INLINE_BYTES = 64 * 1024;

const MEDIA: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
  ".pdf": "application/pdf",
  ".mp4": "video/mp4",
  ".mov": "video/quicktime",
  ".webm": "video/webm",
  ".mkv": "video/x-matroska",
  ".m4v": "video/x-m4v",
  ".avi": "video/x-msvideo",
};

/** What of a prompt the backend cannot be given: `large` is over its limits, `unreadable` no file that can be read. */
export interface LeftOut {
  readonly name: string;
  readonly why: "large" | "unreadable";
}

/**
 * @param blocks the `prompt` of `session/prompt`; kinds that are not known are passed over.
 * @param leave is told of each thing that stays behind; a file that does is still named in the words.
 */
export function promptContent(blocks: unknown, leave: (left: LeftOut) => void = () => {}): PromptContent {
  const words: string[] = [];
  const attachments: Obj[] = [];
  for (const value of list(blocks)) {
    const block = obj(value);
    switch (block.type) {
      case "text":
        words.push(str(block.text) ?? "");
        break;
      case "image": {
        const { mention, attachment } = image(block, leave);
        words.push(mention);
        attachments.push(...attachment);
        break;
      }
      case "resource": {
        const { mention, attachment } = embedded(obj(block.resource), leave);
        words.push(mention);
        attachments.push(...attachment);
        break;
      }
      case "resource_link": {
        const { mention, attachment } = link(block, leave);
        words.push(mention);
        attachments.push(...attachment);
        break;
      }
    }
  }
  return { content: joinWords(words), attachments };
}

/** Mentions stand in the text where the editor put them; blocks that editors split keep their own spaces. */
function joinWords(words: readonly string[]): string {
  let out = "";
  for (const word of words) {
    if (word === "") continue;
    const glued = out === "" || /\s$/.test(out) || /^\s/.test(word);
    out += glued ? word : ` ${word}`;
  }
  return out;
}

type Leave = (left: LeftOut) => void;

function image(block: Obj, leave: Leave): { mention: string; attachment: Obj[] } {
  const data = text(block.data);
  const mimeType = text(block.mimeType) ?? "image/png";
  const uri = str(block.uri) ?? "";
  const path = fileUriPath(uri);
  const head = { kind: "image", mimeType };
  if (data !== undefined && bytesOf(data) <= MAX_BYTES.image)
    return { mention: "", attachment: [{ ...head, dataBase64: data }] };
  if (data === undefined && path !== undefined && isReadable(path, MAX_BYTES.image, leave))
    return { mention: "", attachment: [{ ...head, localPath: path }] };
  const name = path ?? (uri === "" ? mimeType : uri);
  if (data !== undefined) leave({ name, why: "large" });
  else if (path === undefined) leave({ name, why: "unreadable" });
  return { mention: path === undefined ? `[${name}]` : `@${path}`, attachment: [] };
}

function embedded(resource: Obj, leave: Leave): { mention: string; attachment: Obj[] } {
  const uri = str(resource.uri) ?? "";
  const name = nameOf(uri);
  const mimeType = text(resource.mimeType);
  const head = { filename: name, ...(mimeType === undefined ? {} : { mimeType }) };
  const body = str(resource.text);
  if (body !== undefined) {
    return {
      mention: `@${fileUriPath(uri) ?? uri}`,
      attachment: [{ kind: "file", ...head, textContent: body }],
    };
  }
  const blob = text(resource.blob);
  if (blob === undefined) return { mention: `@${fileUriPath(uri) ?? uri}`, attachment: [] };
  const kind = kindOf(mimeType, name);
  if (bytesOf(blob) > (kind === "file" ? MAX_INLINE_BYTES : MAX_BYTES[kind])) {
    leave({ name, why: "large" });
    return { mention: `@${fileUriPath(uri) ?? uri}`, attachment: [] };
  }
  return { mention: `@${name}`, attachment: [{ kind, ...head, dataBase64: blob }] };
}

function link(block: Obj, leave: Leave): { mention: string; attachment: Obj[] } {
  const uri = str(block.uri) ?? "";
  const path = fileUriPath(uri);
  if (path === undefined) {
    const name = text(block.name);
    return { mention: name !== undefined && name !== uri ? `[${name}](${uri})` : uri, attachment: [] };
  }
  const mimeType = text(block.mimeType);
  const kind = kindOf(mimeType, path);
  if (!isReadable(path, MAX_BYTES[kind], leave)) return { mention: `@${path}`, attachment: [] };
  return {
    mention: `@${path}`,
    attachment: [
      { kind, filename: basename(path), localPath: path, ...(mimeType === undefined ? {} : { mimeType }) },
    ],
  };
}

function nameOf(uri: string): string {
  return basename(fileUriPath(uri) ?? uri) || "resource";
}

/** The backend's kind of an attachment; by the name's ending where the editor gave no type. */
function kindOf(mimeType: string | undefined, name: string): keyof typeof MAX_BYTES {
  const type = mimeType ?? MEDIA[extname(name).toLowerCase()];
  if (type === "application/pdf") return "pdf";
  if (type?.startsWith("image/")) return "image";
  return type?.startsWith("video/") ? "video" : "file";
}

/** Folders are named and nothing else, as the agent's own tools list them; that needs no word. */
function isReadable(path: string, maxBytes: number, leave: Leave): boolean {
  try {
    const stat = statSync(path);
    if (stat.isDirectory()) return false;
    if (stat.isFile() && stat.size <= maxBytes) {
      accessSync(path, constants.R_OK);
      return true;
    }
    leave({ name: path, why: stat.isFile() ? "large" : "unreadable" });
  } catch {
    leave({ name: path, why: "unreadable" });
  }
  return false;
}

/** The bytes that base64 text stands for, or a few more. */
function bytesOf(base64: string): number {
  return Math.floor((base64.length / 4) * 3);
}
