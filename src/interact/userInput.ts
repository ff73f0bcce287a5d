/**
 * `interaction/requestUserInput`: questions of the model, the approval of a plan, and what an MCP server wants to know.
 * Each has a gate of its own: a form for clients that can show one, permission requests for the others.
 */

import type { Client } from "../clients/client.ts";
import { cardFields, cardMeta, textContent } from "../clients/render.ts";
import { inOneLine, type SentenceKey, t } from "../locale/index.ts";
import { isObj, list, type Obj, obj, str, text } from "../platform/json.ts";
import type { Conversation } from "../session/conversation.ts";
import { ensureCard } from "../translate/events.ts";
import type { ToolCard } from "../translate/updates.ts";
import {
  type Answers,
  accepted,
  type PersonQuestion,
  questionSchema,
  questionsOf,
  readForm,
  shown,
} from "./form.ts";
import { askerOf } from "./permissions.ts";
import type { Asking, QuestionDeps, Undecided, Verdict } from "./race.ts";

/** How a request is asked; undefined where it is none that a person could be asked. */
export function userInput(deps: QuestionDeps, conversation: Conversation, params: Obj): Asking {
  const schema = obj(params.schema);
  const toolName = text(params.toolName) ?? text(schema.toolName);
  if (schema.interaction === "plan_approval" || toolName === "ExitPlanMode")
    return new Plan(deps, conversation, params);
  if (schema.interaction === "mcp_elicitation" || toolName === "McpElicitation" || isMcp(params))
    return new Elicitation(deps, conversation, params);
  return new Ask(deps, conversation, params);
}

function isMcp(params: Obj): boolean {
  return str(params.requestId)?.startsWith("mcp-elicit-") === true;
}

/** True where the client shows forms. */
function showsForms({ capabilities }: Client): boolean {
  return isObj(obj(capabilities.elicitation).form);
}

/** What all three have in common. */
abstract class UserInput implements Asking {
  protected readonly card: ToolCard;

  constructor(
    protected readonly deps: QuestionDeps,
    protected readonly conversation: Conversation,
    protected readonly params: Obj,
    name: string,
  ) {
    const id = text(params.toolCallId) ?? text(params.requestId) ?? "question";
    const made = ensureCard(conversation.translate, id, text(params.toolName) ?? name, obj(params.input));
    this.card = made.card;
    for (const update of made.updates) deps.publish(conversation, update);
  }

  abstract put(client: Client, signal: AbortSignal): Promise<Verdict>;

  undecided(why: Undecided): Obj {
    return { action: why === "dismissed" ? "cancel" : "decline", reason: this.say(`permission.${why}`) };
  }

  protected say(key: SentenceKey & `${"permission" | "question"}.${string}`): string {
    return t(key as "permission.cancelled", {}, this.deps.language);
  }

  /** One form; what fits it is read by `read`, and what does not is a failure of the client. */
  protected async form(
    client: Client,
    signal: AbortSignal,
    message: string,
    requestedSchema: Obj,
    read: (content: unknown) => Obj | undefined,
  ): Promise<Verdict> {
    const asker = askerOf(this.params, this.deps.language);
    const params = {
      mode: "form",
      sessionId: client.idOf(this.conversation.id),
      message: asker === undefined ? message : inOneLine([message, asker], this.deps.language),
      requestedSchema,
    };
    const reply = obj(await client.outlet.request("elicitation/create", params, signal));
    if (reply.action === "decline") return { answer: { action: "decline" } };
    if (reply.action === "cancel") return "dismissed";
    const answer = reply.action === "accept" ? read(reply.content) : undefined;
    return answer ? { answer } : "failed";
  }

  /** One permission request. @returns the option that was chosen. */
  protected async permission(
    client: Client,
    signal: AbortSignal,
    title: string,
    content: readonly string[],
    options: readonly { optionId: string; kind: "allow_once" | "reject_once"; name: string }[],
  ): Promise<string | "dismissed" | undefined> {
    const asker = askerOf(this.params, this.deps.language);
    const words = asker === undefined ? content : [...content, asker];
    const params = {
      sessionId: client.idOf(this.conversation.id),
      toolCall: {
        ...cardFields(this.card),
        title,
        content: words.map(textContent),
        _meta: cardMeta(this.card),
      },
      options,
    };
    const outcome = obj(
      obj(await client.outlet.request("session/request_permission", params, signal)).outcome,
    );
    if (outcome.outcome === "cancelled") return "dismissed";
    const chosen = outcome.outcome === "selected" ? text(outcome.optionId) : undefined;
    return options.some((option) => option.optionId === chosen) ? chosen : undefined;
  }
}

const FAILED = "question.failed";

/** The model's questions, in one form, or one permission request after the other. */
class Ask extends UserInput {
  private readonly questions: readonly PersonQuestion[];

  constructor(
    deps: QuestionDeps,
    conversation: Conversation,
    params: Obj,
    /** The forms have failed: everybody is asked in the other way. */
    private readonly plainly = false,
  ) {
    super(deps, conversation, params, "AskUserQuestion");
    this.questions = questionsOf(params);
  }

  get afterwards() {
    const someForms = !this.plainly && this.deps.clients.all.some(showsForms);
    return someForms
      ? { instead: new Ask(this.deps, this.conversation, this.params, true) }
      : { answer: { action: "decline", reason: this.say(FAILED) } };
  }

  async put(client: Client, signal: AbortSignal): Promise<Verdict> {
    // Nothing that could be asked.
    if (this.questions.length === 0)
      return { answer: { action: "decline", reason: this.say("question.none") } };
    if (!this.plainly && showsForms(client)) {
      const count = this.questions.length;
      const message =
        count === 1 ? this.say("question.message.one") : t("question.message", { count }, this.deps.language);
      return this.form(
        client,
        signal,
        message,
        questionSchema(this.questions, this.deps.language),
        (content) => {
          const answers = readForm(this.questions, content);
          return answers && accepted(this.questions, answers);
        },
      );
    }
    return this.oneByOne(client, signal);
  }

  private async oneByOne(client: Client, signal: AbortSignal): Promise<Verdict> {
    // Only a form takes words of a person's own.
    if (this.questions.every(({ choices }) => choices.length === 0)) {
      return { answer: { action: "decline", reason: this.say("question.needsForm") } };
    }
    const answers: (readonly string[] | undefined)[] = [];
    for (const question of this.questions) {
      const picked = question.multi
        ? await this.several(client, signal, question)
        : await this.one(client, signal, question);
      if (picked === "dismissed" || picked === "failed") return picked;
      answers.push(picked.length === 0 ? undefined : picked);
    }
    return { answer: accepted(this.questions, answers as Answers) };
  }

  private async one(client: Client, signal: AbortSignal, question: PersonQuestion) {
    const { choices } = question;
    if (choices.length === 0) return [];
    const options = choices.map(({ label }, index) => ({
      optionId: `choice_${index}`,
      kind: "allow_once" as const,
      name: shown(label),
    }));
    const skip = { optionId: "skip", kind: "reject_once" as const, name: this.say("question.skip") };
    const chosen = await this.permission(client, signal, question.text, about(question), [...options, skip]);
    if (chosen === "dismissed") return "dismissed";
    if (chosen === undefined) return "failed";
    const choice = choices[options.findIndex(({ optionId }) => optionId === chosen)];
    return choice ? [choice.label] : [];
  }

  /** Each choice by itself: a permission request takes one answer. */
  private async several(client: Client, signal: AbortSignal, question: PersonQuestion) {
    const labels: string[] = [];
    for (const { label, description } of question.choices) {
      const title = `${question.text}: ${shown(label)}`;
      const content = [question.text, description === undefined ? label : `${label}: ${description}`];
      const chosen = await this.permission(client, signal, title, content, [
        { optionId: "include", kind: "allow_once", name: this.say("question.include") },
        { optionId: "skip", kind: "reject_once", name: this.say("question.leaveOut") },
      ]);
      if (chosen === "dismissed") return "dismissed";
      if (chosen === undefined) return "failed";
      if (chosen === "include" && !labels.includes(label)) labels.push(label);
    }
    return labels;
  }
}

function about({ text: words, choices }: PersonQuestion): string[] {
  const described = choices.flatMap(({ label, description }) =>
    description === undefined && label === shown(label) ? [] : [`- **${label}**: ${description ?? ""}`],
  );
  return described.length === 0 ? [words] : [words, described.join("\n")];
}

const APPROVE = "approve";
const REJECT = "reject";

/** A plan: to be read as a whole, then approved or not. */
class Plan extends UserInput {
  private readonly plan: string;

  constructor(
    deps: QuestionDeps,
    conversation: Conversation,
    params: Obj,
    private readonly plainly = false,
  ) {
    super(deps, conversation, params, "ExitPlanMode");
    this.plan = text(obj(params.input).plan) ?? text(params.prompt) ?? "";
  }

  get afterwards() {
    // A form that failed is asked again as a permission; a permission stays open for the next client.
    if (!this.plainly && this.deps.clients.all.some((each) => each.isMartty))
      return { instead: new Plan(this.deps, this.conversation, this.params, true) };
    return this.plainly ? { answer: { action: "decline", reason: this.say(FAILED) } } : undefined;
  }

  async put(client: Client, signal: AbortSignal): Promise<Verdict> {
    if (!this.plainly && client.isMartty) {
      const schema = {
        type: "object",
        properties: {
          approval: {
            type: "string",
            title: this.say("question.plan.review"),
            description: this.plan,
            oneOf: [
              { const: APPROVE, title: this.say("question.plan.approve") },
              { const: REJECT, title: this.say("question.plan.reject") },
            ],
          },
        },
        required: ["approval"],
      };
      return this.form(client, signal, this.say("question.plan"), schema, (content) => {
        const { approval } = obj(content);
        return approval === APPROVE || approval === REJECT ? this.answer(approval) : undefined;
      });
    }
    const chosen = await this.permission(
      client,
      signal,
      this.say("question.plan"),
      [this.plan],
      [
        { optionId: APPROVE, kind: "allow_once", name: this.say("question.plan.approve") },
        { optionId: REJECT, kind: "reject_once", name: this.say("question.plan.reject") },
      ],
    );
    if (chosen === "dismissed") return "dismissed";
    return chosen === APPROVE || chosen === REJECT ? { answer: this.answer(chosen) } : "failed";
  }

  /** Whatever is no approval keeps the model planning. */
  override undecided(why: Undecided): Obj {
    return { ...super.undecided(why), action: "decline" };
  }

  private answer(chosen: string): Obj {
    return chosen === APPROVE
      ? { action: "accept", content: { answer_0: APPROVE } }
      : { action: "decline", reason: this.say("question.plan.rejected") };
  }
}

/** What an MCP server wants to know: its own form, or nothing. */
class Elicitation extends UserInput {
  private readonly schema: Obj;

  constructor(deps: QuestionDeps, conversation: Conversation, params: Obj) {
    super(deps, conversation, params, "McpElicitation");
    const input = obj(params.input);
    this.schema = obj(input.requestedSchema ?? obj(params.schema).requestedSchema);
  }

  get afterwards() {
    return { answer: { action: "decline", reason: this.say(FAILED) } };
  }

  async put(client: Client, signal: AbortSignal): Promise<Verdict> {
    if (!showsForms(client)) {
      // Somebody else may have a form.
      if (this.deps.clients.all.some(showsForms)) return "failed";
      return { answer: { action: "decline", reason: this.say("question.needsForm") } };
    }
    const input = obj(this.params.input);
    const server = text(input.serverName);
    const words = text(input.message) ?? text(this.params.prompt) ?? "";
    const message = server === undefined ? words : `${server}: ${words}`;
    const fields = Object.entries(obj(this.schema.properties)).filter(([, field]) => isObj(field));
    const keys = fields.map(([key]) => key);
    const required = list(this.schema.required);
    const schema = {
      type: "object",
      properties: Object.fromEntries(fields.map(([key, field]) => [key, titled(obj(field))])),
      required: keys.filter((key) => required.includes(key)),
    };
    return this.form(client, signal, message, schema, (content) => this.read(keys, schema.required, content));
  }

  private read(keys: readonly string[], required: readonly string[], content: unknown): Obj | undefined {
    if (content !== undefined && content !== null && !isObj(content)) return undefined;
    // A field may be called as something that every object has.
    const given = new Map(Object.entries(obj(content)));
    if (required.some((key) => given.get(key) === undefined)) return undefined;
    const questions = list(this.params.questions).map((question) => text(obj(question).question));
    const byPlace: Record<string, string> = {};
    const byText = new Map<string, string>();
    for (const [i, key] of keys.entries()) {
      const value = given.get(key);
      if (value === undefined || value === null) continue;
      const words = wordsOf(value);
      if (words === undefined) return undefined;
      byPlace[`answer_${i}`] = words;
      const question = questions[i];
      if (question !== undefined && questions.indexOf(question) === questions.lastIndexOf(question))
        byText.set(question, words);
    }
    return { action: "accept", content: { answers: Object.fromEntries(byText), ...byPlace } };
  }
}

/** An MCP field in ACP's spelling: names of choices stand beside their values. */
function titled({ enumNames, ...field }: Obj): Obj {
  const values = list(field.enum);
  const names = list(enumNames);
  if (names.length === 0 || names.length !== values.length) return field;
  const { enum: _, ...rest } = field;
  return {
    ...rest,
    oneOf: values.map((value, i) => ({ const: value, title: str(names[i]) ?? String(value) })),
  };
}

function wordsOf(value: unknown): string | undefined {
  if (Array.isArray(value))
    return value.every((each) => typeof each === "string") ? value.join(", ") : undefined;
  if (typeof value === "string") return value;
  return typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value))
    ? String(value)
    : undefined;
}
