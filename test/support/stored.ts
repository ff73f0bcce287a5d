/** A stored conversation that the test plays, and what clients are shown of it. */

import type { PlayedServer } from "./bridge.ts";
import type { Json, PlainClient } from "./plainClient.ts";
import { sessionEvent, startPlayed } from "./played.ts";
import type { Random } from "./random.ts";

export interface Message {
  readonly info: Json;
  readonly parts: readonly Json[];
}

export const user = (id: string, text: string, more: Json = {}): Message => ({
  info: { messageId: id, role: "user", ...more },
  parts: [{ type: "text", text }],
});

export const agent = (id: string, ...parts: Json[]): Message => ({
  info: { messageId: id, role: "assistant" },
  parts,
});
export const words = (text: string): Json => ({ type: "text", text });
export const tool = (callId: string): Json => ({
  type: "tool",
  callId,
  tool: "Read",
  state: { status: "completed", input: { file_path: "/one/a.ts" }, output: "lines" },
});

/** An answer that broke off for a reason that passes; none begins like another, since what a next try repeats is shown once. */
const failing = (id: string): Message => {
  const data = {
    message: "Network connection failed for the provider request.",
    code: "model_request_failed",
  };
  return {
    info: { messageId: id, role: "assistant", error: { name: "ModelError", data } },
    parts: [words(`${String.fromCodePoint(0x4e00 + Number(id.slice(1)))} ${id}`)],
  };
};

export const plumbing = (kind: string, text: string, id: string): Message =>
  user(id, text, { semantics: { kind, origin: "agent_runtime", transcriptVisibility: "hidden" } });

const FOLDED: ReadonlySet<string> = new Set(["compact_summary", "background_notification"]);

/** A session as the backend keeps it. */
export class Store {
  readonly messages: Message[] = [];
  private next = 1;
  /** Reads that give a part of what there is. */
  prefixReads = 0;
  /** The session is not resident: every read says so until it is resumed. */
  evicted = false;
  resumes = 0;
  readonly asked: Json[] = [];
  /** The next read is answered by `release`. */
  hold = false;
  /** A read waits for `release`. */
  isHeld = false;
  /** Answers it, with what is there now or with what is given. */
  release: (messages?: readonly Message[]) => void = () => {};

  constructor(private readonly random: Random) {}

  id(): string {
    return `m${this.next++}`;
  }

  /** @param rewrites whether a message of before may be written again. */
  turn(rewrites = true): void {
    const { random } = this;
    const number = this.next;
    const prompt = user(this.id(), `prompt ${number}`);
    this.messages.push(prompt);
    for (let n = random.int(0, 3); n > 0; n--) {
      const id = this.id();
      const parts = [
        ...(random.chance(0.3) ? [{ type: "reasoning", text: `thought ${id}` }] : []),
        ...(random.chance(0.7) ? [words(`said ${id}`)] : []),
        ...(random.chance(0.4) ? [tool(`c${id}`)] : []),
        ...(random.chance(0.2) ? [{ type: "step-finish" }] : []),
      ];
      this.messages.push(agent(id, ...parts));
    }
    // Tried again, with nothing of an answer, or with the beginning of one.
    for (; random.chance(0.15); this.messages.push(user(this.id(), `prompt ${number}`))) {
      if (random.chance(0.5)) this.messages.push(failing(this.id()));
    }
    if (random.chance(0.5)) this.messages.push(agent(this.id(), words(`end of ${number}`)));
    if (random.chance(0.15)) this.messages.push(plumbing("todo_reminder", "nudge", this.id()));
    if (random.chance(0.1))
      this.messages.push(
        plumbing("background_notification", "<task-notification>x</task-notification>", this.id()),
      );
    if (rewrites && random.chance(0.1)) this.rewrite();
  }

  /** A message is stored once more, with other content, and not beside itself. */
  rewrite(): void {
    const old = this.random.pick(this.messages);
    this.messages.push({ ...old, parts: [words(`again ${this.next++}`)] });
  }

  /**
   * What a person is to see: each message where it stood first, with what was written last.
   * @param before the message that is no part of it, or how many are, as they are stored.
   */
  truth(before: string | number = this.messages.length): {
    lines: string[];
    messages: number;
    turns: number;
  } {
    const place = typeof before === "number" ? before : this.placeOf(before);
    const latest = new Map(this.messages.map((message) => [message.info.messageId, message]));
    for (const id of latest.keys()) if (this.placeOf(String(id)) >= place) latest.delete(id);
    /** What was said last, where only tries to answer it have come since. */
    let tried: string | undefined;
    let open = false;
    const shown = [...latest.values()].map(({ info, parts }) => {
      const { semantics, role, error } = info as { semantics?: Json; role: string; error?: Json };
      const id = String(info.messageId);
      if (semantics !== undefined) {
        const folded = FOLDED.has(String(semantics.kind));
        if (folded) tried = undefined;
        return folded ? [`card histfold_${id}`] : [];
      }
      if (role === "user") {
        const said = String(parts[0]?.text);
        if (open && said === tried) return [];
        tried = said;
        open = true;
      } else open = error !== undefined;
      return parts.flatMap((part) => {
        if (part.type === "text") return [`${role === "user" ? "user" : "agent"} ${id} ${part.text}`];
        if (part.type === "reasoning") return [`thought thought_${id} ${part.text}`];
        return part.type === "tool" ? [`card ${part.callId}`] : [];
      });
    });
    const lines = shown.flat();
    const turns = lines.filter((line) => line.startsWith("user ")).length;
    return { lines, messages: shown.filter((each) => each.length > 0).length, turns };
  }

  private keep(answer: (messages?: readonly Message[]) => void): void {
    this.isHeld = true;
    this.release = (messages) => {
      this.isHeld = false;
      answer(messages);
    };
  }

  private placeOf(id: string): number {
    return this.messages.findIndex(({ info }) => info.messageId === id);
  }

  compact(): void {
    this.messages.push(plumbing("compact_summary", "What was said so far.", this.id()));
  }

  read({ limit, afterMessageId }: Json): readonly Message[] {
    let all: readonly Message[] = this.messages;
    if (this.prefixReads > 0) {
      all = all.slice(0, Math.ceil(all.length / (this.prefixReads + 1)));
      this.prefixReads--;
    }
    if (afterMessageId !== undefined) {
      const at = all.findLastIndex(({ info }) => info.messageId === afterMessageId);
      if (at >= 0) all = all.slice(at + 1);
    }
    return typeof limit === "number" ? all.slice(-limit) : all;
  }

  /** What the backend's answers are, until the test is over. */
  serve(server: PlayedServer): () => void {
    let on = true;
    const methods = ["session/resume", "session/subscribe", "session/messages"];
    void (async () => {
      while (on) {
        const frame = await server
          .take((each) => methods.includes(String(each.method)), 60_000)
          .catch(() => undefined);
        if (!frame || !on) return;
        const params = frame.params as Json;
        if (frame.method === "session/subscribe") server.push({ id: frame.id, result: {} });
        else if (frame.method === "session/resume") {
          this.evicted = false;
          this.resumes++;
          server.push({
            id: frame.id,
            result: {
              session: { sessionId: params.sessionId },
              runtime: { eventSeq: 0 },
              messages: [...this.messages],
            },
          });
        } else if (this.evicted) {
          server.push({ id: frame.id, error: { code: -32004, message: "Session is not active" } });
        } else {
          this.asked.push(params);
          const answer = (messages = this.read(params)) =>
            server.push({ id: frame.id, result: { messages } });
          if (this.hold) this.keep(answer);
          else answer();
        }
      }
    })();
    return () => (on = false);
  }
}

/** What a client was shown since `from`, one line an update. */
export function shown(client: PlainClient, id: string, from = 0): string[] {
  return client
    .updates(id)
    .slice(from)
    .flatMap((update) => {
      const kind = String(update.sessionUpdate);
      const text = ((update.content as Json)?.text ?? "") as string;
      if (kind === "user_message_chunk") return [`user ${update.messageId} ${text}`];
      if (kind === "agent_message_chunk") return [`agent ${update.messageId} ${text}`];
      if (kind === "agent_thought_chunk") return [`thought ${update.messageId} ${text}`];
      if (kind === "tool_call") return [`card ${update.toolCallId}`];
      return [];
    });
}

export interface Loaded {
  readonly lines: string[];
  readonly meta: Json;
}

export async function load(client: PlainClient, id: string, limit?: number): Promise<Loaded> {
  const from = client.updates(id).length;
  const answer = await client.request("session/load", {
    sessionId: id,
    cwd: "/one",
    mcpServers: [],
    ...(limit === undefined ? {} : { _meta: { zcode: { limit } } }),
  });
  return { lines: shown(client, id, from), meta: answer.replayMeta as Json };
}

export async function earlier(
  client: PlainClient,
  id: string,
  before: unknown,
  limit?: number,
): Promise<Loaded> {
  const from = client.updates(id).length;
  const params = { sessionId: id, before, ...(limit === undefined ? {} : { limit }) };
  const answer = await client.request("session/load_earlier", params);
  return { lines: shown(client, id, from), meta: answer.replayMeta as Json };
}

export const startsTurn = (lines: readonly string[]) => lines.length === 0 || lines[0]!.startsWith("user ");

export async function begin(random: Random, turns: number) {
  const played = await startPlayed();
  const store = new Store(random);
  for (let n = 0; n < turns; n++) store.turn();
  const stop = store.serve(played.server);
  const end = async () => {
    stop();
    await played.test.bridge.close();
  };
  return { ...played, store, end };
}

/**
 * Has the session `s` say something, event by event.
 * @param named the message that it says, where no other is named.
 */
export function speaker(server: PlayedServer, named = "aN") {
  let seq = 0;
  const event = (type: string, payload: Json) => server.push(sessionEvent("s", ++seq, type, payload));
  const say = (delta: string, assistantMessageId = named) =>
    event("model.streaming", { kind: "text_delta", assistantMessageId, delta });
  return { event, say };
}
