/** The title of the terminal window that this process belongs to, where it belongs to one. */

import type { Clock } from "./clock.ts";
import { errorName, type Log } from "./log.ts";

/** Characters of a title; a tab shows fewer. */
const TITLE_CHARS = 80;
/** A terminal that takes nothing for so long, held by Ctrl-S for one, is left alone; milliseconds. */
const WRITE_DEADLINE_MS = 2_000;

/**
 * Writing is another process's: a terminal may be held, or stop whoever writes to it from the background, and this
 * one waits for neither. The words go through a pipe, so that no list of processes shows them.
 */
const SCRIPT = 'trap "" TTOU; exec cat >/dev/tty';

export class WindowTitle {
  private shown: string | undefined;
  private wanted: string | undefined;
  private writing = false;

  /** @param env of the shell that writes. */
  constructor(
    private readonly clock: Clock,
    private readonly env: Readonly<Record<string, string | undefined>>,
    private readonly log: Log,
  ) {}

  /** The window is called `title` from here on; the last of several has its way. */
  set(title: string): void {
    this.wanted = title;
    if (this.writing) return;
    this.writing = true;
    void this.write();
  }

  private async write(): Promise<void> {
    try {
      while (this.wanted !== undefined && this.wanted !== this.shown) {
        this.shown = this.wanted;
        const child = Bun.spawn(["/bin/sh", "-c", SCRIPT], {
          stdin: new TextEncoder().encode(`\u001b]0;${plainTitle(this.shown)}\u0007`),
          stdout: "ignore",
          stderr: "ignore",
          env: this.env,
        });
        const deadline = this.clock.after(WRITE_DEADLINE_MS, () => child.kill("SIGKILL"));
        await child.exited;
        deadline.cancel();
      }
    } catch (error) {
      this.log.once("title", "warn", `the window's title was not set: ${errorName(error)}`);
    } finally {
      // At the moment of the last look: whatever is wanted behind it begins anew.
      this.writing = false;
    }
  }
}

/** One line without control characters, which a terminal would obey, cut to a title's length. */
export function plainTitle(title: string): string {
  const plain = title
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .replace(/[\p{Bidi_Control}\p{Cs}]/gu, "")
    .trim();
  return [...plain].slice(0, TITLE_CHARS).join("");
}
