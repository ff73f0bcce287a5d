/**
 * A part of the terminal that is drawn again and again without flicker, and given back however this process ends. Drawing
 * is one write; nothing is cleared before what replaces it is there.
 */

import { constants, openSync, writeSync } from "node:fs";
import { type Clock, haltFor, type Timer } from "../platform/clock.ts";

/** Where a screen draws; file descriptor 1 outside tests. */
export interface Terminal {
  readonly columns: number;
  readonly rows: number;
}

const BEGIN = "\x1b[?2026h";
const END = "\x1b[?2026l";
/** How long after what a terminal did not take it is offered again, in ms. */
const AGAIN_MS = 50;
/** How long a terminal that takes nothing holds up the end of this process, in ms. */
const LEAVE_MS = 300;
const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGQUIT: 131, SIGTERM: 143 } as const;

/** The whole terminal, on its second page: what stood there before comes back at the end. */
export class Screen {
  private shown = false;
  private readonly output: Patient;

  constructor(
    private readonly redraw: () => void,
    clock: Clock,
  ) {
    this.output = new Patient(clock, () => process.exit(SIGNALS.SIGHUP));
  }

  /** Takes the terminal over, until `leave` or the end of this process. */
  enter(): void {
    process.on("exit", () => this.leave());
    for (const [signal, code] of Object.entries(SIGNALS)) process.on(signal, () => process.exit(code));
    process.on("SIGWINCH", () => this.redraw());
    process.on("SIGTSTP", () => {
      this.leave();
      process.kill(process.pid, "SIGSTOP");
    });
    process.on("SIGCONT", () => {
      this.show();
      this.redraw();
    });
    this.show();
  }

  draw(lines: readonly string[], { rows }: Terminal): void {
    if (!this.shown) return;
    const visible = lines.slice(0, Math.max(1, rows));
    this.output.draw(`${BEGIN}\x1b[H${visible.map((line) => `${line}\x1b[K`).join("\r\n")}\x1b[J${END}`);
  }

  leave(): void {
    if (!this.shown) return;
    this.shown = false;
    this.output.finish("\x1b[?25h\x1b[?1049l");
  }

  private show(): void {
    if (this.shown) return;
    this.shown = true;
    this.output.say("\x1b[?1049h\x1b[?25l");
  }
}

/**
 * Writes to a terminal that may be held (Ctrl-S) or not be read at all. It never waits for one: a signal is heard all the
 * same, and of the pictures that could not be drawn only the last is drawn later.
 */
class Patient {
  private readonly fd = openPatient();
  /** What has been begun and must go on where it broke off. */
  private rest: Buffer = Buffer.alloc(0);
  private picture: string | undefined;
  private timer: Timer | undefined;
  private finished = false;

  /** @param gone told when there is no terminal any more: one in the background is sent no signal then. */
  constructor(
    private readonly clock: Clock,
    private readonly gone: () => void,
  ) {}

  draw(picture: string): void {
    this.picture = picture;
    this.go();
  }

  say(text: string): void {
    this.finished = false;
    this.rest = Buffer.concat([this.rest, Buffer.from(text)]);
    this.go();
  }

  /** The last words, for which a terminal is given a moment. */
  finish(text: string): void {
    this.picture = undefined;
    this.finished = true;
    this.rest = Buffer.concat([this.rest, Buffer.from(text)]);
    const deadline = this.clock.mono() + LEAVE_MS;
    while (!this.push() && this.clock.mono() < deadline) haltFor(5);
    this.timer?.cancel();
  }

  private go(): void {
    this.timer?.cancel();
    let taken = this.push();
    const { picture } = this;
    if (taken && picture !== undefined) {
      this.rest = Buffer.from(picture);
      const whole = this.rest.length;
      taken = this.push();
      // One that was not begun gives way to the next.
      if (this.rest.length === whole) this.rest = Buffer.alloc(0);
      else this.picture = undefined;
    }
    if (!taken) this.timer = this.clock.after(AGAIN_MS, () => this.go());
  }

  /** @returns whether nothing is left to write. */
  private push(): boolean {
    while (this.rest.length > 0) {
      try {
        this.rest = this.rest.subarray(writeSync(this.fd, this.rest));
      } catch (error) {
        if ((error as { code?: unknown }).code === "EAGAIN") return false;
        // It is gone, and takes nothing any more.
        this.rest = Buffer.alloc(0);
        if (!this.finished) this.gone();
      }
    }
    return true;
  }
}

/**
 * The terminal of standard output, opened once more: only this opening does not wait, not that of the shell which shares
 * the other. Where the system cannot (macOS has no such path), the controlling terminal, else standard output as it is.
 */
function openPatient(): number {
  for (const path of ["/proc/self/fd/1", "/dev/tty"]) {
    try {
      return openSync(path, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    } catch {
      // The next one.
    }
  }
  return 1;
}

/** Lines at the place of the cursor that are drawn over until they are right. */
export class Lines {
  private drawn: readonly string[] = [];

  /**
   * @param lines none of them wider than the terminal.
   * @param columns of the terminal as it is now: where it was made narrower, it has broken what stood there.
   */
  draw(lines: readonly string[], columns: number): void {
    let rows = 0;
    for (const line of this.drawn) rows += Math.max(1, Math.ceil(Bun.stringWidth(line) / columns));
    const up = rows > 0 ? `\x1b[${rows}A` : "";
    out(`${BEGIN}${up}\r${lines.map((line) => `${line}\x1b[K\n`).join("")}\x1b[J${END}`);
    this.drawn = lines;
  }
}

/** Whole and in order also where a signal ends this process next; a terminal that is gone takes nothing. */
function out(text: string): void {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      const { code } = error as { code?: unknown };
      if (code !== "EAGAIN") return;
    }
  }
}
