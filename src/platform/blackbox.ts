/**
 * The black box: the last frames' heads, never their content, in arrays that are allocated once. It is written
 * when a person asks (SIGUSR1) and on a fatal error, together with the live state of whoever writes it.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { writeAtomicSync } from "./atomic.ts";
import type { Clock } from "./clock.ts";
import { BLACKBOX_FRAMES } from "./limits.ts";
import { lengthOf, safeName } from "./mask.ts";

/** Seen from this process; without a name the other side is the backend. */
export type Direction = "in" | "out" | "client in" | "client out";

export interface BlackBox {
  /**
   * Notes one frame.
   * @param what its method or type.
   * @param session empty where it names none.
   * @param size bytes or characters, whichever the caller has at hand.
   */
  frame(
    direction: Direction,
    what: string,
    id: string | number | undefined,
    session: string,
    size: number,
  ): void;
  /** Everything as a JSON text; `live` is the caller's state and must hold no content. */
  snapshot(live: unknown): string;
  /** Writes the snapshot into the state directory. @returns its path, or undefined where that is not possible. */
  write(live: unknown): string | undefined;
}

export interface BlackBoxOptions {
  readonly dir: string;
  /** File name without extension, unique per process. */
  readonly name: string;
  readonly clock: Clock;
}

/** Names longer than this are foreign nonsense; they are let go of at once, so that they hold no memory. */
const NAME_CHARS = 100;

export function createBlackBox(options: BlackBoxOptions): BlackBox {
  return new Ring(options, BLACKBOX_FRAMES);
}

class Ring implements BlackBox {
  private readonly times: Float64Array;
  private readonly sizes: Float64Array;
  private readonly directions: Direction[];
  private readonly whats: string[];
  private readonly ids: (string | number | undefined)[];
  private readonly sessions: string[];
  private count = 0;
  private now = 0;
  private timed = false;

  constructor(
    private readonly options: BlackBoxOptions,
    private readonly capacity: number,
  ) {
    this.times = new Float64Array(capacity);
    this.sizes = new Float64Array(capacity);
    this.directions = new Array<Direction>(capacity).fill("in");
    this.whats = new Array<string>(capacity).fill("");
    this.ids = new Array<string | number | undefined>(capacity).fill(undefined);
    this.sessions = new Array<string>(capacity).fill("");
  }

  frame(
    direction: Direction,
    what: string,
    id: string | number | undefined,
    session: string,
    size: number,
  ): void {
    const at = this.count++ % this.capacity;
    this.times[at] = this.time();
    this.sizes[at] = size;
    this.directions[at] = direction;
    this.whats[at] = short(what);
    this.ids[at] = typeof id === "string" ? short(id) : id;
    this.sessions[at] = short(session);
  }

  /** One look at the clock for all that is done in one go. */
  private time(): number {
    if (!this.timed) {
      this.timed = true;
      this.now = this.options.clock.now();
      queueMicrotask(() => {
        this.timed = false;
      });
    }
    return this.now;
  }

  snapshot(live: unknown): string {
    const frames: unknown[] = [];
    for (let n = Math.max(0, this.count - this.capacity); n < this.count; n++) {
      const at = n % this.capacity;
      const id = this.ids[at];
      frames.push([
        new Date(this.times[at]!).toISOString(),
        this.directions[at],
        safeName(this.whats[at]!),
        typeof id === "string" ? safeName(id) : (id ?? null),
        safeName(this.sessions[at]!),
        this.sizes[at],
      ]);
    }
    const head = { v: 1, pid: process.pid, writtenAt: new Date(this.options.clock.now()).toISOString() };
    const rows = frames.map((frame) => `    ${JSON.stringify(frame)}`).join(",\n");
    const rest = JSON.stringify({ ...head, framesSeen: this.count, live: live ?? null }, null, 2);
    // One frame a line: a person reads this.
    return `${rest.slice(0, -2)},\n  "frames": [\n${rows}\n  ]\n}\n`;
  }

  write(live: unknown): string | undefined {
    const path = join(this.options.dir, `${this.options.name}.blackbox.json`);
    try {
      mkdirSync(this.options.dir, { recursive: true, mode: 0o700 });
      writeAtomicSync(path, this.snapshot(live), 0o600);
      return path;
    } catch {
      return undefined;
    }
  }
}

/** Names are looked at when they are written, which is seldom; a frame passes many times a second. */
function short(name: string): string {
  return name.length <= NAME_CHARS ? name : lengthOf(name);
}
