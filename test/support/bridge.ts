/** A bridge in this process, over an app-server that the test plays. */

import type { AnyMessage } from "@agentclientprotocol/sdk/unstable";
import type { ServerExit, ServerProcess } from "../../src/backend/server.ts";
import { type Bridge, createBridge } from "../../src/bridge/bridge.ts";
import type { Receiver } from "../../src/bridge/transport.ts";
import { loadConfig } from "../../src/config/index.ts";
import { createBlackBox } from "../../src/platform/blackbox.ts";
import { type Clock, systemClock } from "../../src/platform/clock.ts";
import { createLog, type Log } from "../../src/platform/log.ts";
import { resolvePaths } from "../../src/platform/paths.ts";
import { type Json, PlainClient } from "./plainClient.ts";
import { tempDir } from "./temp.ts";

/** An app-server that does what the test says: its frames are pushed, what it is told is read. */
export class PlayedServer implements ServerProcess {
  readonly pid = 1;
  readonly stdout: ReadableStream<Uint8Array>;
  readonly stderr: ReadableStream<Uint8Array>;
  readonly exited: Promise<ServerExit>;
  /** Frames that the bridge has written and nobody has taken yet. */
  readonly inbox: Json[] = [];
  private out!: ReadableStreamDefaultController<Uint8Array>;
  private err!: ReadableStreamDefaultController<Uint8Array>;
  private exit!: (exit: ServerExit) => void;
  private dead = false;
  private waiting: (() => void)[] = [];

  constructor() {
    this.stdout = new ReadableStream({
      start: (controller) => {
        this.out = controller;
      },
    });
    this.stderr = new ReadableStream({
      start: (controller) => {
        this.err = controller;
      },
    });
    this.exited = new Promise((resolve) => {
      this.exit = resolve;
    });
  }

  readonly stdin = {
    write: (data: string | Uint8Array) => {
      const text = typeof data === "string" ? data : new TextDecoder().decode(data);
      for (const line of text.split("\n")) if (line !== "") this.inbox.push(JSON.parse(line) as Json);
      for (const wake of this.waiting.splice(0)) wake();
      return text.length;
    },
    flush: () => 0,
    end: () => {},
  };

  push(frame: Json): void {
    this.bytes(new TextEncoder().encode(`${JSON.stringify(frame)}\n`));
  }

  bytes(chunk: Uint8Array): void {
    if (!this.dead) this.out.enqueue(chunk);
  }

  /** Takes the first frame, there or coming, that `test` accepts; others stay. */
  async take(test: (frame: Json) => boolean, ms = 5_000): Promise<Json> {
    const deadline = Date.now() + ms;
    for (;;) {
      const place = this.inbox.findIndex(test);
      if (place >= 0) return this.inbox.splice(place, 1)[0]!;
      const left = deadline - Date.now();
      if (left <= 0)
        throw new Error(
          `the bridge sent no such frame; waiting: ${JSON.stringify(this.inbox).slice(0, 400)}`,
        );
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.waiting.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  /** Ends the process by itself. */
  die(code: number | null, signal: string | null = null, stderr = ""): void {
    if (this.dead) return;
    if (stderr !== "") this.err.enqueue(new TextEncoder().encode(stderr));
    this.dead = true;
    this.out.close();
    this.err.close();
    this.exit({ code, signal });
  }

  async kill(): Promise<void> {
    this.die(null, "SIGTERM");
  }
}

export interface TestBridge {
  readonly bridge: Bridge;
  /** Servers in the order in which the bridge started them. */
  readonly servers: PlayedServer[];
  /** Resolves with the n-th server once it was started. */
  server(index: number): Promise<PlayedServer>;
  client(): PlainClient;
  readonly home: string;
}

/** @param env variables for the configuration; HOME is a fresh temporary folder where none is named. */
export function testBridge(
  options: {
    env?: Record<string, string>;
    rules?: Clock;
    log?: Log;
    questionTtl?: number;
    windowTitle?: (title: string) => void;
    atRest?: () => void;
  } = {},
): TestBridge {
  const home = options.env?.HOME ?? tempDir("bridge");
  const env = { HOME: home, ZCODE_ACP_BACKEND: "sim", ...options.env };
  const clock = systemClock();
  const paths = resolvePaths(env, process.platform);
  const servers: PlayedServer[] = [];
  const wakers: (() => void)[] = [];
  let ids = 0;
  const log = options.log ?? createLog({ dir: paths.stateDir, clock, env, name: "test" });
  const bridge = createBridge({
    config: loadConfig(env, paths),
    env,
    paths,
    platform: process.platform,
    self: ["zcode-acp"],
    version: "0.0.0",
    clock,
    rules: options.rules ?? clock,
    questionTtl: options.questionTtl,
    log,
    blackbox: createBlackBox({ dir: paths.stateDir, clock, name: "test" }),
    newId: () => `id-${++ids}`,
    ...(options.windowTitle ? { windowTitle: options.windowTitle } : {}),
    ...(options.atRest ? { atRest: options.atRest } : {}),
    versionOf: async () => undefined,
    spawn: () => {
      const server = new PlayedServer();
      servers.push(server);
      for (const wake of wakers.splice(0)) wake();
      return server;
    },
  });
  return {
    bridge,
    servers,
    home,
    async server(index) {
      while (servers.length <= index) await new Promise<void>((resolve) => wakers.push(resolve));
      return servers[index]!;
    },
    client() {
      let receiver!: Receiver;
      const client = new PlainClient((line) => receiver.message(JSON.parse(line) as AnyMessage, line));
      const connection = bridge.connect({
        listen(given) {
          receiver = given;
        },
        send: (message) => client.receive(message),
        room: () => undefined,
      });
      void connection.closed.then(() => client.end());
      return client;
    },
  };
}
