/**
 * Requests to the client. A question for a person is announced again and again under one `requestId`, each
 * time with a new frame id; the first answer to any of them counts, later ones are taken and ignored.
 */
import type { Clock, Timer } from "../platform/clock.ts";
import type { Era } from "./era.ts";
import type { Out } from "./out.ts";
import type { Obj } from "./types.ts";
import type { FrameId } from "./wire.ts";

export type Answer =
  | { kind: "result"; result: unknown }
  | { kind: "error"; code: number; message: string }
  | { kind: "timeout" }
  | { kind: "cancelled" };

export interface AskOptions {
  /** Announce again until answered. */
  repeat?: boolean;
  /** Seconds until the wait ends by itself. */
  timeoutS?: number;
  signal?: AbortSignal;
  trace?: Obj;
}

interface Open {
  ids: FrameId[];
  settle(answer: Answer): void;
}

export class Interactions {
  private count = 0;
  private readonly open = new Map<FrameId, Open>();

  constructor(
    private readonly era: Era,
    private readonly out: Out,
    private readonly clock: Clock,
  ) {}

  /** Sends the request and waits for its answer; never rejects. */
  ask(method: string, params: Obj, options: AskOptions = {}): Promise<Answer> {
    return new Promise((resolve) => {
      const timers = new Set<Timer>();
      const later = (seconds: number, run: () => void) => {
        const timer = this.clock.after(seconds * 1000, () => {
          timers.delete(timer);
          run();
        });
        timers.add(timer);
      };
      const cancel = () => open.settle({ kind: "cancelled" });
      const open: Open = {
        ids: [],
        settle: (answer) => {
          for (const timer of timers) timer.cancel();
          for (const id of open.ids) this.open.delete(id);
          options.signal?.removeEventListener("abort", cancel);
          resolve(answer);
        },
      };
      const announce = (round: number) => {
        const n = ++this.count;
        const id = this.era.stringIds ? `server-${n}` : n;
        open.ids.push(id);
        this.open.set(id, open);
        this.out.request(id, method, params, options.trace);
        const gaps = this.era.reannounce;
        if (options.repeat) later(gaps[Math.min(round, gaps.length - 1)]!, () => announce(round + 1));
      };
      if (options.signal?.aborted) return resolve({ kind: "cancelled" });
      options.signal?.addEventListener("abort", cancel, { once: true });
      announce(0);
      if (options.timeoutS) later(options.timeoutS, () => open.settle({ kind: "timeout" }));
    });
  }

  /** Takes an answer; an id that is not open (late, unknown) is passed over. */
  answer(id: FrameId, answer: Answer): void {
    this.open.get(id)?.settle(answer);
  }
}
