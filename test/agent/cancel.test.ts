/** A request that its client takes back is answered at once, whatever it waits for. */

import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Json, RemoteError } from "../support/plainClient.ts";
import { serveSubscribe, settle, startRunning } from "../support/played.ts";
import { tempDir } from "../support/temp.ts";

test("A5 $/cancel_request of anything but a prompt answers -32800 at once, and nothing is replayed afterwards", async () => {
  const { test, client, server, id, answer } = await startRunning();
  server.die(1);
  await answer;
  // The new process does not answer yet: each of these waits for it.
  const waiting = [
    client.request("session/load", { sessionId: id, cwd: "/one", mcpServers: [] }),
    client.request("session/resume", { sessionId: id, cwd: "/one", mcpServers: [] }),
    client.request("session/set_mode", { sessionId: id, modeId: "plan" }),
    client.request("session/list", {}),
  ];
  await settle();
  const answered = client.frames.length;
  for (const { id: requestId } of waiting) client.notify("$/cancel_request", { requestId });
  for (const request of waiting) {
    const error = (await request.catch((reason: unknown) => reason)) as RemoteError;
    expect(error.code).toBe(-32800);
  }
  // Twice, late, or for an id that nobody knows: nothing comes of it.
  for (const requestId of [waiting[0]!.id, 9_999, null, "x"])
    client.notify("$/cancel_request", { requestId });
  const second = await test.server(1);
  const probe = await second.take((frame) => frame.method === "runtime/capabilities");
  second.push({ id: probe.id, result: {} });
  const resume = await second.take((frame) => frame.method === "session/resume");
  const messages = [
    { info: { messageId: "u1", role: "user" }, parts: [{ type: "text", text: "hi" }] },
    { info: { messageId: "m1", role: "assistant" }, parts: [{ type: "text", text: "replayed" }] },
  ];
  second.push({
    id: resume.id,
    result: { session: { sessionId: "s1" }, runtime: { eventSeq: 1 }, messages },
  });
  await serveSubscribe(second);
  await settle();
  const replies = client.frames.slice(answered).filter((frame) => "id" in frame && !("method" in frame));
  expect(replies.map((frame) => frame.id).toSorted()).toEqual(
    waiting.map((request) => request.id).toSorted(),
  );
  const shown = client.frames
    .filter((frame) => frame.method === "session/update")
    .map((frame) => ((frame.params as Json).update as Json).content as Json | undefined)
    .filter((content) => content?.text === "replayed" || content?.text === "hi");
  // What was missed is told as that, and not as the replay that nobody waits for.
  expect(shown.map((content) => content?.text)).toEqual(["replayed"]);
  await test.bridge.close();
});

test("A5 B14 a cancelled prompt is answered within 200 ms, also where another bridge keeps the conversation from being written down", async () => {
  const home = tempDir("bridge");
  const folder = join(home, ".zcode", "v2");
  mkdirSync(folder, { recursive: true });
  const holder = JSON.stringify({ pid: process.pid, born: null, nonce: "x" });
  writeFileSync(join(folder, "acp-lazy-sessions.json.lock"), holder);
  const { test, client, id, answer } = await startRunning({ HOME: home });
  const began = performance.now();
  client.notify("session/cancel", { sessionId: id });
  expect(await answer).toMatchObject({ stopReason: "cancelled" });
  expect(performance.now() - began).toBeLessThan(200);
  await test.bridge.close();
}, 15_000);
