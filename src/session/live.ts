/** What the running turn has shown so far: who opens the conversation meanwhile is shown it, before the history has it. */

import type { ToolCard, Update } from "../translate/updates.ts";

type Entry =
  | {
      readonly role: "agent" | "thought";
      readonly messageId: string | undefined;
      readonly text: string;
    }
  | { readonly cardId: string };

export class LiveLog {
  // The text that is being said stands here and not among the entries: each piece of it touches one object alone.
  private role: "agent" | "thought" | undefined;
  private messageId: string | undefined;
  private text = "";
  private entries: Entry[] = [];
  /** Cards as they are now. */
  private cards = new Map<string, ToolCard>();

  get isEmpty(): boolean {
    return this.role === undefined && this.entries.length === 0;
  }

  note(update: Update): void {
    if (update.kind === "text") {
      const { role, messageId, text } = update;
      if (role === this.role && messageId === this.messageId) {
        this.text += text;
        return;
      }
      if (role === "user") return;
      this.endText();
      this.role = role;
      this.messageId = messageId;
      this.text = text;
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
        yield { kind: "text", ...entry };
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
    this.text = "";
    this.entries = [];
    this.cards = new Map();
  }

  private endText(): void {
    const { role, messageId, text } = this;
    if (role === undefined) return;
    this.entries.push({ role, messageId, text });
    this.role = undefined;
    this.text = "";
  }
}
