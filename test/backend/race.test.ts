/** Prompts and settings that meet a turn that the backend began by itself, or a backend that cannot take them now. */

import { expect, test } from "bun:test";
import type { PlayedServer } from "../support/bridge.ts";
import type { Json, PlainClient } from "../support/plainClient.ts";
import {
  type Played,
  serveSubscribe,
  sessionEvent,
  settle,
  startPlayed,
  startRunning,
} from "../support/played.ts";

const isSend = (frame: Json) => frame.method === "session/send";

const state = (reason: string): Json => ({
  method: "state.updated",
  params: { sessionId: "s1", reason, patch: {} },
});

/** `s1` is resident, used once and idle. */
async function startIdle(): Promise<Played & { id: string }> {
  const running = await startRunning();
  running.server.push(sessionEvent("s1", 2, "turn.completed", { resultType: "success" }));
  running.server.push(state("prompt_completed"));
  await running.answer;
  return running;
}

/** A prompt is on its way when the backend begins a turn for a task that has ended; it queues the prompt behind that. */
async function raced(server: PlayedServer, client: PlainClient, id: string) {
  const answer = client.prompt(id, "mine");
  const send = await server.take(isSend);
  const { inputId } = send.params as Json;
  const push = (seq: number, type: string, payload: Json, turnId = "n") =>
    server.push(sessionEvent("s1", seq, type, payload, turnId));
  const says = (seq: number, delta: string, turnId = "n") =>
    push(seq, "model.streaming", { kind: "text_delta", assistantMessageId: `m${seq}`, delta }, turnId);
  push(3, "turn.started", { inputSource: "background_task", inputVisibility: "model-only", inputId: "x" });
  push(4, "turn.steerQueued", { pendingInputId: "p1", inputId, targetTurnId: "n" });
  server.push({ id: send.id, result: { accepted: true } });
  says(5, "The task is done. ");
  let settled = false;
  void answer.then(() => {
    settled = true;
  });
  return { answer, push, says, inputId, isSettled: () => settled };
}

const lines = (client: PlainClient) =>
  client.updates().filter((update) => String(update.messageId).startsWith("notice_"));

const words = (client: PlainClient) =>
  client
    .updates()
    .filter((update) => update.sessionUpdate === "agent_message_chunk")
    .filter((update) => !String(update.messageId).startsWith("notice_"))
    .map((update) => (update.content as Json).text)
    .join("");

for (const end of ["turn", "lock"]) {
  test(`B7 P9 P28 a prompt that raced with a notification turn and was drained into it owns its words from there, ends with its ${end}, and is told so`, async () => {
    const { test, client, server, id } = await startIdle();
    const { answer, push, says, isSettled } = await raced(server, client, id);
    // The event is the turn's own; where it names one, that is the same.
    const named = end === "turn" ? {} : { targetTurnId: "n" };
    push(6, "turn.steerDrained", { pendingInputIds: ["p1"], injectedMessageIds: ["u2"], ...named });
    says(7, "And this is yours.");
    await settle();
    expect(isSettled()).toBe(false);
    expect(lines(client)).toHaveLength(1);
    if (end === "turn") {
      push(8, "turn.completed", { resultType: "success" });
      await settle();
      expect(isSettled()).toBe(true);
    }
    server.push(state("prompt_completed"));
    expect((await answer).stopReason).toBe("end_turn");
    expect(words(client)).toBe("The task is done. And this is yours.");
    // Nothing of it hangs on: the next prompt goes when the turn is over.
    if (end === "lock") push(8, "turn.completed", { resultType: "success" });
    const next = client.prompt(id, "next");
    const send = await server.take(isSend);
    server.push({ id: send.id, error: { code: -32603, message: "no" } });
    await next.catch(() => {});
    await test.bridge.close();
  });
}

test("B7 P28 one that got a turn of its own behind the notification's ends with its own, and the notification's end settles nothing", async () => {
  const { test, client, server, id } = await startIdle();
  const { answer, push, says, inputId, isSettled } = await raced(server, client, id);
  push(6, "turn.completed", { resultType: "success" });
  await settle();
  expect(isSettled()).toBe(false);
  push(7, "turn.started", { inputId }, "t2");
  says(8, "Yours.", "t2");
  push(9, "turn.completed", { resultType: "success" }, "t2");
  server.push(state("prompt_completed"));
  expect((await answer).stopReason).toBe("end_turn");
  expect(words(client)).toBe("The task is done. Yours.");
  expect(lines(client)).toEqual([]);
  await test.bridge.close();
});

test("M7 P24 a setting that the backend cannot take now counts as chosen, waits on the record, and is made before the next prompt", async () => {
  const { test, client, server, id } = await startIdle();
  const set = client.request("session/set_mode", { sessionId: id, modeId: "plan" });
  const refused = await server.take((frame) => frame.method === "session/setMode");
  server.push({ id: refused.id, error: { code: -32010, message: "A prompt is already running" } });
  await set;
  expect(client.updates(id).at(-1)).toEqual({ sessionUpdate: "current_mode_update", currentModeId: "plan" });
  const answer = client.prompt(id, "go");
  const mode = await server.take((frame) => frame.method === "session/setMode");
  expect(mode.params).toEqual({ sessionId: "s1", mode: "plan" });
  await settle();
  expect(server.inbox.filter(isSend)).toEqual([]);
  server.push({ id: mode.id, result: { settings: { mode: { current: "plan" } } } });
  const send = await server.take(isSend);
  server.push({ id: send.id, result: { accepted: true } });
  server.push(sessionEvent("s1", 3, "turn.completed", { resultType: "success" }, "t2"));
  server.push(state("prompt_completed"));
  await answer;
  // Made once: the prompt after that changes nothing more.
  void client.prompt(id, "again").catch(() => {});
  await server.take(isSend);
  expect(server.inbox.filter((frame) => frame.method === "session/setMode")).toEqual([]);
  // One that is refused for another reason is an error, and waits for nothing.
  const other = client.request("session/set_mode", { sessionId: id, modeId: "yolo" });
  const wrong = await server.take((frame) => frame.method === "session/setMode");
  server.push({ id: wrong.id, error: { code: -32603, message: "no" } });
  await expect(other).rejects.toThrow();
  await test.bridge.close();
});

test.each([
  ["both", [-32010, -32010]],
  ["the first", [-32010, undefined]],
] as const)(
  "M7 P24 of two settings that cross, of which the backend cannot take %s now, the later one stays",
  async (_, codes) => {
    const { test, client, server, id } = await startIdle();
    const sets = ["plan", "edit"].map((modeId) =>
      client.request("session/set_mode", { sessionId: id, modeId }),
    );
    const isMode = (frame: Json) => frame.method === "session/setMode";
    const wanted: unknown[] = [];
    // One is made after the other, whoever asks.
    for (const code of codes) {
      const { id: frame, params } = await server.take(isMode);
      wanted.push((params as Json).mode);
      const error = { code, message: "A prompt is already running" };
      server.push({ id: frame, ...(code === undefined ? { result: {} } : { error }) });
    }
    expect(wanted).toEqual(["plan", "edit"]);
    await Promise.all(sets);
    expect(client.updates(id).at(-1)).toEqual({
      sessionUpdate: "current_mode_update",
      currentModeId: "edit",
    });
    void client.prompt(id, "go").catch(() => {});
    if (codes[1] !== undefined) {
      const mode = await server.take(isMode);
      expect(mode.params).toEqual({ sessionId: "s1", mode: "edit" });
      server.push({ id: mode.id, result: {} });
    }
    await server.take(isSend);
    expect(server.inbox.filter(isMode)).toEqual([]);
    await test.bridge.close();
  },
);

test.each([
  ["an answer", { result: { cancelled: false, status: "running" } }],
  ["an error", { error: { code: -32603, message: "no" } }],
])("P31 a task whose end was refused by %s ends as it ends", async (_, reply) => {
  const { test, client, server, id } = await startIdle();
  const task = (seq: number, status: string) =>
    server.push(
      sessionEvent("s1", seq, "session.updated", {
        taskId: "task1",
        taskKind: "bash",
        status,
        description: "Build",
      }),
    );
  task(3, "running");
  await settle();
  const cancel = client
    .request("session/cancelBackgroundTask", { sessionId: id, taskId: "task1" })
    .catch(() => undefined);
  const frame = await server.take((each) => each.method === "session/cancelBackgroundTask");
  server.push({ id: frame.id, ...reply });
  await cancel;
  task(4, "completed");
  await settle();
  const card = client.updates(id).findLast((update) => update.sessionUpdate === "tool_call_update");
  expect(card).toMatchObject({ status: "completed" });
  expect(JSON.stringify(card)).not.toContain('"cancelled":true');
  await test.bridge.close();
});

test("P8 M7 usage tells the true window: another model's, and the last known one where the backend names 0", async () => {
  const { test, client, server, id } = await startIdle();
  const model = (modelId: string, contextWindow: number) => ({
    ref: { providerId: "p", modelId },
    label: modelId,
    contextWindow,
  });
  const settings = (current: string, available: Json[] = []) => ({
    method: "state.updated",
    params: {
      sessionId: "s1",
      reason: "model_changed",
      patch: { model: { current: { providerId: "p", modelId: current }, available } },
    },
  });
  const uses = (seq: number, totalTokens: number, contextWindow: number) =>
    server.push(sessionEvent("s1", seq, "session.updated", { usage: { totalTokens }, contextWindow }));
  server.push(settings("small", [model("small", 32_000), model("large", 200_000)]));
  uses(3, 900, 0);
  uses(4, 1_200, 30_000);
  uses(5, 1_300, 0);
  server.push(settings("large"));
  uses(6, 1_400, 0);
  await settle();
  const seen = client.updates(id).filter((update) => update.sessionUpdate === "usage_update");
  expect(seen.map(({ used, size }) => [used, size])).toEqual([
    [900, 32_000],
    [1_200, 30_000],
    [1_300, 30_000],
    [1_300, 200_000],
    [1_400, 200_000],
  ]);
  await test.bridge.close();
});

test("M8 P31 a background task stays its conversation's own through an eviction; another conversation cannot end it by its id", async () => {
  const { test, client, server, id } = await startIdle();
  const other = await client.newSession("/two");
  server.push(
    sessionEvent("s1", 3, "session.updated", {
      taskId: "task1",
      taskKind: "bash",
      status: "running",
      description: "Build",
    }),
  );
  await settle();
  const foreign = client.request("session/cancelBackgroundTask", { sessionId: other, taskId: "task1" });
  await expect(foreign).rejects.toMatchObject({ data: { code: "ZACP-206" } });
  expect(server.inbox.filter((frame) => frame.method === "session/cancelBackgroundTask")).toEqual([]);
  const cancel = client.request("session/cancelBackgroundTask", { sessionId: id, taskId: "task1" });
  const first = await server.take((frame) => frame.method === "session/cancelBackgroundTask");
  server.push({ id: first.id, error: { code: -32004, message: "Session is not active: s1" } });
  const resume = await server.take((frame) => frame.method === "session/resume");
  server.push({
    id: resume.id,
    result: { session: { sessionId: "s1" }, runtime: { eventSeq: 1 }, messages: [] },
  });
  const subscribe = await server.take((frame) => frame.method === "session/subscribe");
  server.push({ id: subscribe.id, result: {} });
  const again = await server.take((frame) => frame.method === "session/cancelBackgroundTask");
  expect(again.params).toEqual({ sessionId: "s1", taskId: "task1" });
  server.push({ id: again.id, result: { cancelled: true, status: "cancelled" } });
  expect(await cancel).toMatchObject({ cancelled: true });
  const card = client.updates(id).findLast((update) => update.sessionUpdate === "tool_call_update");
  expect(card).toMatchObject({
    status: "failed",
    _meta: { backgroundTask: { taskId: "task1", cancelled: true } },
  });
  await test.bridge.close();
});

test("P4 A10 B2 what is attached goes along with a send, and tools that no editor serves are kept from the model at create and send", async () => {
  const { test, client, server } = await startPlayed();
  const id = await client.newSession("/one");
  const prompt = [
    { type: "text", text: "hi" },
    { type: "image", data: "QUJD", mimeType: "image/png" },
  ];
  void client.request("session/prompt", { sessionId: id, prompt }).catch(() => {});
  const create = await server.take((frame) => frame.method === "session/create");
  server.push({ id: create.id, result: { session: { sessionId: "s1" }, runtime: { eventSeq: 0 } } });
  await serveSubscribe(server);
  const send = await server.take((frame) => frame.method === "session/send");
  for (const { params } of [create, send])
    expect((params as Json).toolDenylist).toEqual(expect.arrayContaining(["CronCreate", "OffPeakCreate"]));
  expect((send.params as Json).attachments).toMatchObject([{ kind: "image", mimeType: "image/png" }]);
  await test.bridge.close();
});
