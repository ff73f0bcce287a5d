/**
 * A part of the terminal that is drawn again and again without flicker, and given back however this process ends. Drawing
 * is one write; nothing is cleared before what replaces it is there.
 */

import { writeSync } from "node:fs";

/** Where a screen draws; file descriptor 1 outside tests. */
export interface Terminal {
  readonly columns: number;
  readonly rows: number;
}

const BEGIN = "\x1b[?2026h";
const END = "\x1b[?2026l";
const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGQUIT: 131, SIGTERM: 143 } as const;

/** The whole terminal, on its second page: what stood there before comes back at the end. */
export class Screen {
  private shown = false;

  constructor(private readonly redraw: () => void) {}

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
    out(`${BEGIN}\x1b[H${visible.map((line) => `${line}\x1b[K`).join("\r\n")}\x1b[J${END}`);
  }

  leave(): void {
    if (!this.shown) return;
    this.shown = false;
    out("\x1b[?25h\x1b[?1049l");
  }

  private show(): void {
    if (this.shown) return;
    this.shown = true;
    out("\x1b[?1049h\x1b[?25l");
  }
}

/** Lines at the place of the cursor that are drawn over until they are right. */
export class Lines {
  private drawn = 0;

  /** @param lines none of them wider than the terminal. */
  draw(lines: readonly string[]): void {
    const up = this.drawn > 0 ? `\x1b[${this.drawn}A` : "";
    out(`${BEGIN}${up}\r${lines.map((line) => `${line}\x1b[K\n`).join("")}\x1b[J${END}`);
    this.drawn = lines.length;
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
