/** Sorts what the backend asks a person: tool permissions are put to the clients, the rest is declined with a reason. */

import type { Reply } from "../backend/backend.ts";
import type { ServerRequest } from "../backend/rpc.ts";
import { t } from "../locale/index.ts";
import type { Conversation } from "../session/conversation.ts";
import { Permissions, type QuestionDeps } from "./permissions.ts";

export class Questions {
  private readonly permissions: Permissions;

  constructor(private readonly deps: QuestionDeps) {
    this.permissions = new Permissions(deps);
  }

  ask(request: ServerRequest, reply: Reply): void {
    if (request.method === "interaction/requestPermission") return this.permissions.ask(request, reply);
    // Forms and plan approval are not built yet: a clear decline lets the model go on without the answer.
    reply.result({ action: "decline", reason: t("question.unsupported", {}, this.deps.language) });
  }

  drop(conversation: Conversation): void {
    this.permissions.drop(conversation);
  }

  /** True while a question of this conversation waits for a person. */
  asking(conversation: Conversation): boolean {
    return this.permissions.asking(conversation);
  }

  get waiting(): number {
    return this.permissions.waiting;
  }
}
