/** The goal of a session: shown, set, paused, cleared; setting one starts a turn. */
import { lateBrain } from "./background.ts";
import type { Live } from "./session.ts";
import { settingsOf } from "./snapshot.ts";
import type { TurnSpec } from "./turn.ts";
import type { GoalTarget } from "./types.ts";
import { internal } from "./wire.ts";

export type GoalAction = "show" | "set" | "replace" | "pause" | "resume" | "clear";

const DONE: Record<Exclude<GoalAction, "show">, string> = {
  set: "set",
  replace: "replaced",
  pause: "paused",
  resume: "resumed",
  clear: "cleared",
};

/** Changes the goal and tells of it. @throws -32603 without an objective or a goal. */
export function setGoal(live: Live, action: Exclude<GoalAction, "show">, objective?: string): void {
  const { world, data } = live;
  const previous = data.goal ? { ...data.goal } : undefined;
  const now = world.clock.now();
  if (action === "set" || action === "replace") {
    if (!objective) throw internal("An objective is required");
    data.goal = {
      sessionId: live.id,
      targetId: `target_${world.ids.uuid()}`,
      objective,
      summaryTitle: null,
      status: "active",
      tokenBudget: null,
      tokensUsed: 0,
      timeUsedSeconds: 0,
      activeInputId: null,
      activeRunStartedAtMs: null,
      activeRunLastSeenAtMs: null,
      createdAt: now,
      updatedAt: now,
    };
  } else {
    if (!data.goal) throw internal("There is no goal");
    if (action === "clear") delete data.goal;
    else data.goal = { ...data.goal, status: action === "pause" ? "paused" : "active", updatedAt: now };
  }
  live.event("session.updated", {
    action: DONE[action],
    source: "command",
    ...(data.goal ? { target: { ...data.goal } } : {}),
    ...(previous ? { previousTarget: previous } : {}),
  });
  live.save();
  live.stateUpdated(`goal_${DONE[action]}`, settingsOf(live, false));
}

/** A stop pauses an active goal, whatever turn it ends. */
export function pauseForStop(live: Live): void {
  const { goal } = live.data;
  if (goal?.status !== "active") return;
  goal.status = "paused";
  live.event("session.updated", { action: "paused", source: "stop", target: { ...goal } });
  live.stateUpdated("session_stop_goal_paused", settingsOf(live, false));
}

export function goalText(action: GoalAction, goal: GoalTarget | undefined): string {
  if (action === "clear") return "Goal cleared";
  if (!goal) return "No goal is set.";
  const usage =
    action === "show"
      ? `\nUsage: ${goal.tokensUsed} tokens / none\nTime: ${goal.timeUsedSeconds} seconds`
      : "";
  return `Goal ${goal.status}\nObjective: ${goal.objective}${usage}`;
}

/** The turn by which the model works towards the goal. */
export function goalTurn(live: Live): TurnSpec {
  const input = `Work towards the goal: ${live.data.goal?.objective ?? ""}`;
  return {
    kind: "goal",
    input,
    inputId: live.world.ids.uuid(),
    started: { inputSource: "goal-continuation", inputVisibility: "model-only" },
    message: { kind: "system_reminder", hidden: true, source: "goal-continuation" },
    reasons: {
      completed: "goal_continuation_completed",
      failed: "goal_continuation_failed",
      cancelled: "goal_continuation_failed",
    },
    brain: lateBrain(live, input),
  };
}
