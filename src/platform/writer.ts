/**
 * One writer per stream. Lines written within one tick are joined and leave in one system call; while the
 * other side does not read, they wait here, counted, and nothing is awaited by whoever writes.
 */

/** What Bun's `FileSink` gives: `write` answers a promise while the pipe is full. */
export interface ByteSink {
  write(data: string | Uint8Array): number | Promise<number>;
  flush(): number | Promise<number> | Promise<void> | void;
  end(): unknown;
}

/** Joined writes stop growing here, in characters, so that one block is never too large to join cheaply. */
const BLOCK_CHARS = 1024 * 1024;

/** While more characters wait than these, whoever can wait does. */
const ROOM_CHARS = 8 * 1024 * 1024;

export class LineWriter {
  /** Full blocks that wait, and the one that is being filled. */
  private blocks: string[] = [];
  private filling = "";
  private queuedChars = 0;
  private inFlightChars = 0;
  private scheduled = false;
  private closed = false;
  private failed = false;
  private idleWaiters: (() => void)[] = [];
  private roomWaiters: (() => void)[] = [];

  /**
   * @param sink where the bytes go.
   * @param onError told once when the sink fails; everything after that is dropped.
   * @param eager writes each line at once while the stream takes them, for streams where the other side waits for
   * single lines and not for many.
   */
  constructor(
    private readonly sink: ByteSink,
    private readonly onError: (error: unknown) => void = () => {},
    private readonly eager = false,
  ) {}

  /** Queues one line, given without its newline. */
  write(line: string): void {
    if (this.closed || this.failed) return;
    this.filling += `${line}\n`;
    this.queuedChars += line.length + 1;
    if (this.filling.length >= BLOCK_CHARS) {
      this.blocks.push(this.filling);
      this.filling = "";
    }
    if (this.scheduled || this.inFlightChars > 0) return;
    if (this.eager) this.pump();
    else {
      this.scheduled = true;
      queueMicrotask(() => this.pump());
    }
  }

  /** Characters accepted and not yet taken by the stream, the block being written included. */
  get pending(): number {
    return this.queuedChars + this.inFlightChars;
  }

  /** True while the stream does not take what it was given. */
  get blocked(): boolean {
    return this.inFlightChars > 0;
  }

  /** Resolves when nothing is pending, or the stream has failed or closed. */
  idle(): Promise<void> {
    if (this.pending === 0 || this.failed || this.closed) return Promise.resolve();
    return new Promise((resolve) => this.idleWaiters.push(resolve));
  }

  /** Resolves when little is pending; undefined where that is so. */
  room(): Promise<void> | undefined {
    if (this.pending <= ROOM_CHARS || this.failed || this.closed) return undefined;
    return new Promise((resolve) => this.roomWaiters.push(resolve));
  }

  /** Ends the stream; what is queued is given to it first, without waiting for the other side. */
  close(): void {
    if (this.closed) return;
    if (!this.failed && this.inFlightChars === 0) this.pump();
    this.closed = true;
    try {
      this.sink.end();
    } catch (error) {
      this.fail(error);
    }
    this.wake();
  }

  private pump(): void {
    this.scheduled = false;
    while (this.queuedChars > 0 && !this.failed && !this.closed) {
      const block = this.take();
      let written: number | Promise<number>;
      try {
        written = this.sink.write(block);
        const flushed = this.sink.flush();
        if (flushed instanceof Promise) flushed.catch((error) => this.fail(error));
      } catch (error) {
        this.fail(error);
        return;
      }
      if (written instanceof Promise) {
        this.inFlightChars = block.length;
        written.then(
          () => {
            this.inFlightChars = 0;
            if (this.pending <= ROOM_CHARS) for (const waiter of this.roomWaiters.splice(0)) waiter();
            this.pump();
          },
          (error) => this.fail(error),
        );
        return;
      }
    }
    if (this.queuedChars === 0) this.wake();
  }

  private take(): string {
    const full = this.blocks.shift();
    const block = full ?? this.filling;
    if (full === undefined) this.filling = "";
    this.queuedChars -= block.length;
    return block;
  }

  private fail(error: unknown): void {
    if (this.failed) return;
    this.failed = true;
    this.blocks = [];
    this.filling = "";
    this.queuedChars = 0;
    this.inFlightChars = 0;
    this.wake();
    this.onError(error);
  }

  private wake(): void {
    const waiters = [...this.idleWaiters, ...this.roomWaiters];
    this.idleWaiters = [];
    this.roomWaiters = [];
    for (const waiter of waiters) waiter();
  }
}
