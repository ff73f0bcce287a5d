/** Ways in which the simulator misbehaves on purpose; each is a flag. */

export interface FaultOptions {
  /** Every session event leaves twice. */
  doubled?: boolean;
  /** Every third session event trades places with the one after it. */
  reorder?: boolean;
  /** Output ends in the middle of a line after this many characters, and the process with it. */
  cutAt?: number;
  /** The process ends with code 1 after this many frames. */
  dieAfter?: number;
  /** Session events of these types, and notifications of these methods, never leave; `METHOD/REASON` is narrower. */
  lose?: readonly string[];
}

function isLost(text: string, eventType: string | undefined, lose: readonly string[]): boolean {
  if (eventType) return lose.includes(eventType);
  const method = /^\{"method":"([^"]+)"/.exec(text)?.[1];
  if (!method) return false;
  const reason = /"(?:reason|kind)":"([^"]+)"/.exec(text)?.[1];
  return lose.includes(method) || lose.includes(`${method}/${reason}`);
}

export class Faults {
  /** False on the common path: then no frame is looked at. */
  readonly active: boolean;
  private written = 0;
  private frames = 0;
  private events = 0;
  private held: string | undefined;
  private dead = false;

  /** @param die ends the process after writing `tail`, which has no line end. */
  constructor(
    private readonly options: FaultOptions,
    private readonly die: (tail: string) => void,
  ) {
    const { doubled, reorder, cutAt, dieAfter, lose } = options;
    this.active = Boolean(doubled || reorder || cutAt || dieAfter || lose?.length);
  }

  /** The lines that leave in place of `text`. */
  pass(text: string, eventType: string | undefined): string[] {
    if (this.dead) return [];
    const { doubled, reorder, lose, cutAt, dieAfter } = this.options;
    if (lose?.length && isLost(text, eventType, lose)) return [];
    let lines = [text];
    if (eventType) {
      this.events++;
      if (doubled) lines = [text, text];
      if (reorder && this.held === undefined && this.events % 3 === 0) {
        this.held = text;
        return [];
      }
    }
    if (this.held !== undefined) {
      lines.push(this.held);
      this.held = undefined;
    }
    if (dieAfter) {
      this.frames += lines.length;
      if (this.frames >= dieAfter) this.end("");
    }
    if (cutAt) {
      const size = lines.reduce((sum, line) => sum + line.length + 1, 0);
      if (this.written + size >= cutAt) {
        const rest = lines.join("\n").slice(0, Math.max(0, cutAt - this.written));
        this.end(rest);
        return [];
      }
      this.written += size;
    }
    return lines;
  }

  private end(tail: string): void {
    this.dead = true;
    this.die(tail);
  }
}
