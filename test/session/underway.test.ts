/** Loads at awkward moments: of tails in mid-turn, between tries, soon after a resume, and of reads that come late. */

import { expect, test } from "bun:test";
import type { PlainClient } from "../support/plainClient.ts";
import { acceptSend, sessionEvent, settle } from "../support/played.ts";
import { Random } from "../support/random.ts";
import { agent, begin, earlier, load, shown, speaker, user, words } from "../support/stored.ts";

/** Two turns are stored, and a prompt was sent that the backend has taken. */
async function prompted(text = "go") {
  const played = await begin(new Random(1), 0);
  const { test, client, server, store } = played;
  store.messages.push(user("u1", "p1"), agent("a1", words("r1")), user("u2", "p2"), agent("a2", words("r2")));
  await load(client, "s");
  const answer = client.prompt("s", text).catch((error: Error) => error);
  const inputId = await acceptSend(server);
  const { event } = speaker(server);
  const say = (delta: string, assistantMessageId?: string) =>
    event("model.streaming", {
      kind: "text_delta",
      delta,
      ...(assistantMessageId ? { assistantMessageId } : {}),
    });
  const other = test.client();
  await other.initialize();
  return { ...played, answer, event, say, inputId, other };
}

const BEFORE = ["user u1 p1", "agent a1 r1", "user u2 p2", "agent a2 r2"];

test("R42 R46 a tail whose oldest message was put into the running turn begins with that turn, and the page stops before it", async () => {
  for (const stored of [false, true]) {
    const { store, event, say, inputId, other, end } = await prompted();
    event("turn.started", { inputId, messageId: "u3" });
    store.messages.push(user("u3", "go"));
    say("Working. ", "a3");
    await settle();
    store.messages.push(agent("a3", words("Working. ")), user("uS", "this too"));
    say("Also. ", "a4");
    await settle();
    if (stored) store.messages.push(agent("a4", words("Also. ")));
    const tail = await load(other, "s", 1);
    expect(tail.lines).toEqual(["user u3 go", "agent a3 Working. ", "user uS this too", "agent a4 Also. "]);
    expect((await earlier(other, "s", tail.meta.cursor)).lines).toEqual(BEFORE);
    await end();
  }
});

test("R42 R46 a turn that is longer than what is read for a tail is shown from its prompt on", async () => {
  const { store, event, say, inputId, other, client, end } = await prompted();
  await load(client, "s", 0);
  event("turn.started", { inputId, messageId: "u3" });
  store.messages.push(user("u3", "go"));
  const said: string[] = [];
  for (let n = 0; n < 60; n++) {
    say(`step ${n}`, `b${n}`);
    store.messages.push(agent(`b${n}`, words(`step ${n}`)));
    said.push(`agent b${n} step ${n}`);
  }
  store.messages.push(user("uS", "this too"));
  said.push("user uS this too");
  await settle();
  const tail = await load(other, "s", 1);
  expect(tail.lines).toEqual(["user u3 go", ...said]);
  await end();
});

test("R46 a prompt that was taken and has not begun is shown, and so is one whose failed try alone is stored, once each", async () => {
  const taken = await prompted();
  await settle();
  const { lines, meta } = await load(taken.other, "s");
  expect(lines).toEqual([...BEFORE, "user undefined go"]);
  expect(meta.turnActive).toBe(true);
  await taken.end();

  for (const stored of [false, true]) {
    const { store, server, event, say, inputId, other, end } = await prompted();
    event("turn.started", { inputId, messageId: "u3" });
    say("Hello wo", "a3");
    const data = {
      message: "Network connection failed for the provider request.",
      code: "model_request_failed",
    };
    const failed = { messageId: "a3", role: "assistant", error: { name: "ModelError", data } };
    store.messages.push(user("u3", "go"), { info: failed, parts: [words("Hello wo")] });
    event("turn.failed", { error: { type: "MODEL_REQUEST_FAILED", ...data } });
    server.push({ method: "state.updated", params: { sessionId: "s", reason: "prompt_failed", patch: {} } });
    await settle();
    // Between the two.
    expect((await load(other, "s")).lines).toEqual([...BEFORE, "user u3 go", "agent a3 Hello wo"]);
    const second = await acceptSend(server, 10_000);
    server.push(sessionEvent("s", 4, "turn.started", { inputId: second, messageId: "u4" }, "t2"));
    if (stored) store.messages.push(user("u4", "go"));
    const delta = { kind: "text_delta", delta: "Hello world", assistantMessageId: "a4" };
    server.push(sessionEvent("s", 5, "model.streaming", delta, "t2"));
    await settle();
    const { lines } = await load(other, "s");
    expect(lines).toEqual([...BEFORE, "user u3 go", "agent a3 Hello wo", "agent a4 rld"]);
    await end();
  }
}, 30_000);

test("R46 B15 on a build that names neither prompts nor what it says, a prompt and its words are shown once", async () => {
  const { store, event, say, inputId, other, end } = await prompted();
  event("turn.started", { inputId });
  say("One ");
  await settle();
  store.messages.push(user("u3", "go"), agent("a3", words("One ")));
  say("two.");
  await settle();
  expect((await load(other, "s")).lines).toEqual([...BEFORE, "user u3 go", "agent undefined One two."]);
  await end();
});

test("B5 B15 soon after a resume a part of the history is not believed, however often it is read; later two reads are enough", async () => {
  const { client, store, end } = await begin(new Random(9), 4);
  await load(client, "s", 0);
  const whole = store.truth();
  for (const limit of [1, 5, undefined]) {
    // The same part each time.
    const { messages } = store;
    let reads = 0;
    store.hold = true;
    const loading = load(client, "s", limit);
    while (reads < 6) {
      await settle();
      if (store.isHeld) {
        reads++;
        store.release(messages.slice(0, 2));
      }
    }
    store.hold = false;
    if (store.isHeld) store.release();
    const { lines, meta } = await loading;
    expect(whole.lines.slice(-lines.length)).toEqual(lines);
    expect(meta.totalMessages).toBe(whole.messages);
  }
  await end();
}, 30_000);

test("R45 R44 a whole history that was read long ago and answered late makes no newer one shorter", async () => {
  // Short, so that a tail has read all of it as well, and long.
  for (const turns of [4, 40]) {
    const { test, client, store, end } = await begin(new Random(9), turns);
    await load(client, "s", 0);
    const other = test.client();
    await other.initialize();
    const early = [...store.messages];
    store.hold = true;
    const late = load(other, "s");
    await settle();
    const { release } = store;
    store.hold = false;
    store.turn(false);
    const tail = await load(client, "s", 1);
    release(early);
    expect((await late).meta.hasMore).toBe(false);
    const { lines } = await earlier(client, "s", tail.meta.cursor, 4);
    const before = store.truth(tail.lines[0]!.split(" ")[1]);
    expect(before.lines.slice(-lines.length)).toEqual(lines);
    expect((await load(client, "s", 4)).meta.totalMessages).toBe(store.truth().messages);
    await end();
  }
});

test("B5 B15 what stands again at the end of a history makes nothing behind its first place news, once the session is back", async () => {
  const { client, store, end } = await begin(new Random(9), 0);
  const answers = ["four", "five", "six"].map((text, n) => agent(`a${n}`, words(text)));
  store.messages.push(user("u1", "one"), ...answers, agent("a0", words("four, again")));
  await load(client, "s");
  store.evicted = true;
  const from = client.updates("s").length;
  await load(client, "s", 0);
  await settle();
  expect(told(client, from)).toEqual([]);
  // What came meanwhile is.
  store.messages.push(user("u2", "two"), agent("a9", words("seven")));
  store.evicted = true;
  await load(client, "s", 0);
  await settle();
  expect(told(client, from)).toEqual(["user u2 two", "agent a9 seven"]);
  await end();
});

function told(client: PlainClient, from: number): string[] {
  return shown(client, "s", from);
}
