/**
 * What leaves the process. Everything passes `line`, where the faults sit: a frame may be doubled, held back,
 * dropped or cut there, so that no other file knows of them.
 */
import type { LineWriter } from "../platform/writer.ts";
import type { Faults } from "./faults.ts";
import type { Obj } from "./types.ts";
import type { FrameId, RpcError } from "./wire.ts";

export class Out {
  private silent = false;

  constructor(
    private readonly writer: LineWriter,
    private readonly faults: Faults,
  ) {}

  /** Nothing leaves any more; the process hangs for whoever reads it. */
  hush(): void {
    this.silent = true;
  }

  line(text: string, eventType?: string): void {
    if (this.silent) return;
    if (!this.faults.active) this.writer.write(text);
    else for (const each of this.faults.pass(text, eventType)) this.writer.write(each);
  }

  /** Many lines at once, already joined by newlines; false when a fault wants to see each of them. */
  block(text: string): boolean {
    if (this.silent) return true;
    if (this.faults.active) return false;
    this.writer.write(text);
    return true;
  }

  frame(frame: Obj): void {
    this.line(JSON.stringify(frame));
  }

  notify(method: string, params: Obj): void {
    this.frame({ method, params });
  }

  result(id: FrameId, result: unknown): void {
    this.frame({ id, result });
  }

  error(id: FrameId, error: RpcError | { code: number; message: string; data?: Obj }): void {
    const { code, message, data } = error;
    this.frame({ id, error: { code, message, ...(data ? { data } : {}) } });
  }

  request(id: FrameId, method: string, params: Obj, trace?: Obj): void {
    this.frame({ id, method, params, ...(trace ? { trace } : {}) });
  }

  /** Resolves when the reader has taken everything. */
  idle(): Promise<void> {
    return this.writer.idle();
  }
}
