/**
 * Stored conversations, made of the one in `../frames/15-history.jsonl`: in the form of snapshots, in the store's own,
 * and as an older build has it; and an app-server that holds one.
 */

import { join } from "node:path";
import type { PlayedServer } from "../support/bridge.ts";
import type { Json, PlainClient } from "../support/plainClient.ts";
import { type Played, startPlayed } from "../support/played.ts";
import { recorded } from "./player.ts";

export interface Message {
  readonly info: Json;
  readonly parts: readonly Json[];
}

export interface History {
  /** What a resume brings. */
  readonly snapshot: readonly Message[];
  /** What `session/messages` brings. */
  readonly stored: readonly Message[];
}

/** Part types of the protocol; what snapshots call `subagent` is the store's `subtask`. */
export const PART_TYPES = [
  "agent",
  "compaction",
  "file",
  "patch",
  "reasoning",
  "retry",
  "snapshot",
  "step-finish",
  "step-start",
  "subtask",
  "text",
  "timeline",
  "tool",
] as const;

export const TOOL_STATES = ["completed", "error", "pending", "running"] as const;

const steps = await recorded(join(import.meta.dir, "..", "frames", "15-history.jsonl"));

/** The answer to the first request of this method that has these params. */
function answerTo(method: string, count: number): Json {
  const { frame: asked } = steps.find(
    ({ dir, frame }) =>
      dir === "in" && frame.method === method && Object.keys(frame.params as Json).length === count,
  )!;
  const { frame } = steps.find(
    ({ dir, frame }) => dir === "out" && frame.id === asked.id && frame.method === undefined,
  )!;
  return frame.result as Json;
}

const RESUMED = answerTo("session/resume", 2);
export const SESSION = (RESUMED.session as Json).sessionId as string;

export const NEW: History = {
  snapshot: RESUMED.messages as Message[],
  stored: answerTo("session/messages", 1).messages as Message[],
};

/** What an older build has of a message: no marks of what it is, ids in both spellings, thoughts under another name. */
function olden({ info, parts }: Message, place: number): Message {
  const { semantics, visibility, synthetic, source, summary, metadata, anchor, id, ...more } = info;
  // Of these notes the text tells nothing.
  const kind = (semantics as Json).kind;
  const hidden = kind === "todo_reminder" || kind === "fork_notice";
  const name = place % 2 === 0 ? { id } : { messageId: id };
  return {
    info: { ...name, ...more, ...(hidden ? { visibility: "model-only" } : {}) },
    parts: parts.map(oldenPart),
  };
}

function oldenPart({ synthetic, callID, ...part }: Json, place: number): Json {
  if (part.type === "reasoning") {
    const { text, ...more } = part;
    return { ...more, content: text };
  }
  if (part.type !== "tool") return part;
  const state = part.state as Json;
  const call = place % 2 === 0 ? { callID } : { callId: callID };
  if (typeof state.output !== "string" || !state.output.startsWith("Exit code")) return { ...part, ...call };
  const output = state.output.slice(state.output.indexOf("\n") + 1);
  return { ...part, ...call, state: { ...state, output, metadata: { perf: { exitCode: 2 } } } };
}

const CALL = 'Called the Read tool with the following input: {"file_path":"/home/ana/shop/NOTES.md"}';
/** Words of a person's in place of the recorded ones: with a call that was rewritten behind them, and look-alikes. */
const SAID: Readonly<Record<string, string>> = {
  "Stop there": `Stop there\n\n${CALL}\n\nResult of calling the Read tool: # Notes`,
  "Try again":
    "What is a <system-reminder>? Why does `<system-reminder>x</system-reminder>` come?\n\n" +
    "Called the plumber tool with the following input, and nobody came\n\n" +
    "<system-reminder>\nToday is Tuesday.\n</system-reminder>",
};

function saidOf(part: Json): Json {
  const text = SAID[String(part.text)];
  return text === undefined ? part : { ...part, text };
}

const OLDEN = NEW.stored.map((message, place) => {
  const { info, parts } = olden(message, place);
  return { info, parts: parts.map(saidOf) };
});

/** An older build's snapshots have the form of its store. */
export const OLD: History = { snapshot: OLDEN, stored: OLDEN };

/** Of anything that stands in a message's place. */
export function idOf(message: Partial<Message> | null | undefined): unknown {
  return message?.info?.messageId ?? message?.info?.id;
}

export interface Served extends Played {
  /** By style. */
  readonly clients: { readonly fenced: PlainClient; readonly terminal: PlainClient };
  readonly end: () => Promise<void>;
}

/** A bridge whose app-server has these conversations, with a client of each style. */
export async function serve(historyOf: (sessionId: string) => History): Promise<Served> {
  const played = await startPlayed();
  const terminal = played.test.client();
  await terminal.initialize({ _meta: { terminal_output: true } });
  const stop = answerAll(played.server, historyOf);
  const end = async () => {
    stop();
    await played.test.bridge.close();
  };
  return { ...played, clients: { fenced: played.client, terminal }, end };
}

function answerAll(server: PlayedServer, historyOf: (sessionId: string) => History): () => void {
  let on = true;
  const methods = ["session/resume", "session/subscribe", "session/messages"];
  void (async () => {
    while (on) {
      const frame = await server
        .take(({ method }) => methods.includes(String(method)), 60_000)
        .catch(() => undefined);
      if (!frame || !on) return;
      const { sessionId, limit, afterMessageId } = frame.params as Json;
      const { snapshot, stored } = historyOf(String(sessionId));
      if (frame.method === "session/subscribe") server.push({ id: frame.id, result: {} });
      else if (frame.method === "session/resume") {
        const session = { ...(RESUMED.session as Json), sessionId };
        server.push({ id: frame.id, result: { ...RESUMED, session, messages: snapshot } });
      } else {
        const after =
          afterMessageId === undefined
            ? -1
            : stored.findLastIndex((message) => idOf(message) === afterMessageId);
        const all = stored.slice(after + 1);
        const messages = typeof limit === "number" ? all.slice(-limit) : all;
        server.push({ id: frame.id, result: { messages } });
      }
    }
  })();
  return () => (on = false);
}

const REPLAYED = /_chunk$|^tool_call|^plan$|^usage_update$/;

export interface Batch {
  /** `update` fields. */
  readonly updates: readonly Json[];
  readonly meta: Json;
}

async function batch(client: PlainClient, id: string, method: string, params: Json): Promise<Batch> {
  const from = client.updates(id).length;
  const answer = await client.request(method, { sessionId: id, ...params });
  const updates = client
    .updates(id)
    .slice(from)
    .filter(({ sessionUpdate }) => REPLAYED.test(String(sessionUpdate)));
  return { updates, meta: answer.replayMeta as Json };
}

export function load(client: PlainClient, id: string, limit?: number): Promise<Batch> {
  const _meta = { zcode: limit === undefined ? {} : { limit } };
  return batch(client, id, "session/load", { cwd: "/home/ana/shop", mcpServers: [], _meta });
}

/** A tail, and then page after page. */
export async function pages(client: PlainClient, id: string, limit: number): Promise<Batch[]> {
  const all = [await load(client, id, limit)];
  for (let meta = all[0]!.meta; meta.hasMore === true; meta = all.at(-1)!.meta)
    all.push(await batch(client, id, "session/load_earlier", { before: meta.cursor, limit }));
  return all;
}
