/**
 * One app-server process: its bytes become frames, its stderr a short tail, its end one event. Everything that
 * belongs to a process (ids, probed era, dropped keys) lives and dies with this object.
 */

import { type Clock, sleep } from "../platform/clock.ts";
import { LineSplitter } from "../platform/lines.ts";
import { errorName } from "../platform/log.ts";
import { MaskedTail } from "../platform/mask.ts";
import type { ByteSink } from "../platform/writer.ts";
import { LineWriter } from "../platform/writer.ts";
import { SILENT_PROCESS_MS, STDERR_TAIL_CHARS } from "./limits.ts";
import type { PushedProviders } from "./registry.ts";
import { Rpc, type RpcHooks } from "./rpc.ts";

export interface ServerExit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A spawned process as this room needs it; the bridge makes one from `platform/process.ts`. */
export interface ServerProcess {
  readonly pid: number;
  readonly stdin: ByteSink;
  readonly stdout: ReadableStream<Uint8Array>;
  readonly stderr: ReadableStream<Uint8Array>;
  readonly exited: Promise<ServerExit>;
  /** Ends the process and all that it started; resolves when nothing of it is left. */
  kill(): Promise<void>;
}

export class AppServer {
  readonly rpc: Rpc;
  /** Keys that this build refused, by method: they are not sent again. */
  readonly refusedKeys = new Map<string, Set<string>>();
  /** Whether it is of app 3.12 or newer; undefined until it was probed. */
  modern: boolean | undefined;
  /** What it was told of a person's providers; undefined where it is told nothing. */
  providers: PushedProviders | undefined;
  private readonly writer: LineWriter;
  private readonly tail = new MaskedTail(STDERR_TAIL_CHARS);
  private gone: ServerExit | undefined;

  /** @param onExit told once, after the last frame that the process wrote. */
  constructor(
    readonly process: ServerProcess,
    hooks: RpcHooks,
    private readonly clock: Clock,
    onExit: (exit: ServerExit) => void,
  ) {
    // A broken pipe is not an error of its own: the exit that follows is.
    this.writer = new LineWriter(process.stdin, () => {}, true);
    this.rpc = new Rpc((line) => this.writer.write(line), hooks, clock);
    const frames = this.readFrames(process.stdout, hooks);
    const errors = this.readTail(process.stderr);
    void process.exited.then(async (exit) => {
      this.gone = exit;
      // Descendants may hold the pipe open: what is left of it is not waited for longer than they live.
      await process.kill();
      await Promise.all([frames, errors]);
      this.rpc.close();
      onExit(exit);
    });
  }

  get alive(): boolean {
    return this.gone === undefined;
  }

  /** The last lines that the process wrote to stderr, without secrets. */
  get stderrTail(): string {
    return this.tail.text;
  }

  /** Bytes that the process has not read yet. */
  get unread(): number {
    return this.writer.pending;
  }

  async kill(): Promise<void> {
    this.writer.close();
    await this.process.kill();
  }

  private async readFrames(stream: ReadableStream<Uint8Array>, hooks: RpcHooks): Promise<void> {
    const lines = new LineSplitter((bytes) => hooks.onBadLine("longer than any frame", bytes));
    try {
      for await (const chunk of stream) {
        for (const line of lines.push(chunk)) {
          // What waited for an answer goes on before the next frame is looked at, however the bytes were cut.
          if (this.receive(line, hooks)) await this.settled();
        }
      }
    } catch {
      // The pipe broke; what follows tells.
    }
    for (const line of lines.end()) if (this.receive(line, hooks)) await this.settled();
    // A process that says nothing any more is of no use, even where it lives.
    await Promise.race([this.process.exited, sleep(this.clock, SILENT_PROCESS_MS)]);
    if (this.gone === undefined) await this.process.kill();
  }

  /** One line. A frame that cannot be dealt with is one frame lost, never the rest of them. */
  private receive(line: string, hooks: RpcHooks): boolean {
    try {
      return this.rpc.receive(line);
    } catch (error) {
      hooks.onBadLine(`one that failed (${errorName(error)})`, line.length);
      return false;
    }
  }

  private settled(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  private async readTail(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    try {
      for await (const chunk of stream) this.tail.push(decoder.decode(chunk, { stream: true }));
    } catch {
      // As above.
    }
  }
}
