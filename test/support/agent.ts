/** The built binary, launched as an editor launches it: its own HOME, a workspace, ACP over its stdio. */

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LineSplitter } from "../../src/platform/lines.ts";
import { type Json, PlainClient } from "./plainClient.ts";
import { tempDir } from "./temp.ts";

export const BINARY = join(import.meta.dir, "..", "..", "dist", "zcode-acp");

export interface AgentOptions {
  readonly args?: readonly string[];
  /** Flags for the simulator. */
  readonly sim?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly home?: string;
  readonly workspace?: string;
}

export class Agent {
  readonly client: PlainClient;
  readonly exited: Promise<number>;
  stderr = "";
  /** Lines on stdout that are no JSON-RPC message: there must never be one. */
  readonly strays: string[] = [];

  constructor(
    readonly child: Bun.Subprocess<"pipe", "pipe", "pipe">,
    readonly home: string,
    readonly workspace: string,
  ) {
    this.client = new PlainClient((line) => this.write(`${line}\n`));
    this.exited = child.exited;
    void this.read();
    void this.readErrors();
  }

  /** Bytes as they are, for frames that no client would send. */
  write(data: string | Uint8Array): void {
    this.child.stdin.write(data);
    this.child.stdin.flush();
  }

  endInput(): void {
    this.child.stdin.end();
  }

  /** Initializes and makes a session in the workspace. */
  async start(capabilities: Json = {}): Promise<string> {
    await this.client.initialize(capabilities, { name: "test", version: "1" });
    return this.client.newSession(this.workspace);
  }

  /** Ends it as an editor does; fails when it takes longer than the second it has, fivefold. */
  async close(): Promise<number> {
    this.endInput();
    return within(this.exited, 5_000, "the bridge's end");
  }

  private async read(): Promise<void> {
    const lines = new LineSplitter();
    const take = (line: string) => {
      if (isMessage(line)) this.client.receive(line);
      else this.strays.push(line);
    };
    for await (const chunk of this.child.stdout) for (const line of lines.push(chunk)) take(line);
    for (const line of lines.end()) take(line);
    this.client.end();
  }

  private async readErrors(): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of this.child.stderr) this.stderr += decoder.decode(chunk, { stream: true });
  }
}

/** @returns an agent that has been started and has said nothing yet. */
export function launch(options: AgentOptions = {}): Agent {
  if (!existsSync(BINARY)) throw new Error("dist/zcode-acp is missing: npm run build");
  const home = options.home ?? tempDir("home");
  const workspace = options.workspace ?? tempDir("work");
  const child = Bun.spawn([BINARY, ...(options.args ?? ["stdio", "--backend", "sim"])], {
    cwd: workspace,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: home,
      ...(options.sim === undefined ? {} : { ZCODE_ACP_SIM_ARGS: options.sim }),
      ...options.env,
    },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
  return new Agent(child, home, workspace);
}

/** Answers every permission with the first option of that kind. */
export function allowAll(client: PlainClient, kind = "allow_once"): Json[] {
  const asked: Json[] = [];
  client.handlers.set("session/request_permission", (params) => {
    asked.push(params);
    const options = params.options as Json[];
    const option = options.find((entry) => entry.kind === kind) ?? options[0];
    return { outcome: { outcome: "selected", optionId: option?.optionId } };
  });
  return asked;
}

export async function within<T>(work: Promise<T>, ms: number, what: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took longer than ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A `zcode` on disk that runs the simulator, as an installed command line would be found. */
export function installZcode(
  dir: string,
  options: { version?: string; sim?: string; table?: Json } = {},
): string {
  mkdirSync(dir, { recursive: true });
  const path = join(dir, "zcode");
  const version = options.version ?? "0.16.9";
  writeFileSync(
    path,
    `#!/bin/sh\nif [ "$1" = --version ]; then echo "zcode ${version}"; exit 0; fi\nshift 2\nexec '${BINARY}' sim ${options.sim ?? ""} "$@"\n`,
    { mode: 0o755 },
  );
  if (options.table) {
    mkdirSync(join(dir, "provider"), { recursive: true });
    writeFileSync(join(dir, "provider", "zcode-builtin.json"), JSON.stringify(options.table));
  }
  return path;
}

function isMessage(line: string): boolean {
  try {
    const value = JSON.parse(line) as Json;
    return typeof value === "object" && value !== null && value.jsonrpc === "2.0";
  } catch {
    return false;
  }
}
