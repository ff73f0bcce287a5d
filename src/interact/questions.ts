/** What the backend asks a person: tool permissions, and whatever else it wants to know, in one race each. */

import type { Reply } from "../backend/backend.ts";
import type { ServerRequest } from "../backend/rpc.ts";
import type { Client } from "../clients/client.ts";
import { t } from "../locale/index.ts";
import type { Conversation } from "../session/conversation.ts";
import { permission } from "./permissions.ts";
import { type QuestionDeps, Races } from "./race.ts";
import { userInput } from "./userInput.ts";

export class Questions {
  private readonly races: Races;

  constructor(private readonly deps: QuestionDeps) {
    this.races = new Races(deps);
  }

  ask(request: ServerRequest, reply: Reply): void {
    const { deps } = this;
    const reason = t("permission.noSession", {}, deps.language);
    if (request.method === "interaction/requestPermission") {
      const ask = (conversation: Conversation) => permission(deps, conversation, request.params);
      return this.races.begin(request, reply, ask, { decision: "deny", reason });
    }
    const ask = (conversation: Conversation) => userInput(deps, conversation, request.params);
    this.races.begin(request, reply, ask, { action: "decline", reason });
  }

  drop(conversation: Conversation): void {
    this.races.drop(conversation);
  }

  /** A client has loaded or resumed a conversation: what is open there is put to it. */
  again(conversation: Conversation, client: Client): void {
    this.races.again(conversation, client);
  }

  /** True while a question of this conversation waits for a person. */
  asking(conversation: Conversation): boolean {
    return this.races.asking(conversation);
  }

  get waiting(): number {
    return this.races.waiting;
  }
}
