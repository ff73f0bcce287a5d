/** What a person chose and the backend does not store: of a session that was never prompted, all of it. */

import type { Remembered } from "../store/remembered.ts";
import type { Conversation, Wish } from "./conversation.ts";

export class Choices {
  constructor(private readonly remembered: Remembered) {}

  /** A person has just chosen something. */
  made(conversation: Conversation, wish: Wish): void {
    conversation.chosen = { ...conversation.chosen, ...wish };
    this.write(conversation);
  }

  /** The backend has taken a prompt, and stores what the session is like from here on. */
  stored(conversation: Conversation): void {
    conversation.chosen = conversation.wanted;
    this.write(conversation);
  }

  /** What was chosen when an earlier process had the conversation; it waits for the next prompt. */
  restore(conversation: Conversation): Wish | undefined {
    const choice = this.remembered.choice(conversation.id);
    if (!choice) return undefined;
    conversation.choiceNoted = true;
    conversation.chosen = choice;
    conversation.wanted = choice;
    return choice;
  }

  private write(conversation: Conversation): void {
    const choice = conversation.prompted ? conversation.wanted : conversation.chosen;
    const some = Object.keys(choice).length > 0;
    if (!some && !conversation.choiceNoted) return;
    conversation.choiceNoted = some;
    this.remembered.choose(conversation.id, some ? choice : undefined);
  }
}
