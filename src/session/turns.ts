/**
 * Runs the effects of `turn/machine.ts` for every conversation: sends, stops, timers, and the answers to prompts.
 */

import type { Backend } from "../backend/backend.ts";
import { RpcError } from "../backend/rpc.ts";
import { errors } from "../errors/index.ts";
import { phrase } from "../locale/index.ts";
import type { Clock } from "../platform/clock.ts";
import { obj } from "../platform/json.ts";
import { cutOpenCards } from "../translate/events.ts";
import { turnFailure } from "../translate/failure.ts";
import type { Update } from "../translate/updates.ts";
import { type Effect, type Input, isIdle, type Notice, type Outcome, reduce } from "../turn/machine.ts";
import type { Conversation, PromptContent } from "./conversation.ts";
import { forgetEarlier } from "./history.ts";
import type { Registry } from "./registry.ts";
import { isBusy, type Residence, UNSERVED_TOOLS } from "./residence.ts";

export interface TurnHooks {
  update(conversation: Conversation, update: Update): void;
  /** A turn of any kind began or ended. */
  running(conversation: Conversation, running: boolean): void;
  /** A prompt was written to the backend: for the first time, or again after its turn has failed. */
  sent(conversation: Conversation, prompt: PromptContent): void;
  /** The backend has taken a prompt. */
  taken(conversation: Conversation, prompt: PromptContent): void;
  /** Nothing runs, waits or holds the lock any more. */
  idle(conversation: Conversation): void;
  /** One line for the person, beside what the model says. */
  notice(conversation: Conversation, notice: Notice): void;
  /** What the backend is sent for a person's words; a promise where that takes a look. */
  wording(conversation: Conversation, typed: string): string | Promise<string>;
  /** True where nothing would be lost with the backend's process. */
  mayRestart(): boolean;
  /** Nobody waits for the questions of the running turn any more. */
  dropQuestions(conversation: Conversation): void;
}

export interface TurnDeps {
  readonly backend: Backend;
  /** The scaled clock of the rules. */
  readonly rules: Clock;
  readonly clock: Clock;
  readonly newId: () => string;
}

const SEND_OPTIONAL = ["inputId", "toolDenylist"];

export class TurnRunner {
  constructor(
    private readonly deps: TurnDeps,
    private readonly registry: Registry,
    private readonly residence: Residence,
    private readonly hooks: TurnHooks,
  ) {}

  /** Runs one prompt; resolves when its own turn has ended, however that was. */
  prompt(conversation: Conversation, prompt: PromptContent): { key: number; outcome: Promise<Outcome> } {
    const key = conversation.nextKey++;
    const outcome = new Promise<Outcome>((settle) =>
      conversation.prompts.set(key, { prompt, settle, attempt: -1, taken: false }),
    );
    this.dispatch(conversation, { type: "prompt", key });
    return { key, outcome };
  }

  dispatch(conversation: Conversation, input: Input): void {
    // What a closed record started may still come back; it must not speak for the one that now has its id.
    if (!this.registry.owns(conversation)) return;
    const before = conversation.turns;
    const { state, effects } = reduce(before, input);
    conversation.turns = state;
    // That a turn begins is told when its prompt is on its way: a person waits for that.
    for (const effect of effects) if (!begins(effect)) this.run(conversation, effect);
    for (const effect of effects) if (begins(effect)) this.run(conversation, effect);
    if (!isIdle(before) && isIdle(state)) this.hooks.idle(conversation);
  }

  private run(conversation: Conversation, effect: Effect): void {
    switch (effect.type) {
      case "notice":
        return this.hooks.notice(conversation, effect.notice);
      case "send":
        for (const repeats of Object.values(conversation.repeats)) repeats.begin(effect.attempt > 0);
        void this.send(conversation, effect.key, effect.inputId, effect.attempt);
        return;
      case "stop":
        return this.stop(conversation, effect.foregroundExecutionId);
      case "abandon":
        return this.hooks.dropQuestions(conversation);
      case "reset": {
        if (effect.turnId !== undefined) {
          conversation.foreign ??= new Set();
          conversation.foreign.add(effect.turnId);
        }
        conversation.residentIn = 0;
        if (conversation.backendId !== undefined)
          this.deps.backend.tell("session/close", { sessionId: conversation.backendId });
        for (const update of cutOpenCards(conversation.translate)) this.hooks.update(conversation, update);
        return;
      }
      case "settle": {
        const pending = conversation.prompts.get(effect.key);
        conversation.prompts.delete(effect.key);
        if (effect.outcome.kind === "ended" && effect.outcome.stopReason !== "cancelled")
          conversation.deaths = 0;
        conversation.grown = true;
        if (lacksKey(effect.outcome)) this.deps.backend.noteLacksKey();
        pending?.settle(effect.outcome);
        return;
      }
      case "timer": {
        conversation.timers.get(effect.name)?.cancel();
        const { name } = effect;
        conversation.timers.set(
          name,
          this.deps.rules.after(effect.ms, () => {
            conversation.timers.delete(name);
            this.dispatch(conversation, { type: "timer", name });
          }),
        );
        return;
      }
      case "clearTimer":
        conversation.timers.get(effect.name)?.cancel();
        conversation.timers.delete(effect.name);
        return;
      case "running":
        if (!effect.running) for (const repeats of Object.values(conversation.repeats)) repeats.forget();
        return this.hooks.running(conversation, effect.running);
    }
  }

  private async send(
    conversation: Conversation,
    key: number,
    inputId: string,
    attempt: number,
  ): Promise<void> {
    const pending = conversation.prompts.get(key);
    if (!pending) return;
    const since = this.deps.rules.mono();
    try {
      // The usual case awaits nothing before the request is on its way. A create wants the account pushed before it.
      const pushed = this.deps.backend.beforePrompt(this.hooks.mayRestart, conversation.cwd);
      if (pushed) await pushed;
      if (!this.residence.holds(conversation)) await this.residence.of(conversation);
      else if (pushed) await this.residence.chooseModel(conversation);
      if (hasWishes(conversation)) await this.residence.applyWanted(conversation);
      const { content: typed, attachments } = pending.prompt;
      let content = this.hooks.wording(conversation, typed);
      if (typeof content !== "string") content = await content;
      // Cancelled or closed while the session was being made ready: nothing was sent, so nothing needs stopping.
      if (!conversation.prompts.has(key)) throw new Error("cancelled");
      const answer = this.residence.call(
        conversation,
        "session/send",
        {
          sessionId: conversation.backendId,
          content,
          inputId,
          toolDenylist: UNSERVED_TOOLS,
          ...(attachments.length > 0 ? { attachments } : {}),
        },
        SEND_OPTIONAL,
        // What was answered with the backend's end must not run in the next one.
        { wanted: () => conversation.prompts.has(key), model: conversation.settings.model },
      );
      // A try that was refused as busy left nothing; one that failed is stored, and so is the next.
      if (attempt > pending.attempt) {
        pending.attempt = attempt;
        this.hooks.sent(conversation, pending.prompt);
      }
      const { accepted } = obj(await answer);
      if (accepted === false) throw errors.promptFailed("other", phrase("reason.refused", {}));
      if (!pending.taken) {
        pending.taken = true;
        this.hooks.taken(conversation, pending.prompt);
      }
      this.dispatch(conversation, { type: "accepted", key });
    } catch (error) {
      const took = this.deps.rules.mono() - since;
      this.dispatch(conversation, { type: "refused", key, busy: isBusy(error), error: asError(error), took });
    }
  }

  /** Both stops at once: some builds ignore the one, older ones lack the other. Nobody waits for the answers. */
  private stop(conversation: Conversation, expectedForegroundExecutionId: string | undefined): void {
    const sessionId = conversation.backendId;
    if (sessionId === undefined) return;
    this.deps.backend.tell("session/stop", { sessionId });
    if (expectedForegroundExecutionId === undefined) return;
    this.deps.backend.tell("v4/command", {
      commandId: this.deps.newId(),
      clientId: "zcode-acp",
      sessionId,
      type: "stop",
      payload: { expectedForegroundExecutionId },
      issuedAt: this.deps.clock.now(),
    });
  }

  /** Ends what a conversation waits for: its prompts answer as cancelled, its timers and questions are gone. */
  retire(conversation: Conversation): void {
    for (const timer of conversation.timers.values()) timer.cancel();
    conversation.timers.clear();
    conversation.rereading?.cancel();
    forgetEarlier(conversation);
    this.hooks.running(conversation, false);
    this.hooks.dropQuestions(conversation);
    const pending = [...conversation.prompts.values()];
    conversation.prompts.clear();
    for (const { settle } of pending) settle({ kind: "ended", stopReason: "cancelled", usage: undefined });
  }
}

/** True where the running prompt has been with the backend; one that waits for its session has not. */
export function wasSent({ turns: { active }, prompts }: Conversation): boolean {
  return active !== undefined && (prompts.get(active.key)?.attempt ?? -1) >= 0;
}

/** A failure that signing in may mend. */
function lacksKey(outcome: Outcome): boolean {
  const failure =
    outcome.kind === "failed"
      ? outcome.failure
      : outcome.kind === "lost" && outcome.error instanceof RpcError
        ? turnFailure({ code: outcome.error.code, message: outcome.error.message, data: outcome.error.data })
        : undefined;
  return failure?.kind === "auth" || failure?.kind === "model";
}

function begins(effect: Effect): boolean {
  return effect.type === "running" && effect.running;
}

/** A setting was changed while the backend could not take it. */
function hasWishes({ wanted }: Conversation): boolean {
  return wanted.mode !== undefined || wanted.model !== undefined || wanted.thought !== undefined;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
