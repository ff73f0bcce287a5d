/** Slash commands: when they are listed, what counts as one, and what answers it. */

import { afterAll, expect, test } from "bun:test";
import { launch } from "../support/agent.ts";
import type { Json } from "../support/plainClient.ts";
import { envFor, homeWithPlan, startProviders } from "../support/providers.ts";

const providers = startProviders();
afterAll(() => providers.stop());

test("A8 R28 Q1 commands are listed behind the answer that names the session; /quota is answered at once, beside a turn, and is no prompt", async () => {
  const home = homeWithPlan();
  const agent = launch({ home, env: envFor(providers, home) });
  const session = await agent.start();
  const list = await agent.client.frame(
    (frame) =>
      ((frame.params as Json | undefined)?.update as Json | undefined)?.sessionUpdate ===
      "available_commands_update",
  );
  const answer = agent.client.frames.findIndex(
    (frame) => (frame.result as Json | undefined)?.sessionId === session,
  );
  expect(agent.client.frames.indexOf(list)).toBeGreaterThan(answer);
  expect(((list.params as Json).update as Json).availableCommands).toContainEqual({
    name: "quota",
    description: "How much of your plans is used",
    input: { hint: "glm|go|ollama" },
  });
  const running = agent.client.prompt(session, "text before; sleep 1; text after");
  await agent.client.update((update) => JSON.stringify(update).includes("before"));
  expect((await agent.client.prompt(session, "/quota")).stopReason).toBe("end_turn");
  const shown = agent.client.text();
  for (const word of ["GLM Coding Plan · pro", "35%", "OpenCode Go", "Ollama Cloud"])
    expect(shown).toContain(word);
  // The turn that ran goes on: the command was no prompt.
  expect((await running).stopReason).toBe("end_turn");
  expect(agent.client.text()).toContain("after");
  expect((await agent.client.prompt(session, " /quota go ")).stopReason).toBe("end_turn");
  expect((await agent.client.prompt(session, "/quota nobody")).stopReason).toBe("end_turn");
  expect(agent.client.text()).toContain("Usage is known of glm, go, ollama.");
  // What only looks like one reaches the model.
  for (const words of ["/quotas", "/Users/me", "a /quota", "/ quota"]) {
    const before = agent.client.text().length;
    await agent.client.prompt(session, words);
    expect(agent.client.text().slice(before)).toContain("You said");
  }
  // It is not stored, so no load brings it back.
  const replay = agent.client.frames.length;
  await agent.client.request("session/load", { sessionId: session, cwd: agent.workspace, mcpServers: [] });
  expect(JSON.stringify(agent.client.frames.slice(replay))).not.toContain("GLM Coding Plan");
  await agent.close();
}, 30_000);

test("A5 A8 a command that waits for its answer is cancelled like a prompt", async () => {
  const slow = startProviders();
  slow.glm.answer = () => new Promise<Response>(() => {});
  const home = homeWithPlan();
  const agent = launch({ home, env: envFor(slow, home) });
  const session = await agent.start();
  const first = agent.client.prompt(session, "/quota glm");
  const second = agent.client.prompt(session, "/quota glm");
  agent.client.notify("$/cancel_request", { requestId: first.id });
  expect((await first).stopReason).toBe("cancelled");
  agent.client.notify("session/cancel", { sessionId: session });
  expect((await second).stopReason).toBe("cancelled");
  await agent.close();
  await slow.stop();
});
