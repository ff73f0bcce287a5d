/**
 * What stands among the stored messages and is no conversation: notes of the agent's runtime to itself. What a person has
 * no use for is left out; what tells where something happened is folded into a card that stays closed. A person's own
 * words that merely look like it stay: the build's own marks count first, and where it has none, only whole forms do.
 */

import { isObj, type Obj, obj, str } from "../platform/json.ts";
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
  readonly folds: readonly Fold[];
}

const NOTHING: PersonSaid = { words: "", folds: [] };

export function personSaid(info: Obj, parts: readonly Obj[]): PersonSaid {
  const { kind, origin } = obj(info.semantics);
  const fold = isObj(info.summary) ? "compact" : FOLDED.get(str(kind) ?? "");
  if (fold) return folded(fold, textOf(parts));
  if (isHidden(info)) {
    const text = textOf(parts);
    return TRANSCRIPT.test(text) ? folded("tool-transcript", text) : NOTHING;
  }
  const words: string[] = [];
  const folds: Fold[] = [];
  for (const part of parts) {
    if (part.type !== "text" || part.synthetic === true) continue;
    let text = (str(part.text) ?? "").replace(REMINDER, "\n");
    if (origin !== "real_user") {
      text = text.replace(NOTIFICATION, (block) => {
        folds.push({ kind: "task-notification", text: block.trim() });
        return "\n";
      });
    }
    text = typedWords(text.trim()).trim();
    const whole = origin === "real_user" ? undefined : wholeFold(text);
    if (whole) folds.push({ kind: whole, text });
    else if (text !== "") words.push(text);
  }
  return { words: words.join("\n"), folds };
}

function wholeFold(text: string): FoldKind | undefined {
  if (HANDOVER.test(text)) return "context-handoff";
  return TRANSCRIPT.test(text) ? "tool-transcript" : undefined;
}

function folded(kind: FoldKind, text: string): PersonSaid {
  return text === "" ? NOTHING : { words: "", folds: [{ kind, text }] };
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
