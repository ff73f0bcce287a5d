/** What runs in the background when the backend's process goes. */

import { expect, test } from "bun:test";
import type { Json } from "../support/plainClient.ts";
import { sessionEvent, settle, startRunning } from "../support/played.ts";

test("P31 B10 M8 a task that went with the backend ends on its card, with no prompt running, and is not ended again", async () => {
  const { test, client, server, id, answer } = await startRunning();
  server.push(sessionEvent("s1", 2, "turn.completed", { resultType: "success" }));
  await answer;
  const task = (taskId: string, more: Json) =>
    ({ taskId, toolCallId: `call-${taskId}`, status: "running", ...more }) satisfies Json;
  server.push(sessionEvent("s1", 3, "session.updated", task("one", { command: "sleep 100" })));
  server.push(sessionEvent("s1", 4, "session.updated", task("two", { description: "Look around" })));
  server.push(
    sessionEvent(
      "s1",
      5,
      "session.updated",
      task("two", { description: "Look around", status: "completed" }),
    ),
  );
  await settle();
  const states = (card: string) =>
    client.updates(id).flatMap(({ toolCallId, status }) => (toolCallId === card ? [status] : []));
  expect(states("bg_one").at(-1)).toBe("in_progress");
  expect(states("bg_two").at(-1)).toBe("completed");
  const before = states("bg_two").length;
  server.die(1);
  await settle();
  expect(states("bg_one").at(-1)).toBe("failed");
  // And says why.
  expect(JSON.stringify(client.updates(id).findLast(({ status }) => status === "failed"))).toContain("lost");
  expect(states("bg_two")).toHaveLength(before);
  await test.bridge.close();
});
