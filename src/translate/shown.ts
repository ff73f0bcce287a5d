/**
 * How much of a conversation's stored messages has been shown: enough to tell, when the session comes back with its
 * whole history, what a client has not seen. What a finished turn said is kept as one id; only the turn that runs, or
 * was cut off, is known message by message.
 */

interface Lengths {
  agent: number;
  thought: number;
}

/** More prompts than this never wait to be found in the history. */
const KEPT_PROMPTS = 32;

export class Shown {
  /** Everything up to this message was shown. */
  anchor: string | undefined;
  /** The anchor's turn ended with it: what follows of the same turn is shown as well. */
  ended = false;
  /** Text came that no message id went with, and its turn is over: what the history holds cannot be compared. */
  blind = false;
  /** The turn was given up: what it has said since then is not to be shown. */
  givenUp = false;
  /** Characters received of the messages behind the anchor. */
  private readonly lengths = new Map<string, Lengths>();
  /** Characters received that no message id went with, on builds that tell none. */
  unnamed: Lengths = { agent: 0, thought: 0 };
  private currentId: string | undefined;
  private current = this.unnamed;
  /** The person's message that the running turn answers. */
  asked: string | undefined;
  private last: string | undefined;
  private notification = false;
  /** Prompts of ours whose messages no event has named yet. */
  private prompts: string[] = [];

  /** A piece of a message was received. */
  said(messageId: string | undefined, role: "agent" | "thought", length: number): void {
    if (messageId !== this.currentId) this.turnTo(messageId);
    this.current[role] += length;
  }

  /** A prompt is on its way; its stored message is not news to its sender. */
  prompted(content: string): void {
    this.prompts.push(promptKey(content));
    if (this.prompts.length > KEPT_PROMPTS) this.prompts.shift();
  }

  /** @param messageId the message that the turn answers, where the event named it. */
  turnStarted(messageId: string | undefined, notification: boolean): void {
    this.settle();
    this.asked = messageId;
    this.last = messageId;
    this.notification = notification;
    this.givenUp = false;
  }

  /** Whatever the turn stored, its events have told. */
  turnOver(): void {
    if (this.last !== undefined && !this.notification) this.prompts = [];
    if (this.last === undefined && this.unnamed.agent + this.unnamed.thought > 0) this.blind = true;
    this.settle();
  }

  /** Everything up to `messageId` is known from here on. */
  reset(messageId: string | undefined): void {
    this.settle();
    this.anchor = messageId;
    this.ended = false;
    this.blind = false;
  }

  /** Characters of a message that were received; undefined where it was not heard of. */
  of(messageId: string | undefined): Lengths | undefined {
    return messageId === undefined ? undefined : this.lengths.get(messageId);
  }

  /** True where an event has named this message since the anchor. */
  names(messageId: string | undefined): boolean {
    return messageId !== undefined && (messageId === this.asked || this.lengths.has(messageId));
  }

  /** True, once, for a person's message that came from here. */
  takePrompt(messageId: string | undefined, words: string): boolean {
    if (messageId !== undefined && messageId === this.asked) return true;
    const place = this.prompts.indexOf(promptKey(words));
    if (place < 0) return false;
    this.prompts.splice(place, 1);
    return true;
  }

  private turnTo(messageId: string | undefined): void {
    this.currentId = messageId;
    if (messageId === undefined) {
      this.current = this.unnamed;
      return;
    }
    this.last = messageId;
    const known = this.lengths.get(messageId);
    this.current = known ?? { agent: 0, thought: 0 };
    if (!known) this.lengths.set(messageId, this.current);
  }

  private settle(): void {
    if (this.last !== undefined) {
      this.anchor = this.last;
      this.ended = true;
    }
    this.lengths.clear();
    this.unnamed = { agent: 0, thought: 0 };
    this.currentId = undefined;
    this.current = this.unnamed;
    this.asked = undefined;
    this.last = undefined;
  }
}

/** Stands for a prompt's words without keeping them. */
function promptKey(words: string): string {
  const trimmed = words.trim();
  return `${trimmed.length}:${Bun.hash(trimmed)}`;
}
