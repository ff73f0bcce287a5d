/**
 * Plays a recorded stream: what goes out goes out as it was, what came in is waited for. The recording's ids are
 * put right, so that any client can speak with it: an answer gets the id of the request that it belongs to, and
 * ids of sessions stay as they were recorded.
 */
import { readFileSync } from "node:fs";
import type { Clock } from "../platform/clock.ts";
import { sleep } from "../platform/clock.ts";
import { LineSplitter } from "../platform/lines.ts";
import type { LineWriter } from "../platform/writer.ts";
import { isObj, type Obj } from "./types.ts";

export interface ScriptIo {
  stdin: ReadableStream<Uint8Array>;
  writer: LineWriter;
  clock: Clock;
  warn(line: string): void;
  exit(code: number): void;
}

interface Entry {
  dir: "in" | "out";
  at: number;
  frame: Obj;
}

/** @throws when the file has no frames. */
export function readScript(text: string): Entry[] {
  const entries: Entry[] = [];
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const value: unknown = JSON.parse(line);
    if (!isObj(value) || !isObj(value.frame) || (value.dir !== "in" && value.dir !== "out")) {
      throw new Error(`Not a frame of a recording: ${line.slice(0, 80)}`);
    }
    entries.push({ dir: value.dir, at: Number(value.at ?? 0), frame: value.frame });
  }
  if (entries.length === 0) throw new Error("The recording is empty.");
  return entries;
}

/** The frames of a client that have come and were not waited for yet. */
class Inbox {
  private readonly frames: Obj[] = [];
  private waiting: (() => void) | undefined;
  private over = false;

  push(frame: Obj): void {
    this.frames.push(frame);
    this.waiting?.();
  }

  end(): void {
    this.over = true;
    this.waiting?.();
  }

  /** The first frame that fits, wherever it stands; undefined when stdin has ended without one. */
  async take(fits: (frame: Obj) => boolean): Promise<Obj | undefined> {
    for (;;) {
      const at = this.frames.findIndex(fits);
      if (at >= 0) return this.frames.splice(at, 1)[0];
      if (this.over) return undefined;
      await new Promise<void>((resolve) => {
        this.waiting = resolve;
      });
    }
  }
}

/**
 * Plays to the end and exits with 0 when stdin ends then; 1 when stdin ended while something was waited for.
 * Requests match by method, answers by the id of the recorded request, errors and results alike.
 */
export async function playScript(file: string, io: ScriptIo): Promise<void> {
  const entries = readScript(readFileSync(file, "utf8"));
  const inbox = new Inbox();
  const splitter = new LineSplitter();
  const read = async () => {
    for await (const chunk of io.stdin) {
      for (const line of splitter.push(chunk)) {
        try {
          const frame: unknown = JSON.parse(line);
          if (isObj(frame)) inbox.push(frame);
        } catch {
          io.warn(`not JSON: ${line.slice(0, 80)}`);
        }
      }
    }
    inbox.end();
  };
  const reading = read();
  /** recorded id → the client's id, for requests of the client. */
  const ids = new Map<unknown, unknown>();
  let before = entries[0]!.at;
  for (const { dir, at, frame } of entries) {
    if (dir === "out") {
      if (at > before) await sleep(io.clock, at - before);
      const answers = !("method" in frame) && ids.has(frame.id);
      io.writer.write(JSON.stringify(answers ? { ...frame, id: ids.get(frame.id) } : frame));
    } else {
      const { method, id } = frame;
      const came = await inbox.take((each) =>
        method === undefined ? each.method === undefined && each.id === id : each.method === method,
      );
      if (!came) {
        io.warn(`stdin ended before ${String(method ?? `an answer to ${String(id)}`)}`);
        await io.writer.idle();
        io.exit(1);
        return;
      }
      if (method !== undefined) ids.set(id, came.id);
    }
    before = at;
  }
  await reading;
  await io.writer.idle();
  io.exit(0);
}
