/**
 * Every field of whatever the backend says of its own accord is once missing and once of each other kind, in the middle
 * of a recording that is played through a whole bridge: nothing fails, no prompt hangs, each frame that a client is sent
 * is one of the protocol, and the conversation can be gone on with.
 */

import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import {
  zPromptResponse,
  zRequestPermissionRequest,
  zSessionNotification,
} from "../../node_modules/@agentclientprotocol/sdk/dist/v1/unstable/schema/zod.gen.js";
import type { Log } from "../../src/platform/log.ts";
import { ManualClock, settle } from "../sim/manualClock.ts";
import type { Json, PlainClient } from "../support/plainClient.ts";
import { Player, recorded, type Step } from "./player.ts";
import { WRONG } from "./wrong.ts";

const frames = join(import.meta.dir, "..", "frames");
/** What comes unasked, or asks something: the rest are answers to requests of the bridge. */
const UNASKED = new Set([
  "session/event",
  "state.updated",
  "v4/telemetry/event",
  "interaction/requestPermission",
]);
/** Identify a frame as what it is: without them it is another one. */
const NAMES = new Set(["/sessionId", "/type"]);
/** Thousands of bridges need no files, and writing them takes longer than all the rest. */
const NO_DISK = { HOME: "/dev/null/home" };
const KINDS = [...WRONG, ["no count", 1e308]] as const;

interface Case {
  readonly kind: string;
  readonly path: readonly string[];
  readonly file: string;
  readonly steps: readonly Step[];
}

function kindOf(frame: Json): string {
  const params = frame.params as Json;
  const payload = params.payload as Json | undefined;
  return [frame.method, frame.method === "session/event" ? params.type : undefined, payload?.kind]
    .filter((part) => part !== undefined)
    .join(" ");
}

function* pathsOf(value: unknown, path: readonly string[] = []): Generator<readonly string[]> {
  if (typeof value !== "object" || value === null) return;
  for (const key of Array.isArray(value) ? Object.keys(value).slice(0, 1) : Object.keys(value)) {
    const inner = [...path, key];
    yield inner;
    yield* pathsOf((value as Json)[key], inner);
  }
}

/** Each path of each kind of frame once in each era, in the shortest recording that has it. */
async function allCases(): Promise<Case[]> {
  const cases = new Map<string, Case>();
  const names = readdirSync(frames).filter((name) => name.endsWith(".jsonl") && !name.startsWith("17-"));
  for (const file of names.sort()) {
    const steps = await recorded(join(frames, file));
    const era = file.includes(".0.16.5.") ? "old" : "new";
    for (const { dir, frame } of steps) {
      if (dir !== "out" || !UNASKED.has(String(frame.method))) continue;
      for (const path of pathsOf(frame.params)) {
        const kind = kindOf(frame);
        const name = `/${path.join("/")}`;
        const key = `${era} ${kind} ${name}`;
        const known = cases.get(key);
        if (!NAMES.has(name) && (known === undefined || known.steps.length > steps.length))
          cases.set(key, { kind, path, file, steps });
      }
    }
  }
  return [...cases.values()];
}

/** A frame of that kind with `value` in the place of the field; any other as it is. */
function changed(frame: Json, { kind, path }: Case, value: unknown): Json {
  if (frame.method === undefined || !UNASKED.has(String(frame.method)) || kindOf(frame) !== kind)
    return frame;
  const copy = structuredClone(frame) as { params: Record<string, unknown> };
  let at = copy.params;
  for (const key of path.slice(0, -1)) {
    const inner = at[key];
    if (typeof inner !== "object" || inner === null) return frame;
    at = inner as Record<string, unknown>;
  }
  const last = path.at(-1)!;
  if (!(last in at)) return frame;
  if (value === undefined && !Array.isArray(at)) delete at[last];
  else at[last] = value;
  return copy as Json;
}

/** A log that keeps what tells of an error of ours. */
function watchfulLog(): Log & { readonly failures: string[] } {
  const failures: string[] = [];
  const write = (level: string, message: string) => {
    if (level === "error" || message.includes("one that failed")) failures.push(message);
  };
  return { failures, write, once: (_key, level, message) => write(level, message) };
}

/** Answers everything that the bridge has asked; a prompt that is sent runs a clean turn. */
function serve(player: Player): void {
  const { server } = player;
  player.refuseLog();
  for (const { id, method, params: given } of server.inbox.splice(0)) {
    if (method === undefined || id === undefined) continue;
    const { sessionId, inputId } = (given ?? {}) as Json;
    if (method === "session/create" || method === "session/resume") {
      const made = sessionId ?? `sess_made_${String(id)}`;
      server.push({ id, result: { session: { sessionId: made }, runtime: { eventSeq: 0 } } });
    } else if (method === "session/send") {
      server.push({ id, result: { accepted: true } });
      const turnId = `turn_clean_${String(id)}`;
      const event = (type: string, payload: Json) =>
        server.push({ method: "session/event", params: { sessionId, turnId, type, payload } });
      event("turn.started", { inputId });
      event("model.streaming", { kind: "text_delta", delta: "clean" });
      event("turn.completed", { resultType: "success", inputId });
      server.push({ method: "state.updated", params: { sessionId, reason: "prompt_completed" } });
    } else server.push({ id, result: {} });
  }
}

const answersTo = (client: PlainClient, id: number) =>
  client.frames.filter((frame) => frame.id === id && frame.method === undefined);

const seen = new Set<string>();
/** What is wrong with the frames that a client was sent; undefined where nothing is. */
function problemIn(client: PlainClient, prompts: ReadonlySet<number>): string | undefined {
  const opened = new Set<unknown>();
  for (const frame of client.frames) {
    const params = frame.params as Json | undefined;
    const update = params?.update as Json | undefined;
    const line = JSON.stringify([frame.method, frame.params, frame.result]);
    if (update?.sessionUpdate === "tool_call") opened.add(update.toolCallId);
    if (update?.sessionUpdate === "tool_call_update" && !opened.has(update.toolCallId))
      return `an update of a card that was not opened: ${line}`;
    if (seen.has(line)) continue;
    seen.add(line);
    const schema =
      frame.method === "session/update"
        ? zSessionNotification
        : frame.method === "session/request_permission"
          ? zRequestPermissionRequest
          : frame.method === undefined && prompts.has(frame.id as number) && frame.error === undefined
            ? zPromptResponse
            : undefined;
    const read = schema?.safeParse(frame.method === undefined ? frame.result : frame.params);
    if (read && !read.success) return `${read.error.message}: ${line}`;
  }
  return undefined;
}

interface Course {
  readonly problem: string | undefined;
  /** How many prompts of the recording were answered without a cancel. */
  readonly answered: number;
}

/** Plays one recording with one field changed, and goes on with its conversations. */
async function course(steps: readonly Step[], change: (frame: Json) => Json): Promise<Course> {
  const rules = new ManualClock();
  const log = watchfulLog();
  const player = new Player(steps, { rules, log, change, env: NO_DISK });
  const { driver, watcher } = player;
  await player.follow();
  const isDone = (id: number) => answersTo(driver, id).length > 0;
  const wait = async (ids: readonly number[], rounds: number) => {
    for (let round = 0; round < rounds; round++) {
      serve(player);
      await settle();
      if (ids.every(isDone) && player.server.inbox.length === 0) return;
      await rules.advance(1_000);
    }
  };
  await wait(player.prompts, 4);
  const answered = player.prompts.filter(isDone).length;
  for (const sessionId of player.acpSessions) driver.notify("session/cancel", { sessionId });
  await wait(player.prompts, 14);
  let problem: string | undefined;
  const fresh: number[] = [];
  for (const sessionId of player.acpSessions) {
    const before = driver.text("agent_message_chunk", sessionId);
    const prompt = driver.prompt(sessionId, "go on");
    fresh.push(prompt.id);
    await wait([prompt.id], 40);
    const [answer] = answersTo(driver, prompt.id);
    if ((answer?.result as Json | undefined)?.stopReason !== "end_turn")
      problem ??= `a further prompt was answered ${JSON.stringify(answer)}`;
    else if (!driver.text("agent_message_chunk", sessionId).slice(before.length).includes("clean"))
      problem ??= "a further prompt's reply was not shown";
  }
  const all = [...player.prompts, ...fresh];
  for (const id of all) {
    const count = answersTo(driver, id).length;
    if (count !== 1) problem ??= `a prompt was answered ${count} times`;
  }
  problem ??= problemIn(driver, new Set(all)) ?? problemIn(watcher, new Set());
  problem ??= log.failures[0];
  await player.end();
  return { problem, answered };
}

describe("fields", async () => {
  const cases = await allCases();
  const unchanged = new Map<string, Course>();
  for (const { file, steps } of cases)
    if (!unchanged.has(file)) unchanged.set(file, await course(steps, (frame) => frame));

  test("B2 the recordings as they are can be gone on with", () => {
    expect(cases.length).toBeGreaterThan(1_000);
    expect([...unchanged.values()].reduce((sum, { answered }) => sum + answered, 0)).toBeGreaterThan(25);
    for (const [file, { problem }] of unchanged) expect(`${file}: ${problem}`).toBe(`${file}: undefined`);
  });

  for (const [name, value] of KINDS) {
    test(`P6 P7 P8 P9 P10 B2 B7 a field that is ${name}, of any event of either era, stops nothing`, async () => {
      const failures: string[] = [];
      for (const each of cases) {
        const { problem, answered } = await course(each.steps, (frame) => changed(frame, each, value));
        const usual = unchanged.get(each.file)?.answered ?? 0;
        const found = problem ?? (answered < usual ? `${answered} of ${usual} prompts ended` : undefined);
        if (found !== undefined)
          failures.push(`${each.file}, ${each.kind}, ${each.path.join(".")}: ${found}`);
      }
      expect(failures).toEqual([]);
    }, 60_000);
  }
});
