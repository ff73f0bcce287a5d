/** What a person types at the demo's questions. */
import type { PermissionOption } from "@agentclientprotocol/sdk/unstable";

/** How long a question waits for its first key, and for the line once somebody types, in ms. */
const WAIT_MS = 2_000;
const TYPING_MS = 10_000;

/** The option that was meant (undefined where none is offered that fits), or `again` where the answer means nothing. */
export type Reply = PermissionOption | undefined | "again";

const YES = new Set(["", "y", "yes", "allow", "ok"]);
const NO = new Set(["n", "no", "deny", "reject"]);

/** @param typed one line; an empty one is a bare Enter. */
export function readReply(typed: string, options: readonly PermissionOption[]): Reply {
  const word = typed.trim().toLowerCase();
  const ofKind = (...kinds: string[]) =>
    kinds.map((kind) => options.find((option) => option.kind === kind)).find((option) => option);
  if (YES.has(word)) return ofKind("allow_once", "allow_always");
  if (NO.has(word)) return ofKind("reject_once", "reject_always");
  if (!/^\d+$/.test(word)) return "again";
  return options[Number(word) - 1] ?? "again";
}

const INTERRUPT = "\u0003";
const BACKSPACES: ReadonlySet<string> = new Set(["\u007f", "\b"]);

/** Lines from the terminal, one for each question; without a terminal there are none. */
export class Answers {
  readonly waitMs = WAIT_MS;
  private line = "";
  private readonly typed: string[] = [];
  private wake: (() => void) | undefined;
  private listening = false;

  constructor(private readonly stdin: NodeJS.ReadStream) {}

  /** Whether there is anybody to ask. */
  get attended(): boolean {
    return this.stdin.isTTY === true;
  }

  /** The next line, or undefined when none comes in time; who has begun to type is given longer. */
  async next(): Promise<string | undefined> {
    this.listen();
    const asked = performance.now();
    for (;;) {
      const whole = this.typed.shift();
      if (whole !== undefined) return whole;
      const left = asked + (this.line === "" ? WAIT_MS : TYPING_MS) - performance.now();
      if (left <= 0) {
        this.line = "";
        return undefined;
      }
      await this.somethingOr(left);
    }
  }

  /** Gives the terminal back as it was. */
  close(): void {
    if (!this.listening) return;
    this.stdin.setRawMode(false);
    this.stdin.pause();
  }

  /** Key by key: a terminal that hands over whole lines does not tell that somebody types. */
  private listen(): void {
    if (this.listening) return;
    this.listening = true;
    this.stdin.setRawMode(true);
    this.stdin.setEncoding("utf8");
    this.stdin.on("data", (data: string) => {
      for (const key of data) this.take(key);
      this.wake?.();
    });
  }

  private take(key: string): void {
    if (key === INTERRUPT) process.kill(process.pid, "SIGINT");
    else if (key === "\r" || key === "\n") {
      process.stdout.write("\n");
      this.typed.push(this.line);
      this.line = "";
    } else if (BACKSPACES.has(key)) {
      if (this.line === "") return;
      this.line = this.line.slice(0, -1);
      process.stdout.write("\b \b");
    } else if (key >= " ") {
      this.line += key;
      process.stdout.write(key);
    }
  }

  private somethingOr(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
