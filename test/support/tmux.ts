/** A real terminal, for what only shows in one. */

import { join } from "node:path";
import { until } from "./processes.ts";
import { tempDir } from "./temp.ts";

/** One terminal, with a shell in it. */
export class Tmux {
  private readonly socket = join(tempDir("tmux"), "socket");
  readonly raw = join(tempDir("raw"), "out");

  constructor(env: Record<string, string>, width: number, height: number) {
    const size = ["-x", String(width), "-y", String(height)];
    this.run(["-f", "/dev/null", "new-session", "-d", ...size, "sh"], {
      ...env,
      TERM: "xterm-256color",
      PS1: "$ ",
    });
    this.run(["pipe-pane", `cat > '${this.raw}'`]);
  }

  run(args: readonly string[], env?: Record<string, string>): string {
    const { stdout, stderr, exitCode } = Bun.spawnSync(["tmux", "-S", this.socket, ...args], {
      env: env ?? { PATH: process.env.PATH ?? "", TERM: "xterm-256color" },
    });
    if (exitCode !== 0) throw new Error(`tmux ${args[0]}: ${stderr.toString()}`);
    return stdout.toString();
  }

  type(line: string): void {
    this.run(["send-keys", "-l", line]);
    this.run(["send-keys", "Enter"]);
  }

  screen(): string {
    return this.run(["capture-pane", "-p"]);
  }

  /** Whether the second page is on, and whether the cursor is to be seen. */
  state(): { alternate: string; cursor: string } {
    const [alternate = "", cursor = ""] = this.run(["display", "-p", "#{alternate_on} #{cursor_flag}"])
      .trim()
      .split(" ");
    return { alternate, cursor };
  }

  shows(what: string, ms = 10_000): Promise<boolean> {
    return until(`the terminal shows ${what}`, ms, () => this.screen().includes(what));
  }

  end(): void {
    this.run(["kill-server"]);
  }
}
