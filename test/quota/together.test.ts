/** Several clients of one bridge that want to know at the same moment. */

import { afterAll, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { testBridge } from "../support/bridge.ts";
import { envFor, GLM_BODY, homeWithPlan, startProviders } from "../support/providers.ts";

const providers = startProviders();
afterAll(() => providers.stop());

test("Q3 R28 clients of one bridge that ask at once share one request, also where nothing can be kept on disk", async () => {
  const home = homeWithPlan();
  mkdirSync(join(home, ".local"));
  writeFileSync(join(home, ".local", "state"), "a file in the place of a folder");
  const { bridge, client } = testBridge({ env: envFor(providers, home) });
  providers.glm.answer = async () => {
    await Bun.sleep(100);
    return Response.json(GLM_BODY);
  };
  const clients = [client(), client(), client()];
  for (const each of clients) await each.initialize();
  const answers = await Promise.all(clients.map((each) => each.request("account/usage_stats", {})));
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  expect(answers[0]).toMatchObject({ glm: { kind: "success", level: "pro" } });
  expect(providers.glm.requests).toHaveLength(1);
  await bridge.close();
});
