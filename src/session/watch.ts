/** Watches turns that say nothing: shows that they live, and ends those that do not. */

import type { Backend } from "../backend/backend.ts";
import { CODE, RpcError } from "../backend/rpc.ts";
import type { Clock, Timer } from "../platform/clock.ts";
import { list, obj } from "../platform/json.ts";
import { errorName, type Log } from "../platform/log.ts";
import { lastMessageId, missedUpdates } from "../translate/missed.ts";
import type { Update } from "../translate/updates.ts";
import { LOOK_MS } from "../turn/limits.ts";
import { answered, heard, look, newSilence, progressDue, type Silence } from "../turn/silence.ts";
import type { Conversation } from "./conversation.ts";
import { HISTORY_DEADLINE_MS, LOOK_DEADLINE_MS } from "./limits.ts";
import type { Residence } from "./residence.ts";

export interface WatchHooks {
  update(conversation: Conversation, update: Update): void;
  /** A question of this conversation waits for a person. */
  asking(conversation: Conversation): boolean;
  /** The turn is over without having said so: its prompt is answered, the backend told to stop it. */
  end(conversation: Conversation): void;
}

export interface WatchDeps {
  readonly backend: Backend;
  /** The scaled clock of the rules. */
  readonly rules: Clock;
  readonly log: Log;
}

/** In place of a turn's numbers: its session is not there. */
const GONE = "gone";

interface Watched {
  silence: Silence;
  readonly timer: Timer;
  looking: boolean;
}

export class SilenceWatch {
  private readonly watched = new Map<Conversation, Watched>();

  constructor(
    private readonly deps: WatchDeps,
    private readonly residence: Residence,
    private readonly hooks: WatchHooks,
  ) {}

  /** A turn of this conversation runs, or none does any more. */
  running(conversation: Conversation, running: boolean): void {
    this.watched.get(conversation)?.timer.cancel();
    this.watched.delete(conversation);
    conversation.spoke = false;
    if (!running) return;
    const timer = this.deps.rules.every(LOOK_MS, () => void this.look(conversation));
    this.watched.set(conversation, { silence: newSilence(this.deps.rules.mono()), timer, looking: false });
  }

  /** The conversation's turn said something. */
  heard(conversation: Conversation): void {
    // Often called: the time is taken when the turn is looked at.
    conversation.spoke = true;
  }

  private catchUp(conversation: Conversation, watched: Watched): void {
    if (!conversation.spoke) return;
    conversation.spoke = false;
    watched.silence = heard(this.deps.rules.mono());
  }

  private async look(conversation: Conversation): Promise<void> {
    const watched = this.watched.get(conversation);
    // A look that the backend has not answered is not doubled.
    if (!watched || watched.looking) return;
    watched.looking = true;
    try {
      await this.lookAt(conversation, watched);
    } finally {
      watched.looking = false;
    }
  }

  private async lookAt(conversation: Conversation, watched: Watched): Promise<void> {
    // A call that is open in a session that was dropped proves nothing: the backend is asked.
    const openTool = conversation.residentIn !== 0 && hasOpenCard(conversation);
    const found = { openTool, openQuestion: this.hooks.asking(conversation) };
    this.catchUp(conversation, watched);
    const first = look(watched.silence, this.deps.rules.mono(), found);
    watched.silence = first.silence;
    if (first.result === "quiet") return;
    if (!hasBegun(conversation))
      watched.silence = { ...watched.silence, numbers: undefined, frozenSince: undefined };
    else if (first.result === "ask") {
      const before = watched.silence;
      const numbers = await this.numbers(conversation);
      // A session that is not resident any more runs no turn.
      if (numbers === GONE && this.watched.get(conversation) === watched)
        return this.end(conversation, watched);
      this.catchUp(conversation, watched);
      // It spoke, or ended, while it was asked.
      if (this.watched.get(conversation) !== watched || watched.silence !== before) return;
      const second = answered(watched.silence, this.deps.rules.mono(), numbers);
      watched.silence = second.silence;
      if (second.result === "end") return this.end(conversation, watched);
    }
    const told = progressDue(watched.silence, this.deps.rules.mono());
    watched.silence = told.silence;
    if (told.due) this.progress(conversation);
  }

  /** An update of the open card or of usage, never words: the transcript holds what the model said. */
  private progress(conversation: Conversation): void {
    const card = [...conversation.translate.cards.values()].findLast(
      (entry) => entry.status === "in_progress",
    );
    if (card) return this.hooks.update(conversation, { kind: "tool", change: "status", card });
    const { lastUsed, contextWindow } = conversation.translate;
    if (contextWindow <= 0) return;
    this.hooks.update(conversation, { kind: "usage", used: Math.max(0, lastUsed), size: contextWindow });
  }

  private async numbers(conversation: Conversation): Promise<string | undefined> {
    try {
      const params = { sessionId: conversation.backendId, messageLimit: 0 };
      const answer = obj(
        await this.deps.backend.call("session/read", params, ["messageLimit"], {
          deadlineMs: LOOK_DEADLINE_MS,
        }),
      );
      const { contextUsed, totalTokenCount, turnCount } = obj(answer.projection);
      return JSON.stringify([contextUsed, totalTokenCount, turnCount]);
    } catch (error) {
      if (error instanceof RpcError && error.code === CODE.notResident) return GONE;
      this.note("session/read", error);
      return undefined;
    }
  }

  /** What the history holds of the reply and was not shown yet is shown; then the turn counts as ended. */
  private async end(conversation: Conversation, watched: Watched): Promise<void> {
    this.deps.log.once(
      "silence",
      "warn",
      "a turn that had been silent and without progress for long was ended",
    );
    const messages = await this.history(conversation);
    // It ended, or began to speak again, meanwhile.
    if (this.watched.get(conversation) !== watched || conversation.spoke) return;
    for (const update of missedUpdates(conversation.translate, messages)) {
      if (update.kind === "text" && update.role === "agent") this.hooks.update(conversation, update);
    }
    const last = lastMessageId(messages);
    if (last !== undefined) conversation.translate.shown.reset(last);
    this.hooks.end(conversation);
  }

  private async history(conversation: Conversation): Promise<readonly unknown[]> {
    const params = { sessionId: conversation.backendId };
    const options = { deadlineMs: HISTORY_DEADLINE_MS };
    try {
      return list(
        obj(await this.residence.call(conversation, "session/messages", params, [], options)).messages,
      );
    } catch (error) {
      this.note("session/messages", error);
      return [];
    }
  }

  private note(method: string, error: unknown): void {
    this.deps.log.once(`watch:${method}`, "warn", `${method} failed: ${errorName(error)}`);
  }
}

/** A prompt that waits for its session, or for the answer to its send, is no turn that could say anything. */
function hasBegun({ turns: { turn, active } }: Conversation): boolean {
  return turn !== undefined || active?.accepted === true;
}

function hasOpenCard(conversation: Conversation): boolean {
  for (const card of conversation.translate.cards.values()) {
    if ((card.status === "pending" || card.status === "in_progress") && !card.launched) return true;
  }
  return false;
}
