/** Many conversations of one bridge that all do everything at the same time. */

import { expect, test } from "bun:test";
import { type Agent, launch, within } from "../support/agent.ts";
import type { Json } from "../support/plainClient.ts";
import { until } from "../support/processes.ts";

const CONVERSATIONS = 12;
const CANCELLED = 3;
const CLOSED = 7;

interface Thread {
  readonly n: number;
  readonly id: string;
  /** A word that no other conversation says, is in none of theirs, and is in no id. */
  readonly mark: string;
  readonly answer: Promise<Json>;
}

const updatesOf = (agent: Agent, { id }: Thread, ...kinds: string[]) =>
  agent.client.updates(id).filter((update) => kinds.includes(String(update.sessionUpdate)));
const commandOf = (update: Json) => (update.rawInput as Json | undefined)?.command;
const words = (mark: string) => Array.from({ length: 30 }, (_, i) => `${mark}w${i}`).join(" ");

test("M2 M4 M5 M6 M7 M8 M10 M11 P28 P29 what twelve conversations do at once stays in each, and ending two disturbs no other", async () => {
  const agent = launch();
  const { client } = agent;
  await client.initialize();
  const asked: { session: unknown; command: unknown }[] = [];
  client.handlers.set("session/request_permission", async (params) => {
    const options = params.options as Json[];
    asked.push({ session: params.sessionId, command: commandOf(params.toolCall as Json) });
    // As long as it takes the others to ask as well.
    await Bun.sleep(200);
    const option = options.find((each) => each.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId: option?.optionId } };
  });
  const ids: string[] = [];
  for (let n = 0; n < CONVERSATIONS; n++) ids.push(await client.newSession(agent.workspace));
  const threads: Thread[] = ids.map((id, n) => {
    const mark = `mark${n + 10}`;
    const last = n === CANCELLED || n === CLOSED ? "silence 60" : `text ${mark}end`;
    const prompt = `think ${mark}thought; text ${words(mark)}; bash echo ${mark}; background sleep 0.${n + 10}; ${last}`;
    return { n, id, mark, answer: client.prompt(id, prompt) };
  });
  // Every other one switches its mode while its turn runs.
  await Promise.all(
    threads
      .filter(({ n }) => n % 2 === 0)
      .map(({ id }) => client.request("session/set_mode", { sessionId: id, modeId: "edit" })),
  );
  const launched = (thread: Thread) =>
    updatesOf(agent, thread, "tool_call", "tool_call_update").some(
      (update) => (update._meta as Json | undefined)?.backgroundTask !== undefined,
    );
  await until("every background command", 20_000, () => threads.every(launched));
  client.notify("session/cancel", { sessionId: threads[CANCELLED]!.id });
  await client.request("session/close", { sessionId: threads[CLOSED]!.id });
  const afterClose = client.frames.length;

  const ends = await within(Promise.all(threads.map(({ answer }) => answer)), 20_000, "all of them");
  expect(ends.map((end) => end.stopReason)).toEqual(
    threads.map(({ n }) => (n === CANCELLED || n === CLOSED ? "cancelled" : "end_turn")),
  );
  const left = threads.filter(({ n }) => n !== CLOSED);
  const endOf = (thread: Thread) =>
    updatesOf(agent, thread, "tool_call_update").findLast(
      (update) => (update._meta as Json | undefined)?.backgroundTask !== undefined,
    )?.status;
  await until("the ends in the background", 20_000, () =>
    left.every((thread) => endOf(thread) === "completed" || endOf(thread) === "failed"),
  );

  const marks = threads.map(({ mark }) => mark);
  for (const thread of threads) {
    const { n, id, mark } = thread;
    const others = marks.filter((other) => other !== mark);
    const said = client.updates(id).map((update) => JSON.stringify(update));
    for (const other of others) expect(said.filter((line) => line.includes(other))).toEqual([]);
    const text = client.text("agent_message_chunk", id);
    expect(text).toStartWith(words(mark));
    expect(client.text("agent_thought_chunk", id)).toContain(`${mark}thought`);
    if (n !== CANCELLED && n !== CLOSED) expect(text).toContain(`${mark}end`);
    const cards = updatesOf(agent, thread, "tool_call").map(commandOf);
    expect(cards).toEqual([`echo ${mark}`, `sleep 0.${n + 10}`]);
    expect(asked.filter(({ session }) => session === id).map(({ command }) => command)).toContain(
      `echo ${mark}`,
    );
    for (const { session, command } of asked)
      if (session === id) expect([`echo ${mark}`, `sleep 0.${n + 10}`]).toContain(command as string);
    const modes = updatesOf(agent, thread, "current_mode_update").map((update) => update.currentModeId);
    expect(modes).toEqual(n % 2 === 0 ? ["edit"] : []);
  }
  const closed = threads[CLOSED]!.id;
  const late = client.frames
    .slice(afterClose)
    .filter((frame) => (frame.params as Json | undefined)?.sessionId === closed);
  expect(late).toEqual([]);

  for (const { id, mark } of left) {
    const again = await within(client.prompt(id, `text ${mark}again`), 10_000, "one more prompt");
    expect(again.stopReason).toBe("end_turn");
    // What a task's own turn says may stand before it.
    expect(client.text("agent_message_chunk", id)).toEndWith(`${mark}again`);
  }
  expect(agent.strays).toEqual([]);
  expect(await agent.close()).toBe(0);
}, 90_000);
