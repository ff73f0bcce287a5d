/** The stream of one model step: deltas out, and what was said kept for the message. */
import { BURST_BLOCK } from "./limits.ts";
import type { AssistantMessage } from "./messages.ts";
import type { StepStream } from "./model.ts";
import type { Live } from "./session.ts";
import type { Turn } from "./turn.ts";
import type { Obj } from "./types.ts";

export class Stream implements StepStream {
  said = "";
  chars = 0;
  private open: { type: "text" | "reasoning"; text: string[] } | undefined;
  private partId: string | undefined;

  constructor(
    readonly turn: Turn,
    private readonly assistant: AssistantMessage,
    private readonly querySource: string,
  ) {}

  get live(): Live {
    return this.turn.live;
  }

  get signal(): AbortSignal {
    return this.turn.signal;
  }

  wait(ms: number): Promise<void> {
    return this.turn.wait(ms);
  }

  async text(delta: string): Promise<void> {
    await this.pause();
    this.keep("text", delta);
    this.send({ delta, done: false, kind: "text_delta" });
  }

  async reason(delta: string): Promise<void> {
    await this.pause();
    this.keep("reasoning", delta);
    this.send({ delta, done: false, kind: "reasoning_delta" });
  }

  /** A call as the model writes it: the input in two pieces, then whole. */
  async toolCall(toolCallId: string, toolName: string, input: Obj): Promise<void> {
    this.flush();
    const text = JSON.stringify(input);
    const at = Math.min(24, Math.max(1, text.length >> 1));
    const head = { done: false, toolCallId, toolName };
    await this.pause();
    this.send({ delta: "", kind: "tool_input_start", ...head });
    this.send({ delta: text.slice(0, at), kind: "tool_input_delta", ...head });
    this.send({ delta: text.slice(at), kind: "tool_input_delta", ...head });
    this.send({ delta: "", kind: "tool_input_end", ...head });
    this.send({ delta: "", kind: "tool_call", input, ...head });
    this.chars += text.length;
  }

  async burst(count: number, perSecond?: number): Promise<void> {
    const { world } = this.live;
    const perTick = perSecond ? Math.max(1, Math.round(perSecond / 50)) : BURST_BLOCK;
    for (let done = 0; done < count; ) {
      const size = Math.min(perTick, count - done);
      this.block(done, size);
      done += size;
      if (perSecond) await this.wait(20);
      else {
        await world.out.idle();
        // Lets a stop, or the end of stdin, be read between two blocks.
        await new Promise((resolve) => setImmediate(resolve));
        this.turn.check();
      }
    }
  }

  /** Ends the open part. */
  flush(): void {
    if (!this.open) return;
    this.assistant.text(this.open.type, this.open.text.join(""));
    this.open = undefined;
    this.partId = undefined;
  }

  private async pause(): Promise<void> {
    const { pace } = this.live.world.settings;
    if (pace > 0) await this.turn.wait(pace);
    else this.turn.check();
  }

  private keep(type: "text" | "reasoning", delta: string): void {
    if (this.open?.type !== type) {
      this.flush();
      this.open = { type, text: [] };
    }
    this.open.text.push(delta);
    this.chars += delta.length;
    if (type === "text") this.said += delta;
  }

  private send(payload: Obj): void {
    if (this.querySource === "hidden") return;
    const { world } = this.live;
    if (!world.era.modern) {
      this.partId ??= `part_${world.ids.uuid()}`;
      this.turn.event("model.streaming", {
        assistantMessageId: this.assistant.id,
        partId: this.partId,
        ...payload,
      });
    } else this.turn.event("model.streaming", { assistantMessageId: this.assistant.id, ...payload });
  }

  /** `size` text deltas built as text, since serialising objects is what a burst would spend its time on. */
  private block(from: number, size: number): void {
    const { live, turn } = this;
    const { world, data } = live;
    const partId = world.era.modern ? "" : `"partId":"part_${data.traceId.slice(6)}",`;
    const head = `{"deliveryKind":"desktop-continuous","eventId":"`;
    const payload = `","payload":{"assistantMessageId":"${this.assistant.id}",${partId}"delta":"`;
    const tail = `","done":false,"kind":"text_delta"},"seq":`;
    const session = `,"sessionId":"${live.id}","timestamp":${world.clock.now()},"traceId":"${data.traceId}","turnId":"${turn.id}","type":"model.streaming"}`;
    const words: string[] = [];
    const lines: string[] = [];
    for (let i = 0; i < size; i++) {
      const word = `word${from + i} `;
      words.push(word);
      const text = head + world.ids.event() + payload + word + tail + String(++live.seq) + session;
      live.record(text);
      lines.push(`{"method":"session/event","params":${text}}`);
    }
    this.keep("text", words.join(""));
    if (live.subscribed && !world.out.block(lines.join("\n"))) {
      for (const line of lines) world.out.line(line, "model.streaming");
    }
  }
}
