/** Drives a simulator in the tests: one that runs in this process, or one of its own. */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, systemClock } from "../../src/platform/clock.ts";
import { runSim, type SimOptions, type SimParts } from "../../src/sim/index.ts";
import { isObj, type Obj } from "../../src/sim/types.ts";

/** A directory that is there for one test. */
export function tempDir(): { path: string; [Symbol.dispose](): void } {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "sim-")));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

export const CREATE_ANSWER = {
  nativeSearchEnhancementsEnabled: false,
  memoryEnabled: false,
  askUserQuestionAutoResolutionEnabled: false,
};

/** How server requests are answered; undefined leaves one open. */
export type Answerer = (frame: Obj) => Obj | undefined;

/** Says yes to everything. */
export const yes: Answerer = (frame) => {
  switch (frame.method) {
    case "session/requestRuntimePreferences":
      return { result: CREATE_ANSWER };
    case "interaction/requestPermission":
      return { result: choose(frame, "allow_once") };
    case "interaction/requestProviderRuntimeHeaders":
      return { result: { headersApplied: true, requestAuth: { apiKey: "key-EXAMPLE" } } };
    case "interaction/requestUserInput":
      return { result: { action: "accept", content: { answer_0: "approve" } } };
    default:
      return { error: { code: -32601, message: `Method not found: ${String(frame.method)}` } };
  }
};

/** The ready answer of an option, by its id. */
export function choose(frame: Obj, optionId: string): Obj {
  const options = (frame.params as Obj).options as Obj[];
  const option = options.find((each) => each.optionId === optionId);
  return (
    (option?.response as Obj | undefined) ?? {
      decision: String(option?.kind).startsWith("allow") ? "allow" : "deny",
    }
  );
}

export interface Failure {
  code: number;
  message: string;
  data?: Obj;
}

/** What the tests see of a simulator, in a process or not. */
export class Driver {
  readonly frames: Obj[] = [];
  readonly lines: string[] = [];
  answer: Answerer = yes;
  exitCode: number | undefined;
  readonly stderr: string[] = [];
  private next = 1;
  private seen = 0;
  private waiting: (() => void)[] = [];

  constructor(readonly write: (line: string) => void) {}

  take(line: string): void {
    this.lines.push(line);
    let frame: unknown;
    try {
      frame = JSON.parse(line);
    } catch {
      frame = undefined;
    }
    if (isObj(frame)) {
      this.frames.push(frame);
      if (frame.method !== undefined && frame.id !== undefined) {
        const answer = this.answer(frame);
        if (answer) this.write(JSON.stringify({ id: frame.id, ...answer }));
      }
    }
    this.wake();
  }

  wake(): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const each of waiting) each();
  }

  /** Sends a request; resolves with its answer. */
  async ask(method: string, params: Obj = {}): Promise<Obj> {
    const id = `t${this.next++}`;
    this.write(JSON.stringify({ id, method, params }));
    return this.until((frame) => frame.id === id && frame.method === undefined, method, false);
  }

  /** The result of a request; throws what it was refused with. */
  async call(method: string, params: Obj = {}): Promise<Obj> {
    const frame = await this.ask(method, params);
    if (frame.error) throw Object.assign(new Error(String((frame.error as Obj).message)), frame.error);
    return frame.result as Obj;
  }

  /** The error that a request is refused with. */
  async refused(method: string, params: Obj = {}): Promise<Failure> {
    const frame = await this.ask(method, params);
    if (!frame.error) throw new Error(`${method} was not refused: ${JSON.stringify(frame.result)}`);
    return frame.error as unknown as Failure;
  }

  /** The first frame that fits; with `fresh` after the last one that was waited for. */
  async until(fits: (frame: Obj) => boolean, what = "a frame", fresh = true): Promise<Obj> {
    const deadline = Date.now() + 8_000;
    let at = fresh ? this.seen : 0;
    for (;;) {
      for (; at < this.frames.length; at++) {
        if (!fits(this.frames[at]!)) continue;
        if (fresh) this.seen = at + 1;
        return this.frames[at]!;
      }
      if (this.exitCode !== undefined)
        throw new Error(`The simulator ended (${this.exitCode}) before ${what}`);
      const left = deadline - Date.now();
      if (left <= 0)
        throw new Error(`No ${what}; last: ${JSON.stringify(this.frames.at(-1))?.slice(0, 400)}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.waiting.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  event(type: string, fits: (payload: Obj) => boolean = () => true): Promise<Obj> {
    return this.until((frame) => {
      const params = paramsOf(frame, "session/event");
      return params?.type === type && fits((params.payload ?? {}) as Obj);
    }, type).then((frame) => frame.params as Obj);
  }

  state(reason: string): Promise<Obj> {
    return this.until((frame) => paramsOf(frame, "state.updated")?.reason === reason, reason).then(
      (frame) => frame.params as Obj,
    );
  }

  request(method: string): Promise<Obj> {
    return this.until((frame) => frame.method === method && frame.id !== undefined, method);
  }

  /** Waits until the process has ended. */
  async ended(): Promise<number> {
    while (this.exitCode === undefined) await new Promise<void>((resolve) => this.waiting.push(resolve));
    return this.exitCode;
  }

  /** A session with its stream turned on. */
  async open(cwd: string, more: Obj = {}): Promise<string> {
    const made = await this.call("session/create", { workspace: workspace(cwd), ...more });
    const id = sessionId(made);
    await this.call("session/subscribe", { sessionId: id, deliveryKind: "desktop-continuous" });
    return id;
  }

  /** Sends a prompt and waits until the lock is free. */
  async prompt(id: string, content: string, more: Obj = {}): Promise<void> {
    await this.call("session/send", { sessionId: id, content, ...more });
    await this.until(
      (frame) => /^prompt_(completed|failed)$/.test(String(paramsOf(frame, "state.updated")?.reason)),
      `the end of ${content}`,
    );
  }

  events(type?: string): Obj[] {
    return this.frames
      .map((frame) => paramsOf(frame, "session/event"))
      .filter((params) => params !== undefined && (!type || params.type === type)) as Obj[];
  }

  /** The text of the reply, all turns after another. */
  text(kind = "text_delta"): string {
    return this.events("model.streaming")
      .map((event) => event.payload as Obj)
      .filter((payload) => payload.kind === kind)
      .map((payload) => payload.delta)
      .join("");
  }
}

export function workspace(cwd: string): Obj {
  return { workspacePath: cwd, workspaceKey: cwd };
}

export function sessionId(snapshot: Obj): string {
  return String((snapshot.session as Obj).sessionId);
}

export function paramsOf(frame: Obj, method: string): Obj | undefined {
  return frame.method === method && isObj(frame.params) ? frame.params : undefined;
}

/** One that runs in this process, without a store unless told of one. */
export function inProcess(
  options: SimOptions = {},
  more: { env?: Record<string, string | undefined>; clock?: Clock; parts?: SimParts } = {},
): Driver & { close(): Promise<void> } {
  let control!: ReadableStreamDefaultController<Uint8Array>;
  const stdin = new ReadableStream<Uint8Array>({
    start: (made) => {
      control = made;
    },
  });
  const driver = new Driver((line) => control.enqueue(new TextEncoder().encode(`${line}\n`)));
  let rest = "";
  const sink = {
    write: (data: string | Uint8Array) => {
      const lines = (rest + String(data)).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) driver.take(line);
      return String(data).length;
    },
    flush: () => {},
    end: () => {},
  };
  const done = runSim(
    { store: false, seed: 1, pace: 0, ...options },
    {
      stdin,
      sink,
      env: { PATH: process.env.PATH, ...more.env },
      clock: more.clock ?? systemClock(),
      exit: (code) => {
        driver.exitCode = code;
        driver.wake();
      },
      stderr: (line) => driver.stderr.push(line),
    },
    more.parts,
  );
  return Object.assign(driver, {
    close: async () => {
      if (driver.exitCode !== undefined) return;
      control.close();
      await done;
    },
  });
}

/** How a test starts the command itself. */
export function command(args: string[]): string[] {
  return [process.execPath, join(import.meta.dir, "main.ts"), ...args];
}

export type Child = Driver & {
  child: ReturnType<typeof spawn>;
  endInput(): void;
  [Symbol.asyncDispose](): Promise<void>;
};

function spawn(args: string[], env: Record<string, string | undefined>, cwd: string) {
  return Bun.spawn(command(args), {
    env,
    cwd,
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
    detached: true,
  });
}

/** One in a process of its own; the home is the test's. */
export function ownProcess(
  args: string[],
  home: string,
  env: Record<string, string | undefined> = {},
): Child {
  const child = spawn(args, { PATH: process.env.PATH, HOME: home, ...env }, home);
  const driver = new Driver((line) => {
    child.stdin.write(`${line}\n`);
    child.stdin.flush();
  });
  const read = async (stream: ReadableStream<Uint8Array>, take: (line: string) => void) => {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of stream) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) take(line);
    }
    if (rest) take(rest);
  };
  const reads = Promise.all([
    read(child.stdout, (line) => driver.take(line)),
    read(child.stderr, (line) => driver.stderr.push(line)),
  ]);
  void child.exited.then(async (code) => {
    await Promise.race([reads, Bun.sleep(500)]);
    driver.exitCode = code;
    driver.wake();
  });
  return Object.assign(driver, {
    child,
    endInput: () => void child.stdin.end(),
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await child.exited;
    },
  });
}
