/**
 * Frames as they went over both wires, for a person who asked for them: prompts, code and keys are in there, so the
 * files are readable by nobody else, and nothing is written unless a folder was named.
 */

import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";

/** Which wire a frame was on and which way it went, as seen from this process. */
export type RecordedSide = "backend" | "client";

export interface Recorder {
  /** @param line the frame as it was or will be on the wire, without its newline. */
  frame(side: RecordedSide, dir: "in" | "out", line: string): void;
  close(): void;
}

export interface RecorderOptions {
  readonly dir: string;
  /** File name without extension, unique per process. */
  readonly name: string;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * One file per wire, a JSON object a line: `{"dir", "at", "frame"}`, `at` in milliseconds since the start. `dir` is
 * seen from the bridge's other side, as in recordings of the app-server: `out` is what the backend, or the client, sent.
 * @returns undefined where the folder cannot be written, which is logged.
 */
export function createRecorder(options: RecorderOptions): Recorder | undefined {
  const files = new Map<RecordedSide, number>();
  try {
    mkdirSync(options.dir, { recursive: true, mode: 0o700 });
    for (const side of ["backend", "client"] as const) {
      files.set(side, openSync(join(options.dir, `${options.name}.${side}.jsonl`), "a", 0o600));
    }
  } catch (error) {
    options.log.once("record", "warn", `frames cannot be recorded: ${String(error)}`);
    return undefined;
  }
  options.log.once(
    "record",
    "warn",
    `every frame, with prompts, code and keys, is recorded in ${options.dir}`,
  );
  const began = options.clock.mono();
  let failed = false;
  return {
    frame(side, dir, line) {
      const file = files.get(side);
      if (file === undefined || failed) return;
      try {
        writeSync(
          file,
          `{"dir":"${dir === "in" ? "out" : "in"}","at":${Math.round(options.clock.mono() - began)},"frame":${line}}\n`,
        );
      } catch (error) {
        failed = true;
        options.log.once("record-write", "warn", `recording stopped: ${String(error)}`);
      }
    },
    close() {
      for (const file of files.values()) closeSync(file);
      files.clear();
    },
  };
}
