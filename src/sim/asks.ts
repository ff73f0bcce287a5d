/** Questions before a tool runs: permissions, questions for the person, the approval of a plan. */
import type { AskPlan, ToolEnd, ToolPlan } from "./model.ts";
import { Stopped } from "./model.ts";
import type { Turn } from "./turn.ts";
import { isObj, type Obj } from "./types.ts";

export type Asked =
  | { kind: "allowed"; input: Obj; waitedMs?: number }
  | (ToolEnd & { kind: "denied"; reason?: string });

/** A sub-agent asks in its parent's name; ids of the card and of the call differ then. */
export interface Origin {
  origin: Obj;
  childSessionId: string;
  childTurnId: string;
  cardId: string;
  background: boolean;
}

const REFUSED = "Refused by the person.";
/** Seconds after which questions answer themselves, unless the preferences forbid it. */
const AUTO_ANSWER_S = 300;
const FAILED = "Permission request failed";

/** The options that 0.16.9 sends; each has the answer that choosing it means. */
export function optionsOf(ask: AskPlan, modern: boolean): Obj[] {
  if (!modern) {
    return [
      { optionId: "allow_once", kind: "allow_once", name: "Allow once" },
      { optionId: "allow_project", kind: "allow_project", name: "Always allow" },
      { optionId: "deny", kind: "deny_once", name: "Deny" },
    ];
  }
  const always: Obj[] = ask.rule
    ? [
        {
          description: "The same call is not asked about again in this project",
          kind: "allow_always",
          name: "Always allow in this project",
          optionId: "allow_project",
          response: {
            decision: "allow",
            permissionUpdates: [{ behavior: "allow", rules: [ask.rule], type: "addRules" }],
            reason: "Allowed for this project",
          },
        },
      ]
    : [];
  return [
    {
      kind: "allow_once",
      name: "Allow once",
      optionId: "allow_once",
      response: { decision: "allow", reason: "Allowed once" },
    },
    ...always,
    { kind: "deny", name: "Deny", optionId: "deny", response: { decision: "deny", reason: REFUSED } },
  ];
}

function ruleKey(cwd: string, rule: { toolName: string; ruleContent?: string }): string {
  return JSON.stringify([cwd, rule.toolName, rule.ruleContent ?? ""]);
}

/** @throws Stopped when the turn is stopped while the question is open. */
export async function askFirst(
  turn: Turn,
  plan: ToolPlan,
  callId: string,
  from?: Origin,
  signal: AbortSignal = turn.signal,
): Promise<Asked> {
  const { live } = turn;
  const { world } = live;
  const ask = plan.ask!;
  if (ask.rule && world.store.rules().includes(ruleKey(live.cwd, ask.rule)))
    return { kind: "allowed", input: plan.input };
  const { modern } = world.era;
  const options = optionsOf(ask, modern);
  const requestId = `perm_${world.ids.uuid()}`;
  const begun = world.clock.mono();
  const card = from?.cardId ?? callId;
  const origin = from ? { origin: from.origin, childSessionId: from.childSessionId } : {};
  const tell = (type: string, payload: Obj) =>
    live.event(type, payload, from?.background ? undefined : turn.id);
  if (modern) {
    tell("permission.requested", {
      requestId,
      toolCallId: card,
      toolName: plan.name,
      riskLevel: ask.risk,
      reason: ask.reason,
      input: plan.input,
      suggestedPermissionUpdates: [],
      options,
      ...origin,
    });
  }
  const pending = {
    requestId,
    toolCallId: card,
    toolName: plan.name,
    reason: ask.reason,
    riskLevel: ask.risk,
    input: plan.input,
    options,
    requestedAt: world.clock.now(),
  };
  live.pendingPermissions.push(pending);
  const { status } = live;
  live.status = "waiting";
  const ids = {
    sessionId: live.id,
    toolCallId: callId,
    toolName: plan.name,
    turnId: from?.childTurnId ?? turn.id,
  };
  const [method, params] =
    ask.kind === "permission"
      ? ([
          "interaction/requestPermission",
          {
            input: plan.input,
            reason: ask.reason,
            requestId,
            riskLevel: ask.risk,
            ...(from ? { origin: from.origin } : {}),
            options,
            ...ids,
          },
        ] as const)
      : (["interaction/requestUserInput", userInput(turn, ask, plan, requestId, ids)] as const);
  const auto = ask.kind === "questions" && live.autoAnswers && modern;
  const answer = await world.interactions.ask(method, params, {
    repeat: true,
    signal,
    ...(auto ? { timeoutS: AUTO_ANSWER_S } : {}),
  });
  live.pendingPermissions = live.pendingPermissions.filter((each) => each !== pending);
  if (live.status === "waiting") live.status = live.turn ? "running" : status;
  if (answer.kind === "cancelled") throw new Stopped();
  let result = answer.kind === "result" && isObj(answer.result) ? answer.result : undefined;
  if (answer.kind === "timeout") result = firstOptions(plan);
  const verdict =
    ask.kind === "permission"
      ? permission(result)
      : ask.kind === "plan"
        ? planned(result)
        : answered(result, plan);
  if (modern) {
    tell("permission.resolved", {
      requestId,
      toolCallId: card,
      decision: verdict.decision,
      ...(verdict.reason === undefined ? {} : { reason: verdict.reason }),
      ...(verdict.decision === "modify" ? { modifiedInput: verdict.input } : {}),
      ...(from ? { childSessionId: from.childSessionId } : {}),
    });
  }
  if (verdict.decision === "deny") {
    if (ask.kind === "plan") return plannedNo(turn, verdict);
    return { kind: "denied", ...(verdict.reason === undefined ? {} : { reason: verdict.reason }) };
  }
  for (const rule of verdict.rules ?? []) world.store.addRule(ruleKey(live.cwd, rule));
  const waitedMs = Math.round(world.clock.mono() - begun);
  return { kind: "allowed", input: verdict.input ?? plan.input, waitedMs };
}

function userInput(turn: Turn, ask: AskPlan, plan: ToolPlan, requestId: string, ids: Obj): Obj {
  const isPlan = ask.kind === "plan";
  const questions = isPlan
    ? [
        {
          header: "Plan",
          multiSelect: false,
          options: [{ value: "approve", label: "Approve", description: "Begin with the work" }],
          question: "Review this implementation plan.",
        },
      ]
    : (plan.input.questions as Obj[]).map((question) => ({
        ...question,
        options: (question.options as Obj[]).map((option) => ({ value: option.label, ...option })),
      }));
  return {
    input: plan.input,
    prompt: ask.reason,
    ...(turn.live.world.era.questionsInInput && !isPlan ? {} : { questions }),
    requestId,
    schema: isPlan ? { interaction: "plan_approval", toolName: plan.name } : { toolName: plan.name },
    ...ids,
  };
}

/** What a question answers by itself: the first option of each. */
function firstOptions(plan: ToolPlan): Obj {
  const answers: Obj = {};
  for (const question of plan.input.questions as Obj[]) {
    answers[String(question.question)] = (question.options as Obj[])[0]?.label;
  }
  return { action: "accept", content: { answers } };
}

interface Verdict {
  decision: "allow" | "deny" | "modify";
  reason?: string;
  input?: Obj;
  rules?: { toolName: string; ruleContent?: string }[];
  /** Words of the person that go to the model. */
  feedback?: string;
}

const reasonOf = (result: Obj) => (typeof result.reason === "string" ? { reason: result.reason } : {});

/** A malformed answer is a refusal, and so is an error. */
function permission(result: Obj | undefined): Verdict {
  const allowed = ["decision", "reason", "modifiedInput", "permissionUpdates"];
  if (!result || Object.keys(result).some((key) => !allowed.includes(key)))
    return { decision: "deny", reason: FAILED };
  if (result.decision === "deny" || result.decision === "escalate")
    return { decision: "deny", ...reasonOf(result) };
  if (result.decision === "modify" && isObj(result.modifiedInput)) {
    return { decision: "modify", ...reasonOf(result), input: result.modifiedInput };
  }
  if (result.decision !== "allow") return { decision: "deny", reason: FAILED };
  const rules: NonNullable<Verdict["rules"]> = [];
  for (const update of Array.isArray(result.permissionUpdates) ? result.permissionUpdates : []) {
    if (
      !isObj(update) ||
      update.type !== "addRules" ||
      update.behavior !== "allow" ||
      !Array.isArray(update.rules)
    ) {
      return { decision: "deny", reason: FAILED };
    }
    for (const rule of update.rules)
      if (isObj(rule)) rules.push(rule as { toolName: string; ruleContent?: string });
  }
  return { decision: "allow", ...reasonOf(result), rules };
}

/** Reads the answers of AskUserQuestion; a blank one is a question passed over. */
function answered(result: Obj | undefined, plan: ToolPlan): Verdict {
  if (result?.action !== "accept")
    return { decision: "deny", ...(result ? reasonOf(result) : { reason: FAILED }) };
  const content = isObj(result.content) ? result.content : {};
  const given = isObj(content.answers) ? content.answers : {};
  const questions = plan.input.questions as Obj[];
  const answers: Record<string, string> = {};
  questions.forEach((question, i) => {
    const text = String(question.question);
    const value =
      given[text] ?? content[`answer_${i}`] ?? (questions.length === 1 ? content.answer : undefined);
    const words = Array.isArray(value) ? value.join(", ") : typeof value === "string" ? value : "";
    if (words.trim() !== "") answers[text] = words;
  });
  return {
    decision: "modify",
    input: {
      questions: plan.input.questions,
      answers,
      ...(isObj(content.annotations) ? { annotations: content.annotations } : {}),
    },
  };
}

/** `approve` approves; any other accepted text goes to the model as feedback; a decline ends the turn. */
function planned(result: Obj | undefined): Verdict {
  if (result?.action !== "accept")
    return { decision: "deny", ...(result ? reasonOf(result) : { reason: FAILED }) };
  const content = isObj(result.content) ? result.content : {};
  const answers = isObj(content.answers) ? Object.values(content.answers) : [];
  const text = String(content.answer_0 ?? content.answer ?? answers[0] ?? "");
  if (text === "approve") return { decision: "allow" };
  return { decision: "deny", reason: text, feedback: text };
}

function plannedNo(turn: Turn, verdict: Verdict): Asked {
  const { live } = turn;
  if (verdict.feedback === undefined) {
    return {
      kind: "denied",
      endsTurn: true,
      ...(verdict.reason === undefined ? {} : { reason: verdict.reason }),
    };
  }
  const pendingInputId = `input_${live.world.ids.uuid()}`;
  const text = verdict.feedback;
  live.pendingInputs.push({ pendingInputId, text, delivery: "guide", locks: false });
  turn.event("turn.steerQueued", {
    pendingInputId,
    input: text,
    inputPreview: text.slice(0, 200),
    inputSize: text.length,
    source: "plan_approval_feedback",
    delivery: "guide",
    targetTurnId: turn.id,
    queueLength: live.pendingInputs.length,
  });
  return { kind: "denied", feedback: text };
}
