/** What the running turn has shown so far: who opens the conversation meanwhile is shown it, before the history has it. */

import type { ToolCard, Update } from "../translate/updates.ts";

type Role = "agent" | "thought";

type Entry =
  /** A stretch of the text. */
  | {
      readonly role: Role;
      readonly messageId: string | undefined;
      readonly from: number;
      readonly to: number;
    }
  | { readonly cardId: string };

/** Of one message, or of one card. */
export interface Shown {
  readonly messageId: string | undefined;
  readonly card: ToolCard | undefined;
  readonly updates: readonly Update[];
}

/** Room for so many characters is made with the first piece. */
const FIRST_CHARS = 512;
const NOTHING = new Uint16Array(0);

/**
 * The text is copied, character by character, as `Repeats` does and for the same reason: with many conversations at once
 * the collector would be busy with the pieces.
 */
export class LiveLog {
  private text = NOTHING;
  private length = 0;
  // The stretch that is being said stands here and not among the entries, so that a piece touches one object alone.
  private role: Role | undefined;
  private messageId: string | undefined;
  private from = 0;
  private stretches: Entry[] = [];
  /** Cards as they are now. */
  private cards = new Map<string, ToolCard>();

  get isEmpty(): boolean {
    return this.role === undefined && this.stretches.length === 0;
  }

  note(update: Update): void {
    if (update.kind === "text") {
      const { role, messageId, text } = update;
      if (role === "user") return;
      if (role !== this.role || messageId !== this.messageId) {
        this.endText();
        this.role = role;
        this.messageId = messageId;
        this.from = this.length;
      }
      this.keep(text);
    } else if (update.kind === "tool") {
      const { card } = update;
      if (!this.cards.has(card.id)) {
        this.endText();
        this.stretches.push({ cardId: card.id });
      }
      this.cards.set(card.id, card);
    }
  }

  /** What was shown, in order: a stretch of text of one message, or a card as it is now. */
  *entries(): Generator<Shown> {
    this.endText();
    for (const entry of this.stretches) {
      if ("role" in entry) {
        const { role, messageId, from, to } = entry;
        const text = this.textOf(from, to);
        yield { messageId, card: undefined, updates: [{ kind: "text", role, messageId, text }] };
        continue;
      }
      const card = this.cards.get(entry.cardId);
      if (card) yield { messageId: undefined, card, updates: cardAsItIs(card) };
    }
  }

  clear(): void {
    if (this.isEmpty) return;
    this.role = undefined;
    this.messageId = undefined;
    this.text = NOTHING;
    this.length = 0;
    this.stretches = [];
    this.cards = new Map();
  }

  private endText(): void {
    const { role, messageId, from } = this;
    if (role === undefined) return;
    this.stretches.push({ role, messageId, from, to: this.length });
    this.role = undefined;
  }

  private keep(piece: string): void {
    const from = this.length;
    const end = from + piece.length;
    if (end > this.text.length) {
      const text = new Uint16Array(Math.max(end, this.text.length * 2, FIRST_CHARS));
      text.set(this.text);
      this.text = text;
    }
    const { text } = this;
    for (let at = from; at < end; at++) text[at] = piece.charCodeAt(at - from);
    this.length = end;
  }

  private textOf(from: number, to: number): string {
    // Unlike a decoder this leaves halves of characters as they are.
    return Buffer.from(this.text.buffer, from * 2, (to - from) * 2).toString("utf16le");
  }
}

/** What draws a card as it is now; what becomes of it meanwhile changes none of it. */
export function cardAsItIs(card: ToolCard): Update[] {
  const now = { ...card };
  const { output } = now;
  const updates: Update[] = [{ kind: "tool", change: "opened", card: now }];
  if (now.command && output !== "")
    updates.push({ kind: "tool", change: "output", card: now, appended: output, soFar: output });
  if (now.status === "completed" || now.status === "failed")
    updates.push({ kind: "tool", change: "closed", card: now });
  return updates;
}
