/** A conversation in whose hands the backend dies again and again. */

import { expect, test } from "bun:test";
import { scaledClock, systemClock } from "../../src/platform/clock.ts";
import type { Json } from "../support/plainClient.ts";
import { serveSubscribe, sessionEvent, settle, startPlayed, startRunning } from "../support/played.ts";

const SET_ASIDE = { data: { code: "ZACP-207" } };

async function start() {
  const { test, client, server, id, answer } = await startRunning({}, scaledClock(systemClock(), 600));
  let current = server;
  const next = async () => {
    current = await test.server(test.servers.indexOf(current) + 1);
    const probe = await current.take((frame) => frame.method === "runtime/capabilities");
    current.push({ id: probe.id, result: {} });
  };
  /** The session comes back in a process that answers. */
  const resume = async () => {
    const frame = await current.take(({ method }) => method === "session/resume");
    current.push({ id: frame.id, result: { session: { sessionId: "s1" }, runtime: { eventSeq: 0 } } });
    await serveSubscribe(current);
  };
  const run = async (text: string) => {
    const turn = client.prompt(id, text);
    await next();
    await resume();
    const send = await current.take(({ method }) => method === "session/send");
    current.push({ id: send.id, result: { accepted: true } });
    current.push(sessionEvent("s1", 1, "turn.started", { inputId: (send.params as Json).inputId }, text));
    await settle();
    return { turn, ended: sessionEvent("s1", 2, "turn.completed", { resultType: "success" }, text) };
  };
  const die = async (lost: Promise<unknown>) => {
    const failed = lost.catch((error: unknown) => error);
    current.die(1);
    expect(await failed).toBeInstanceOf(Error);
  };
  return { test, client, id, answer, next, run, die, process: () => current };
}

test("B10 a resume that the backend dies in counts like a prompt: after three the conversation is set aside, and others go on", async () => {
  const { test, client, id, answer, next, die, process } = await start();
  await die(answer.then((error) => Promise.reject(error)));
  for (let deaths = 1; deaths < 3; deaths++) {
    const changed = client.request("session/set_mode", { sessionId: id, modeId: "plan" });
    await next();
    await process().take(({ method }) => method === "session/resume");
    await die(changed);
  }
  await expect(client.prompt(id, "again")).rejects.toMatchObject(SET_ASIDE);
  const other = await client.newSession("/other");
  void client.prompt(other, "hi").catch(() => {});
  await next();
  await process().take(({ method }) => method === "session/create");
  await test.bridge.close();
});

test("B10 deaths count in a row: a turn that ended between them begins a new one", async () => {
  const { test, client, id, answer, run, die, process } = await start();
  await die(answer.then((error) => Promise.reject(error)));
  await die((await run("second")).turn);
  const { turn, ended } = await run("third");
  process().push(ended);
  expect(await turn).toMatchObject({ stopReason: "end_turn" });
  process().die(1);
  await settle();
  for (const text of ["fourth", "fifth", "sixth"]) await die((await run(text)).turn);
  await expect(client.prompt(id, "seventh")).rejects.toMatchObject(SET_ASIDE);
  await test.bridge.close();
});

test("B10 a prompt that was cancelled between deaths proves no life", async () => {
  const { test, client, id, answer, run, die, process } = await start();
  await die(answer.then((error) => Promise.reject(error)));
  await die((await run("second")).turn);
  const { turn, ended } = await run("third");
  client.notify("session/cancel", { sessionId: id });
  expect(await turn).toMatchObject({ stopReason: "cancelled" });
  process().push(ended);
  await settle();
  const last = client.prompt(id, "fourth");
  await process().take(({ method }) => method === "session/send");
  await die(last);
  await expect(client.prompt(id, "fifth")).rejects.toMatchObject(SET_ASIDE);
  await test.bridge.close();
});

test("B10 M3 what merely waits for its turn is not set aside with three others that the backend dies of", async () => {
  const { test, client, server } = await startPlayed(scaledClock(systemClock(), 600));
  const load = (sessionId: string) =>
    client.request("session/load", { sessionId, cwd: "/one", mcpServers: [] });
  const fresh = await client.newSession("/two");
  const bad = ["bad1", "bad2", "bad3"].map(load);
  const good = load("good");
  const started = async (index: number) => {
    const process = await test.server(index);
    if (process === server) return process;
    const probe = await process.take(({ method }) => method === "runtime/capabilities");
    process.push({ id: probe.id, result: {} });
    return process;
  };
  for (const [deaths, each] of bad.entries()) {
    const process = await started(deaths);
    await process.take(({ method }) => method === "session/resume");
    if (deaths === 0) void client.prompt(fresh, "hi").catch(() => {});
    await settle();
    process.die(1);
    await expect(each).rejects.toMatchObject({ data: { code: "ZACP-104" } });
  }
  const process = await started(3);
  const resume = await process.take(({ method }) => method === "session/resume");
  expect((resume.params as Json).sessionId).toBe("good");
  process.push({ id: resume.id, result: { session: { sessionId: "good" }, messages: [] } });
  await serveSubscribe(process);
  await good;
  await process.take(({ method }) => method === "session/create");
  await test.bridge.close();
});
