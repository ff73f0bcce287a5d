/** To-do lists that are read once more. */

import type { Backend } from "../backend/backend.ts";
import type { Clock } from "../platform/clock.ts";
import { obj } from "../platform/json.ts";
import { errorName, type Log } from "../platform/log.ts";
import { planUpdate } from "../translate/events.ts";
import type { Update } from "../translate/updates.ts";
import type { Conversation } from "./conversation.ts";
import { TODO_REREAD_MS } from "./limits.ts";
import { type Residence, todosOf } from "./residence.ts";

export interface TodoDeps {
  readonly backend: Backend;
  readonly rules: Clock;
  readonly log: Log;
}

export class Todos {
  constructor(
    private readonly deps: TodoDeps,
    private readonly residence: Residence,
    private readonly deliver: (conversation: Conversation, update: Update) => void,
  ) {}

  /**
   * The list is written a moment after the tool's result: it is read once more, and told where it differs. A further
   * result puts that off, since what is read before its list is written is the list before it.
   */
  rereadSoon(conversation: Conversation): void {
    conversation.rereading?.cancel();
    const rereading = this.deps.rules.after(TODO_REREAD_MS, () => {
      const { backendId } = conversation;
      if (backendId === undefined || !this.residence.holds(conversation)) return;
      this.deps.backend
        .call("session/read", { sessionId: backendId, messageLimit: 0 }, ["messageLimit"])
        .then((answer) => {
          const todos = todosOf(obj(answer));
          if (todos.length === 0 || conversation.rereading !== rereading) return;
          for (const change of planUpdate(conversation.translate, todos)) this.deliver(conversation, change);
        })
        .catch((error) =>
          this.deps.log.once("call:session/read", "warn", `session/read failed: ${errorName(error)}`),
        );
    });
    conversation.rereading = rereading;
  }
}
