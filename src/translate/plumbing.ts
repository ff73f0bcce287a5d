/**
 * What stands among the stored messages and is no conversation: notes of the agent's runtime to itself. What a person has
 * no use for is left out; what tells where something happened is folded into a card that stays closed. A person's own
 * words that merely look like it stay: the build's own marks count first, and where it has none, only whole forms do.
 */

import { isObj, type Obj, obj, str, text } from "../platform/json.ts";
import { callsBegin, withoutBlocks } from "./blocks.ts";
import { typedWords } from "./wording.ts";

/** Kinds of folded cards, as remote clients know them. */
export type FoldKind = "context-handoff" | "tool-transcript" | "task-notification" | "compact";

export interface Fold {
  readonly kind: FoldKind;
  readonly text: string;
}

const REMINDER = "system-reminder";
const NOTIFICATION = "task-notification";
/** What was said so far, told to a session that goes on from another: a clause about it, and then the body. */
const HANDOVER = /^This session is being continued from a previous conversation [a-z][^\n?]*\n\s*\S/;
/** A tool call that was rewritten as words, because its tool is not there any more. */
const TRANSCRIPT = /^Called the \S+ tool with the following input\b/;
/** The rest of one whose result is a part of its own. */
const RESULT = /^Result of calling the \S+ tool:/;

/** By `info.semantics.kind`. */
const FOLDED: ReadonlyMap<string, FoldKind> = new Map([
  ["compact_summary", "compact"],
  ["background_notification", "task-notification"],
  ["subagent_notification", "task-notification"],
  ["shared_context", "context-handoff"],
]);

/** Notes of the runtime to itself, hidden or not. */
const NOTES: ReadonlySet<string> = new Set([
  "todo_reminder",
  "system_reminder",
  "rewind_notice",
  "fork_notice",
  "timeline_event",
]);

/** A message in a person's place, taken apart: words of theirs, and what was folded, in order. */
export interface PersonSaid {
  readonly words: string;
  readonly files: readonly SentFile[];
  readonly folds: readonly Fold[];
}

/** What a person sent beside words. */
export interface SentFile {
  readonly name: string;
  readonly mime: string | undefined;
  /** Of the file, or all of it as a `data:` URL. */
  readonly url: string;
  /** Tells what is in it, where it is stored under a url of its own each time. */
  readonly hash?: string;
}

const NOTHING: PersonSaid = { words: "", files: [], folds: [] };

export function personSaid(info: Obj, parts: readonly Obj[]): PersonSaid {
  const semantics = obj(info.semantics);
  const kind = str(semantics.kind) ?? "";
  const real = semantics.origin === "real_user";
  const fold = isObj(info.summary) ? "compact" : FOLDED.get(kind);
  if (fold) return folded(fold, textOf(parts));
  if (isHidden(info) || (NOTES.has(kind) && !real)) {
    return { ...NOTHING, folds: foldsOf(textOf(parts)) };
  }
  const words: string[] = [];
  const folds: Fold[] = [];
  /** A rewritten call was the last thing said: a part with its result may follow. */
  let called = false;
  for (const part of parts) {
    if (part.type !== "text") continue;
    const made = part.synthetic === true;
    const said = withoutReminders(str(part.text) ?? "");
    const last = folds.at(-1);
    if (called && last && (made || !real) && RESULT.test(said)) {
      folds[folds.length - 1] = { ...last, text: `${last.text}\n\n${said.trim()}` };
      continue;
    }
    const sort = made
      ? { words: "", folds: foldsOf(said) }
      : real
        ? { words: said, folds: [] }
        : sorted(said);
    folds.push(...sort.folds);
    called = sort.folds.at(-1)?.kind === "tool-transcript";
    const typed = typedWords(sort.words.trimEnd()).trimEnd();
    if (typed !== "") words.push(typed);
  }
  return { words: words.join("\n"), files: parts.flatMap(sentFile), folds };
}

/** What is folded of a text that is surely the runtime's: a call in it needs not be whole. */
function foldsOf(text: string): readonly Fold[] {
  const whole = text.trim();
  return TRANSCRIPT.test(whole) ? [{ kind: "tool-transcript", text: whole }] : sorted(text).folds;
}

/** A text that no mark tells to be a person's: what in it is the runtime's, and the words besides. */
function sorted(text: string): Pick<PersonSaid, "words" | "folds"> {
  const folds: Fold[] = [];
  const words = withoutBlocks(text, NOTIFICATION, false, (block) =>
    folds.push({ kind: "task-notification", text: block }),
  );
  const whole = words.trim();
  if (HANDOVER.test(whole)) return { words: "", folds: [...folds, { kind: "context-handoff", text: whole }] };
  const calls = callsBegin(words);
  if (calls < 0) return { words, folds };
  folds.push({ kind: "tool-transcript", text: words.slice(calls).trim() });
  return { words: words.slice(0, calls).trimEnd(), folds };
}

function withoutReminders(said: string): string {
  return withoutBlocks(said, REMINDER, true);
}

function sentFile(part: Obj): SentFile[] {
  const url = text(part.url);
  if (part.type !== "file" || part.synthetic === true || url === undefined) return [];
  const hash = text(obj(part.metadata).sha256);
  return [
    {
      name: text(part.filename) ?? "",
      mime: text(part.mime),
      url,
      ...(hash === undefined ? {} : { hash }),
    },
  ];
}

function folded(kind: FoldKind, text: string): PersonSaid {
  return text === "" ? NOTHING : { ...NOTHING, folds: [{ kind, text }] };
}

/** All words of a message that is nobody's. */
export function textOf(parts: readonly Obj[]): string {
  return parts
    .filter((part) => part.type === "text")
    .map((part) => withoutReminders(str(part.text) ?? "").trim())
    .filter((text) => text !== "")
    .join("\n");
}

export function isHidden(info: Obj): boolean {
  const semantics = obj(info.semantics);
  return semantics.transcriptVisibility === "hidden" || info.visibility === "model-only";
}

/** An answer that is the agent's own summary of what was said. */
export function isSummary(info: Obj): boolean {
  return str(obj(info.semantics).kind) === "compact_summary" || isObj(info.summary);
}
