/**
 * What each of the backend's tools is to a person: title, kind, places, and the diff that its input already
 * tells. Names of older builds are kept for old histories; an unknown tool is shown under its own name.
 */

import { isAbsolute, join, relative } from "node:path";
import { list, num, type Obj, obj, str, text } from "../platform/json.ts";
import type { Diff, Location, ToolKind } from "./updates.ts";

export interface ToolView {
  readonly title: string;
  readonly kind: ToolKind;
  readonly locations: readonly Location[];
  readonly diffs: readonly Diff[];
  readonly command: boolean;
  readonly outputStyle: "markdown" | "code";
}

const TITLE_CHARS = 200;
/** The protocol's line numbers have 32 bits. */
const MAX_LINE = 2 ** 32 - 1;

/**
 * @param input the call's arguments; any field may be missing or of another type.
 * @param cwd what relative paths are relative to.
 */
export function viewTool(name: string, input: Obj, cwd: string): ToolView {
  const base: ToolView = {
    title: name,
    kind: "other",
    locations: [],
    diffs: [],
    command: false,
    outputStyle: "markdown",
  };
  const path = (value: unknown) => absolute(value, cwd);
  switch (name) {
    case "Bash": {
      return {
        ...base,
        title: oneLine(text(input.description) ?? text(input.command) ?? name),
        kind: "execute",
        command: true,
      };
    }
    case "Read": {
      const file = path(input.file_path);
      const line = num(input.offset);
      return {
        ...base,
        title: titled("Read", path(input.file_path), cwd),
        kind: "read",
        locations: place(file, line),
        outputStyle: "code",
      };
    }
    case "LS":
      return {
        ...base,
        title: titled("List", path(input.path), cwd),
        kind: "read",
        locations: place(path(input.path)),
        outputStyle: "code",
      };
    case "Write": {
      const file = path(input.file_path);
      const content = str(input.content);
      const diffs =
        file !== undefined && content !== undefined ? [{ path: file, oldText: null, newText: content }] : [];
      return {
        ...base,
        title: titled("Write", file, cwd),
        kind: "edit",
        locations: place(file),
        diffs,
      };
    }
    case "Edit": {
      const file = path(input.file_path);
      return {
        ...base,
        title: titled("Edit", file, cwd),
        kind: "edit",
        locations: place(file),
        diffs: file === undefined ? [] : editDiff(file, input),
      };
    }
    case "MultiEdit": {
      const file = path(input.file_path);
      return {
        ...base,
        title: titled("Edit", file, cwd),
        kind: "edit",
        locations: place(file),
        diffs: file === undefined ? [] : list(input.edits).flatMap((edit) => editDiff(file, obj(edit))),
      };
    }
    case "NotebookEdit":
      return {
        ...base,
        title: titled("Edit", path(input.notebook_path), cwd),
        kind: "edit",
        locations: place(path(input.notebook_path)),
      };
    case "ApplyPatch": {
      const patch = str(input.patch_text) ?? "";
      const files = patchedFiles(patch).flatMap((file) => path(file) ?? []);
      return {
        ...base,
        title:
          files.length === 1
            ? titled("Patch", files[0], cwd)
            : files.length > 1
              ? `Patch ${files.length} files`
              : "Patch",
        kind: "edit",
        locations: files.flatMap((file) => place(file)),
        diffs: patchDiffs(patch, cwd),
      };
    }
    case "Glob":
    case "Grep":
      return {
        ...base,
        title: oneLine(`${name === "Glob" ? "Find" : "Search"} ${text(input.pattern) ?? ""}`.trim()),
        kind: "search",
        locations: place(path(input.path)),
        outputStyle: "code",
      };
    case "WebFetch":
      return { ...base, title: oneLine(`Fetch ${text(input.url) ?? ""}`.trim()), kind: "fetch" };
    case "WebSearch":
    case "web_search":
      return { ...base, title: oneLine(`Search the web: ${text(input.query) ?? ""}`), kind: "fetch" };
    case "TodoWrite":
      return { ...base, title: "Update the to-do list", kind: "think" };
    case "TodoRead":
      return { ...base, title: "Read the to-do list", kind: "think" };
    case "Agent":
    case "Task":
      return { ...base, title: oneLine(text(input.description) ?? name), kind: "think" };
    case "Skill":
      return { ...base, title: oneLine(`Skill ${text(input.skill) ?? text(input.name) ?? ""}`.trim()) };
    case "EnterPlanMode":
      return { ...base, title: "Plan first", kind: "switch_mode" };
    case "ExitPlanMode":
      return { ...base, title: "Plan ready for review", kind: "switch_mode" };
    case "AskUserQuestion":
      return { ...base, title: oneLine(text(obj(list(input.questions)[0]).question) ?? "Question") };
    case "TaskOutput":
    case "BashOutput":
    case "AgentOutput":
    case "AgentOutputTool":
      return { ...base, title: "Read a task's output", kind: "read", outputStyle: "code" };
    case "TaskStop":
    case "KillShell":
      return { ...base, title: "Stop a task" };
    case "js":
      return { ...base, title: "Run JavaScript", kind: "execute", outputStyle: "code" };
    default: {
      const mcp = /^mcp__(.+?)__(.+)$/.exec(name);
      return mcp ? { ...base, title: oneLine(`${mcp[1]}: ${mcp[2]}`) } : base;
    }
  }
}

/** Old and new text of each hunk of a `file_diff` display, or of a patch result's files. */
export function displayDiffs(result: Obj, cwd: string): Diff[] {
  const display = obj(result.display);
  if (display.kind === "file_diff") return hunks(absolute(display.filePath, cwd), display.structuredPatch);
  return resultFiles(result)
    .map(obj)
    .flatMap((file) => hunks(absolute(file.movePath ?? file.filePath, cwd), file.structuredPatch));
}

/** The files that a patch changed; 0.16.9 names them in a JSON text. */
export function resultFiles(result: Obj): readonly unknown[] {
  for (const files of [obj(result.display).files, result.files])
    if (list(files).length > 0) return list(files);
  const content = str(result.content);
  if (content === undefined || !content.startsWith("{")) return [];
  try {
    return list(obj(JSON.parse(content)).files);
  } catch {
    return [];
  }
}

function hunks(path: string | undefined, patch: unknown): Diff[] {
  if (path === undefined) return [];
  return list(patch).flatMap((value) => {
    const lines = list(obj(value).lines).filter((line): line is string => typeof line === "string");
    if (lines.length === 0) return [];
    const side = (drop: string) =>
      lines.filter((line) => !line.startsWith(drop)).map((line) => line.slice(1));
    const old = side("+");
    return [{ path, oldText: old.length === 0 ? null : old.join("\n"), newText: side("-").join("\n") }];
  });
}

/** @returns the absolute form of a path, without touching the disk; undefined for anything that is no path. */
export function absolute(value: unknown, cwd: string): string | undefined {
  const path = text(value);
  if (path === undefined) return undefined;
  return isAbsolute(path) || /^[A-Za-z]:[\\/]/.test(path) ? path : join(cwd, path);
}

function editDiff(path: string, edit: Obj): Diff[] {
  const oldText = str(edit.old_string);
  const newText = str(edit.new_string);
  return oldText === undefined || newText === undefined ? [] : [{ path, oldText, newText }];
}

/** The files that a patch text names, in either of the two headings in use. */
function patchedFiles(patch: string): string[] {
  const names = new Set<string>();
  for (const match of patch.matchAll(/^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b\/)?)(.+)$/gm)) {
    const name = match[1]?.trim();
    if (name && name !== "/dev/null") names.add(name);
  }
  return [...names];
}

function place(path: string | undefined, line?: number): Location[] {
  if (path === undefined) return [];
  return [line !== undefined && line >= 1 && line <= MAX_LINE ? { path, line: Math.floor(line) } : { path }];
}

/** Paths inside the root read better without it. */
function titled(verb: string, path: string | undefined, cwd: string): string {
  if (path === undefined) return verb;
  const inside = relative(cwd, path);
  return oneLine(`${verb} ${inside === "" || inside.startsWith("..") || isAbsolute(inside) ? path : inside}`);
}

/** Old and new text of each hunk of a `*** Begin Patch` text, so that it can be judged before it is applied. */
function patchDiffs(patch: string, cwd: string): Diff[] {
  const diffs: Diff[] = [];
  let file: string | undefined;
  let lines: string[] = [];
  const flush = () => {
    if (file !== undefined && lines.length > 0) diffs.push(...hunks(file, [{ lines }]));
    lines = [];
  };
  for (const line of patch.split("\n")) {
    const head = /^\*\*\* (?:Add|Update|Delete) File: (.+)$/.exec(line);
    if (head || line.startsWith("@@") || line.startsWith("*** ")) {
      flush();
      if (head) file = absolute(head[1]?.trim(), cwd);
    } else if (/^[ +-]/.test(line)) lines.push(line);
  }
  flush();
  return diffs;
}

/** A title: one line of bounded length. */
export function oneLine(value: string): string {
  const line = value.replace(/\s+/g, " ").trim();
  return line.length > TITLE_CHARS ? `${line.slice(0, TITLE_CHARS - 1)}…` : line;
}
