/** Questions and plans of the simulated ZCode, through the built file, for an editor with forms and one without. */

import { expect, test } from "bun:test";
import { allowAll, launch } from "../support/agent.ts";
import type { Json } from "../support/plainClient.ts";

test("P12 P15 P17 P11 P14 an editor with forms answers the model's questions in one, and approves a plan that it can read", async () => {
  const agent = launch();
  agent.client.handlers.set("elicitation/create", (params) => {
    const { properties } = params.requestedSchema as { properties: Record<string, Json> };
    const first = ((properties.q_0 as Json).oneOf as Json[])[0]!.const;
    const all = (((properties.q_1 as Json).items as Json).anyOf as Json[]).map((option) => option.const);
    return { action: "accept", content: { q_0: first, q_1: all.filter((value) => value !== "__skip__") } };
  });
  const asked = allowAll(agent.client);
  const session = await agent.start({ elicitation: { form: {} } });
  expect((await agent.client.prompt(session, "question; text thank you")).stopReason).toBe("end_turn");
  expect(agent.client.frames.filter((frame) => frame.method === "elicitation/create")).toHaveLength(1);
  expect(agent.client.text()).toContain("thank you");
  expect((await agent.client.prompt(session, "plan Do it all; text on it")).stopReason).toBe("end_turn");
  expect(JSON.stringify(asked.at(-1))).toContain("Do it all");
  expect(agent.client.text()).toContain("on it");
  await agent.close();
});

test("P12 P15 an editor without forms answers the same questions one by one; a plan that it rejects is no end of the conversation", async () => {
  const agent = launch();
  const titles: unknown[] = [];
  agent.client.handlers.set("session/request_permission", (params) => {
    titles.push((params.toolCall as Json).title);
    const options = params.options as Json[];
    const reject = options.find((option) => option.optionId === "reject");
    return { outcome: { outcome: "selected", optionId: (reject ?? options[0])!.optionId } };
  });
  const session = await agent.start();
  expect((await agent.client.prompt(session, "question; text thank you")).stopReason).toBe("end_turn");
  expect(titles.length).toBeGreaterThan(2);
  expect(agent.client.text()).toContain("thank you");
  await agent.client.prompt(session, "plan Not this");
  expect((await agent.client.prompt(session, "text go on")).stopReason).toBe("end_turn");
  await agent.close();
});
