/**
 * Plays a recorded stream of an app-server against a whole bridge in this process, with two clients of different
 * styles, and answers what the clients were sent. The recording's own requests drive the first client: its sends
 * become prompts, its stops cancels, its resumes loads, its answers to permissions the option chosen.
 *
 * Steps of the recording that the bridge takes by itself are matched by method; those that it never takes (a
 * `session/read`, say) are left out together with their answers.
 */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../src/platform/clock.ts";
import type { Log } from "../../src/platform/log.ts";
import { type PlayedServer, type TestBridge, testBridge } from "../support/bridge.ts";
import type { Json, PlainClient } from "../support/plainClient.ts";

export interface Step {
  readonly dir: "in" | "out";
  readonly frame: Json;
}

export interface Transcript {
  /** What each client was sent, in order. */
  readonly fenced: readonly Json[];
  readonly terminal: readonly Json[];
}

const tick = () => new Promise<void>((resolve) => setImmediate(resolve));

export async function recorded(file: string): Promise<Step[]> {
  return (await Bun.file(file).text())
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Step);
}

export async function play(file: string): Promise<Transcript> {
  const player = new Player(await recorded(file));
  await player.follow();
  return player.end();
}

export interface PlayOptions {
  readonly rules?: Clock;
  readonly log?: Log;
  readonly env?: Record<string, string>;
  /** What leaves in place of a frame of the backend's own accord; a bridge that goes another way is then followed. */
  readonly change?: (frame: Json) => Json;
}

export class Player {
  private readonly test: TestBridge;
  readonly driver: PlainClient;
  readonly watcher: PlainClient;
  /** Ids of the prompts that were sent. */
  readonly prompts: number[] = [];
  /** The recording's request ids that were played, with the ids that the bridge used. */
  private readonly ids = new Map<unknown, unknown>();
  /** The ACP session of each recorded one; the one being created is under `undefined`. */
  private readonly sessions = new Map<unknown, string>();
  server!: PlayedServer;
  /** A create that waits for the first prompt of its session. */
  private created: { step: Json; acp: string } | undefined;
  private over = false;
  private readonly choices = new Map<string, unknown>();
  private form: Json | undefined;
  private readonly inputIds = new Map<string, string>();

  constructor(
    private readonly steps: readonly Step[],
    private readonly options: PlayOptions = {},
  ) {
    this.test = testBridge(options);
    this.driver = this.test.client();
    this.watcher = this.test.client();
  }

  /** The ACP sessions that were made or loaded. */
  get acpSessions(): string[] {
    return [...this.sessions.values()];
  }

  prompt(acp: string, content: string): void {
    this.prompts.push(this.driver.prompt(acp, content).id);
  }

  async follow(): Promise<void> {
    // The one shows forms, the other does not: each gets a question in its own way.
    await this.driver.initialize({ elicitation: { form: {} } });
    this.driver.handlers.set("elicitation/create", () => this.form);
    await this.watcher.initialize({ _meta: { terminal_output: true } });
    for (const client of [this.driver, this.watcher]) {
      client.handlers.set("session/request_permission", (params) => this.choose(client, params));
    }
    await this.start();
    for (let at = 0; at < this.steps.length && !this.over; at++) {
      const { dir, frame } = this.steps[at]!;
      if (dir === "out") await this.serverSays(frame);
      else if (frame.method !== undefined) await this.bridgeAsks(frame, at);
      else await this.bridgeAnswers(frame);
      await tick();
      if (this.options.change) this.refuseLog();
    }
    // The last answers leave some microtasks after the last frame came.
    for (let i = 0; i < 5; i++) await tick();
  }

  /** No recording holds a log of the session's events: a bridge that misses one goes on without it. */
  refuseLog(): void {
    for (const { id, method } of this.server.inbox)
      if (method === "session/events") this.server.push({ id, error: { code: -32601, message: "unknown" } });
    const rest = this.server.inbox.filter((frame) => frame.method !== "session/events");
    this.server.inbox.splice(0, this.server.inbox.length, ...rest);
  }

  async end(): Promise<Transcript> {
    const transcript = { fenced: [...this.driver.frames], terminal: [...this.watcher.frames] };
    await this.test.bridge.close();
    return transcript;
  }

  private async start(): Promise<void> {
    const acp = await this.driver.newSession("/home/ana/shop");
    this.sessions.set(undefined, acp);
    this.server = await this.test.server(0);
    const probe = await this.server.take((frame) => frame.method === "runtime/capabilities");
    this.server.push({ id: probe.id, result: { independentPlanState: true } });
  }

  private async serverSays(frame: Json): Promise<void> {
    if (frame.method !== undefined) {
      if (frame.method === "interaction/requestPermission") this.prepareChoice(frame);
      if (frame.method === "interaction/requestUserInput") this.prepareForm(frame);
      const sent = this.renamed(frame);
      this.server.push(this.options.change?.(sent) ?? sent);
      return;
    }
    if (!this.ids.has(frame.id)) return;
    const session = (frame.result as Json | undefined)?.session as Json | undefined;
    if (session?.sessionId !== undefined && this.created) {
      this.sessions.set(session.sessionId, this.created.acp);
      this.created = undefined;
      this.server.push({ ...frame, id: this.ids.get(frame.id) });
      // The first answer waits for the disk; a recording's time is none.
      return this.recorded(String(session.sessionId));
    }
    this.server.push({ ...frame, id: this.ids.get(frame.id) });
  }

  private async recorded(sessionId: string): Promise<void> {
    // Where nothing can be written nothing is waited for.
    if (!existsSync(this.test.home)) return;
    const path = join(this.test.home, ".zcode", "v2", "acp-lazy-sessions.json");
    // A create that a changed frame has spoilt is written down by nobody.
    const deadline = Date.now() + 1_000;
    // The file is in its place a moment before the write is over, and with it the lock.
    const written = () => existsSync(path) && readFileSync(path, "utf8").includes(sessionId);
    while (!written() || existsSync(`${path}.lock`)) {
      if (Date.now() > deadline) return;
      await Bun.sleep(1);
    }
    for (let i = 0; i < 5; i++) await tick();
  }

  private async bridgeAsks(frame: Json, at: number): Promise<void> {
    const params = (frame.params ?? {}) as Json;
    // Older builds count their own requests as we do, so an id alone does not make an answer.
    const answer = this.steps.find(
      (step, i) =>
        i > at && step.dir === "out" && step.frame.method === undefined && step.frame.id === frame.id,
    )?.frame;
    switch (frame.method) {
      case "session/create": {
        if (answer?.error) return;
        const acp = this.sessions.get(undefined) ?? (await this.driver.newSession("/home/ana/shop"));
        this.sessions.delete(undefined);
        this.created = { step: frame, acp };
        // The bridge creates at first use, so the first send of this session is made now.
        const send = this.firstSend(at, answer);
        if (!send) return;
        this.prompt(acp, send.content as string);
        return this.expect(frame);
      }
      case "session/resume": {
        if (answer?.error || this.sessions.has(params.sessionId)) return;
        this.sessions.set(params.sessionId, params.sessionId as string);
        void this.driver
          .request("session/load", { sessionId: params.sessionId, cwd: "/home/ana/shop", mcpServers: [] })
          .catch(() => {});
        return this.expect(frame);
      }
      case "session/subscribe":
      case "session/setModel":
        await this.expectSoon(frame);
        return;
      case "session/send": {
        if (answer?.error) return;
        const acp = this.sessions.get(params.sessionId);
        if (acp === undefined) return;
        if (!this.started.has(params.content)) this.prompt(acp, params.content as string);
        this.started.delete(params.content);
        // A bridge that waits for a turn of the backend's own does not follow a recording that did not wait.
        this.over = !(await this.expectSoon(frame)) && this.options.change === undefined;
        return;
      }
      case "session/cancelBackgroundTask": {
        const acp = this.sessions.get(params.sessionId);
        void this.driver
          .request("session/cancelBackgroundTask", { sessionId: acp, taskId: params.taskId })
          .catch(() => {});
        await this.expectSoon(frame);
        return;
      }
      case "session/stop": {
        const acp = this.sessions.get(params.sessionId);
        if (acp === undefined) return;
        this.driver.notify("session/cancel", { sessionId: acp });
        await this.expectSoon(frame);
        return;
      }
    }
  }

  private readonly started = new Set<unknown>();

  private firstSend(at: number, answer: Json | undefined): Json | undefined {
    const id = ((answer?.result as Json | undefined)?.session as Json | undefined)?.sessionId;
    const step = this.steps.find(
      (entry, i) =>
        i > at &&
        entry.dir === "in" &&
        entry.frame.method === "session/send" &&
        (entry.frame.params as Json).sessionId === id,
    );
    if (!step) return undefined;
    const params = step.frame.params as Json;
    this.started.add(params.content);
    return params;
  }

  private async bridgeAnswers(frame: Json): Promise<void> {
    const isAnswer = (sent: Json) => sent.method === undefined && sent.id === frame.id;
    if (this.options.change && !(await this.comesSoon(isAnswer))) return;
    await this.server.take(isAnswer);
  }

  /** A step that the bridge takes only where it sees a need, such as a stop while nothing runs. */
  private async expectSoon(frame: Json): Promise<boolean> {
    const sent = await this.comesSoon((entry) => entry.method === frame.method);
    if (sent) await this.expect(frame);
    return sent;
  }

  private async comesSoon(test: (frame: Json) => boolean): Promise<boolean> {
    for (let i = 0; i < 5; i++) await tick();
    return this.server.inbox.some(test);
  }

  private async expect(frame: Json): Promise<void> {
    const sent = await this.server.take((candidate) => candidate.method === frame.method);
    this.ids.set(frame.id, sent.id);
    const recorded = (frame.params as Json | undefined)?.inputId;
    const ours = (sent.params as Json | undefined)?.inputId;
    if (typeof recorded === "string" && typeof ours === "string") this.inputIds.set(recorded, ours);
  }

  /** A frame with the recording's input ids replaced by those that the bridge gave. */
  private renamed(frame: Json): Json {
    let text = JSON.stringify(frame);
    for (const [recorded, ours] of this.inputIds)
      text = text.replaceAll(`"inputId":"${recorded}"`, `"inputId":"${ours}"`);
    return JSON.parse(text) as Json;
  }

  /** The option that the recorded answer to this permission is the response of. */
  private prepareChoice(frame: Json): void {
    const params = frame.params as Json;
    const answer = this.steps.find(
      (step) => step.dir === "in" && step.frame.id === frame.id && step.frame.result,
    )?.frame;
    const options = (params.options ?? []) as Json[];
    const chosen = options.find((option) => isDeepStrictEqual(option.response, answer?.result));
    const decision = (answer?.result as Json | undefined)?.decision;
    const byDecision = options.find((option) => ((option.response ?? {}) as Json).decision === decision);
    // Options of older builds hold no response; their kind tells which decision they are.
    const byKind = options.find((option) => String(option.kind).startsWith(`${String(decision)}_`));
    const option = chosen ?? byDecision ?? byKind;
    if (option) this.choices.set(toolOf(params), option.optionId);
  }

  /** What the recorded answer to these questions is in a form, and to a plan among its two options. */
  private prepareForm(frame: Json): void {
    const params = frame.params as Json;
    const answer = this.steps.find(
      (step) => step.dir === "in" && step.frame.id === frame.id && step.frame.result,
    )?.frame.result as Json | undefined;
    const content = (answer?.content ?? {}) as Json;
    const fields: Record<string, unknown> = {};
    const schema = (params.schema ?? {}) as Json;
    if (schema.interaction === "mcp_elicitation") {
      const wanted = ((params.input as Json).requestedSchema as Json).properties as Record<string, Json>;
      for (const [i, [key, { type }]] of Object.entries(wanted).entries()) {
        const value = content[`answer_${i}`] as string | undefined;
        if (value !== undefined)
          fields[key] = type === "integer" ? Number(value) : type === "boolean" ? value === "true" : value;
      }
    } else {
      for (const [i, question] of ((params.questions ?? []) as Json[]).entries()) {
        const value = ((content.answers ?? {}) as Json)[question.question as string] as string | undefined;
        if (value === undefined) continue;
        const labels = (question.options as Json[]).map((option) => option.label);
        const picked = question.multiSelect === true ? value.split(", ") : [value];
        if (picked.every((label) => labels.includes(label)))
          fields[`q_${i}`] = question.multiSelect === true ? picked : value;
        else fields[`q_${i}_other`] = value;
      }
    }
    this.form = answer && {
      action: answer.action,
      ...(answer.action === "accept" ? { content: fields } : {}),
    };
    this.choices.set(toolOf(params), content.answer_0 === "approve" ? "approve" : "reject");
  }

  /** Only the driver answers; the watcher leaves its dialog open until it is withdrawn. */
  private async choose(client: PlainClient, params: Json): Promise<unknown> {
    if (client !== this.driver) return undefined;
    const id = (params.toolCall as Json).toolCallId as string;
    const optionId = this.choices.get(id.replace(/^tool_subagent_.*_(call_.*)$/, "$1"));
    return { outcome: optionId === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId } };
  }
}

function toolOf(params: Json): string {
  return params.toolCallId as string;
}
