/**
 * Questions of the backend, each put to every client; the first valid answer goes back. A question is asked once however
 * often the backend repeats it, every frame id is answered, and no time is set: it ends by an answer, by its turn's end,
 * or with the bridge.
 */

import type { Reply } from "../backend/backend.ts";
import type { ServerRequest } from "../backend/rpc.ts";
import type { Client } from "../clients/client.ts";
import type { Clients } from "../clients/clients.ts";
import type { Language } from "../locale/index.ts";
import type { Clock, Timer } from "../platform/clock.ts";
import { type Obj, text } from "../platform/json.ts";
import { errorName, type Log } from "../platform/log.ts";
import type { Conversation } from "../session/conversation.ts";
import type { Update } from "../translate/updates.ts";

export interface QuestionDeps {
  readonly clients: Clients;
  readonly log: Log;
  readonly language: Language;
  /** The backend's process: its ids mean nothing in another one. */
  generation(): number;
  /** The conversation that owns a backend session, if it is live here. */
  owner(params: Obj): Conversation | undefined;
  publish(conversation: Conversation, update: Update): void;
  /** How long a question waits for a person; without end where it is not given, which is so where an editor is there. */
  readonly limit?: { readonly clock: Clock; readonly ms: number } | undefined;
}

/** What came of asking one client. */
export type Verdict =
  | { readonly answer: Obj }
  /** Its person closed the dialog. */
  | "dismissed"
  /** It failed, or answered what was not offered: it is out of the race. */
  | "failed";

/** The turn was cancelled; the person closed the dialog; nobody came for as long as is waited without an editor. */
export type Undecided = "cancelled" | "dismissed" | "late";

/** How one question is asked. */
export interface Asking {
  /**
   * Puts the question to one client.
   * @param signal withdraws the dialog.
   * @throws the client's error, which counts as `failed`.
   */
  put(client: Client, signal: AbortSignal): Promise<Verdict>;
  /** What the backend is answered where nobody decides. */
  undecided(why: Undecided): Obj;
  /**
   * Once every client that was asked has failed: another way to ask them, or at last the answer.
   * Undefined leaves the question open for the next client.
   */
  readonly afterwards?: Afterwards | undefined;
}

export type Afterwards = { readonly instead: Asking } | { readonly answer: Obj };

interface Question {
  /** Process, session and request: an answer to one is none to another. */
  readonly key: string;
  /** Whether the backend may ask it again under the same id. */
  readonly repeatable: boolean;
  readonly conversation: Conversation;
  readonly replies: Reply[];
  asking: Asking;
  /** There where a wait ends by itself. */
  timer?: Timer | undefined;
  /** Clients that were asked, each with what withdraws its dialog; undefined for one that has failed. */
  readonly asked: Map<Client, AbortController | undefined>;
}

/** Answers of decided questions that a late repeat may still ask for. */
const REMEMBERED = 256;

export class Races {
  private readonly open = new Map<string, Question>();
  private readonly decided = new Map<string, Obj>();

  constructor(private readonly deps: QuestionDeps) {}

  /**
   * @param prepare makes the way in which it is asked; called once for each question.
   * @param homeless the answer where no conversation of ours is asked for.
   */
  begin(
    request: ServerRequest,
    reply: Reply,
    prepare: (conversation: Conversation) => Asking,
    homeless: Obj,
  ): void {
    const key = this.keyOf(request);
    const answer = this.decided.get(key);
    if (answer) return reply.result(answer);
    const known = this.open.get(key);
    if (known) {
      known.replies.push(reply);
      return;
    }
    const conversation = this.deps.owner(request.params);
    if (!conversation) return reply.result(homeless);
    const question: Question = {
      key,
      repeatable: text(request.params.requestId) !== undefined,
      conversation,
      replies: [reply],
      asking: prepare(conversation),
      asked: new Map(),
    };
    this.open.set(key, question);
    question.timer = this.deps.limit?.clock.after(this.deps.limit.ms, () =>
      this.decide(question, question.asking.undecided("late")),
    );
    if (conversation.turns.stopping) return this.decide(question, question.asking.undecided("cancelled"));
    this.putToAll(question);
  }

  /** The questions of a conversation whose turn nobody waits for any more are answered so, and their dialogs closed. */
  drop(conversation: Conversation): void {
    for (const question of [...this.open.values()]) {
      if (question.conversation === conversation)
        this.decide(question, question.asking.undecided("cancelled"));
    }
  }

  /** A client has caught up with a conversation: what is still asked there is put to it, anew where it was before. */
  again(conversation: Conversation, client: Client): void {
    for (const question of [...this.open.values()]) {
      if (question.conversation !== conversation) continue;
      question.asked.get(client)?.abort();
      question.asked.delete(client);
      void this.put(question, client);
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
   * A repeat has the same `requestId` and asks the same, in the same way, of the same call: what differs in any of these
   * was never answered. Without an id a frame is a question of its own.
   */
  private keyOf({ id, method, params }: ServerRequest): string {
    const requestId = text(params.requestId);
    const own = requestId === undefined ? `frame ${id}` : `request ${requestId}`;
    const { toolCallId, toolName, input, questions } = params;
    const asked = new Bun.CryptoHasher("sha256")
      .update(JSON.stringify([method, toolCallId, toolName, input, questions]))
      .digest("hex");
    return `${this.deps.generation()} ${text(params.sessionId) ?? ""} ${own} ${asked}`;
  }

  private putToAll(question: Question): void {
    for (const client of this.deps.clients.all) if (client.initialized) void this.put(question, client);
  }

  private async put(question: Question, client: Client): Promise<void> {
    const { asking } = question;
    const abort = new AbortController();
    question.asked.set(client, abort);
    let verdict: Verdict;
    try {
      verdict = await asking.put(client, abort.signal);
    } catch (error) {
      // An error is no answer. What is no client's error is worth a line.
      if (!(error instanceof Error) || error instanceof TypeError)
        this.deps.log.once("question", "error", `asking a client failed: ${errorName(error)}`);
      verdict = "failed";
    }
    // Decided meanwhile, or asked anew.
    if (this.open.get(question.key) !== question || question.asked.get(client) !== abort) return;
    if (typeof verdict === "object") return this.decide(question, verdict.answer);
    const alone = this.deps.clients.all.length <= 1;
    if (verdict === "dismissed" && alone) return this.decide(question, asking.undecided("dismissed"));
    if (!this.deps.clients.all.includes(client)) question.asked.delete(client);
    else question.asked.set(client, undefined);
    this.failed(question);
  }

  /** One more is out: where that was the last of those who were asked, there may be another way. */
  private failed(question: Question): void {
    const { asked, asking } = question;
    // A client that merely left says nothing of the question.
    if (asked.size === 0 || [...asked.values()].some((waiting) => waiting !== undefined)) return;
    const { afterwards } = asking;
    if (!afterwards) return;
    if ("answer" in afterwards) return this.decide(question, afterwards.answer);
    question.asking = afterwards.instead;
    asked.clear();
    this.putToAll(question);
  }

  private decide(question: Question, answer: Obj): void {
    if (!this.open.delete(question.key)) return;
    question.timer?.cancel();
    if (question.repeatable) this.decided.set(question.key, answer);
    if (this.decided.size > REMEMBERED) {
      const oldest = this.decided.keys().next().value;
      if (oldest !== undefined) this.decided.delete(oldest);
    }
    for (const reply of question.replies) reply.result(answer);
    for (const abort of question.asked.values()) abort?.abort();
  }
}
