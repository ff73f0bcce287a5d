/** Slash commands: what a person may type instead of a prompt, and what answers them here without the model. */

import type { Client } from "../clients/client.ts";
import type { Clients } from "../clients/clients.ts";
import { type Language, type SentenceKey, sentence } from "../locale/index.ts";
import { isObj, list, obj, str } from "../platform/json.ts";
import type { Conversation } from "../session/conversation.ts";
import type { Sessions } from "../session/sessions.ts";
import type { Offer } from "../store/catalogue.ts";
import { requestError } from "./failures.ts";

export interface SlashCommand {
  readonly description: SentenceKey;
  /** What may follow the name. */
  readonly hint?: SentenceKey;
  /** It works, and no list has it. */
  readonly unlisted?: boolean;
  /** False for words that are a prompt all the same. */
  answers?(argument: string): boolean;
  /** @returns markdown. @throws what is said instead. */
  run(argument: string, conversation: Conversation): Promise<string>;
}

/** ACP's `AvailableCommand`. */
interface Listed {
  readonly name: string;
  readonly description: string;
  readonly input?: { readonly hint: string };
}

interface Typed {
  readonly command: SlashCommand;
  readonly argument: string;
}

export interface SlashDeps {
  readonly sessions: Sessions;
  readonly clients: Clients;
  readonly language: Language;
}

export class SlashCommands {
  /** Conversations by the answers that name them. */
  private readonly offered = new WeakMap<object, Conversation>();
  /** What cancels each command that is being answered. */
  private readonly running = new Map<Conversation, Set<() => void>>();

  /** @param commands by name. */
  constructor(
    private readonly client: Client,
    private readonly deps: SlashDeps,
    private readonly commands: Readonly<Record<string, SlashCommand>>,
  ) {}

  /**
   * Has them listed behind an answer that names a session: before it, an editor does not know what the list belongs to.
   * @returns the answer.
   */
  offer<Answer extends object>(conversation: Conversation, answer: Answer): Answer {
    this.offered.set(answer, conversation);
    return answer;
  }

  /** To be told of every answer that has left. */
  answered(answer: unknown): void {
    const conversation = isObj(answer) ? this.offered.get(answer) : undefined;
    if (!conversation || !this.deps.sessions.registry.owns(conversation)) return;
    this.list(conversation);
    // What changes by it is told to every client.
    void this.deps.sessions.catalogue.read(conversation.cwd);
  }

  /** Skills and commands of a workspace are not what was listed. */
  offersChanged(cwd: string): void {
    for (const conversation of this.deps.sessions.registry.all())
      if (conversation.cwd === cwd && this.client.knownId(conversation.id) !== undefined)
        this.list(conversation);
  }

  private list(conversation: Conversation): void {
    const { clients, sessions } = this.deps;
    clients.publishBodyTo(this.client, conversation.id, {
      sessionUpdate: "available_commands_update",
      availableCommands: [...this.own(), ...this.named(sessions.catalogue.last(conversation.cwd))],
    });
  }

  private own(): Listed[] {
    const { language } = this.deps;
    return Object.entries(this.commands)
      .filter(([, { unlisted }]) => !unlisted)
      .map(([name, { description, hint }]) =>
        listed(
          name,
          sentence(description, {}, language),
          hint === undefined ? undefined : sentence(hint, {}, language),
        ),
      );
  }

  /** A name that is taken already is not listed twice; a skill can always be named with its sign. */
  private named(offers: readonly Offer[]): Listed[] {
    const taken = new Set(Object.keys(this.commands));
    const names = ({ kind, name }: Offer): string[] =>
      kind === "command" ? [name] : this.client.signsSkills ? [`$${name}`] : [name, `$${name}`];
    return offers.flatMap((offer) => {
      const name = names(offer).find((each) => !taken.has(each.toLowerCase()));
      if (name === undefined) return [];
      taken.add(name.toLowerCase());
      const usual = offer.kind === "skill" ? sentence("slash.skill.hint", {}, this.deps.language) : undefined;
      const hint = offer.hint ?? usual;
      return [listed(name, offer.description, hint)];
    });
  }

  /**
   * A command is answered beside whatever turn runs, and is no prompt of the conversation.
   * @param cancellable is given what cancels it.
   * @returns the prompt's answer; undefined where it is no command.
   */
  answer(
    conversation: Conversation,
    blocks: unknown,
    cancellable: (cancel: () => void) => void,
  ): Promise<{ stopReason: "cancelled" | "end_turn" }> | undefined {
    const typed = this.commandIn(blocks);
    if (!typed) return undefined;
    const running = this.running.get(conversation) ?? new Set();
    this.running.set(conversation, running);
    let cancel = () => {};
    const cancelled = new Promise<undefined>((resolve) => {
      cancel = () => resolve(undefined);
    });
    running.add(cancel);
    cancellable(cancel);
    return Promise.race([this.run(typed, conversation), cancelled])
      .then((words): { stopReason: "cancelled" | "end_turn" } => {
        if (words === undefined) return { stopReason: "cancelled" };
        this.deps.sessions.say(conversation, words);
        return { stopReason: "end_turn" };
      })
      .finally(() => {
        running.delete(cancel);
        if (running.size === 0) this.running.delete(conversation);
      });
  }

  /** What a command says; a failure reads as a sentence in the conversation. */
  private async run({ command, argument }: Typed, conversation: Conversation): Promise<string> {
    try {
      return await command.run(argument, conversation);
    } catch (error) {
      return requestError(error, this.deps.language).message;
    }
  }

  /** Everything that is asked in this conversation is cancelled. */
  cancel(conversation: Conversation): void {
    for (const cancel of this.running.get(conversation) ?? []) cancel();
  }

  /** Words alone, with a name that is offered at their start. */
  private commandIn(blocks: unknown): Typed | undefined {
    const [block, ...others] = list(blocks).map(obj);
    if (block?.type !== "text" || others.length > 0) return undefined;
    const match = /^\s*\/([a-z][\w-]*)(?:\s+([\s\S]*))?$/.exec(str(block.text) ?? "");
    const name = match?.[1];
    const command =
      name !== undefined && Object.hasOwn(this.commands, name) ? this.commands[name] : undefined;
    const argument = match?.[2]?.trim() ?? "";
    if (!command || command.answers?.(argument) === false) return undefined;
    return { command, argument };
  }
}

function listed(name: string, description: string, hint: string | undefined): Listed {
  return { name, description, ...(hint === undefined ? {} : { input: { hint } }) };
}
