/** The driver's side of the relays: which are there, what they are told, and when they end. */
import { writeFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { LineSplitter } from "../../src/platform/lines.ts";
import { BINARY } from "../support/agent.ts";
import type { Harm } from "./relay.ts";

export interface RelayProcess {
  readonly relay: number;
  readonly sim: number;
  readonly gone: Promise<void>;
}

interface Known extends RelayProcess {
  readonly socket: Socket;
}

export class Relays {
  /** How many have ended. */
  deaths = 0;
  /** How often each kind of harm was done to a frame. */
  readonly did: Record<string, number> = {};
  onDeath: () => void = () => {};
  private readonly server: Server;
  private readonly alive: Known[] = [];

  private constructor(private readonly path: string) {
    this.server = createServer((socket) => this.connected(socket));
  }

  /** @param dir a folder with a short name: a socket's path has room for about a hundred characters. */
  static async listen(dir: string): Promise<Relays> {
    const relays = new Relays(join(dir, "r"));
    await new Promise<void>((resolve, reject) => {
      relays.server.once("error", reject);
      relays.server.listen(relays.path, resolve);
    });
    return relays;
  }

  /** The one that serves the bridge now; undefined while no backend runs. */
  get current(): RelayProcess | undefined {
    return this.alive.at(-1);
  }

  /** @returns whether there was one to tell. */
  tell(harm: Harm): boolean {
    return this.alive.at(-1)?.socket.write(`${JSON.stringify(harm)}\n`) ?? false;
  }

  /** Writes a `zcode` that starts the relay before the simulator. */
  install(dir: string, sim: readonly string[]): string {
    const path = join(dir, "zcode");
    const words = [process.execPath, join(import.meta.dir, "relay.ts"), this.path, BINARY, "sim", ...sim];
    writeFileSync(
      path,
      [
        "#!/bin/sh",
        'if [ "$1" = --version ]; then echo "zcode 0.16.9"; exit 0; fi',
        // A bridge that may not write is the fault that is meant; the backend's own files are another program's matter.
        "ulimit -S -f unlimited 2>/dev/null",
        "export BUN_RUNTIME_TRANSPILER_CACHE_PATH=0",
        `exec ${words.map((word) => `'${word}'`).join(" ")}`,
        "",
      ].join("\n"),
      { mode: 0o755 },
    );
    return path;
  }

  close(): void {
    for (const { socket } of this.alive) socket.destroy();
    this.server.close();
  }

  private connected(socket: Socket): void {
    const lines = new LineSplitter();
    let known: Known | undefined;
    const gone = new Promise<void>((resolve) => {
      socket.on("close", () => {
        if (known) {
          this.alive.splice(this.alive.indexOf(known), 1);
          this.deaths++;
          this.onDeath();
        }
        resolve();
      });
    });
    // A killed process's socket may end in a reset.
    socket.on("error", () => {});
    socket.on("data", (chunk: Uint8Array) => {
      for (const line of lines.push(chunk)) {
        const message = JSON.parse(line) as { relay?: number; sim?: number; did?: string };
        if (message.did !== undefined) this.did[message.did] = (this.did[message.did] ?? 0) + 1;
        if (message.relay !== undefined && message.sim !== undefined) {
          known = { relay: message.relay, sim: message.sim, gone, socket };
          this.alive.push(known);
        }
      }
    });
  }
}
