/** The same frames mean the same however they are cut into writes, and an answer is acted on before what follows it. */

import { expect, test } from "bun:test";
import { scaledClock, systemClock } from "../../src/platform/clock.ts";
import type { PlayedServer } from "../support/bridge.ts";
import type { Json, PlainClient } from "../support/plainClient.ts";
import { serveSubscribe, sessionEvent, startPlayed } from "../support/played.ts";

const tick = async (times = 8) => {
  for (let i = 0; i < times; i++) await new Promise<void>((resolve) => setImmediate(resolve));
};

/** Sends frames in one write, or each in its own with time between. */
async function write(server: PlayedServer, frames: readonly Json[], joined: boolean): Promise<void> {
  if (joined) {
    server.bytes(new TextEncoder().encode(frames.map((frame) => `${JSON.stringify(frame)}\n`).join("")));
  } else {
    for (const frame of frames) {
      server.push(frame);
      await tick(3);
    }
  }
  await tick();
}

const event = (seq: number, type: string, payload: Json, turnId?: string): Json =>
  sessionEvent("s", seq, type, payload, turnId);
const said = (seq: number, delta: string) =>
  event(seq, "model.streaming", { kind: "text_delta", assistantMessageId: "m", delta });
const state = (reason: string, patch: Json = {}): Json => ({
  method: "state.updated",
  params: { type: "state.updated", scope: "session", sessionId: "s", reason, patch },
});

/** The waits of rules are 20 times shorter. */
const start = () => startPlayed(scaledClock(systemClock(), 20));

async function ready(client: PlainClient, server: PlayedServer, words = "hi") {
  const id = await client.newSession("/one");
  const answer = client.prompt(id, words).catch((error: unknown) => error as Error);
  const create = await server.take((frame) => frame.method === "session/create");
  server.push({ id: create.id, result: { session: { sessionId: "s" }, runtime: { eventSeq: 0 } } });
  await serveSubscribe(server);
  const send = await server.take((frame) => frame.method === "session/send");
  return { id, answer, send };
}

const ORDERS = [
  "ok take start text done free",
  "take ok start text done free",
  "take start ok text done free",
  "take start text ok done free",
  "take start text done ok free",
  "take start text done free ok",
  "start text free ok",
  "ok start text free",
  "ok start text free done",
  "ok start text done",
  "ok take refuse",
  "take refuse ok",
  "ok refuse",
  "ok free",
  "text done free ok",
];

for (const joined of [true, false]) {
  for (const order of ORDERS) {
    test(`B6 P9 B22 a prompt ends, and the next one runs, where the backend says "${order}" in ${joined ? "one write" : "many"}`, async () => {
      const { test: bridge, client, server } = await start();
      const { id, answer, send } = await ready(client, server);
      let seq = 0;
      const frames: Record<string, () => Json> = {
        ok: () => ({ id: send.id, result: { accepted: true } }),
        take: () => state("prompt_started", { status: "running" }),
        start: () => event(++seq, "turn.started", { inputId: (send.params as Json).inputId }),
        text: () => said(++seq, "words"),
        done: () => event(++seq, "turn.completed", { resultType: "success" }),
        free: () => state("prompt_completed", { status: "idle" }),
        refuse: () => state("prompt_failed", { status: "idle" }),
      };
      await write(
        server,
        order.split(" ").map((name) => frames[name]!()),
        joined,
      );
      const ended = await answer;
      if (order.includes("refuse")) expect(ended).toBeInstanceOf(Error);
      else expect(ended).toMatchObject({ stopReason: "end_turn" });
      if (order.includes("text")) expect(client.text("agent_message_chunk", id)).toBe("words");
      const next = client.prompt(id, "again");
      const again = await server.take((frame) => frame.method === "session/send");
      server.push({ id: again.id, result: { accepted: true } });
      server.push(event(++seq, "turn.started", { inputId: (again.params as Json).inputId }, "t2"));
      server.push(event(++seq, "turn.completed", { resultType: "success" }, "t2"));
      expect((await next).stopReason).toBe("end_turn");
      await bridge.bridge.close();
    }, 20_000);
  }

  test(`B5 events behind a subscription's answer come after those in it, in ${joined ? "one write" : "many"}`, async () => {
    const { test: bridge, client, server } = await start();
    const loaded = client.request("session/load", { sessionId: "s", cwd: "/one", mcpServers: [] });
    const resume = await server.take((frame) => frame.method === "session/resume");
    // Event 21 stands behind the answer, and in what the subscription brings as well.
    await write(
      server,
      [
        { id: resume.id, result: { session: { sessionId: "s" }, runtime: { eventSeq: 20 }, messages: [] } },
        said(21, "B"),
      ],
      joined,
    );
    const subscribe = await server.take((frame) => frame.method === "session/subscribe");
    const replay = [said(21, "B"), said(22, "C")].map((frame) => frame.params as Json);
    await write(
      server,
      [{ id: subscribe.id, result: { eventSeq: 22, events: replay } }, said(23, "D")],
      joined,
    );
    await loaded;
    await tick();
    expect(client.text("agent_message_chunk", "s")).toBe("BCD");
    await bridge.bridge.close();
  });

  test(`M7 a setting that changes right behind a create is told, in ${joined ? "one write" : "many"}`, async () => {
    const { test: bridge, client, server } = await start();
    const id = await client.newSession("/one");
    void client.prompt(id, "hi").catch(() => {});
    const create = await server.take((frame) => frame.method === "session/create");
    await write(
      server,
      [
        {
          id: create.id,
          result: {
            session: { sessionId: "s" },
            runtime: { eventSeq: 0 },
            settings: { mode: { current: "build" } },
          },
        },
        state("mode_changed", { mode: { current: "plan" } }),
      ],
      joined,
    );
    expect(client.updates(id).filter((update) => update.sessionUpdate === "current_mode_update")).toEqual([
      { sessionUpdate: "current_mode_update", currentModeId: "plan" },
    ]);
    await bridge.bridge.close();
  });
}

test("B12 whatever stands in an error's place, and an accepted that is false, fails the prompt", async () => {
  for (const answer of [
    { error: "boom" },
    { error: {} },
    { error: 7 },
    { error: null },
    {},
    { result: { accepted: false } },
  ]) {
    const { test: bridge, client, server } = await start();
    const { answer: ended, send } = await ready(client, server);
    server.push({ id: send.id, ...answer } as Json);
    expect(await ended).toBeInstanceOf(Error);
    await bridge.bridge.close();
  }
});

test("B12 a frame that cannot be dealt with is one frame lost, and an absurd number no place in the order", async () => {
  const { test: bridge, client, server } = await start();
  const { id, answer, send } = await ready(client, server);
  server.push({ id: send.id, result: { accepted: true } });
  server.push(event(1, "turn.started", { inputId: (send.params as Json).inputId }));
  const deep = `${'{"a":'.repeat(60_000)}1${"}".repeat(60_000)}`;
  const call = JSON.stringify(
    event(2, "tool.updated", { kind: "scheduled", toolCallId: "c", toolName: "X" }),
  );
  server.bytes(new TextEncoder().encode(`${call.replace('"toolName"', `"input":${deep},"toolName"`)}\n`));
  server.push(said(3, "a"));
  for (const absurd of [9e15, Number.MAX_VALUE, 1.5, -4]) server.push(said(absurd, ""));
  server.push(said(4, "b"));
  server.push(event(5, "turn.completed", { resultType: "success" }));
  expect(await answer).toMatchObject({ stopReason: "end_turn" });
  expect(client.text("agent_message_chunk", id)).toBe("ab");
  await bridge.bridge.close();
});

test("M1 a create that answers with another conversation's session is refused, and that one goes on", async () => {
  const { test: bridge, client, server } = await start();
  const { id, answer, send } = await ready(client, server);
  server.push({ id: send.id, result: { accepted: true } });
  server.push(event(1, "turn.started", { inputId: (send.params as Json).inputId }));
  await tick();
  const other = await client.newSession("/two");
  const refused = client.prompt(other, "two").catch((error: unknown) => error);
  const create = await server.take((frame) => frame.method === "session/create");
  server.push({ id: create.id, result: { session: { sessionId: "s" }, runtime: { eventSeq: 0 } } });
  expect(await refused).toBeInstanceOf(Error);
  server.push(said(2, "mine"));
  server.push(event(3, "turn.completed", { resultType: "success" }));
  expect(await answer).toMatchObject({ stopReason: "end_turn" });
  expect(client.text("agent_message_chunk", id)).toBe("mine");
  expect(client.text("agent_message_chunk", other)).toBe("");
  await bridge.bridge.close();
});

test("P10 a No stays a No whatever the options are called, and a question that differs is asked anew", async () => {
  const { test: bridge, client, server } = await start();
  const { answer, send } = await ready(client, server);
  server.push({ id: send.id, result: { accepted: true } });
  server.push(event(1, "turn.started", { inputId: (send.params as Json).inputId }));
  const asked: Json[] = [];
  let kind = "reject_once";
  client.handlers.set("session/request_permission", (params) => {
    asked.push(params);
    const option = (params.options as Json[]).find((entry) => entry.kind === kind)!;
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  });
  const ask = async (frame: number, toolCallId: string, command: string, options: unknown) => {
    server.push({
      id: frame,
      method: "interaction/requestPermission",
      params: { sessionId: "s", requestId: "r", toolCallId, toolName: "Bash", input: { command }, options },
    });
    return (await server.take((each) => each.id === frame && each.method === undefined)).result as Json;
  };
  const tricky = [
    { optionId: "option_1", kind: "allow_once", name: "Yes", response: { decision: "allow" } },
    { kind: "reject_once", name: "No", response: { decision: "deny" } },
  ];
  expect((await ask(101, "c1", "ls", tricky)).decision).toBe("deny");
  kind = "allow_once";
  expect((await ask(102, "c2", "ls", undefined)).decision).toBe("allow");
  expect((await ask(103, "c2", "ls", undefined)).decision).toBe("allow");
  expect(asked).toHaveLength(2);
  kind = "reject_once";
  expect((await ask(104, "c3", "ls", undefined)).decision).toBe("deny");
  expect((await ask(105, "c2", "rm -rf /", undefined)).decision).toBe("deny");
  expect(asked).toHaveLength(4);
  server.push(event(2, "turn.completed", { resultType: "success" }));
  await answer;
  await bridge.bridge.close();
});

for (const when of ["before the resume", "after it"])
  test(`B6 M4 what a session that was closed as a last resort still says ${when} is no word of the one resumed in its place`, async () => {
    const { test: bridge, client, server } = await start();
    const { id, answer, send } = await ready(client, server);
    const with17 = (frame: Json) => ({ ...frame, params: { ...(frame.params as Json), revision: 17 } });
    server.push({ id: send.id, result: { accepted: true, stateRevision: 15 } });
    server.push({
      ...state("prompt_started"),
      params: { ...(state("prompt_started").params as Json), revision: 16 },
    });
    server.push(
      event(1, "turn.started", { inputId: (send.params as Json).inputId, foregroundExecutionId: "f" }, "old"),
    );
    await tick();
    // The next prompt stops the turn, which does not obey: its session is closed and resumed.
    const next = client.prompt(id, "next");
    expect(await answer).toMatchObject({ stopReason: "cancelled" });
    const resume = await server.take((frame) => frame.method === "session/resume");
    if (when === "before the resume") server.push(with17(state("prompt_failed", { status: "idle" })));
    server.push({
      id: resume.id,
      result: { session: { sessionId: "s" }, runtime: { eventSeq: 0, stateRevision: 1 }, messages: [] },
    });
    const subscribe = await server.take((frame) => frame.method === "session/subscribe");
    server.push({ id: subscribe.id, result: {} });
    const again = await server.take((frame) => frame.method === "session/send");
    server.push({ id: again.id, result: { accepted: true, stateRevision: 2 } });
    // Now the old one ends, in all the ways that it has.
    server.push(
      event(150, "model.streaming", { kind: "text_delta", assistantMessageId: "m", delta: "old" }, "old"),
    );
    server.push(event(151, "turn.failed", { error: { message: "closed" } }, "old"));
    if (when === "after it") server.push(with17(state("prompt_failed", { status: "idle" })));
    // Longer than an end that comes before its beginning would be waited for.
    await Bun.sleep(400);
    server.push(event(1, "turn.started", { inputId: (again.params as Json).inputId }, "new"));
    server.push(
      event(2, "model.streaming", { kind: "text_delta", assistantMessageId: "m2", delta: "new" }, "new"),
    );
    server.push(event(3, "turn.completed", { resultType: "success" }, "new"));
    expect((await next).stopReason).toBe("end_turn");
    // Beside the new reply stands only the line which says that the prompt waits.
    expect(client.text("agent_message_chunk", id)).toMatch(/^\s*Waiting for the agent, [^\n]*\n\nnew$/);
    await bridge.bridge.close();
  }, 10_000);
