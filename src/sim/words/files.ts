/** Files: read, changed and searched for real, with the diff that an edit shows. */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { AskPlan, FileChange, ToolEnd, ToolPlan } from "../model.ts";
import type { Live } from "../session.ts";
import type { Obj } from "../types.ts";

function editAsk(live: Live, toolName: string): { ask?: AskPlan } {
  if (["edit", "yolo", "auto"].includes(live.data.mode)) return {};
  return {
    ask: { kind: "permission", risk: "medium", reason: `${toolName} needs approval`, rule: { toolName } },
  };
}

const at = (live: Live, file: string) => resolve(live.cwd, file);

function failed(message: string, more: Obj = {}): ToolEnd {
  return { kind: "error", error: { type: "TOOL_EXECUTION_FAILED", message, ...more } };
}

export function readTool(live: Live, file: string): ToolPlan {
  const path = at(live, file);
  return {
    name: "Read",
    input: { file_path: path },
    readOnly: true,
    scope: "none",
    parallel: true,
    run: async () => readFile(path),
  };
}

export function readFile(path: string): ToolEnd {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return failed(`File not found: ${path}`);
  }
  const lines = text.replace(/\n$/, "").split("\n").slice(0, 2000);
  const bytes = Buffer.byteLength(text);
  return {
    kind: "result",
    content: lines.map((line, i) => `${String(i + 1).padStart(6)}→${line}`).join("\n"),
    detail: {
      kind: "filesystem",
      filesystem: { readMs: 0, fileCount: 1, totalBytes: bytes, maxFileBytes: bytes, workspaceKind: "local" },
    },
  };
}

/** Replaces the last line by itself and one more; an empty or missing file is an error, as with the real tool. */
export function editTool(live: Live, file: string): ToolPlan {
  const path = at(live, file);
  let oldString = "";
  try {
    oldString = readFileSync(path, "utf8").replace(/\n$/, "").split("\n").at(-1) ?? "";
  } catch {
    // The run says that it is missing.
  }
  const input = {
    file_path: path,
    old_string: oldString,
    new_string: `${oldString}\nchanged by the simulator`,
  };
  return {
    name: "Edit",
    input,
    readOnly: false,
    scope: "workspace",
    ...editAsk(live, "Edit"),
    run: async (context) =>
      editFile(path, String(context.input.old_string), String(context.input.new_string)),
  };
}

export function editFile(path: string, oldString: string, newString: string): ToolEnd {
  let before: string;
  try {
    before = readFileSync(path, "utf8");
  } catch {
    return failed(`File not found: ${path}`);
  }
  const where = oldString === "" ? -1 : before.lastIndexOf(oldString);
  if (where < 0) {
    return failed("The old text does not occur in this file.", {
      code: "8",
      detail: `file_path: ${path}`,
    });
  }
  const after = before.slice(0, where) + newString + before.slice(where + oldString.length);
  writeFileSync(path, after);
  return changed(path, before, after, `The file ${path} was changed.`);
}

function changed(path: string, before: string, after: string, content: string): ToolEnd {
  const bytes = Buffer.byteLength(after);
  const display = fileDiff(path, before, after);
  return {
    kind: "result",
    content,
    display,
    detail: {
      kind: "patch",
      filesystem: {
        readMs: 0,
        writeMs: 0,
        fileCount: 1,
        totalBytes: bytes,
        maxFileBytes: bytes,
        workspaceKind: "local",
      },
      patch: { matchMs: 0, hunkCount: 1, matchAttempts: 1 },
    },
    changes: [changeOf(display)],
    checkpoint: true,
  };
}

function changeOf(display: FileDiff): FileChange {
  return { path: display.filePath, additions: display.additions, deletions: display.deletions };
}

export function writeTool(live: Live, rest: string): ToolPlan {
  const [, file, text] = /^(\S+)\s*([\s\S]*)$/.exec(rest)!;
  const path = at(live, file!);
  const content = `${text || "written by the simulator"}\n`;
  return {
    name: "Write",
    input: { file_path: path, content },
    readOnly: false,
    scope: "workspace",
    ...editAsk(live, "Write"),
    run: async (context) => {
      const now = String(context.input.content);
      const before = existsSync(path) ? readFileSync(path, "utf8") : undefined;
      try {
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, now);
      } catch (error) {
        return failed(String((error as Error).message));
      }
      if (before !== undefined) return changed(path, before, now, `File changed: ${path}`);
      const bytes = Buffer.byteLength(now);
      return {
        kind: "result",
        content: `File created: ${path}`,
        detail: {
          kind: "filesystem",
          filesystem: {
            writeMs: 0,
            fileCount: 1,
            totalBytes: bytes,
            maxFileBytes: bytes,
            workspaceKind: "local",
          },
        },
        changes: [changeOf(fileDiff(path, "", now))],
        checkpoint: true,
      };
    },
  };
}

/** ApplyPatch that adds a file; the result lists every file that the patch names. */
export function patchTool(live: Live, file: string): ToolPlan {
  const path = at(live, file);
  const line = "added by a patch of the simulator";
  return {
    name: "ApplyPatch",
    input: { patch_text: `*** Begin Patch\n*** Add File: ${file}\n+${line}\n*** End Patch\n` },
    readOnly: false,
    scope: "workspace",
    ...editAsk(live, "ApplyPatch"),
    run: async () => {
      if (existsSync(path)) return failed(`The file is there already: ${path}`);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, `${line}\n`);
      const display = fileDiff(path, "", `${line}\n`);
      const { structuredPatch, additions, deletions } = display;
      const files = [{ filePath: path, type: "add", structuredPatch, additions, deletions }];
      return {
        kind: "result",
        content: JSON.stringify({ files, structuredPatch, additions, deletions }),
        display,
        changes: [changeOf(display)],
      };
    },
  };
}

export function grepTool(live: Live, pattern: string): ToolPlan {
  return {
    name: "Grep",
    input: { pattern, path: live.cwd },
    readOnly: true,
    scope: "none",
    parallel: true,
    run: async () => ({ kind: "result", content: grep(live.cwd, pattern) }),
  };
}

/** `file:line` of what contains the text, in the upper two levels of a directory. */
export function grep(dir: string, pattern: string): string {
  const found: string[] = [];
  const look = (folder: string, prefix: string, depth: number) => {
    for (const name of readdirSync(folder).sort()) {
      if (name.startsWith(".") || name === "node_modules" || found.length >= 100) continue;
      const path = join(folder, name);
      const info = statSync(path, { throwIfNoEntry: false });
      if (info?.isDirectory() && depth > 0) look(path, `${prefix}${name}/`, depth - 1);
      if (!info?.isFile() || info.size > 1024 * 1024) continue;
      readFileSync(path, "utf8")
        .split("\n")
        .forEach((line, i) => {
          if (line.includes(pattern)) found.push(`${prefix}${name}:${i + 1}`);
        });
    }
  };
  look(dir, "", 2);
  return found.join("\n") || "No matches";
}

const CONTEXT = 3;

export type FileDiff = Obj & {
  filePath: string;
  additions: number;
  deletions: number;
  structuredPatch: {
    oldStart: number;
    oldLines: number;
    newStart: number;
    newLines: number;
    lines: string[];
  }[];
};

/** One hunk around what changed: lines begin with a space, `-` or `+`. */
export function fileDiff(filePath: string, before: string, after: string): FileDiff {
  const a = linesOf(before);
  const b = linesOf(after);
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const from = Math.max(0, head - CONTEXT);
  const after1 = Math.min(CONTEXT, tail);
  const removed = a.slice(head, a.length - tail);
  const added = b.slice(head, b.length - tail);
  const leading = a.slice(from, head);
  const trailing = a.slice(a.length - tail, a.length - tail + after1);
  const lines = [
    ...leading.map((line) => ` ${line}`),
    ...removed.map((line) => `-${line}`),
    ...added.map((line) => `+${line}`),
    ...trailing.map((line) => ` ${line}`),
  ];
  const oldLines = leading.length + removed.length + trailing.length;
  const newLines = leading.length + added.length + trailing.length;
  return {
    kind: "file_diff",
    filePath,
    additions: added.length,
    deletions: removed.length,
    structuredPatch: [
      {
        oldStart: oldLines === 0 ? 0 : from + 1,
        oldLines,
        newStart: newLines === 0 ? 0 : from + 1,
        newLines,
        lines,
      },
    ],
    truncated: false,
  };
}

function linesOf(text: string): string[] {
  if (text === "") return [];
  return text.replace(/\n$/, "").split("\n");
}
