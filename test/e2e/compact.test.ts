/** Compaction over the simulator: wanted by a setting, seen from a client. */

import { expect, test } from "bun:test";
import { launch } from "../support/agent.ts";

const used = (update: Record<string, unknown>) =>
  update.sessionUpdate === "usage_update" ? Number(update.used) : undefined;

test("P23 B22 a context over the threshold is made smaller after the turn, unseen but for its size, and a prompt waits for it", async () => {
  const agent = launch({ env: { ZCODE_ACP_AUTO_COMPACT_THRESHOLD: "50000" } });
  const session = await agent.start();
  await agent.client.prompt(session, "text one");
  await agent.client.prompt(session, "text two; usage 60000");
  await agent.client.update((update) => used(update) === 60000);
  const next = agent.client.prompt(session, "text three");
  await agent.client.update((update) => (used(update) ?? 60000) < 50000);
  expect((await next).stopReason).toBe("end_turn");
  expect(agent.client.text("agent_message_chunk", session)).toMatch(/^onetwo(\n\nWaiting[^\n]*\n\n)?three$/);
  await agent.close();
});

test("P23 without the setting a full context is left to the agent", async () => {
  const agent = launch();
  const session = await agent.start();
  await agent.client.prompt(session, "text two; usage 60000");
  await agent.client.prompt(session, "text three");
  const sizes = agent.client.updates(session).flatMap((update) => used(update) ?? []);
  expect(sizes).toContain(60000);
  expect(agent.client.text("agent_message_chunk", session)).toBe("twothree");
  await agent.close();
});
