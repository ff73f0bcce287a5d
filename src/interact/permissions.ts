/** A tool permission of the backend as a request to a client, and the chosen option's own answer back. */

import { cardContent, cardFields, cardMeta, fenced, textContent } from "../clients/render.ts";
import type { Language } from "../locale/index.ts";
import { t } from "../locale/index.ts";
import { isObj, list, type Obj, obj, str, text } from "../platform/json.ts";
import type { Conversation } from "../session/conversation.ts";
import { ensureCard } from "../translate/events.ts";
import type { ToolCard } from "../translate/updates.ts";
import type { Asking, QuestionDeps } from "./race.ts";

/** ACP's four option kinds. */
type OptionKind = "allow_once" | "allow_always" | "reject_once" | "reject_always";

interface Option {
  readonly optionId: string;
  readonly kind: OptionKind;
  readonly name: string;
  /** What the backend is answered when this one is chosen. */
  readonly answer: Obj;
}

/** How a tool permission is asked: every client in the same way. */
export function permission(deps: QuestionDeps, conversation: Conversation, params: Obj): Asking {
  const options = readOptions(params.options, deps.language);
  const card = cardOf(deps, conversation, params);
  const asked = {
    toolCall: { ...cardFields(card), content: contentOf(deps, card, params), _meta: cardMeta(card) },
    options: options.map(({ optionId, kind, name }) => ({ optionId, kind, name })),
  };
  return {
    async put(client, signal) {
      const sessionId = client.idOf(conversation.id);
      const answer = await client.outlet.request(
        "session/request_permission",
        { sessionId, ...asked },
        signal,
      );
      const outcome = obj(obj(answer).outcome);
      if (outcome.outcome === "cancelled") return "dismissed";
      const chosen =
        outcome.outcome === "selected"
          ? options.find((option) => option.optionId === outcome.optionId)
          : undefined;
      if (chosen) return { answer: chosen.answer };
      deps.log.once("permission-unknown-option", "warn", "a client chose an option that was not offered");
      return "failed";
    },
    undecided: (why) => ({ decision: "deny", reason: t(`permission.${why}`, {}, deps.language) }),
  };
}

/** The card of the call that asks. A sub-agent names the call by its own id; the card that mirrors it has a longer one. */
export function cardIdOf(params: Obj): string | undefined {
  const toolCallId = text(params.toolCallId);
  const { kind, agentId } = obj(params.origin);
  const mirrored = kind === "subagent" && text(agentId) !== undefined;
  if (toolCallId === undefined || !mirrored || toolCallId.startsWith("tool_subagent_"))
    return toolCallId ?? text(params.requestId);
  return `tool_subagent_${agentId}_${toolCallId}`;
}

/** The card that the question is about, made known to every client before it is asked. */
function cardOf(deps: QuestionDeps, conversation: Conversation, params: Obj): ToolCard {
  const id = cardIdOf(params) ?? "permission";
  const name = text(params.toolName) ?? "Tool";
  const { card, updates } = ensureCard(conversation.translate, id, name, obj(params.input));
  for (const update of updates) deps.publish(conversation, update);
  return card;
}

/** Editors draw the dialog from this alone, so it holds all that is needed to judge the call. */
function contentOf(deps: QuestionDeps, card: ToolCard, params: Obj): unknown[] {
  const parts: unknown[] = [];
  const command = text(obj(params.input).command);
  if (command !== undefined) parts.push(textContent(fenced(command, "sh")));
  parts.push(...cardContent(card));
  if (parts.length === 0 && card.rawInput !== undefined) {
    parts.push(textContent(fenced(JSON.stringify(card.rawInput, null, 2), "json")));
  }
  const reason = text(params.reason);
  if (reason !== undefined) parts.push(textContent(reason));
  const asker = askerOf(params, deps.language);
  if (asker !== undefined) parts.push(textContent(asker));
  return parts;
}

/** Which sub-agent asks; undefined where the agent itself does. */
export function askerOf(params: Obj, language: Language): string | undefined {
  const origin = obj(params.origin);
  if (origin.kind !== "subagent") return undefined;
  const name = text(origin.description) ?? text(origin.agentType) ?? text(origin.agentId) ?? "";
  return t("question.subagent", { name }, language);
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
