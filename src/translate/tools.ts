/**
 * What each of the backend's tools is to a person: title, kind, places, and the diff that its input already
 * tells. Names of older builds are kept for old histories; an unknown tool is shown under its own name.
 */

import { isAbsolute, join, relative } from "node:path";
import { type Language, t } from "../locale/index.ts";
import { cut } from "../platform/cut.ts";
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

/** Titles that say of what; without it they are the verb alone. */
type TitleKey =
  `tool.${"read" | "list" | "write" | "edit" | "patch" | "find" | "search" | "fetch" | "searchWeb" | "skill"}`;

const TITLE_CHARS = 200;
/** The protocol's line numbers have 32 bits. */
const MAX_LINE = 2 ** 32 - 1;

/**
 * @param input the call's arguments; any field may be missing or of another type.
 * @param cwd what relative paths are relative to.
 */
export function viewTool(name: string, input: Obj, cwd: string, language: Language): ToolView {
  const base: ToolView = {
    title: name,
    kind: "other",
    locations: [],
    diffs: [],
    command: false,
    outputStyle: "markdown",
  };
  const path = (value: unknown) => absolute(value, cwd);
  const titled = (key: TitleKey, what: string) => oneLine(t(key, { what }, language));
  const placed = (key: TitleKey, file: string | undefined) => titled(key, shownPath(file, cwd));
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
        title: placed("tool.read", path(input.file_path)),
        kind: "read",
        locations: place(file, line),
        outputStyle: "code",
      };
    }
    case "LS":
      return {
        ...base,
        title: placed("tool.list", path(input.path)),
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
        title: placed("tool.write", file),
        kind: "edit",
        locations: place(file),
        diffs,
      };
    }
    case "Edit": {
      const file = path(input.file_path);
      return {
        ...base,
        title: placed("tool.edit", file),
        kind: "edit",
        locations: place(file),
        diffs: file === undefined ? [] : editDiff(file, input),
      };
    }
    case "MultiEdit": {
      const file = path(input.file_path);
      return {
        ...base,
        title: placed("tool.edit", file),
        kind: "edit",
        locations: place(file),
        diffs: file === undefined ? [] : list(input.edits).flatMap((edit) => editDiff(file, obj(edit))),
      };
    }
    case "NotebookEdit":
      return {
        ...base,
        title: placed("tool.edit", path(input.notebook_path)),
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
            ? placed("tool.patch", files[0])
            : files.length > 1
              ? t("tool.patchSeveral", { count: files.length }, language)
              : titled("tool.patch", ""),
        kind: "edit",
        locations: files.flatMap((file) => place(file)),
        diffs: patchDiffs(patch, cwd),
      };
    }
    case "Glob":
    case "Grep":
      return {
        ...base,
        title: titled(name === "Glob" ? "tool.find" : "tool.search", text(input.pattern) ?? ""),
        kind: "search",
        locations: place(path(input.path)),
        outputStyle: "code",
      };
    case "WebFetch":
      return { ...base, title: titled("tool.fetch", text(input.url) ?? ""), kind: "fetch" };
    case "WebSearch":
    case "web_search":
      return { ...base, title: titled("tool.searchWeb", text(input.query) ?? ""), kind: "fetch" };
    case "TodoWrite":
      return { ...base, title: t("tool.todoWrite", {}, language), kind: "think" };
    case "TodoRead":
      return { ...base, title: t("tool.todoRead", {}, language), kind: "think" };
    case "Agent":
    case "Task":
      return { ...base, title: oneLine(text(input.description) ?? name), kind: "think" };
    case "Skill":
      return { ...base, title: titled("tool.skill", text(input.skill) ?? text(input.name) ?? "") };
    case "EnterPlanMode":
      return { ...base, title: t("tool.planFirst", {}, language), kind: "switch_mode" };
    case "ExitPlanMode":
      return { ...base, title: t("tool.planReady", {}, language), kind: "switch_mode" };
    case "AskUserQuestion":
      return {
        ...base,
        title: oneLine(text(obj(list(input.questions)[0]).question) ?? t("tool.question", {}, language)),
      };
    case "TaskOutput":
    case "BashOutput":
    case "AgentOutput":
    case "AgentOutputTool":
      return { ...base, title: t("tool.taskOutput", {}, language), kind: "read", outputStyle: "code" };
    case "TaskStop":
    case "KillShell":
      return { ...base, title: t("tool.taskStop", {}, language) };
    case "js":
      return { ...base, title: t("tool.javascript", {}, language), kind: "execute", outputStyle: "code" };
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
function shownPath(path: string | undefined, cwd: string): string {
  if (path === undefined) return "";
  const inside = relative(cwd, path);
  return inside === "" || inside.startsWith("..") || isAbsolute(inside) ? path : inside;
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
  return cut(value.replace(/\s+/g, " ").trim(), TITLE_CHARS);
}
