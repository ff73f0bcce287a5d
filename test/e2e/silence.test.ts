/** Turns that say nothing, with the waits of rules 600 times shorter: ten minutes are a second. */

import { expect, test } from "bun:test";
import { allowAll, launch, within } from "../support/agent.ts";

const quick = { ZCODE_ACP_INTERNAL_TIME_SCALE: "600" };

test("B8 a turn whose numbers stand still for ten minutes ends gently: one line, end_turn, and the next prompt works", async () => {
  const agent = launch({ env: quick });
  const session = await agent.start();
  const result = await within(
    agent.client.prompt(session, "text before; silence 6000 frozen; text late"),
    20_000,
    "the end",
  );
  expect(result.stopReason).toBe("end_turn");
  const notices = agent.client
    .updates(session)
    .filter((update) => String(update.messageId).startsWith("notice_"));
  expect(notices).toHaveLength(1);
  expect(JSON.stringify(notices[0])).toContain("no progress for ten minutes");
  expect((await agent.client.prompt(session, "text after")).stopReason).toBe("end_turn");
  expect(agent.client.text("agent_message_chunk", session)).not.toContain("late");
  expect(agent.client.text("agent_message_chunk", session).match(/before/g)).toHaveLength(1);
  await agent.close();
}, 40_000);

test("B8 a silent turn whose numbers move lives on, and shows it by usage and never by text", async () => {
  const agent = launch({ env: quick });
  const session = await agent.start();
  const result = await within(
    agent.client.prompt(session, "text before; silence 1500; text late"),
    20_000,
    "the end",
  );
  expect(result.stopReason).toBe("end_turn");
  const text = agent.client.text("agent_message_chunk", session);
  expect(text).toContain("late");
  expect(text).not.toContain("progress");
  expect(
    agent.client.updates(session).filter((update) => update.sessionUpdate === "usage_update").length,
  ).toBeGreaterThan(3);
  await agent.close();
}, 40_000);

test("B8 an open command means life, and its card shows it", async () => {
  const agent = launch({ env: quick });
  const session = await agent.start();
  allowAll(agent.client);
  const result = await within(agent.client.prompt(session, "bash sleep 2.5"), 20_000, "the end");
  expect(result.stopReason).toBe("end_turn");
  const signs = agent.client
    .updates(session)
    .filter((update) => update.sessionUpdate === "tool_call_update" && update.status === "in_progress");
  expect(signs.length).toBeGreaterThan(3);
  await agent.close();
}, 40_000);
