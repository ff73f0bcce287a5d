/** Tool cards: opened once, filled, closed once. They are changed in place and belong to one conversation. */

import type { Language } from "../locale/index.ts";
import { bool, isDeep, type Obj, obj, str } from "../platform/json.ts";
import { appendedTail, OUTPUT_CHARS } from "./output.ts";
import { viewTool } from "./tools.ts";
import type { ToolCard, Update } from "./updates.ts";

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
/**
 * `launched`: runs in the background, and ends with its task instead of its turn. `cut`: closed because its session was
 * gone, whatever became of the call.
 */
export type Card = Mutable<ToolCard> & { stdout: string; stderr: string; launched: boolean; cut: boolean };

/** Where the cards of a conversation are kept, what relative paths are relative to, and the language of titles. */
export interface CardHolder {
  readonly cwd: string;
  /** Of what we say of them. */
  readonly language: Language;
  readonly cards: Map<string, Card>;
}

/** Ends of a command that are no success, whatever else its result says. */
export const BROKEN_OFF: ReadonlySet<string> = new Set([
  "failed",
  "timed_out",
  "cancelled",
  "spawn_error",
  "lost",
]);

/** A new card for a tool call of that name and input. */
export function openCard(
  state: CardHolder,
  id: string,
  name: string,
  input: Obj,
  parentId: string | undefined,
): Card {
  const view = viewTool(name, input, state.cwd, state.language);
  const card: Card = {
    id,
    name,
    ...view,
    rawInput: Object.keys(input).length > 0 ? writable(input) : undefined,
    status: "pending",
    output: "",
    exitCode: undefined,
    signal: undefined,
    failure: undefined,
    subagent: undefined,
    task: undefined,
    parentId,
    background: bool(input.run_in_background) ?? false,
    stdout: "",
    stderr: "",
    launched: false,
    cut: false,
    language: state.language,
  };
  state.cards.set(id, card);
  return card;
}

/** A card without its input is worth more than none. */
function writable(input: Obj): Obj | undefined {
  return isDeep(input) ? undefined : input;
}

/** The card with an input that came later than its opening. */
export function refreshCard(state: CardHolder, card: Card, input: Obj): Update[] {
  if (Object.keys(input).length === 0) return [];
  Object.assign(card, viewTool(card.name, input, state.cwd, state.language), {
    rawInput: writable(input),
    background: bool(input.run_in_background) ?? false,
  });
  return [{ kind: "tool", change: "changed", card }];
}

/** What a progress payload's cumulative tails add to a card. */
export function appendTails(card: Card, payload: Obj): Update[] {
  const out = str(payload.stdoutTail) ?? str(obj(payload.outputPreview).fullText) ?? "";
  const err = str(payload.stderrTail) ?? "";
  const appended = appendedTail(card.stdout, out) + appendedTail(card.stderr, err);
  if (out !== "") card.stdout = out;
  if (err !== "") card.stderr = err;
  return appended === "" ? [] : [appendOutput(card, appended)];
}

export function appendOutput(card: Card, appended: string): Update {
  card.output += appended;
  if (card.output.length > OUTPUT_CHARS) card.output = card.output.slice(-OUTPUT_CHARS);
  return { kind: "tool", change: "output", card, appended, soFar: card.output };
}

/** Ends a card; it takes nothing more. */
export function closeCard(card: Card, status: "completed" | "failed"): Update {
  card.status = status;
  card.stdout = "";
  card.stderr = "";
  return { kind: "tool", change: "closed", card };
}

export function isOpen(card: Card): boolean {
  return card.status === "pending" || card.status === "in_progress";
}
