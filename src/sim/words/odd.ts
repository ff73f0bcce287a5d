/** Words for what goes wrong, and for what happens beside the conversation. */
import { compactEvents } from "../compact.ts";
import { failureOf } from "../failures.ts";
import { setGoal } from "../goal.ts";
import type { ModelStep, StepStream } from "../model.ts";
import type { Live } from "../session.ts";

/** A step whose request fails, with what the backend tries before; undefined for a kind that is no request's. */
export function failStep(live: Live, kind: string): ModelStep | undefined {
  const found = live.data.model && failureOf(kind, live.data.model);
  if (!found) return undefined;
  return { fail: { failure: found.failure, times: found.attempts, recovers: false } };
}

/** What a client must pass over: lines that are no frames, values that are no objects, events that nobody knows. */
export function garbage(stream: StepStream): void {
  const { live, turn } = stream;
  const { out } = live.world;
  out.line("this is not JSON");
  out.line('{"method":"session/event","params":');
  out.line("[1,2,3]");
  out.line("null");
  out.line("42");
  out.line('"text"');
  out.line("{}");
  out.frame({ method: "session/event" });
  out.frame({ method: "session/event", params: null });
  out.frame({ method: "session/event", params: { sessionId: live.id, type: 7, payload: "no" } });
  out.frame({ id: "never-asked", result: {} });
  out.notify("future/notification", { sessionId: live.id, anything: [1] });
  turn.event("future.event", { some: "thing" });
  turn.event("model.streaming", { assistantMessageId: 12, kind: "future_delta", delta: { not: "text" } });
  turn.event("tool.updated", { kind: "raw" });
}

/** Compaction in a turn, because the context is full. */
export async function compactNow(stream: StepStream): Promise<void> {
  const { turn, live } = stream;
  const told = compactEvents(turn, "auto");
  told.started();
  await stream.wait(live.world.settings.pace);
  told.completed();
}

export function goalNow(live: Live, objective: string): void {
  setGoal(live, "set", objective);
}

export async function officialHeaders(stream: StepStream): Promise<void> {
  const { live } = stream;
  const answer = await live.world.interactions.ask(
    "interaction/requestOfficialMcpAuthHeaders",
    {
      mcpKey: "maps",
      pluginId: "tools",
      requestId: live.world.ids.uuid(),
      targetOrigin: "https://maps.invalid",
      workspace: { ...live.data.workspace },
    },
    { timeoutS: 60, signal: stream.signal },
  );
  await stream.text(`Headers: ${answer.kind === "result" ? JSON.stringify(answer.result) : answer.kind}\n`);
}
