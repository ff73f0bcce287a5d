/**
 * A world: a HOME, a bridge process with its client, the backends that come and go below it, and the conversations
 * with what is expected of each. Actions and faults change it; `checks.ts` looks at it.
 */
import { join } from "node:path";
import { type Agent, within } from "../support/agent.ts";
import type { Json } from "../support/plainClient.ts";
import { Random } from "../support/random.ts";
import { tempDir } from "../support/temp.ts";
import { Conversation, type Load, missing, type Prompt, tagsIn } from "./conversation.ts";

import { type Conditions, GONE_MS, Ground } from "./ground.ts";
import { type Asked, Peer, type Sent } from "./peer.ts";
import { answerPolicy, answerQuestion, type Policy } from "./people.ts";
import { Relays } from "./relays.ts";

/** All that is asked is answered within this, in ms of real time; a busy machine has slack in it. */
export const ANSWER_MS = 20_000;
/** What was sent so shortly before or after the end of a backend may still have been in its hands. */
const DYING_MS = 500;
/** How long it may take until a new conversation stands on disk, in ms. */
const RECORDED_MS = 1_000;

export interface Bridge {
  readonly agent: Agent;
  readonly peer: Peer;
  readonly conditions: Conditions;
  /** Which backend session a conversation is cannot be written down, from now on. */
  unrecorded: boolean;
  /** What earlier bridges wrote down cannot be read. */
  blind: boolean;
  /** PSS at its first look, in MiB. */
  firstLook: number | undefined;
  /** How often its watchdog was killed. */
  watchdogKills: number;
}

export class ChaosError extends Error {
  override name = "ChaosError";
  /** @param session the id of the conversation that it is about. */
  constructor(
    message: string,
    readonly session?: string,
  ) {
    super(message);
  }
}

export class World {
  readonly ground = new Ground();
  readonly conversations: Conversation[] = [];
  readonly prompts = new Map<number, Prompt>();
  /** Prompts that wait for a person who never answers rightly, and the step at which each is cancelled. */
  readonly stuck: { readonly prompt: Prompt; readonly until: number }[] = [];
  readonly log: string[] = [];
  readonly counts: Record<string, number> = {};
  /** What was seen to be wrong while nobody was looking. */
  readonly wrong: { what: string; session: string | undefined }[] = [];
  step = 0;
  /** Of the present step alone, so that one that goes another way does not change those behind it. */
  random: Random;
  bridge!: Bridge;
  private readonly policies = new Map<number, Policy>();
  private readonly byId = new Map<string, Conversation>();
  /** Until when what is sent may be lost with a backend; in ms of `performance.now`. */
  private dyingUntil = 0;
  private nextPrompt = 1;
  private zcode = "";
  /** Some prompt has told the model to fail. */
  private failing = false;
  private readonly timers = new Set<ReturnType<typeof setTimeout>>();

  private constructor(
    readonly seed: number,
    readonly relays: Relays,
  ) {
    this.random = new Random(seed);
  }

  static async make(seed: number): Promise<World> {
    const socket = tempDir("s");
    const world = new World(seed, await Relays.listen(socket));
    const { random, ground } = world;
    world.relays.onDeath = () => world.died();
    // The backend keeps few sessions, so that they come and go all the time.
    const sim = ["--store", join(ground.dir, "store"), "--seed", String(seed), "--pace", "1"];
    sim.push("--residents", String(random.int(1, 4)));
    if (random.chance(0.3)) sim.push("--evict-after", String(random.int(4, 20)));
    if (random.chance(0.3)) sim.push("--doubled");
    if (random.chance(0.3)) sim.push("--reorder");
    world.note(`world: sim ${sim.slice(4).join(" ")}`);
    world.zcode = world.relays.install(ground.bin, sim);
    await world.start({});
    return world;
  }

  get peer(): Peer {
    return this.bridge.peer;
  }

  /** Begins the next step. */
  next(): void {
    this.step++;
    this.random = new Random(Math.imul(this.seed, 0x9e3779b1) + this.step);
  }

  note(what: string): void {
    this.log.push(`${String(this.step).padStart(4)} ${what}`);
  }

  count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  /** Runs later, unless the world has ended by then. */
  after(ms: number, run: () => void): void {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      run();
    }, ms);
    this.timers.add(timer);
  }

  // Bridges

  /** Starts a bridge on what the one before has left. */
  async start(conditions: Conditions): Promise<void> {
    const agent = this.ground.launch(conditions, this.zcode);
    const peer = new Peer(agent, {
      update: (session, update, line) => this.heard(session, update, line),
      asked: (asked) => this.asked(asked),
      answered: (sent) => this.answered(sent),
    });
    const unwritable = conditions.nowhere === true || conditions.fileBlocks !== undefined;
    this.bridge = {
      agent,
      peer,
      conditions,
      unrecorded: unwritable,
      blind: conditions.nowhere === true,
      firstLook: undefined,
      watchdogKills: 0,
    };
    for (const conversation of this.conversations) conversation.open = conversation.closed = false;
    const first = peer.request("initialize", {
      protocolVersion: 1,
      clientCapabilities: this.seed % 2 === 0 ? { elicitation: { form: {} } } : {},
    });
    await this.settled(first);
  }

  /** Ends the bridge as an editor or a system does, and looks that it has answered its prompts and left nothing. */
  async end(how: "stdin" | "SIGTERM" = "stdin"): Promise<void> {
    const { agent, peer } = this.bridge;
    this.dies(DYING_MS);
    for (const conversation of this.conversations) this.cancelled(conversation);
    for (const sent of peer.open.values()) sent.overtaken = true;
    await this.ground.awake();
    if (how === "stdin") agent.endInput();
    else agent.child.kill(how);
    const code = await within(agent.exited, GONE_MS, "the bridge's end");
    // What is left in the pipe is still read.
    await within(peer.ended, GONE_MS, "the end of the bridge's output");
    for (const prompt of this.prompts.values())
      if (prompt.outcome === undefined && !prompt.abandoned)
        this.fault(`the bridge ended without an answer to prompt ${prompt.number}`, prompt.conversation.id);
    peer.abandon();
    this.abandonPrompts();
    if (code !== (how === "stdin" ? 0 : 143)) throw new ChaosError(`the bridge ended with ${code} at ${how}`);
    await this.nothingLeft();
  }

  /** Kills the bridge, and looks that nothing outlives it. */
  async kill(): Promise<void> {
    const { agent, peer } = this.bridge;
    this.dies(DYING_MS);
    peer.over = true;
    const now = performance.now();
    for (const conversation of this.conversations) {
      const { endedWellAt, madeAt } = conversation;
      // It is written down a moment after it was made; nothing of it has been promised before a prompt has ended well.
      const unborn = endedWellAt === undefined && madeAt > now - RECORDED_MS;
      if (unborn) conversation.unrecorded = true;
    }
    agent.child.kill("SIGKILL");
    await agent.exited;
    peer.abandon();
    this.abandonPrompts();
    await this.nothingLeft();
  }

  private async nothingLeft(): Promise<void> {
    const left = await this.ground.left();
    if (left.length > 0)
      throw new ChaosError(`left behind a bridge that has ended: process ${left.join(" ")}`);
  }

  private abandonPrompts(): void {
    for (const prompt of this.prompts.values()) if (prompt.outcome === undefined) prompt.abandoned = true;
    this.stuck.length = 0;
    for (const conversation of this.conversations) conversation.loads.length = 0;
  }

  /** The world's last moment, whatever state it is in. */
  async destroy(): Promise<void> {
    for (const timer of this.timers) clearTimeout(timer);
    this.ground.unlockIndex();
    await this.ground.awake();
    await this.ground.endAll();
    this.relays.close();
  }

  // Faults that are more than one call

  /** From now on, and until some time after a backend has ended, what is asked may be lost with it. */
  dies(ms: number): void {
    this.dyingUntil = Math.max(this.dyingUntil, performance.now() + ms);
    for (const sent of this.bridge.peer.open.values()) sent.touched = true;
  }

  /** A backend has ended. */
  private died(): void {
    this.dyingUntil = 0;
    this.dies(DYING_MS);
  }

  get dying(): boolean {
    return performance.now() < this.dyingUntil;
  }

  /** Puts a file where the folder with the bridge's list of conversations is; until the next bridge. */
  async loseFolder(): Promise<void> {
    if (this.ground.folderIsLost) return;
    // What is on its way to be opened is looked up in it.
    for (const sent of [...this.peer.open.values()]) if (OPENING.has(sent.method)) await this.settled(sent);
    this.ground.loseFolder();
    this.bridge.unrecorded = true;
    this.bridge.blind = true;
    // What is known of these is on its way to the disk at best.
    for (const conversation of this.conversations)
      if (conversation.prompts.length === 0 || conversation.running.length > 0)
        conversation.unrecorded = true;
  }

  // Conversations

  /** Those that can be used in the present bridge. */
  get usable(): Conversation[] {
    return this.conversations.filter(
      (conversation) => conversation.open || !(this.bridge.blind || conversation.unrecorded),
    );
  }

  /** One that was used lately, or any other. */
  someConversation(): Conversation | undefined {
    const all = this.usable;
    if (all.length === 0) return undefined;
    return this.random.chance(0.5) ? this.random.pick(all.slice(-8)) : this.random.pick(all);
  }

  async open(): Promise<Conversation | undefined> {
    const sent = this.request("session/new", { cwd: this.ground.workspace, mcpServers: [] });
    await this.settled(sent);
    if (typeof sent.result?.sessionId !== "string") return undefined;
    const id = sent.result.sessionId;
    const conversation = new Conversation(this.conversations.length, id, this.bridge.unrecorded);
    conversation.deathsBefore = this.relays.deaths;
    this.conversations.push(conversation);
    this.byId.set(id, conversation);
    return conversation;
  }

  prompt(conversation: Conversation, words: (tag: () => string) => string, policy: Policy): Prompt {
    if (!conversation.open) this.load(conversation);
    // Its session may be one that was made just now, since nothing was ever stored of the one before.
    if (!conversation.recorded && this.bridge.unrecorded) conversation.unrecorded = true;
    const number = this.nextPrompt++;
    const tags: string[] = [];
    const text = words(() => {
      const tag = `[p${number}.${String.fromCharCode(97 + tags.length)}]`;
      tags.push(tag);
      return tag;
    });
    if (text.includes("; fail ")) this.failing = true;
    // A prompt ends the one before it.
    this.cancelled(conversation);
    this.policies.set(number, policy);
    const sent = this.request("session/prompt", {
      sessionId: conversation.id,
      prompt: [{ type: "text", text }],
    });
    const prompt: Prompt = {
      number,
      conversation,
      text,
      tags,
      sent,
      cancelled: false,
      abandoned: false,
      refused: false,
      outcome: undefined,
    };
    conversation.prompts.push(prompt);
    conversation.used = true;
    this.prompts.set(number, prompt);
    return prompt;
  }

  cancel(conversation: Conversation): void {
    this.cancelled(conversation);
    this.peer.notify("session/cancel", { sessionId: conversation.id });
  }

  private cancelled(conversation: Conversation): void {
    for (const prompt of conversation.running) {
      prompt.cancelled = true;
      prompt.sent.waitsForPerson = false;
      prompt.sent.since = performance.now();
    }
  }

  /** Opens it; a resume brings nothing of what was said. */
  load(
    conversation: Conversation,
    method: "session/load" | "session/resume" = "session/load",
    limit?: number,
  ): Sent {
    const since = this.nextPrompt - 1;
    const ready =
      conversation.running.length === 0
        ? since
        : Math.min(...conversation.running.map((each) => each.number)) - 1;
    const sent = this.request(method, {
      sessionId: conversation.id,
      cwd: this.ground.workspace,
      mcpServers: [],
      ...(limit === undefined ? {} : { _meta: { zcode: { limit } } }),
    });
    const silent = method === "session/resume";
    const twins = conversation.loads.filter((load) => !load.sent.overtaken);
    if (!silent) for (const load of twins) load.twin = true;
    if (!silent)
      conversation.loads.push({
        sent,
        limit,
        pages: [],
        since: ready,
        replay: undefined,
        twin: twins.length > 0,
      });
    conversation.open = true;
    conversation.closed = false;
    conversation.deathsBefore = this.relays.deaths;
    return sent;
  }

  close(conversation: Conversation, method: "session/close" | "session/delete" = "session/close"): Sent {
    this.cancelled(conversation);
    conversation.open = false;
    for (const sent of this.peer.open.values()) if (sent.session === conversation.id) sent.overtaken = true;
    return this.request(method, { sessionId: conversation.id });
  }

  request(method: string, params: Json): Sent {
    return this.peer.request(method, params, this.dying);
  }

  /** Waits for one answer; fails where it takes too long. */
  async settled(sent: Sent): Promise<void> {
    await within(sent.settled, ANSWER_MS, `the answer to ${sent.method} (request ${sent.id})`);
  }

  conversationOf(sent: Sent): Conversation | undefined {
    return this.byId.get(sent.session);
  }

  /** True where it may wait for a person until it is cancelled. */
  isStuck(conversation: Conversation): boolean {
    return this.stuck.some(
      ({ prompt }) =>
        prompt.conversation === conversation && prompt.outcome === undefined && !prompt.cancelled,
    );
  }

  fault(what: string, session?: string): void {
    this.wrong.push({ what, session });
  }

  // What the agent says

  private heard(session: string, update: Json, line: string): void {
    const conversation = this.byId.get(session);
    // The first update of a conversation may come before its id does.
    if (!conversation) return;
    for (const { tag, prompt } of tagsIn(line))
      if (this.prompts.get(prompt)?.conversation !== conversation)
        this.fault(`${tag} was said in another conversation`, session);
    const problem = conversation.hear(update);
    if (problem) this.fault(problem, session);
  }

  private asked(asked: Asked): void {
    const conversation = this.byId.get(asked.session);
    const { toolCall } = asked.params;
    const meta = (((toolCall ?? {}) as Json)._meta ?? {}) as Json;
    const toolName = ((meta.claudeCode ?? {}) as Json).toolName;
    if (asked.form || toolName === "AskUserQuestion") {
      const policy = this.policies.get(conversation?.prompts.at(-1)?.number ?? 0) ?? "now";
      return answerQuestion(this, asked, policy);
    }
    const number = Number(/\[p(\d+)\./.exec(JSON.stringify(toolCall))?.[1]);
    // What a sub-agent asks says nothing of the prompt.
    const prompt = Number.isNaN(number) ? conversation?.prompts.at(-1) : this.prompts.get(number);
    if (!prompt || prompt.conversation !== conversation)
      return this.fault("a question that belongs to no prompt of its conversation", asked.session);
    answerPolicy(this, prompt, asked, this.policies.get(prompt.number) ?? "now");
  }

  private answered(sent: Sent): void {
    const prompt = [...this.prompts.values()].findLast((each) => each.sent === sent);
    if (prompt) return this.promptAnswered(prompt);
    const conversation = this.byId.get(sent.session);
    // At once: what follows in the same bytes is no part of the replay any more.
    const at = conversation?.loads.findIndex((each) => each.sent === sent) ?? -1;
    const [load] = at < 0 ? [] : (conversation?.loads.splice(at, 1) ?? []);
    if (!sent.failure) {
      if (conversation && CLOSING.has(sent.method))
        conversation.closed =
          !conversation.open &&
          ![...this.peer.open.values()].some(
            (each) => OPENING.has(each.method) && each.session === sent.session,
          );
      if (load && conversation && this.nextPage(conversation, load)) return;
      const problem = load && conversation?.compare(load);
      if (problem) this.fault(problem, sent.session);
      return;
    }
    const { name, message } = sent.failure;
    if (!this.mayFail(sent, name))
      this.fault(`${sent.method} failed: ${name} ${message.slice(0, 200)}`, sent.session);
    // Opening it failed, so it is not open.
    if (conversation && OPENING.has(sent.method) && !sent.overtaken) conversation.open = false;
  }

  /** Asks for the page before what a load by pages has brought. @returns whether there is one. */
  private nextPage(conversation: Conversation, load: Load): boolean {
    const { hasMore, cursor } = (load.sent.result?.replayMeta ?? {}) as Json;
    if (load.limit === undefined || hasMore !== true) return false;
    if (load.replay) load.pages.unshift(load.replay);
    load.replay = undefined;
    load.sent = this.request(EARLIER, { sessionId: conversation.id, before: cursor, limit: load.limit });
    conversation.loads.push(load);
    return true;
  }

  /** An error that a backend's end explains. */
  private mayFail(sent: Sent, name: string): boolean {
    if (sent.touched && LOST.has(name)) return true;
    const { fileBlocks, nowhere, noState } = this.bridge.conditions;
    if (name === NOT_DELETED) return fileBlocks !== undefined || nowhere === true || noState === true;
    // No page is worth bringing a session up again.
    const conversation = this.byId.get(sent.session);
    const gone = sent.touched || conversation?.compacted;
    if (sent.method === EARLIER && (name === NOT_ATTACHED || (name === EXPIRED && gone))) return true;
    if (name !== UNKNOWN) return false;
    // What came behind a load that failed, or that a close overtook, finds nothing.
    if (sent.overtaken || conversation?.open === false) return true;
    // One whose only prompts were taken and cut off is gone, where the backend died before it was stored.
    return (
      (OPENING.has(sent.method) || (sent.method === "session/prompt" && conversation?.compacted === true)) &&
      conversation?.endedWellAt === undefined &&
      (conversation?.prompts.length ?? 0) > 0
    );
  }

  /**
   * True where the model was told to fail. The simulator counts that for the whole process, and other turns between two
   * tries make it fail in all of them.
   */
  private modelFails(name: string): boolean {
    if (!this.failing) return false;
    return PASSING.has(name);
  }

  private promptAnswered(prompt: Prompt): void {
    const { sent, conversation, number } = prompt;
    if (sent.failure) {
      prompt.outcome = "error";
      const { name, message } = sent.failure;
      const deaths = this.relays.deaths - conversation.deathsBefore;
      if (name === "ZACP-207" && deaths >= 3) {
        // Set aside until somebody opens it again.
        conversation.open = false;
        return;
      }
      if (!this.mayFail(sent, name) && !this.modelFails(name))
        this.fault(`prompt ${number} failed: ${name} ${message.slice(0, 200)}`, conversation.id);
      return;
    }
    const reason = sent.result?.stopReason;
    if (reason === "cancelled") {
      prompt.outcome = "cancelled";
      if (!prompt.cancelled) this.fault(`prompt ${number} was cancelled by nobody`, conversation.id);
      return;
    }
    if (reason !== "end_turn") return this.fault(`prompt ${number} ended with ${reason}`, conversation.id);
    prompt.outcome = "end_turn";
    conversation.deathsBefore = this.relays.deaths;
    conversation.endedWellAt ??= performance.now();
    if (!this.bridge.unrecorded) conversation.recorded = true;
    const lost = missing(prompt, conversation.live.said);
    if (lost.length > 0) this.fault(`prompt ${number} ended without ${lost.join(" ")}`, conversation.id);
  }
}

/** Errors by which a request may end that was in the hands of a backend which died, or was to be started at the end. */
const LOST: ReadonlySet<string> = new Set(["ZACP-103", "ZACP-104", "ZACP-107", "ZACP-207"]);
/** Failures of the model that are tried again, by the names that they have where they last. */
const PASSING: ReadonlySet<string> = new Set(["ZACP-313", "ZACP-314", "ZACP-315"]);

const UNKNOWN = "ZACP-201";
/** It could not be written down that a conversation is deleted. */
const NOT_DELETED = "ZACP-209";
const CLOSING: ReadonlySet<string> = new Set(["session/close", "session/delete"]);
const EARLIER = "session/load_earlier";
const EXPIRED = "ZACP-210";
const NOT_ATTACHED = "ZACP-211";
const OPENING: ReadonlySet<string> = new Set(["session/load", "session/resume"]);
