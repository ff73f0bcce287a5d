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
  private entries: Entry[] = [];
  /** Cards as they are now. */
  private cards = new Map<string, ToolCard>();

  get isEmpty(): boolean {
    return this.role === undefined && this.entries.length === 0;
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
        this.entries.push({ cardId: card.id });
      }
      this.cards.set(card.id, card);
    }
  }

  /** @param drawn cards that the history has shown already. */
  *updates(drawn: ReadonlySet<string>): Generator<Update> {
    this.endText();
    for (const entry of this.entries) {
      if ("role" in entry) {
        const { role, messageId, from, to } = entry;
        yield { kind: "text", role, messageId, text: this.textOf(from, to) };
        continue;
      }
      const card = this.cards.get(entry.cardId);
      if (!card || drawn.has(card.id)) continue;
      const { output } = card;
      yield { kind: "tool", change: "opened", card };
      if (card.command && output !== "")
        yield { kind: "tool", change: "output", card, appended: output, soFar: output };
      const ended = card.status === "completed" || card.status === "failed";
      if (ended) yield { kind: "tool", change: "closed", card };
    }
  }

  clear(): void {
    if (this.isEmpty) return;
    this.role = undefined;
    this.messageId = undefined;
    this.text = NOTHING;
    this.length = 0;
    this.entries = [];
    this.cards = new Map();
  }

  private endText(): void {
    const { role, messageId, from } = this;
    if (role === undefined) return;
    this.entries.push({ role, messageId, from, to: this.length });
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
