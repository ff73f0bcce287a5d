/** Changing a conversation's settings, however that is asked for: what is not offered is refused, and what is so already changes nothing. */

import { errors } from "../errors/index.ts";
import type { Conversation } from "../session/conversation.ts";
import { takesByForm } from "../session/models.ts";
import type { Sessions } from "../session/sessions.ts";
import { findModel, levelsOf, parseModel, sameModel } from "../session/settings.ts";
import { modeIds } from "./options.ts";

export class Changes {
  constructor(private readonly sessions: Sessions) {}

  mode(conversation: Conversation, mode: string): Promise<void> {
    return this.inOrder(conversation, async () => {
      if (!modeIds(conversation.settings).includes(mode)) throw errors.badOption("mode", mode);
      if (conversation.settings.mode === mode) return;
      await this.sessions.change(conversation, { mode });
    });
  }

  model(conversation: Conversation, value: string): Promise<void> {
    return this.inOrder(conversation, async () => {
      const { settings } = conversation;
      // What no list can know is taken by its form alone; the backend judges it at first use.
      const named = parseModel(value);
      const model =
        findModel(settings, value)?.ref ?? (named && takesByForm(settings, named) ? named : undefined);
      if (!model) throw errors.badOption("model", value);
      // What was only shown so far is chosen by being named.
      const chosen = conversation.backendId !== undefined || conversation.wanted.model !== undefined;
      if (chosen && sameModel(settings.model, model)) return;
      await this.sessions.change(conversation, { model });
    });
  }

  thought(conversation: Conversation, thought: string): Promise<void> {
    return this.inOrder(conversation, async () => {
      if (!levelsOf(conversation.settings).includes(thought)) throw errors.badOption("thought", thought);
      if (conversation.settings.thought === thought) return;
      await this.sessions.change(conversation, { thought });
    });
  }

  /** One at a time, whoever asks: what is so already, and which levels there are, is known once the one before is made. */
  private async inOrder(conversation: Conversation, change: () => Promise<void>): Promise<void> {
    const made = conversation.changing?.then(() => {
      if (!this.sessions.registry.owns(conversation)) throw errors.sessionUnknown(conversation.id);
      return change();
    });
    const run = made ?? change();
    const settled = run.then(
      () => {},
      () => {},
    );
    conversation.changing = settled;
    await run.finally(() => {
      if (conversation.changing === settled) conversation.changing = undefined;
    });
  }
}
