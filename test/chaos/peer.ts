/** The client of one bridge process: it counts answers, keeps the last frames, and hands on what the agent says. */
import type { Agent } from "../support/agent.ts";
import type { Json } from "../support/plainClient.ts";

export interface Failure {
  readonly code: number;
  readonly message: string;
  /** `data.code`: which error of ours it is. */
  readonly name: string;
}

/** A request of the driver's, and what became of it. */
export interface Sent {
  readonly id: number;
  readonly method: string;
  /** The conversation that it names, if any. */
  readonly session: string;
  /** When its time began to count. */
  since: number;
  /** A fault that may cost its answer hit while it was open. */
  touched: boolean;
  /** It waits for a person, who has all the time in the world. */
  waitsForPerson: boolean;
  /** Its conversation was closed while it was open. */
  overtaken: boolean;
  result: Json | undefined;
  failure: Failure | undefined;
  readonly settled: Promise<void>;
}

/** A permission that the agent asks for, or a form. */
export interface Asked {
  readonly id: unknown;
  readonly session: string;
  readonly params: Json;
  readonly form: boolean;
  /** The driver has sent an answer of whatever kind. */
  answered: boolean;
  /** The agent has taken it back. */
  withdrawn: boolean;
}

export interface PeerHooks {
  update(session: string, update: Json, line: string): void;
  asked(asked: Asked): void;
  answered(sent: Sent): void;
}

/** How many frames are kept for the story of a failure. */
const KEPT = 400;
const SHOWN_CHARS = 260;

export class Peer {
  /** What must not be, in the order in which it was seen. */
  readonly wrong: string[] = [];
  readonly open = new Map<number, Sent>();
  readonly asked: Asked[] = [];
  requests = 0;
  private readonly waiting = new Map<number, () => void>();
  private readonly last: { session: string; line: string }[] = [];
  private nextId = 1;
  /** Resolves when nothing follows. */
  readonly ended: Promise<void>;
  /** The bridge was killed, or is about to end: its silence is no fault. */
  over = false;

  constructor(
    readonly agent: Agent,
    private readonly hooks: PeerHooks,
  ) {
    agent.client.receive = (line) => this.receive(line);
    this.ended = new Promise((resolve) => {
      agent.client.end = () => resolve();
    });
  }

  request(method: string, params: Json, touched = false): Sent {
    const id = this.nextId++;
    const settled = new Promise<void>((resolve) => this.waiting.set(id, resolve));
    const session = typeof params.sessionId === "string" ? params.sessionId : "";
    const sent: Sent = {
      id,
      method,
      session,
      since: performance.now(),
      touched,
      waitsForPerson: false,
      overtaken: false,
      result: undefined,
      failure: undefined,
      settled,
    };
    this.open.set(id, sent);
    this.requests++;
    this.send({ jsonrpc: "2.0", id, method, params });
    return sent;
  }

  notify(method: string, params: Json): void {
    this.send({ jsonrpc: "2.0", method, params });
  }

  /** Answers a permission with anything at all. */
  answer(asked: Asked, answer: Json): void {
    asked.answered = true;
    this.send({ jsonrpc: "2.0", id: asked.id, ...answer });
  }

  /** The bridge is gone, and with it all that was open. */
  abandon(): void {
    this.over = true;
    for (const id of this.open.keys()) this.waiting.get(id)?.();
    this.open.clear();
  }

  /** The last frames of a conversation, or of all of them. */
  frames(session: string | undefined, count: number): string[] {
    return this.last
      .filter((entry) => session === undefined || entry.session === session)
      .slice(-count)
      .map((entry) => entry.line);
  }

  private send(message: Json): void {
    const line = JSON.stringify(message);
    const params = (message.params ?? {}) as Json;
    this.keep("> ", typeof params.sessionId === "string" ? params.sessionId : "", line);
    if (this.over) return;
    try {
      this.agent.write(`${line}\n`);
    } catch {
      // The pipe of a bridge that was killed; whoever killed it settles what is open.
    }
  }

  private receive(line: string): void {
    const frame = JSON.parse(line) as Json;
    const params = (frame.params ?? {}) as Json;
    const session = typeof params.sessionId === "string" ? params.sessionId : "";
    if (typeof frame.method !== "string") return this.settle(frame, line);
    this.keep("< ", session, line);
    if (frame.method === "session/update") this.hooks.update(session, params.update as Json, line);
    else if (frame.method === "session/request_permission" || frame.method === "elicitation/create") {
      const form = frame.method === "elicitation/create";
      const asked: Asked = { id: frame.id, session, params, form, answered: false, withdrawn: false };
      this.asked.push(asked);
      this.hooks.asked(asked);
    } else if (frame.method === "$/cancel_request") {
      for (const asked of this.asked) if (asked.id === params.requestId) asked.withdrawn = true;
    } else if ("id" in frame) {
      this.send({ jsonrpc: "2.0", id: frame.id, error: { code: -32601, message: "Method not found" } });
    }
  }

  private settle(frame: Json, line: string): void {
    const sent = this.open.get(frame.id as number);
    this.keep("< ", sent?.session ?? "", line);
    if (!sent) {
      this.wrong.push(`an answer to nothing, or a second one: ${line.slice(0, SHOWN_CHARS)}`);
      return;
    }
    this.open.delete(sent.id);
    const error = frame.error as { code: number; message: string; data?: Json } | undefined;
    if (error) {
      const { code, message, data } = error;
      sent.failure = { code, message, name: typeof data?.code === "string" ? data.code : "" };
    } else sent.result = (frame.result ?? {}) as Json;
    this.hooks.answered(sent);
    this.waiting.get(sent.id)?.();
    this.waiting.delete(sent.id);
  }

  private keep(way: string, session: string, line: string): void {
    this.last.push({ session, line: way + line.slice(0, SHOWN_CHARS) });
    if (this.last.length > KEPT) this.last.shift();
  }
}
