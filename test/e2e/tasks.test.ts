/** Background work over the simulator: what reaches a client after the turn that launched it. */

import { expect, test } from "bun:test";
import { allowAll, launch } from "../support/agent.ts";
import type { Json } from "../support/plainClient.ts";

const byId = (updates: readonly Json[], id: unknown) => updates.filter((update) => update.toolCallId === id);

test("P28 P29 a background command ends on its launch card, and its notification's text is told once, with no prompt running", async () => {
  const agent = launch();
  const session = await agent.start({ _meta: { terminal_output: true } });
  allowAll(agent.client);
  expect((await agent.client.prompt(session, "background sleep 0.2 && echo built")).stopReason).toBe(
    "end_turn",
  );
  const opened = agent.client.updates(session).find((update) => update.sessionUpdate === "tool_call")!;
  const closed = await agent.client.update(
    (update) => update.toolCallId === opened.toolCallId && update.status === "completed",
  );
  expect(closed).toMatchObject({ _meta: { terminal_exit: { exit_code: 0 } } });
  const card = byId(agent.client.updates(session), opened.toolCallId);
  const written = card
    .map((update) => ((update._meta as Json).terminal_output as Json | undefined)?.data ?? "")
    .join("");
  expect(written.match(/built/g)).toHaveLength(1);
  await agent.client.frame(
    () =>
      agent.client.text("agent_message_chunk", session).includes("built") ||
      agent.client.updates(session).at(-1)?.sessionUpdate === "usage_update",
  );
  expect((await agent.client.prompt(session, "text after")).stopReason).toBe("end_turn");
  await agent.close();
});

test("P26 P28 a background sub-agent has its own card, and a prompt behind its notification waits and is answered", async () => {
  const agent = launch();
  const session = await agent.start();
  allowAll(agent.client);
  await agent.client.prompt(session, "agent-background look around");
  const own = await agent.client.update(
    (update) => update.sessionUpdate === "tool_call" && String(update.title).startsWith("[background]"),
  );
  expect(own).toMatchObject({ kind: "other", status: "in_progress" });
  await agent.client.update(
    (update) => update.toolCallId === own.toolCallId && update.status === "completed",
  );
  expect((await agent.client.prompt(session, "text after")).stopReason).toBe("end_turn");
  expect(agent.client.text("agent_message_chunk", session)).toContain("after");
  await agent.close();
});

test("P31 a background task is cancelled from its own conversation, and from no other", async () => {
  const agent = launch();
  const session = await agent.start({ _meta: { terminal_output: true } });
  const other = await agent.client.newSession(agent.workspace);
  allowAll(agent.client);
  await agent.client.prompt(session, "background sleep 60");
  await agent.client.prompt(other, "text other");
  const opened = agent.client.updates(session).find((update) => update.sessionUpdate === "tool_call")!;
  const seen = await agent.client.update(
    (update) =>
      update.toolCallId === opened.toolCallId && (update._meta as Json).backgroundTask !== undefined,
  );
  const { taskId } = (seen._meta as Json).backgroundTask as { taskId: string };
  await expect(
    agent.client.request("session/cancelBackgroundTask", { sessionId: other, taskId }),
  ).rejects.toMatchObject({ data: { code: "ZACP-206" } });
  expect(
    await agent.client.request("_session/cancelBackgroundTask", { sessionId: session, taskId }),
  ).toMatchObject({ cancelled: true });
  const closed = await agent.client.update(
    (update) => update.toolCallId === opened.toolCallId && update.status === "failed",
  );
  expect(closed).toMatchObject({
    _meta: { backgroundTask: { taskId, cancelled: true }, terminal_exit: { exit_code: 1 } },
  });
  expect(
    await agent.client.request("session/cancelBackgroundTask", { sessionId: session, taskId }),
  ).toMatchObject({ cancelled: false });
  await agent.close();
});
