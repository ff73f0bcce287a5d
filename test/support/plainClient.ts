/**
 * A client without any SDK: it strips nothing, checks nothing, and keeps every frame it was sent. It speaks to a
 * bridge in this process, or to a spawned binary, through whatever `write` does.
 */

export type Json = { readonly [key: string]: unknown };
export type Handler = (params: Json, signal: { cancelled: boolean }) => unknown | Promise<unknown>;

export class RemoteError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data: unknown,
  ) {
    super(message);
  }
}

export class PlainClient {
  /** Everything received, in order. */
  readonly frames: Json[] = [];
  /** Answers to the agent's requests, by method; without one the agent is answered -32601. */
  readonly handlers = new Map<string, Handler>();
  private nextId = 1;
  private readonly pending = new Map<number, { resolve(value: Json): void; reject(error: Error): void }>();
  private readonly waiters = new Set<() => void>();
  private readonly cancelled = new Map<unknown, { cancelled: boolean }>();
  private ended = false;

  constructor(private readonly write: (line: string) => void) {}

  /** One line from the agent. */
  receive(line: string): void {
    const frame = JSON.parse(line) as Json;
    this.frames.push(frame);
    for (const waiter of [...this.waiters]) waiter();
    if (typeof frame.method === "string" && "id" in frame) void this.serve(frame.method, frame);
    else if (frame.method === "$/cancel_request") {
      const entry = this.cancelled.get((frame.params as Json).requestId);
      if (entry) entry.cancelled = true;
    } else if ("id" in frame && !("method" in frame)) this.settle(frame);
  }

  /** The agent is gone: what waits for an answer or a frame fails. */
  end(why = "the agent ended"): void {
    this.ended = true;
    for (const entry of this.pending.values()) entry.reject(new Error(why));
    this.pending.clear();
    for (const waiter of [...this.waiters]) waiter();
  }

  request(method: string, params: Json): Promise<Json> & { id: number } {
    const id = this.nextId++;
    const answer = new Promise<Json>((resolve, reject) => this.pending.set(id, { resolve, reject }));
    answer.catch(() => {});
    this.write(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    return Object.assign(answer, { id });
  }

  /** As `request`, with params that are written already: JSON knows numbers that JavaScript does not. */
  requestRaw(method: string, params: string): Promise<Json> {
    const id = this.nextId++;
    const answer = new Promise<Json>((resolve, reject) => this.pending.set(id, { resolve, reject }));
    this.write(`{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":${params}}`);
    return answer;
  }

  notify(method: string, params: Json): void {
    this.write(JSON.stringify({ jsonrpc: "2.0", method, params }));
  }

  raw(line: string): void {
    this.write(line);
  }

  async initialize(capabilities: Json = {}, clientInfo?: Json): Promise<Json> {
    return this.request("initialize", {
      protocolVersion: 1,
      clientCapabilities: capabilities,
      ...(clientInfo ? { clientInfo } : {}),
    });
  }

  async newSession(cwd: string): Promise<string> {
    const result = await this.request("session/new", { cwd, mcpServers: [] });
    return result.sessionId as string;
  }

  prompt(sessionId: string, text: string): Promise<Json> & { id: number } {
    return this.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
  }

  /** `update` fields of every `session/update` so far, of one session where it is named. */
  updates(sessionId?: string): Json[] {
    return this.frames
      .filter((frame) => frame.method === "session/update")
      .map((frame) => frame.params as Json)
      .filter((params) => sessionId === undefined || params.sessionId === sessionId)
      .map((params) => params.update as Json);
  }

  /** All text of one kind of chunk, joined. */
  text(kind = "agent_message_chunk", sessionId?: string): string {
    return this.updates(sessionId)
      .filter((update) => update.sessionUpdate === kind)
      .map((update) => (update.content as Json).text)
      .join("");
  }

  /** Resolves with the first frame, past or future, that `test` accepts. */
  async frame(test: (frame: Json) => boolean, ms = 15_000): Promise<Json> {
    let seen = 0;
    const deadline = Date.now() + ms;
    for (;;) {
      for (; seen < this.frames.length; seen++) if (test(this.frames[seen]!)) return this.frames[seen]!;
      if (this.ended) throw new Error("the agent ended before the frame came");
      const left = deadline - Date.now();
      if (left <= 0)
        throw new Error(
          `no such frame within ${ms} ms; last: ${JSON.stringify(this.frames.at(-1))?.slice(0, 300)}`,
        );
      await new Promise<void>((resolve) => {
        const done = () => {
          clearTimeout(timer);
          this.waiters.delete(done);
          resolve();
        };
        const timer = setTimeout(done, left);
        this.waiters.add(done);
      });
    }
  }

  /** Resolves with the first update that `test` accepts. */
  async update(test: (update: Json) => boolean, ms?: number): Promise<Json> {
    const frame = await this.frame(
      (candidate) => candidate.method === "session/update" && test((candidate.params as Json).update as Json),
      ms,
    );
    return (frame.params as Json).update as Json;
  }

  private async serve(method: string, frame: Json): Promise<void> {
    const handler = this.handlers.get(method);
    if (!handler) {
      this.write(
        JSON.stringify({
          jsonrpc: "2.0",
          id: frame.id,
          error: { code: -32601, message: "Method not found" },
        }),
      );
      return;
    }
    const signal = { cancelled: false };
    this.cancelled.set(frame.id, signal);
    try {
      const result = await handler((frame.params ?? {}) as Json, signal);
      if (result !== undefined) this.write(JSON.stringify({ jsonrpc: "2.0", id: frame.id, result }));
    } catch (error) {
      const remote = error instanceof RemoteError ? error : new RemoteError(-32603, String(error), undefined);
      this.write(
        JSON.stringify({
          jsonrpc: "2.0",
          id: frame.id,
          error: { code: remote.code, message: remote.message },
        }),
      );
    }
  }

  private settle(frame: Json): void {
    const entry = this.pending.get(frame.id as number);
    if (!entry) return;
    this.pending.delete(frame.id as number);
    const error = frame.error as { code: number; message: string; data: unknown } | undefined;
    if (error) entry.reject(new RemoteError(error.code, error.message, error.data));
    else entry.resolve(frame.result as Json);
  }
}
