/** The live conversations, by every id that names them. Ownership is checked here and nowhere else. */

import type { Conversation } from "./conversation.ts";

export class Registry {
  private readonly byAlias = new Map<string, Conversation>();
  private readonly byBackend = new Map<string, Conversation>();

  /** The conversation that a client's id names. */
  find(id: string): Conversation | undefined {
    return this.byAlias.get(id) ?? this.byBackend.get(id);
  }

  /** The conversation that owns a backend session. */
  ofBackend(backendId: string): Conversation | undefined {
    return this.byBackend.get(backendId);
  }

  /** True while `conversation` itself, not merely one of the same id, is registered. */
  owns(conversation: Conversation): boolean {
    return conversation.registered;
  }

  add(conversation: Conversation): void {
    conversation.registered = true;
    for (const alias of conversation.aliases) this.name(alias, conversation);
    if (conversation.backendId !== undefined) this.byBackend.set(conversation.backendId, conversation);
  }

  /** Another id for the same conversation. */
  alias(conversation: Conversation, id: string): void {
    conversation.aliases.add(id);
    this.name(id, conversation);
  }

  /** Names the backend session behind a conversation, in place of an earlier one. */
  bind(conversation: Conversation, backendId: string): void {
    if (conversation.backendId !== undefined) this.byBackend.delete(conversation.backendId);
    conversation.backendId = backendId;
    this.byBackend.set(backendId, conversation);
  }

  remove(conversation: Conversation): void {
    conversation.registered = false;
    for (const alias of conversation.aliases) {
      if (this.byAlias.get(alias) === conversation) this.byAlias.delete(alias);
    }
    const { backendId } = conversation;
    if (backendId !== undefined && this.byBackend.get(backendId) === conversation)
      this.byBackend.delete(backendId);
  }

  /** A record whose own id names another one from now on is not the registered one any more. */
  private name(id: string, conversation: Conversation): void {
    const before = this.byAlias.get(id);
    if (before?.id === id && before !== conversation) before.registered = false;
    this.byAlias.set(id, conversation);
  }

  all(): Conversation[] {
    return [...new Set(this.byAlias.values())];
  }

  clear(): Conversation[] {
    const all = this.all();
    this.byAlias.clear();
    this.byBackend.clear();
    for (const conversation of all) conversation.registered = false;
    return all;
  }
}
