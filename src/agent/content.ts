/** ACP's content blocks of a prompt, as `session/send` takes them: one string and a list of attachments. */

import { statSync } from "node:fs";
import { basename, extname } from "node:path";
import { list, type Obj, obj, str, text } from "../platform/json.ts";
import type { PromptContent } from "../session/conversation.ts";
import { fileUriPath } from "./paths.ts";

/** The largest files that the backend reads from an attachment, in bytes; larger ones are only named. */
const MAX_TEXT_BYTES = 256 * 1024;
const MAX_MEDIA_BYTES = 20 * 1024 * 1024;

const MEDIA: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
  ".pdf": "application/pdf",
};

/** @param blocks the `prompt` of `session/prompt`; kinds that are not known are passed over. */
export function promptContent(blocks: unknown): PromptContent {
  const words: string[] = [];
  const attachments: Obj[] = [];
  for (const value of list(blocks)) {
    const block = obj(value);
    switch (block.type) {
      case "text":
        words.push(str(block.text) ?? "");
        break;
      case "image":
        attachments.push(...image(block));
        break;
      case "resource": {
        const { mention, attachment } = embedded(obj(block.resource));
        words.push(mention);
        attachments.push(...attachment);
        break;
      }
      case "resource_link": {
        const { mention, attachment } = link(block);
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

function image(block: Obj): Obj[] {
  const data = text(block.data);
  const mimeType = text(block.mimeType) ?? "image/png";
  if (data !== undefined) return [{ kind: "image", mimeType, dataBase64: data }];
  const path = fileUriPath(str(block.uri) ?? "");
  return path === undefined ? [] : [{ kind: "image", mimeType, localPath: path }];
}

function embedded(resource: Obj): { mention: string; attachment: Obj[] } {
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
  return { mention: `@${name}`, attachment: [{ kind, ...head, dataBase64: blob }] };
}

function link(block: Obj): { mention: string; attachment: Obj[] } {
  const uri = str(block.uri) ?? "";
  const path = fileUriPath(uri);
  if (path === undefined) {
    const name = text(block.name);
    return { mention: name !== undefined && name !== uri ? `[${name}](${uri})` : uri, attachment: [] };
  }
  const mimeType = text(block.mimeType);
  const kind = kindOf(mimeType, path);
  if (!isReadable(path, kind === "file" ? MAX_TEXT_BYTES : MAX_MEDIA_BYTES))
    return { mention: `@${path}`, attachment: [] };
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
function kindOf(mimeType: string | undefined, name: string): "image" | "pdf" | "file" {
  const type = mimeType ?? MEDIA[extname(name).toLowerCase()];
  return type?.startsWith("image/") ? "image" : type === "application/pdf" ? "pdf" : "file";
}

function isReadable(path: string, maxBytes: number): boolean {
  try {
    const stat = statSync(path);
    return stat.isFile() && stat.size <= maxBytes;
  } catch {
    return false;
  }
}
