/** What is remembered over the end of bridge and backend: choices, and what was deleted. */

import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Agent, launch } from "../support/agent.ts";
import type { Json } from "../support/plainClient.ts";
import { until } from "../support/processes.ts";

const values = (answer: Json): Json =>
  Object.fromEntries((answer.configOptions as Json[]).map((option) => [option.id, option.currentValue]));

const set = (agent: Agent, sessionId: string, configId: string, value: string) =>
  agent.client.request("session/set_config_option", { sessionId, configId, value });

const load = (agent: Agent, sessionId: string) =>
  agent.client.request("session/load", { sessionId, cwd: agent.workspace, mcpServers: [] });

const listed = async (agent: Agent) =>
  ((await agent.client.request("session/list", { cwd: agent.workspace })).sessions as Json[]).map(
    (each) => each.sessionId,
  );

/** The next window of the same editor. */
async function again({ home, workspace }: Agent): Promise<Agent> {
  const agent = launch({ home, workspace });
  await agent.client.initialize({}, { name: "test", version: "1" });
  return agent;
}

test("P2 A7 P24 what was chosen before first use survives the bridge's death, rides along with the first prompt, and stays", async () => {
  const first = launch();
  const session = await first.start();
  await set(first, session, "mode", "plan");
  await set(first, session, "model", "sim\\sim-small");
  await until("both are written", 5_000, () => {
    try {
      return new TextDecoder()
        .decode(Bun.spawnSync(["cat", join(first.home, ".local/state/zcode-acp/sessions.json")]).stdout)
        .includes("sim-small");
    } catch {
      return false;
    }
  });
  first.child.kill("SIGKILL");
  await first.exited;

  const second = await again(first);
  expect(values(await load(second, session))).toMatchObject({ mode: "plan" });
  await second.client.prompt(session, "text one");
  expect(values(await load(second, session))).toMatchObject({ mode: "plan", model: "sim\\sim-small" });
  // From here on the backend remembers, also what another surface does.
  await set(second, session, "mode", "edit");
  second.child.kill("SIGKILL");
  await second.exited;

  const third = await again(first);
  expect(values(await load(third, session))).toMatchObject({ mode: "edit", model: "sim\\sim-small" });
  // And it outlives the backend alone.
  await third.client.prompt(session, "crash").catch(() => {});
  await third.client.prompt(session, "text two");
  expect(values(await load(third, session))).toMatchObject({ mode: "edit", model: "sim\\sim-small" });
  expect(await third.close()).toBe(0);
}, 30_000);

test("R32 a deleted conversation is closed, gone from the list of every window, kept by the backend, and back when it is used", async () => {
  const first = launch();
  const session = await first.start();
  await first.client.prompt(session, "text keep this");
  const other = await first.client.newSession(first.workspace);
  await first.client.prompt(other, "text another");
  expect(await listed(first)).toHaveLength(2);
  const running = first.client.prompt(session, "silence 20");
  await Bun.sleep(50);
  expect(await first.client.request("session/delete", { sessionId: session })).toEqual({});
  expect((await running).stopReason).toBe("cancelled");
  expect(await listed(first)).toEqual([other]);
  await expect(first.client.prompt(session, "text no")).rejects.toMatchObject({ code: -32002 });
  const second = await again(first);
  expect(await listed(second)).toHaveLength(1);
  await load(second, session);
  expect(second.client.text("agent_message_chunk", session)).toContain("keep this");
  expect(await listed(second)).toHaveLength(2);
  await until("the other window lists it again", 5_000, async () => (await listed(first)).length === 2);
  // A placeholder that was never used leaves nothing, and one that is nobody's is no error.
  const unused = await second.client.newSession(second.workspace);
  for (const sessionId of [unused, unused, "sess_nobody"])
    expect(await second.client.request("session/delete", { sessionId })).toEqual({});
  expect(await second.close()).toBe(0);
  expect(await first.close()).toBe(0);
}, 30_000);

test("R32 D4 where the list's file cannot be written, a delete says so", async () => {
  const agent = launch();
  const session = await agent.start();
  await agent.client.prompt(session, "text one");
  const path = join(agent.home, ".local/state/zcode-acp/sessions.json");
  mkdirSync(dirname(path), { recursive: true });
  mkdirSync(path);
  writeFileSync(join(path, "in the way"), "");
  await expect(agent.client.request("session/delete", { sessionId: session })).rejects.toThrow(
    /still listed/,
  );
  expect(await listed(agent)).toHaveLength(1);
  expect(await agent.close()).toBe(0);
});
