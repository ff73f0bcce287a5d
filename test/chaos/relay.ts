/**
 * Stands between the bridge and the simulator as the `zcode` executable, and passes lines both ways until the driver
 * tells it to do harm: `relay.ts SOCKET PROGRAM [arguments]`. Commands are lines of JSON on a unix socket that the driver
 * listens on (`relays.ts`); what was done is told back.
 */
import { closeSync, writeSync } from "node:fs";
import { createConnection } from "node:net";
import { LineSplitter } from "../../src/platform/lines.ts";

/** What the relay can be told to do, and to which frame. */
export type Harm =
  /** The next notification loses its second half; all else goes on. */
  | { readonly do: "half" }
  /** The next frame loses its second half and its newline, and the process ends. */
  | { readonly do: "cut"; readonly ms: number }
  /** The next frame is sent twice. */
  | { readonly do: "double" }
  /** The next answer trades places with the one behind it, if that comes within `ms`. */
  | { readonly do: "swap"; readonly ms: number }
  /** Nothing passes in either direction for `ms`. */
  | { readonly do: "stall"; readonly ms: number }
  /** Output ends, the process stays. */
  | { readonly do: "mute" }
  | { readonly do: "exit"; readonly code: number };

interface Frame {
  readonly id?: unknown;
  readonly method?: unknown;
}

class Relay {
  private gate: Promise<void> = Promise.resolve();
  private half = 0;
  private double = 0;
  private cutting = false;
  private muted = false;
  /** How long the next answer may be held back; undefined where none is to be. */
  private swap: number | undefined;
  private held: string | undefined;

  constructor(private readonly told: (what: string) => void) {}

  take(harm: Harm): void {
    switch (harm.do) {
      case "half":
        this.half++;
        return;
      case "double":
        this.double++;
        return;
      case "swap":
        this.swap = harm.ms;
        return;
      case "stall":
        this.gate = this.gate.then(() => Bun.sleep(harm.ms));
        return;
      case "cut":
        this.cutting = true;
        // Where nothing is said meanwhile it ends all the same, so that the driver knows where it stands.
        setTimeout(() => process.exit(9), harm.ms);
        return;
      case "mute":
        this.muted = true;
        closeSync(1);
        return;
      case "exit":
        process.exit(harm.code);
    }
  }

  /** Resolves when lines may pass. */
  async open(): Promise<void> {
    for (let gate: Promise<void> | undefined; gate !== this.gate; ) {
      gate = this.gate;
      await gate;
    }
  }

  /** One line of the simulator's. */
  async up(line: string): Promise<void> {
    await this.open();
    if (this.cutting) {
      writeAll(line.slice(0, Math.ceil(line.length / 2)));
      this.told("cut");
      process.exit(9);
    }
    const answer = this.swap !== undefined || this.held !== undefined ? isAnswer(line) : false;
    if (answer && this.held !== undefined) {
      this.write(line);
      this.release();
      this.told("swap");
      return;
    }
    if (answer && this.swap !== undefined) {
      this.held = line;
      setTimeout(() => this.release(), this.swap);
      this.swap = undefined;
      return;
    }
    if (this.half > 0 && isNotification(line)) {
      this.half--;
      this.told("half");
      this.write(line.slice(0, Math.ceil(line.length / 2)));
      return;
    }
    this.write(line);
    if (this.double > 0) {
      this.double--;
      this.told("double");
      this.write(line);
    }
  }

  async end(): Promise<void> {
    await this.open();
    this.release();
  }

  private release(): void {
    const { held } = this;
    this.held = undefined;
    if (held !== undefined) this.write(held);
  }

  private write(line: string): void {
    if (this.muted) return;
    writeAll(`${line}\n`);
  }
}

/** By the system's call alone: a writer of Bun's holds a descriptor of its own, and output would not end with this one. */
function writeAll(text: string): void {
  let rest: Uint8Array = new TextEncoder().encode(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      // The bridge is behind, or gone; then its end ends this process.
      if ((error as { code?: string }).code !== "EAGAIN") return;
      Bun.sleepSync(1);
    }
  }
}

function frameOf(line: string): Frame {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

function isAnswer(line: string): boolean {
  const frame = frameOf(line);
  return frame.id !== undefined && frame.method === undefined;
}

function isNotification(line: string): boolean {
  const frame = frameOf(line);
  return frame.id === undefined && frame.method !== undefined;
}

async function run(socket: string, argv: readonly string[]): Promise<number> {
  const child = Bun.spawn([...argv], { stdio: ["pipe", "pipe", "inherit"] });
  const control = createConnection(socket);
  // Without a driver there is nobody to obey, and the bridge's end will end this process.
  control.on("error", () => {});
  control.unref();
  const tell = (message: object) => control.write(`${JSON.stringify(message)}\n`);
  const relay = new Relay((did) => tell({ did }));
  tell({ relay: process.pid, sim: child.pid });
  const commands = new LineSplitter();
  control.on("data", (chunk: Uint8Array) => {
    for (const line of commands.push(chunk)) relay.take(JSON.parse(line) as Harm);
  });
  void (async () => {
    const lines = new LineSplitter();
    for await (const chunk of Bun.stdin.stream()) {
      for (const line of lines.push(chunk)) {
        await relay.open();
        child.stdin.write(`${line}\n`);
      }
      child.stdin.flush();
    }
    await relay.open();
    child.stdin.end();
  })();
  const lines = new LineSplitter();
  for await (const chunk of child.stdout) for (const line of lines.push(chunk)) await relay.up(line);
  await relay.end();
  return child.exited;
}

if (import.meta.main) {
  const [socket = "", ...argv] = process.argv.slice(2);
  process.exit(await run(socket, argv));
}
