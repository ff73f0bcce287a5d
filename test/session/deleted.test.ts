/** What `session/delete` does to a conversation that is open here, and what undoes it. */

import { expect, test } from "bun:test";
import { join } from "node:path";
import { systemClock } from "../../src/platform/clock.ts";
import { Remembered } from "../../src/store/remembered.ts";
import { testBridge } from "../support/bridge.ts";
import type { Json } from "../support/plainClient.ts";
import { serveSubscribe, sessionEvent, settle, startPlayed, startRunning } from "../support/played.ts";
import { until } from "../support/processes.ts";
import { tempDir } from "../support/temp.ts";

/** The same file, as the process of another window has it. */
const otherWindow = (home: string) =>
  new Remembered(join(home, ".local/state/zcode-acp"), { write: () => {}, once: () => {} }, systemClock());

const ENDED = sessionEvent("s1", 2, "turn.completed", { resultType: "success" });

test("R32 what another window deleted is listed again once it is opened here, or a turn of it has ended here", async () => {
  const { test, client, server, id, answer } = await startRunning();
  const other = otherWindow(test.home);
  const shown = () => !other.hidden().has("s1");
  expect(await other.hide("s1")).toBe(true);
  await settle();
  expect(shown()).toBe(false);
  server.push(ENDED);
  expect(await answer).toMatchObject({ stopReason: "end_turn" });
  await until("the turn's end shows it", 3_000, shown);
  expect(await other.hide("s1")).toBe(true);
  await client.request("session/resume", { sessionId: id, cwd: "/one", mcpServers: [] });
  await until("opening it shows it", 3_000, shown);
  await test.bridge.close();
});

/** A later bridge that has `s1` open under the session's own id, which an earlier one made for the placeholder `id`. */
async function openedByItsOwnId() {
  const home = tempDir("deleted");
  const first = await startRunning({ HOME: home });
  first.server.push(ENDED);
  await first.answer;
  await first.test.bridge.close();
  const test = testBridge({ env: { HOME: home } });
  const client = test.client();
  await client.initialize();
  const resumed = client.request("session/resume", { sessionId: "s1", cwd: "/one", mcpServers: [] });
  const server = await test.server(0);
  const probe = await server.take((frame) => frame.method === "runtime/capabilities");
  server.push({ id: probe.id, result: {} });
  const resume = await server.take((frame) => frame.method === "session/resume");
  server.push({ id: resume.id, result: { session: { sessionId: "s1" }, runtime: { eventSeq: 2 } } });
  await serveSubscribe(server);
  await resumed;
  return { test, client, server, id: first.id, other: otherWindow(home) };
}

test("R32 P2 a conversation that is open under its session's id is closed by a delete of its placeholder", async () => {
  const { test, client, server, id, other } = await openedByItsOwnId();
  expect(await client.request("session/delete", { sessionId: id })).toEqual({});
  expect((await server.take((frame) => frame.method === "session/close")).params).toEqual({
    sessionId: "s1",
  });
  await expect(client.prompt("s1", "no")).rejects.toMatchObject({ code: -32002 });
  expect(other.hidden().has("s1")).toBe(true);
  await test.bridge.close();
});

test("R32 P2 a conversation that is open under its session's id is listed again once its placeholder is opened", async () => {
  const { test, client, id, other } = await openedByItsOwnId();
  expect(await other.hide("s1")).toBe(true);
  await client.request("session/resume", { sessionId: id, cwd: "/one", mcpServers: [] });
  await until("opening it shows it", 3_000, () => !other.hidden().has("s1"));
  await test.bridge.close();
});

test("R32 P2 a delete forgets what was chosen for a placeholder", async () => {
  const { test, client } = await startPlayed();
  const id = await client.newSession("/one");
  const set: Json = { sessionId: id, configId: "mode", value: "plan" };
  await client.request("session/set_config_option", set);
  const other = otherWindow(test.home);
  await until("the choice is written", 3_000, () => other.choice(id));
  expect(await client.request("session/delete", { sessionId: id })).toEqual({});
  await until("it is forgotten", 3_000, () => other.choice(id) === undefined);
  await test.bridge.close();
});
