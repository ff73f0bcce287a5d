/** A turn that says nothing in a session that the backend has dropped meanwhile. */

import { expect, test } from "bun:test";
import { scaledClock, systemClock } from "../../src/platform/clock.ts";
import type { PlayedServer } from "../support/bridge.ts";
import type { Json } from "../support/plainClient.ts";
import { serveSubscribe, sessionEvent, startPlayed } from "../support/played.ts";

const messages: Json[] = [
  { info: { messageId: "u1", role: "user" }, parts: [{ type: "text", text: "hi" }] },
  { info: { messageId: "m1", role: "assistant" }, parts: [{ type: "text", text: "Hello." }] },
];

/** Serves whatever brings the session back and reads it, until a prompt is sent. */
async function serveUntilSend(server: PlayedServer): Promise<Json> {
  for (;;) {
    const frame = await server.take((each) =>
      ["session/resume", "session/subscribe", "session/messages", "session/send", "session/read"].includes(
        String(each.method),
      ),
    );
    if (frame.method === "session/send") return frame;
    const session = { session: { sessionId: "s1" }, runtime: { eventSeq: 1 } };
    server.push({ id: frame.id, result: { ...session, messages } });
  }
}

test("B5 B8 a silent turn whose session is gone ends at once and gently: what it stored is shown once, and the next prompt works", async () => {
  const { test, client, server } = await startPlayed(scaledClock(systemClock(), 500));
  const id = await client.newSession("/one");
  const answer = client.prompt(id, "hi");
  const create = await server.take((frame) => frame.method === "session/create");
  server.push({ id: create.id, result: { session: { sessionId: "s1" }, runtime: { eventSeq: 0 } } });
  await serveSubscribe(server);
  const send = await server.take((frame) => frame.method === "session/send");
  server.push({ id: send.id, result: { accepted: true } });
  const { inputId } = send.params as Json;
  server.push(sessionEvent("s1", 1, "turn.started", { inputId, messageId: "u1" }));
  const delta = { kind: "text_delta", assistantMessageId: "m1", delta: "Hel" };
  server.push(sessionEvent("s1", 2, "model.streaming", delta));
  const gone = { code: -32004, message: "Session is not active: s1" };
  const look = await server.take((frame) => frame.method === "session/read");
  server.push({ id: look.id, error: gone });
  const read = await server.take((frame) => frame.method === "session/messages");
  server.push({ id: read.id, error: gone });
  const next = answer.then((ended) => {
    expect(ended.stopReason).toBe("end_turn");
    return client.prompt(id, "next");
  });
  const again = await serveUntilSend(server);
  expect((again.params as Json).content).toBe("next");
  server.push({ id: again.id, result: { accepted: true } });
  server.push(sessionEvent("s1", 2, "turn.started", { inputId: (again.params as Json).inputId }, "t2"));
  server.push(sessionEvent("s1", 3, "turn.completed", { resultType: "success" }, "t2"));
  expect((await next).stopReason).toBe("end_turn");
  const said = client
    .updates(id)
    .filter((update) => update.sessionUpdate === "agent_message_chunk")
    .filter((update) => !String(update.messageId).startsWith("notice_"))
    .map((update) => (update.content as Json).text);
  expect(said.join("")).toBe("Hello.");
  expect(client.text("user_message_chunk")).toBe("");
  await test.bridge.close();
});
