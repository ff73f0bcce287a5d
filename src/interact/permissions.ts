/**
 * A tool permission of the backend becomes a request to every client; the first valid answer goes back. Each
 * `requestId` is asked once however often the backend repeats it, and every frame id is answered.
 */

import type { Reply } from "../backend/backend.ts";
import type { ServerRequest } from "../backend/rpc.ts";
import type { Client } from "../clients/client.ts";
import type { Clients } from "../clients/clients.ts";
import { cardContent, cardFields, cardMeta, fenced, textContent } from "../clients/render.ts";
import type { Language } from "../locale/index.ts";
import { t } from "../locale/index.ts";
import { isObj, list, type Obj, obj, str, text } from "../platform/json.ts";
import type { Log } from "../platform/log.ts";
import type { Conversation } from "../session/conversation.ts";
import { ensureCard } from "../translate/events.ts";
import type { ToolCard, Update } from "../translate/updates.ts";

export interface QuestionDeps {
  readonly clients: Clients;
  readonly log: Log;
  readonly language: Language;
  /** The backend's process: its ids mean nothing in another one. */
  generation(): number;
  /** The conversation that owns a backend session, if it is live here. */
  owner(params: Obj): Conversation | undefined;
  publish(conversation: Conversation, update: Update): void;
}

/** ACP's four option kinds. */
type OptionKind = "allow_once" | "allow_always" | "reject_once" | "reject_always";

interface Option {
  readonly optionId: string;
  readonly kind: OptionKind;
  readonly name: string;
  /** What the backend is answered when this one is chosen. */
  readonly answer: Obj;
}

interface Question {
  /** Process, session and request: an answer to one is none to another. */
  readonly key: string;
  /** Whether the backend may ask it again under the same id. */
  readonly repeatable: boolean;
  readonly conversation: Conversation;
  readonly replies: Reply[];
  readonly abort: AbortController;
  readonly options: readonly Option[];
  readonly params: Obj;
  readonly asked: Set<Client>;
}

/** Answers of decided questions that a late repeat may still ask for. */
const REMEMBERED = 256;

export class Permissions {
  private readonly open = new Map<string, Question>();
  private readonly decided = new Map<string, Obj>();

  constructor(private readonly deps: QuestionDeps) {}

  ask(request: ServerRequest, reply: Reply): void {
    const key = this.keyOf(request);
    const answer = this.decided.get(key);
    if (answer) return reply.result(answer);
    const known = this.open.get(key);
    if (known) {
      known.replies.push(reply);
      return;
    }
    const conversation = this.deps.owner(request.params);
    if (!conversation) {
      return reply.result({ decision: "deny", reason: t("permission.noSession", {}, this.deps.language) });
    }
    const question = this.prepare(key, conversation, request.params, reply);
    this.open.set(key, question);
    if (conversation.turns.stopping) return this.decline(question, "permission.cancelled");
    for (const client of this.deps.clients.all) if (client.initialized) void this.put(question, client);
  }

  /** The questions of a conversation whose turn nobody waits for any more are declined and their dialogs closed. */
  drop(conversation: Conversation): void {
    for (const question of [...this.open.values()]) {
      if (question.conversation === conversation) this.decline(question, "permission.cancelled");
    }
  }

  asking(conversation: Conversation): boolean {
    for (const question of this.open.values()) if (question.conversation === conversation) return true;
    return false;
  }

  /** How many questions wait for a person, for the black box. */
  get waiting(): number {
    return this.open.size;
  }

  /**
   * A repeat has the same `requestId` and asks the same of the same call: what differs in any of these was never
   * answered. Without an id a frame is a question of its own.
   */
  private keyOf(request: ServerRequest): string {
    const { params } = request;
    const requestId = text(params.requestId);
    const own = requestId === undefined ? `frame ${request.id}` : `request ${requestId}`;
    const { toolCallId, toolName, input } = params;
    const asked = new Bun.CryptoHasher("sha256")
      .update(JSON.stringify([toolCallId, toolName, input]))
      .digest("hex");
    return `${this.deps.generation()} ${text(params.sessionId) ?? ""} ${own} ${asked}`;
  }

  private prepare(key: string, conversation: Conversation, params: Obj, reply: Reply): Question {
    const options = readOptions(params.options, this.deps.language);
    const card = this.card(conversation, params);
    return {
      key,
      repeatable: text(params.requestId) !== undefined,
      conversation,
      replies: [reply],
      abort: new AbortController(),
      options,
      params: {
        toolCall: { ...cardFields(card), content: this.content(card, params), _meta: cardMeta(card) },
        options: options.map(({ optionId, kind, name }) => ({ optionId, kind, name })),
      },
      asked: new Set(),
    };
  }

  /** The card that the question is about, made known to every client before it is asked. */
  private card(conversation: Conversation, params: Obj): ToolCard {
    const toolCallId = text(params.toolCallId) ?? text(params.requestId) ?? "permission";
    const origin = obj(params.origin);
    const agentId = text(origin.agentId);
    // A sub-agent's request names the call by its own id; the card that mirrors it has a longer one.
    const id =
      origin.kind === "subagent" && agentId !== undefined && !toolCallId.startsWith("tool_subagent_")
        ? `tool_subagent_${agentId}_${toolCallId}`
        : toolCallId;
    const { card, updates } = ensureCard(
      conversation.translate,
      id,
      text(params.toolName) ?? "Tool",
      obj(params.input),
    );
    for (const update of updates) this.deps.publish(conversation, update);
    return card;
  }

  /** Editors draw the dialog from this alone, so it holds all that is needed to judge the call. */
  private content(card: ToolCard, params: Obj): unknown[] {
    const parts: unknown[] = [];
    const command = text(obj(params.input).command);
    if (command !== undefined) parts.push(textContent(fenced(command, "sh")));
    parts.push(...cardContent(card));
    if (parts.length === 0 && card.rawInput !== undefined) {
      parts.push(textContent(fenced(JSON.stringify(card.rawInput, null, 2), "json")));
    }
    const reason = text(params.reason);
    if (reason !== undefined) parts.push(textContent(reason));
    return parts;
  }

  private async put(question: Question, client: Client): Promise<void> {
    question.asked.add(client);
    const { conversation } = question;
    let answer: unknown;
    try {
      answer = await client.outlet.request(
        "session/request_permission",
        { sessionId: client.idOf(conversation.id), ...question.params },
        question.abort.signal,
      );
    } catch {
      // An error is no answer: this client is out of the race, the question stays open for the others.
      return;
    }
    if (this.open.get(question.key) !== question) return;
    const outcome = obj(obj(answer).outcome);
    if (outcome.outcome === "selected") {
      const chosen = question.options.find((option) => option.optionId === outcome.optionId);
      if (chosen) return this.decide(question, chosen.answer);
      this.deps.log.once(
        "permission-unknown-option",
        "warn",
        "a client chose an option that was not offered",
      );
    } else if (outcome.outcome === "cancelled" && this.deps.clients.all.length <= 1) {
      return this.decline(question, "permission.dismissed");
    }
  }

  private decline(question: Question, reason: "permission.cancelled" | "permission.dismissed"): void {
    this.decide(question, { decision: "deny", reason: t(reason, {}, this.deps.language) });
  }

  private decide(question: Question, answer: Obj): void {
    if (!this.open.delete(question.key)) return;
    if (question.repeatable) this.decided.set(question.key, answer);
    if (this.decided.size > REMEMBERED) {
      const oldest = this.decided.keys().next().value;
      if (oldest !== undefined) this.decided.delete(oldest);
    }
    for (const reply of question.replies) reply.result(answer);
    question.abort.abort();
  }
}

/** The backend's options under ids that are unique and kinds that ACP knows. */
function readOptions(value: unknown, language: Language): Option[] {
  const taken = new Set<string>();
  const options = list(value)
    .filter(isObj)
    .map((entry, index): Option => {
      const wanted = text(entry.optionId);
      let optionId = wanted ?? `option_${index}`;
      while (taken.has(optionId)) optionId += "_";
      taken.add(optionId);
      const kind = kindOf(str(entry.kind));
      const allow = kind === "allow_once" || kind === "allow_always";
      const response = isObj(entry.response) ? entry.response : undefined;
      const allows =
        response !== undefined && response.decision !== "deny" && response.decision !== "escalate";
      // A kind that is not known may be offered, but never becomes an allow.
      const answer =
        response && (allow || !allows) ? response : { decision: allow && !response ? "allow" : "deny" };
      return { optionId, kind, name: text(entry.name) ?? optionId, answer };
    });
  if (options.length > 0) return options;
  return [
    {
      optionId: "allow",
      kind: "allow_once",
      name: t("permission.allow", {}, language),
      answer: { decision: "allow" },
    },
    {
      optionId: "deny",
      kind: "reject_once",
      name: t("permission.deny", {}, language),
      answer: { decision: "deny" },
    },
  ];
}

function kindOf(kind: string | undefined): OptionKind {
  switch (kind) {
    case "allow_once":
      return "allow_once";
    case "allow_always":
    case "allow_project":
      return "allow_always";
    case "deny_always":
    case "reject_always":
      return "reject_always";
    default:
      return "reject_once";
  }
}
