/**
 * Every field of stored messages and their parts is once missing and once of each other kind, in both forms and both eras:
 * the load is answered, what it sends is of the protocol, and every other message is shown as it was.
 */

import { expect, test } from "bun:test";
import { zSessionNotification } from "../../node_modules/@agentclientprotocol/sdk/dist/v1/unstable/schema/zod.gen.js";
import type { Json, PlainClient } from "../support/plainClient.ts";
import { idOf, load, type Message, NEW, OLD, serve } from "./histories.ts";
import { WRONG } from "./wrong.ts";

interface Case {
  readonly message: number;
  readonly path: readonly string[];
}

function* pathsOf(value: unknown, path: readonly string[] = []): Generator<readonly string[]> {
  if (typeof value !== "object" || value === null) return;
  for (const key of Object.keys(value)) {
    const inner = [...path, key];
    yield inner;
    yield* pathsOf((value as Json)[key], inner);
  }
}

/** Each field once of each role, kind of mark, part and tool, in the first that has it. */
function casesOf(messages: readonly Message[]): Case[] {
  const cases = new Map<string, Case>();
  for (const [message, whole] of messages.entries()) {
    for (const path of pathsOf(whole)) {
      const part = path[0] === "parts" ? whole.parts[Number(path[1])] : undefined;
      const status = (part?.state as Json | undefined)?.status;
      const { role, semantics } = whole.info;
      const kind = path[1] === "semantics" ? (semantics as Json).kind : undefined;
      const of = part ? [part.type, part.tool, status, ...path.slice(2)] : [kind, ...path];
      const key = [role, ...of].join("/");
      if (!cases.has(key)) cases.set(key, { message, path });
    }
    // The message itself.
    if (message === 0) cases.set("", { message, path: [] });
  }
  return [...cases.values()];
}

function changed(messages: readonly Message[], { message, path }: Case, value: unknown): Message[] {
  const copy: unknown[] = [...messages];
  copy[message] = structuredClone(messages[message]);
  let at = copy as unknown as Record<string, unknown>;
  const keys = [String(message), ...path];
  for (const key of keys.slice(0, -1)) at = at[key] as Record<string, unknown>;
  const last = keys.at(-1)!;
  if (value !== undefined) at[last] = value;
  else if (Array.isArray(at)) at.splice(Number(last), 1);
  else delete at[last];
  return copy as Message[];
}

/** The message that an update shows: its id in the history. */
function ownerOf(messages: readonly Message[], update: Json): unknown {
  const { messageId, toolCallId } = update;
  if (typeof messageId === "string") return messageId.replace(/^thought_/, "");
  if (typeof toolCallId !== "string") return undefined;
  if (toolCallId.startsWith("histfold_")) return toolCallId.slice("histfold_".length);
  const owner = messages.find(({ parts }) =>
    parts.some(({ callId, callID }) => (callId ?? callID) === toolCallId),
  );
  return owner && idOf(owner);
}

/** @returns the first of `lines` that does not stand in `others`, in order. */
function missingIn(others: readonly string[], lines: readonly string[]): string | undefined {
  let at = 0;
  for (const line of lines) {
    at = others.indexOf(line, at) + 1;
    if (at === 0) return line;
  }
  return undefined;
}

const seen = new Set<string>();
function problemIn(updates: readonly Json[], meta: Json): string | undefined {
  for (const update of updates) {
    const line = JSON.stringify(update);
    if (seen.has(line)) continue;
    seen.add(line);
    const read = zSessionNotification.safeParse({ sessionId: "s", update });
    if (!read.success) return `${read.error.message}: ${line}`;
  }
  const { replayedMessages, replayedTurns, totalMessages, totalTurns } = meta;
  const counts = [replayedMessages, replayedTurns, totalMessages, totalTurns];
  return counts.every((count) => Number.isSafeInteger(count)) ? undefined : `counts: ${counts}`;
}

const STYLES = [["fenced", "terminal"], ["fenced"], ["terminal"]] as const;

const FORMS: readonly (readonly [string, readonly Message[]])[] = [
  ["snapshots", NEW.snapshot],
  ["the store", NEW.stored],
  ["an older build", OLD.stored],
];

for (const [form, messages] of FORMS)
  test(`B2 B15 R42 a field of a stored message in the form of ${form} that is missing or wrong costs no other message`, async () => {
    const held = new Map<string, readonly Message[]>([["whole", messages]]);
    const { clients, end } = await serve((id) => {
      const history = held.get(id) ?? [];
      return { snapshot: history, stored: history };
    });
    const whole = async (client: PlainClient) =>
      (await load(client, "whole")).updates.map((update) => JSON.stringify(update));
    const wholes = { fenced: await whole(clients.fenced), terminal: await whole(clients.terminal) };
    const owners = wholes.fenced.map((line) => ownerOf(messages, JSON.parse(line) as Json));
    expect(new Set(owners).size).toBeGreaterThan(10);
    const cases = casesOf(messages);
    expect(cases.length).toBeGreaterThan(200);
    const failures: string[] = [];
    let counter = 0;
    for (const each of cases) {
      const own = idOf(messages[each.message]!);
      for (const [name, value] of WRONG) {
        const id = `${each.message}/${each.path.join("/")} ${name}`;
        held.clear();
        held.set(id, changed(messages, each, value));
        // The first is brought by the resume; each third is read again by the other.
        for (const style of STYLES[counter++ % STYLES.length]!) {
          clients[style].frames.length = 0;
          const loaded = await load(clients[style], id).catch((error: unknown) => error as Error);
          if (loaded instanceof Error) {
            failures.push(`${id}: ${loaded.message}`);
            continue;
          }
          const lines = loaded.updates.map((update) => JSON.stringify(update));
          const others = wholes[style].filter((_, at) => owners[at] !== undefined && owners[at] !== own);
          const lost = missingIn(lines, others);
          const problem = lost === undefined ? problemIn(loaded.updates, loaded.meta) : `lost: ${lost}`;
          if (problem !== undefined) failures.push(`${id}, ${style}: ${problem}`);
        }
      }
    }
    expect(failures.slice(0, 20)).toEqual([]);
    await end();
  }, 120_000);
