/**
 * What stands among the stored messages and is no conversation: notes of the agent's runtime to itself. What a person has
 * no use for is left out; what tells where something happened is folded into a card that stays closed. A person's own
 * words that merely look like it stay: the build's own marks count first, and where it has none, only whole forms do.
 */

import { isObj, type Obj, obj, str, text } from "../platform/json.ts";
import { typedWords } from "./wording.ts";

/** Kinds of folded cards, as remote clients know them. */
export type FoldKind = "context-handoff" | "tool-transcript" | "task-notification" | "compact";

export interface Fold {
  readonly kind: FoldKind;
  readonly text: string;
}

const REMINDER = /\n*<system-reminder>[\s\S]*?<\/system-reminder>\n*/g;
const NOTIFICATION = /\n*^<task-notification>[\s\S]*?<\/task-notification>$\n*/gm;
/** What was said so far, told to a session that goes on from another. */
const HANDOVER = /^This session is being continued from a previous conversation\b/;
/** A tool call that was rewritten as words, because its tool is not there any more. */
const TRANSCRIPT = /^Called the \S+ tool with the following input\b/;

/** By `info.semantics.kind`. */
const FOLDED: ReadonlyMap<string, FoldKind> = new Map([
  ["compact_summary", "compact"],
  ["background_notification", "task-notification"],
  ["subagent_notification", "task-notification"],
  ["shared_context", "context-handoff"],
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
}

const NOTHING: PersonSaid = { words: "", files: [], folds: [] };

export function personSaid(info: Obj, parts: readonly Obj[]): PersonSaid {
  const { kind, origin } = obj(info.semantics);
  const fold = isObj(info.summary) ? "compact" : FOLDED.get(str(kind) ?? "");
  if (fold) return folded(fold, textOf(parts));
  if (isHidden(info)) {
    const hidden = textOf(parts);
    return TRANSCRIPT.test(hidden) ? folded("tool-transcript", hidden) : NOTHING;
  }
  const words: string[] = [];
  const folds: Fold[] = [];
  for (const part of parts) {
    if (part.type !== "text" || part.synthetic === true) continue;
    let said = (str(part.text) ?? "").replace(REMINDER, "\n");
    if (origin !== "real_user") {
      said = said.replace(NOTIFICATION, (block) => {
        folds.push({ kind: "task-notification", text: block.trim() });
        return "\n";
      });
    }
    said = typedWords(said.trim()).trim();
    const whole = origin === "real_user" ? undefined : wholeFold(said);
    if (whole) folds.push({ kind: whole, text: said });
    else if (said !== "") words.push(said);
  }
  return { words: words.join("\n"), files: parts.flatMap(sentFile), folds };
}

function sentFile(part: Obj): SentFile[] {
  const url = text(part.url);
  if (part.type !== "file" || part.synthetic === true || url === undefined) return [];
  return [{ name: text(part.filename) ?? "", mime: text(part.mime), url }];
}

function wholeFold(text: string): FoldKind | undefined {
  if (HANDOVER.test(text)) return "context-handoff";
  return TRANSCRIPT.test(text) ? "tool-transcript" : undefined;
}

function folded(kind: FoldKind, text: string): PersonSaid {
  return text === "" ? NOTHING : { ...NOTHING, folds: [{ kind, text }] };
}

/** All words of a message that is nobody's. */
export function textOf(parts: readonly Obj[]): string {
  return parts
    .filter((part) => part.type === "text")
    .map((part) => (str(part.text) ?? "").replace(REMINDER, "\n").trim())
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
