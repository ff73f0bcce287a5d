/**
 * The neutral form of what a person sees. `translate/` makes these from backend events and history;
 * `clients/` renders each at most once per style. Nothing here knows ACP's frames or who is connected.
 */

import type { Language } from "../locale/index.ts";
import type { FoldKind, SentFile } from "./plumbing.ts";

/** ACP's tool kinds; the words are shared with every client. */
export type ToolKind =
  | "read"
  | "edit"
  | "delete"
  | "move"
  | "search"
  | "execute"
  | "think"
  | "fetch"
  | "switch_mode"
  | "other";

export type ToolStatus = "pending" | "in_progress" | "completed" | "failed";

export interface Location {
  /** Absolute path. */
  readonly path: string;
  /** 1-based line, where one is known. */
  readonly line?: number;
}

/** One changed place: whole old and new text of it; `oldText` null is a new file. */
export interface Diff {
  readonly path: string;
  readonly oldText: string | null;
  readonly newText: string;
}

export interface SubagentResult {
  readonly agentId: string;
  readonly tokens?: number;
  readonly toolUses?: number;
  readonly durationMs?: number;
}

/** One tool call as it stands now. Renderers read it and keep nothing of it. */
export interface ToolCard {
  readonly id: string;
  /** The backend's name of the tool, such as `Bash`. */
  readonly name: string;
  readonly title: string;
  readonly kind: ToolKind;
  readonly locations: readonly Location[];
  readonly rawInput: unknown;
  readonly status: ToolStatus;
  readonly diffs: readonly Diff[];
  /** True where output is a terminal's: it is appended to, and ends with an exit code. */
  readonly command: boolean;
  /** All output so far of a command (its newest part, where there is too much), or the result text of another tool. */
  readonly output: string;
  /** How `output` reads best when it is not a terminal's. */
  readonly outputStyle: "markdown" | "code";
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  /** What is said when the call failed for another reason than its exit code. */
  readonly failure: string | undefined;
  readonly subagent: SubagentResult | undefined;
  /** The background task that the card stands for, and whether a person cancelled it. */
  readonly task: { readonly id: string; readonly cancelled: boolean } | undefined;
  /** The card of the sub-agent that made this call. */
  readonly parentId: string | undefined;
  /** Runs on after its turn: it is not closed with it. */
  readonly background: boolean;
  /** Of what we say of it. */
  readonly language: Language;
}

export interface PlanEntry {
  readonly content: string;
  readonly priority: "high" | "medium" | "low";
  readonly status: "pending" | "in_progress" | "completed";
}

export type Update =
  | {
      readonly kind: "text";
      readonly role: "agent" | "thought" | "user";
      readonly messageId: string | undefined;
      readonly text: string;
    }
  /** `opened` precedes every other change of a card, `status` changes nothing else; `appended` is what a command wrote since the last update, `soFar` all of it. */
  | {
      readonly kind: "tool";
      readonly change: "opened" | "changed" | "status" | "closed";
      readonly card: ToolCard;
    }
  | {
      readonly kind: "tool";
      readonly change: "output";
      readonly card: ToolCard;
      readonly appended: string;
      readonly soFar: string;
    }
  /** What a person sent beside words. */
  | { readonly kind: "file"; readonly messageId: string | undefined; readonly file: SentFile }
  /** A note of the agent's runtime, as a card that stays closed. */
  | {
      readonly kind: "fold";
      readonly id: string;
      readonly fold: FoldKind;
      readonly text: string;
      readonly language: Language;
    }
  | { readonly kind: "plan"; readonly entries: readonly PlanEntry[] }
  /** Tokens in the context and the size of the window. */
  | { readonly kind: "usage"; readonly used: number; readonly size: number }
  | { readonly kind: "title"; readonly title: string; readonly source: string }
  | { readonly kind: "mode"; readonly mode: string };
