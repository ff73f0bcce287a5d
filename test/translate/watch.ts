/** Reads updates as a client would, and fails at the first that no client could make sense of. */

import { expect } from "bun:test";
import type { ToolCard, ToolStatus, Update } from "../../src/translate/updates.ts";

interface Seen {
  status: ToolStatus;
  closed: boolean;
  /** Everything that was appended. */
  output: string;
  card: ToolCard;
}

export class Watcher {
  readonly cards = new Map<string, Seen>();
  readonly updates: Update[] = [];
  /** What happened, in short. */
  readonly log: string[] = [];

  take(updates: Iterable<Update>): void {
    for (const update of updates) this.one(update);
  }

  /** The cards of a turn that is over may be named again by another. */
  turnOver(): void {
    for (const [id, seen] of this.cards) if (seen.closed) this.cards.delete(id);
  }

  get open(): string[] {
    return [...this.cards].filter(([, seen]) => !seen.closed).map(([id]) => id);
  }

  text(role: "agent" | "thought" | "user"): string {
    return this.updates
      .map((update) => (update.kind === "text" && update.role === role ? update.text : ""))
      .join("");
  }

  private one(update: Update): void {
    this.updates.push(update);
    switch (update.kind) {
      case "text":
        expect(update.text).not.toBe("");
        this.log.push(`${update.role} ${update.text}`);
        return;
      case "usage":
        for (const count of [update.used, update.size]) {
          expect(Number.isSafeInteger(count)).toBe(true);
          expect(count).toBeGreaterThan(0);
        }
        this.log.push(`usage ${update.used}/${update.size}`);
        return;
      case "tool":
        return this.tool(update);
      default:
        this.log.push(update.kind);
    }
  }

  private tool(update: Extract<Update, { kind: "tool" }>): void {
    const { card } = update;
    this.log.push(
      update.change === "output" ? `output ${card.id}` : `${update.change} ${card.id} ${card.status}`,
    );
    const seen = this.cards.get(card.id);
    if (update.change === "opened") {
      expect(["pending", "in_progress"]).toContain(card.status);
      if (seen) throw new Error(`card ${card.id} was opened twice`);
      this.cards.set(card.id, { status: card.status, closed: false, output: "", card });
      return;
    }
    if (!seen) throw new Error(`card ${card.id} had a ${update.change} before it was opened`);
    if (seen.closed) throw new Error(`card ${card.id} had a ${update.change} after it was closed`);
    seen.status = card.status;
    seen.card = card;
    if (update.change === "output") {
      expect(update.appended).not.toBe("");
      seen.output += update.appended;
    }
    if (update.change === "closed") {
      expect(["completed", "failed"]).toContain(card.status);
      seen.closed = true;
    }
  }
}
