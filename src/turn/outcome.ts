/** What the end of a turn is to the prompt that asked for it. */

import { phrase } from "../locale/index.ts";
import type { Outcome, TurnEnd } from "./types.ts";

export const cancelled: Outcome = { kind: "ended", stopReason: "cancelled", usage: undefined };

export function outcomeOf(end: TurnEnd): Outcome {
  if (end.kind === "failed") return { kind: "failed", failure: end.failure };
  const { usage } = end;
  switch (end.resultType) {
    case "cancelled":
      return { kind: "ended", stopReason: "cancelled", usage };
    case "error_max_turns":
    case "error_max_tool_calls":
    case "error_max_budget":
      return { kind: "ended", stopReason: "max_turn_requests", usage };
    case "error_during_execution":
      return { kind: "failed", failure: { kind: "other", message: phrase("reason.turnError", {}) }, usage };
    default:
      return { kind: "ended", stopReason: "end_turn", usage };
  }
}
