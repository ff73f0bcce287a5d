/** A bridge in this process whose app-server the test plays, with a client and a conversation whose turn runs. */

import type { Clock } from "../../src/platform/clock.ts";
import { type PlayedServer, type TestBridge, testBridge } from "./bridge.ts";
import type { Json, PlainClient } from "./plainClient.ts";

/** Lets everything that waits for no timer run. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise<void>((resolve) => setImmediate(resolve));
}

export interface Played {
  readonly test: TestBridge;
  readonly client: PlainClient;
  readonly server: PlayedServer;
}

/**
 * @param rules the clock of the rules; real time where none is given.
 * @param env variables for the configuration.
 * @param more whatever else the bridge gets.
 */
export async function startPlayed(
  rules?: Clock,
  env: Record<string, string> = {},
  more: Parameters<typeof testBridge>[0] = {},
): Promise<Played> {
  const test = testBridge({ ...more, env, ...(rules ? { rules } : {}) });
  const client = test.client();
  await client.initialize();
  await client.newSession("/warm");
  const server = await test.server(0);
  const probe = await server.take((frame) => frame.method === "runtime/capabilities");
  server.push({ id: probe.id, result: {} });
  return { test, client, server };
}

export async function serveSubscribe(server: PlayedServer): Promise<void> {
  const subscribe = await server.take((frame) => frame.method === "session/subscribe");
  server.push({ id: subscribe.id, result: {} });
}

export const sessionEvent = (
  sessionId: string,
  seq: number,
  type: string,
  payload: Json,
  turnId = "t",
): Json => ({ method: "session/event", params: { sessionId, seq, turnId, type, payload } });

/** The send that is under way, or comes, is accepted. @returns its input's id. */
export async function acceptSend(server: PlayedServer, ms?: number): Promise<unknown> {
  const send = await server.take((frame) => frame.method === "session/send", ms);
  server.push({ id: send.id, result: { accepted: true } });
  return (send.params as Json).inputId;
}

/** The conversation `/one` is prompted and `s1` made for it: its first send is on the way, `answer` is the prompt's. */
export async function startPrompted(
  rules?: Clock,
  env: Record<string, string> = {},
  more: Parameters<typeof testBridge>[0] = {},
): Promise<Played & { id: string; answer: Promise<Json> }> {
  const played = await startPlayed(rules, env, more);
  const { client, server } = played;
  const id = await client.newSession("/one");
  const answer = client.prompt(id, "hi");
  const create = await server.take((frame) => frame.method === "session/create");
  server.push({ id: create.id, result: { session: { sessionId: "s1" }, runtime: { eventSeq: 0 } } });
  await serveSubscribe(server);
  return { ...played, id, answer };
}

/** `s1` is resident and its turn `t` runs. */
export async function startRunning(
  env: Record<string, string> = {},
  rules?: Clock,
  more: Parameters<typeof testBridge>[0] = {},
): Promise<Played & { id: string; answer: Promise<Json | Error> }> {
  const played = await startPrompted(rules, env, more);
  const { server } = played;
  const answer = played.answer.catch((error: unknown) => error as Error);
  server.push(sessionEvent("s1", 1, "turn.started", { inputId: await acceptSend(server) }));
  await settle();
  return { ...played, answer };
}
