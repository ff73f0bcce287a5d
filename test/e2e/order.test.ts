/** Events that are doubled, reordered or lost on the way from the backend. */

import { expect, test } from "bun:test";
import { allowAll, launch } from "../support/agent.ts";

for (const fault of ["--doubled", "--reorder", "--doubled --reorder"]) {
  test(`B5 with ${fault} everything reaches the client once and in order`, async () => {
    const agent = launch({ sim: fault });
    const session = await agent.start({ _meta: { terminal_output: true } });
    allowAll(agent.client);
    const result = await agent.client.prompt(session, "burst 300; bash echo one && echo two; todo");
    expect(result.stopReason).toBe("end_turn");
    expect(result.usage).toBeDefined();
    const plain = launch({});
    const other = await plain.start({ _meta: { terminal_output: true } });
    allowAll(plain.client);
    await plain.client.prompt(other, "burst 300; bash echo one && echo two; todo");
    expect(agent.client.text("agent_message_chunk", session)).toBe(
      plain.client.text("agent_message_chunk", other),
    );
    // The backend writes its to-do list after the tool's result, before or after the turn's end.
    const shape = (updates: readonly Record<string, unknown>[]) =>
      updates
        .map((update) => `${update.sessionUpdate} ${update.title ?? ""} ${update.status ?? ""}`)
        .filter((line) => !/^(agent_|session_info|plan)/.test(line));
    expect(shape(agent.client.updates(session))).toEqual(shape(plain.client.updates(other)));
    await agent.close();
    await plain.close();
  });
}

test("B5 events that never arrive are read from the backend's own log", async () => {
  const agent = launch({ sim: "--lose tool.updated" });
  const session = await agent.start();
  allowAll(agent.client);
  expect((await agent.client.prompt(session, "read missing.ts; text done")).stopReason).toBe("end_turn");
  expect(agent.client.updates(session).some((update) => update.sessionUpdate === "tool_call")).toBe(true);
  expect(agent.client.text("agent_message_chunk", session)).toContain("done");
  await agent.close();
});
