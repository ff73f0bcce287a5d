/** How a person answers a question: at once, late, twice, wrongly, or not at all. */
import type { Json } from "../support/plainClient.ts";
import type { Random } from "../support/random.ts";
import type { Prompt } from "./conversation.ts";
import type { Asked } from "./peer.ts";
import type { World } from "./world.ts";

export type Policy = "now" | "late" | "twice" | "refuse" | "unknown" | "error" | "garbage" | "never";

/** How often each comes. */
const WEIGHTS: Readonly<Record<Policy, number>> = {
  now: 30,
  late: 6,
  twice: 6,
  refuse: 3,
  unknown: 2,
  error: 2,
  garbage: 2,
  never: 3,
};
export const POLICIES = Object.keys(WEIGHTS) as Policy[];
const BAG = POLICIES.flatMap((policy) => Array.from({ length: WEIGHTS[policy] }, () => policy));
/** How late "late" is, in ms. */
const LATE_MS = 150;
/** Answers that are none. */
const GARBAGE: readonly Json[] = [
  { result: null },
  { result: { outcome: 7 } },
  { result: { outcome: { outcome: "selected" } } },
  { result: [] },
  { result: { outcome: { outcome: "selected", optionId: { a: 1 } } } },
  { result: "allow_once" },
];

export function somePolicy(random: Random): Policy {
  return random.pick(BAG);
}

/** True where the question stays open until the prompt is cancelled. */
export function staysOpen(policy: Policy): boolean {
  return policy === "unknown" || policy === "error" || policy === "garbage" || policy === "never";
}

function choose(asked: Asked, kind: string): Json {
  const options = asked.params.options as readonly Json[];
  const option = options.find((entry) => entry.kind === kind) ?? options[0];
  return { result: { outcome: { outcome: "selected", optionId: option?.optionId } } };
}

/** What a form is answered: nothing is required in it, and some answers fit no form. */
const FORM: Readonly<Record<Exclude<Policy, "never">, Json>> = {
  now: { result: { action: "accept", content: { q_0_other: "mine" } } },
  late: { result: { action: "accept", content: {} } },
  twice: { result: { action: "accept", content: { q_0: "__skip__" } } },
  refuse: { result: { action: "decline" } },
  unknown: { result: { action: "accept", content: { q_0: "no such option" } } },
  error: { error: { code: -32603, message: "the form could not be shown" } },
  garbage: { result: { action: ["accept"], content: 7 } },
};

function plainAnswer(asked: Asked, how: Policy): Json {
  if (staysOpen(how)) return { result: { outcome: { outcome: "selected", optionId: "no such option" } } };
  return choose(asked, how === "refuse" ? "reject_once" : "allow_once");
}

/** A question of the model's, which names no prompt: it is answered somehow, and its turn goes on in any case. */
export function answerQuestion(world: World, asked: Asked, policy: Policy): void {
  const { peer } = world.bridge;
  const how = policy === "never" ? "now" : policy;
  world.count(`question ${how}`);
  const answer = asked.form ? FORM[how] : plainAnswer(asked, how);
  if (how === "late") return world.after(LATE_MS, () => peer.answer(asked, answer));
  peer.answer(asked, answer);
  if (how === "twice") peer.answer(asked, answer);
}

/** Does what the policy of the prompt says; which garbage follows from its number. */
export function answerPolicy(world: World, prompt: Prompt, asked: Asked, policy: Policy): void {
  const { peer } = world.bridge;
  world.count(`answer ${policy}`);
  if (staysOpen(policy)) prompt.sent.waitsForPerson = !prompt.cancelled;
  switch (policy) {
    case "now":
      return peer.answer(asked, choose(asked, "allow_once"));
    case "late":
      return world.after(LATE_MS, () => peer.answer(asked, choose(asked, "allow_once")));
    case "twice":
      peer.answer(asked, choose(asked, "allow_once"));
      return peer.answer(asked, choose(asked, "reject_once"));
    case "refuse":
      prompt.refused = true;
      return peer.answer(asked, choose(asked, "reject_once"));
    case "unknown":
      return peer.answer(asked, { result: { outcome: { outcome: "selected", optionId: "no such option" } } });
    case "error":
      return peer.answer(asked, { error: { code: -32603, message: "the dialog could not be shown" } });
    case "garbage":
      return peer.answer(asked, GARBAGE[prompt.number % GARBAGE.length]!);
    case "never":
      return;
  }
}
