/** The context's size as clients see it. */

import { expect, test } from "bun:test";
import { sessionEvent, settle, startRunning } from "../support/played.ts";

test("P8 each change of the context is told with its true window, also where the backend names 0 or none", async () => {
  const { test, client, server, id } = await startRunning();
  for (const [seq, [totalTokens, contextWindow]] of [[100, 5000], [200, 0], [300]].entries())
    server.push(sessionEvent("s1", seq + 2, "session.updated", { usage: { totalTokens }, contextWindow }));
  await settle();
  const told = client.updates(id).filter((update) => update.sessionUpdate === "usage_update");
  expect(told.map(({ used, size }) => [used, size])).toEqual([
    [100, 5000],
    [200, 5000],
    [300, 5000],
  ]);
  await test.bridge.close();
});
