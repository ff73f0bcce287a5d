/** Compaction: its events, and the messages that stand in the conversation afterwards. */
import { AssistantMessage, addUserMessage } from "./messages.ts";
import type { Live } from "./session.ts";
import { runStep } from "./step.ts";
import type { Turn, TurnSpec } from "./turn.ts";
import type { Obj } from "./types.ts";

interface CompactTold {
  started(): void;
  /** @param summary the model's own words, for a manual one. */
  completed(summary?: string): void;
  skipped(): void;
}

/** The three things that can be told of one compaction. */
export function compactEvents(turn: Turn, trigger: "manual" | "auto"): CompactTold {
  const { live } = turn;
  const { world, data } = live;
  const operationId = `cmp_${world.ids.uuid()}`;
  const timeline = new AssistantMessage(live, turn.id, turn.messageId, "timeline_event");
  const partId = `part_${world.ids.uuid()}`;
  const before = data.contextUsed;
  const lastMessageId = data.messages.at(-1)?.info.id;
  const startedAt = world.clock.now();
  const compactReason = trigger === "manual" ? "user_requested" : "context_limit";
  const phase = trigger === "manual" ? "standalone_turn" : "pre_request";
  const tell = (status: string, more: Obj = {}) =>
    turn.event("session.updated", {
      operationId,
      messageId: timeline.id,
      partId,
      status,
      trigger,
      phase,
      compactReason,
      display: "separator",
      preCompactTokenCount: before,
      startedAt,
      ...more,
    });
  return {
    started: () => tell("started"),
    skipped: () => tell("skipped", { endedAt: world.clock.now(), replace: true }),
    completed: (summary) => {
      const boundaryId = `boundary_${world.ids.uuid()}`;
      const summaryId = `msg_${world.ids.uuid()}`;
      const post = Math.min(before, 1900);
      data.contextUsed = post;
      const endedAt = world.clock.now();
      const count = data.messages.length;
      if (trigger === "manual") {
        turn.event("session.updated", {
          traceId: data.traceId,
          boundaryId,
          trigger,
          phase,
          compactReason,
          preCompactTokenCount: before,
          postCompactTokenCount: post,
          truePostCompactTokenCount: post,
          summarizedMessageCount: count,
          ...(lastMessageId ? { lastSummarizedMessageId: lastMessageId } : {}),
          summaryMessageIds: [summaryId],
          turnId: turn.id,
        });
      }
      tell("completed", {
        boundaryId,
        endedAt,
        replace: true,
        postCompactTokenCount: post,
        summaryMessageId: summaryId,
        ...(trigger === "manual" ? { summarizedMessageCount: count } : {}),
      });
      const operation = { operationId, trigger, phase, compactReason };
      timeline.part({
        type: "timeline",
        timelineType: "context_compaction",
        display: "separator",
        status: "completed",
        ...(lastMessageId ? { anchorMessageId: lastMessageId } : {}),
        time: { start: startedAt, end: endedAt },
      });
      timeline.part({
        type: "compaction",
        auto: trigger === "auto",
        ...operation,
        timelineStatus: "completed",
        startedAt,
        endedAt,
        summaryMessageId: summaryId,
      });
      timeline.keep();
      timeline.finish("stop", undefined);
      timeline.message.parts.pop();
      const said = summary ?? "What was said so far fits into one sentence.";
      const message = addUserMessage(
        live,
        turn.id,
        `This session is being continued from a previous conversation that had no more room. What matters of it:\n\n${said}`,
        {
          kind: "compact_summary",
          hidden: true,
          id: summaryId,
          parts: [
            {
              type: "compaction",
              auto: trigger === "auto",
              ...operation,
              compactBoundary: { boundaryId, preCompactTokenCount: before, postCompactTokenCount: post },
            },
          ],
        },
      );
      message.info.summary = { title: "Compact summary", body: said, diffs: [] };
      addUserMessage(
        live,
        turn.id,
        "<system-reminder>\nWork goes on after a compaction.\n</system-reminder>",
        {
          kind: "system_reminder",
          hidden: true,
        },
      );
    },
  };
}

/** Messages since the last compaction; without any there is nothing to do. */
function sinceCompaction(live: Live): number {
  const { messages } = live.data;
  for (let i = messages.length - 1; i >= 0; i--) {
    const semantics = messages[i]!.info.semantics as Obj;
    if (semantics.kind === "compact_summary") return messages.length - i - 2;
  }
  return messages.length;
}

/** The turn of `session/compact`. `summary` is what the model says. */
export function compactTurn(
  live: Live,
  summary = "## So far\n\n- The simulator was asked, and did what it was asked.",
): TurnSpec {
  const something = sinceCompaction(live) > 0;
  return {
    kind: "compact",
    input: "/compact",
    started: { inputVisibility: "model-only" },
    message: { hidden: true, kind: "slash_command" },
    reasons: {
      completed: "session_compacted",
      failed: "session_compact_failed",
      cancelled: "session_compact_cancelled",
    },
    run: async (turn) => {
      const told = compactEvents(turn, "manual");
      // The message of this turn itself is no part of what is shortened.
      live.data.messages.pop();
      await turn.wait(live.world.settings.pace);
      told.started();
      if (!something) {
        await turn.wait(live.world.settings.pace);
        told.skipped();
        turn.response = "There is nothing to compact.";
        return;
      }
      const half = summary.length >> 1;
      await runStep(
        turn,
        {
          stream: async (stream) => {
            await stream.text(summary.slice(0, half));
            await stream.text(summary.slice(half));
          },
        },
        "compact",
      );
      told.completed(summary);
      live.telemetry("compaction.terminal", live.seq, { turnId: turn.id, status: "success" });
      turn.response = "Compacted";
    },
  };
}
