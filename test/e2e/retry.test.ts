/** Passing failures of the model, over the simulator with the waits of rules 60 times shorter. */

import { expect, test } from "bun:test";
import { launch } from "../support/agent.ts";

const quick = { ZCODE_ACP_INTERNAL_TIME_SCALE: "60" };

test("B9 a prompt whose turn fails for a passing reason is tried again, visibly, and its words stand once in the history", async () => {
  const agent = launch({ env: quick });
  const session = await agent.start();
  expect((await agent.client.prompt(session, "text hello there; fail network 2")).stopReason).toBe(
    "end_turn",
  );
  const lines = agent.client
    .updates(session)
    .filter((update) => String(update.messageId).startsWith("notice_"))
    .map((update) => JSON.stringify(update));
  expect(lines).toHaveLength(2);
  expect(lines[0]).toContain("trying again in 1 s (1 of 5)");
  expect(lines[1]).toContain("trying again in 2 s (2 of 5)");
  await agent.client.prompt(session, "text next");
  await agent.close();
  const next = launch({ home: agent.home, workspace: agent.workspace });
  await next.client.initialize();
  await next.client.request("session/load", { sessionId: session, cwd: agent.workspace, mcpServers: [] });
  expect(next.client.text("user_message_chunk").match(/hello there/g)).toHaveLength(1);
  expect(next.client.text("agent_message_chunk")).not.toContain("trying again");
  await next.close();
});

test("B9 what does not pass after five tries is the answer, and the conversation stays usable", async () => {
  const agent = launch({ env: quick });
  const session = await agent.start();
  await expect(agent.client.prompt(session, "fail network 9")).rejects.toMatchObject({
    data: { code: "ZACP-315" },
  });
  await expect(agent.client.prompt(session, "fail quota")).rejects.toMatchObject({
    data: { code: "ZACP-312" },
  });
  await agent.close();
});
