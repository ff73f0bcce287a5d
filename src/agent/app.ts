/**
 * The ACP surface of one client: its methods, each answered from the sessions below. One app per client, so
 * that what a client said at `initialize` is at hand in every handler.
 */

import type { AnyMessage } from "@agentclientprotocol/sdk/unstable";
import type { Backend } from "../backend/backend.ts";
import { Client, type Sender } from "../clients/client.ts";
import type { Clients } from "../clients/clients.ts";
import { errors } from "../errors/index.ts";
import { type Language, phrase, t } from "../locale/index.ts";
import type { Clock } from "../platform/clock.ts";
import { isObj, type Obj, obj, str } from "../platform/json.ts";
import type { Log } from "../platform/log.ts";
import type { Usage } from "../quota/types.ts";
import type { Conversation, Reader } from "../session/conversation.ts";
import type { Batch, ReplayMeta } from "../session/history.ts";
import { batchOver, expectBatch, tellBefore } from "../session/readers.ts";
import type { Sessions } from "../session/sessions.ts";
import type { Credentials } from "../store/providers.ts";
import { Actions } from "./actions.ts";
import { Changes } from "./changes.ts";
import { SlashCommands } from "./commands.ts";
import { type LeftOut, promptContent } from "./content.ts";
import { type Extensions, extensions } from "./extensions.ts";
import { failureError } from "./failures.ts";
import { PromptLane } from "./lane.ts";
import { LAST_ANSWERS_MS, RESUMED_TAIL } from "./limits.ts";
import { mcpServers } from "./mcp.ts";
import { configOptions, modeState } from "./options.ts";
import { rootPath } from "./paths.ts";
import { Loads, pageLimit, replayLimit, showBatch } from "./replay.ts";
import { agentApp } from "./routes.ts";
import { slashCommands } from "./slash.ts";
import { sdkStream, serialised } from "./stream.ts";

export interface AgentDeps {
  readonly sessions: Sessions;
  readonly clients: Clients;
  readonly backend: Backend;
  readonly log: Log;
  readonly language: Language;
  readonly version: string;
  readonly clock: Clock;
  /** True where the simulator is the backend: nobody has to sign in. */
  readonly simulated: boolean;
  credentials(): Credentials;
  /** What a conversation still waits for is put to this client, once it has drawn what it was shown. */
  shown(conversation: Conversation, client: Client): void;
  readonly quota: {
    /** How much of each plan is used. */
    usage(): Promise<Usage>;
    /** The same for a person, as markdown; `words` may name a provider. */
    say(words: string): Promise<string>;
  };
  /** Every request, answer and notification but updates, for the black box; size in characters. */
  onFrame(
    direction: "in" | "out",
    what: string,
    id: string | number | undefined,
    session: string,
    size: number,
  ): void;
}

/** The one protocol version that is spoken. */
const PROTOCOL_VERSION = 1;
/** The last moment that a date can hold, in milliseconds since the epoch. */
const LATEST_DATE = 8.64e15;
const AUTH_METHOD = "zcode-credentials";

export interface AgentConnection {
  /** One message of the client, and its size in characters. */
  message(message: AnyMessage, size: number): void;
  /** The client is gone. */
  end(): void;
  /** Other skills or commands than before may be named in this workspace. */
  offersChanged(cwd: string): void;
  /** The bridge ends: prompts that wait to be handed on are answered. */
  settle(): void;
  readonly closed: Promise<void>;
}

/**
 * Connects one client.
 * @param sender takes what is sent to it.
 */
export function connectAgent({ send, room }: Sender, deps: AgentDeps): AgentConnection {
  const client: Client = new Client({
    send,
    room,
    request: (method, params, signal) =>
      connection.client.request(method, params, { cancellationSignal: signal, stopWaitingOnCancel: true }),
  });
  const surface = new Surface(client, deps);
  const lane = new PromptLane(
    client,
    surface,
    (id, message) => {
      send(message);
      surface.loads.answered(id);
      deps.onFrame("out", "answer session/prompt", id, "", message.length);
    },
    (message) => input.enqueue(message),
    deps.language,
  );
  const note = (direction: "in" | "out", sent: unknown, size: number) => {
    const message = obj(sent);
    const id = typeof message.id === "number" ? message.id : str(message.id);
    deps.onFrame(
      direction,
      str(message.method) ?? "answer",
      id,
      str(obj(message.params).sessionId) ?? "",
      size,
    );
  };
  let input!: ReadableStreamDefaultController<AnyMessage>;
  const readable = new ReadableStream<AnyMessage>({
    start(controller) {
      input = controller;
    },
  });
  const connection = agentApp(surface, (session) => lane.started(session)).connect(
    sdkStream(readable, (message) => {
      const line = serialised(message);
      send(line);
      note("out", message, line.length);
      if (behind && !("method" in message) && "id" in message && message.id === behind.initialize) {
        const { messages } = behind;
        behind = undefined;
        for (const [waiting, size] of messages) take(waiting, size);
      }
      lane.sent(message);
      if ("id" in message && !("method" in message)) surface.loads.answered(message.id);
      if ("result" in message) surface.answered(message.result);
    }),
  );
  /** What came right behind an `initialize` that is not answered yet: served after it, in its order. */
  let behind: { initialize: unknown; messages: [AnyMessage, number][] } | undefined;
  const take = (message: AnyMessage, size: number): void => {
    if (behind) {
      behind.messages.push([message, size]);
      return;
    }
    const { method, id } = obj(message);
    // Only an id that the SDK answers under can be waited for.
    const answered = typeof id === "string" || Number.isFinite(id);
    if (!client.initialized && method === "initialize" && answered) behind = { initialize: id, messages: [] };
    if (client.initialized && method === "session/load" && answered)
      surface.loads.came(id, obj(obj(message).params));
    if (!lane.take(message)) input.enqueue(message);
    note("in", message, size);
  };
  deps.clients.add(client);
  return {
    message: take,
    // What was asked before the end is still answered, where that takes no time.
    end: () => {
      const close = () => {
        timer.cancel();
        lane.end();
        if (!connection.signal.aborted) input.close();
      };
      const timer = deps.clock.after(LAST_ANSWERS_MS, close);
      void lane.answered().then(close);
    },
    offersChanged: (cwd) => surface.commands.offersChanged(cwd),
    settle: () => lane.end(),
    closed: connection.closed.then(() => {
      surface.loads.end();
      deps.clients.remove(client);
    }),
  };
}

export class Surface {
  readonly commands: SlashCommands;
  readonly extensions: Extensions;
  readonly language: Language;
  private readonly changes: Changes;
  readonly loads: Loads;
  /** Conversations whose tail is shown behind an answer, by that answer. */
  private readonly resumed = new WeakMap<object, Conversation>();

  constructor(
    private readonly client: Client,
    private readonly deps: AgentDeps,
  ) {
    const { sessions, language } = deps;
    this.language = language;
    const actions = new Actions(deps);
    this.changes = new Changes(sessions);
    this.loads = new Loads(sessions, client);
    const shared = { sessions, actions, changes: this.changes, language };
    this.commands = new SlashCommands(
      client,
      deps,
      slashCommands({ ...shared, quota: (words) => deps.quota.say(words) }),
    );
    this.extensions = extensions({
      ...shared,
      usage: () => deps.quota.usage(),
      known: (params) => this.known(params),
      opened: (params) => this.opened(params),
    });
  }

  initialize(params: Obj) {
    this.client.introduce(params);
    return {
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name: "zcode-acp", title: "ZCode", version: this.deps.version },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, embeddedContext: true },
        mcpCapabilities: { http: true, sse: true },
        sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {} },
        auth: {},
      },
      authMethods: this.authMethods(),
    };
  }

  authenticate() {
    if (this.deps.simulated) return {};
    const credentials = this.deps.credentials();
    const usable = [...credentials.providers, ...credentials.personal].some((provider) => provider.usable);
    if (usable || credentials.cachedPlans.length > 0) return {};
    throw errors.nothingSignedIn(
      credentials.files.map(({ path, problem }) =>
        phrase("looked.because", { place: path, why: problem ?? phrase("problem.noProvider", {}) }),
      ),
    );
  }

  newSession(params: Obj) {
    const conversation = this.deps.sessions.create(this.root(params), mcpServers(params));
    this.client.knowAs(conversation.id, conversation.id, true);
    // The process starts while the person types; what goes wrong with it is told at the first prompt.
    this.deps.backend.ready().catch(() => {});
    return this.commands.offer(conversation, { sessionId: conversation.id, ...this.settings(conversation) });
  }

  async load(params: Obj, signal: AbortSignal) {
    const limit = replayLimit(params);
    // Before anything can go wrong, since the next load of this session takes the next one.
    const waiting = this.loads.begin(str(params.sessionId) ?? "");
    const { conversation, id } = await this.attach(params);
    const { history } = this.deps.sessions;
    let meta: ReplayMeta;
    const reader = waiting ?? expectBatch(conversation, this.client, limit === 0);
    try {
      await this.client.outlet.room();
      const batch = await this.usable(conversation, id, () =>
        history.load(conversation, limit, reader, signal),
      );
      this.stillOpen(conversation, id);
      // Plan and use belong to messages: who asks for none is sent none of them.
      if (!signal.aborted) await this.show(conversation, batch, reader, limit !== 0, signal);
      meta = batch.meta;
    } finally {
      batchOver(conversation, reader, !signal.aborted);
    }
    this.stillOpen(conversation, id);
    this.deps.shown(conversation, this.client);
    return this.commands.offer(conversation, { ...this.settings(conversation), replayMeta: meta });
  }

  async resume(params: Obj) {
    const { conversation, id } = await this.attach(params);
    if (conversation.backendId !== undefined) {
      await this.usable(conversation, id, () => this.deps.sessions.ensure(conversation));
      this.stillOpen(conversation, id);
    }
    this.deps.shown(conversation, this.client);
    const answer = this.commands.offer(conversation, this.settings(conversation));
    // This client alone asks for no history, and shows what comes behind the answer.
    if (this.client.isMartty) this.resumed.set(answer, conversation);
    return answer;
  }

  /** To be told of every answer that has left. */
  answered(answer: unknown): void {
    this.commands.answered(answer);
    const conversation = isObj(answer) ? this.resumed.get(answer) : undefined;
    if (!conversation || !this.deps.sessions.registry.owns(conversation)) return;
    const reader = expectBatch(conversation, this.client, false);
    const { signal } = new AbortController();
    this.deps.sessions.history
      .load(conversation, RESUMED_TAIL, reader, signal)
      .then((batch) => this.show(conversation, batch, reader, true, signal))
      .catch(() => this.deps.log.once("replay", "warn", "what was resumed could not be shown"))
      .finally(() => batchOver(conversation, reader, true));
  }

  private show(
    conversation: Conversation,
    batch: Batch,
    reader: Reader,
    newest: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const goesOn = () => !signal.aborted && this.deps.sessions.registry.owns(conversation);
    return showBatch(this.deps, this.client, conversation, batch, reader, newest, goesOn);
  }

  /** One page of what stands before a batch that this client was shown. */
  async loadEarlier(params: Obj, signal: AbortSignal) {
    const id = str(params.sessionId) ?? "";
    const conversation = this.deps.sessions.registry.find(id);
    if (!conversation || this.client.knownId(conversation.id) === undefined) throw errors.notAttached(id);
    const batch = await this.deps.sessions.history.earlier(
      conversation,
      str(params.before) ?? "",
      pageLimit(params),
    );
    const reader = expectBatch(conversation, this.client, false);
    try {
      await this.show(conversation, batch, reader, false, signal);
    } finally {
      batchOver(conversation, reader, !signal.aborted);
    }
    return { replayMeta: batch.meta };
  }

  async list(params: Obj) {
    const cwd = str(params.cwd);
    const root = cwd === undefined ? undefined : rootPath(cwd);
    if (cwd !== undefined && root === undefined) throw errors.badPath(cwd);
    const { sessions, nextCursor } = await this.deps.sessions.stored.page(root, str(params.cursor));
    return {
      ...(nextCursor === undefined ? {} : { nextCursor }),
      sessions: sessions.map(({ sessionId, cwd, title, updatedAt }) => ({
        // A client that has it open already is given the id that it knows.
        sessionId: this.client.knownId(this.deps.sessions.registry.ofBackend(sessionId)?.id) ?? sessionId,
        cwd,
        ...(title === "" ? {} : { title }),
        ...(updatedAt > 0 && updatedAt <= LATEST_DATE
          ? { updatedAt: new Date(updatedAt).toISOString() }
          : {}),
      })),
    };
  }

  close(params: Obj) {
    const id = str(params.sessionId) ?? "";
    const conversation = this.deps.sessions.registry.find(id);
    if (conversation) {
      this.deps.sessions.close(conversation);
      for (const client of this.deps.clients.all) client.forget(conversation.id);
    }
    return {};
  }

  async delete(params: Obj) {
    const id = str(params.sessionId) ?? "";
    if (id === "") throw errors.sessionUnknown(id);
    const conversation = await this.deps.sessions.delete(id);
    if (conversation) for (const client of this.deps.clients.all) client.forget(conversation.id);
    return {};
  }

  /** @param cancellable is given, before anything is awaited, what cancels this prompt alone. */
  async prompt(params: Obj, cancellable: (cancel: () => void) => void) {
    const conversation = this.known(params);
    const answered = this.commands.answer(conversation, params.prompt, cancellable);
    if (answered) return answered;
    const left: LeftOut[] = [];
    const content = promptContent(params.prompt, (each) => left.push(each));
    // What follows goes to the thread that asked, where a client has one conversation open under two ids.
    this.client.knowAs(conversation.id, str(params.sessionId) ?? conversation.id, true);
    const { key, outcome } = this.deps.sessions.prompt(conversation, content);
    cancellable(() => this.deps.sessions.cancel(conversation, key));
    for (const { name, why } of left)
      this.deps.sessions.say(conversation, t(`notice.left.${why}`, { name }, this.language));
    const ended = await outcome;
    tellBefore(conversation, this.client);
    const cancelled = ended.kind === "ended" && ended.stopReason === "cancelled";
    if (conversation.recording) await this.deps.sessions.recorded(conversation, cancelled);
    switch (ended.kind) {
      case "ended": {
        const { usage } = ended;
        return {
          stopReason: ended.stopReason,
          ...(usage ? { usage: usage.usage, _meta: { zcode: { usage: usage.meta } } } : {}),
        };
      }
      case "failed":
        throw failureError(ended.failure, this.language);
      case "queue-full":
        throw errors.queueFull();
      case "lost":
        throw ended.error;
    }
  }

  cancel(params: Obj): void {
    const conversation = this.deps.sessions.registry.find(str(params.sessionId) ?? "");
    if (!conversation) return;
    this.commands.cancel(conversation);
    this.deps.sessions.cancel(conversation);
  }

  async setMode(params: Obj) {
    const conversation = this.known(params);
    await this.changes.mode(conversation, str(params.modeId) ?? "");
    return {};
  }

  async setOption(params: Obj) {
    const conversation = this.known(params);
    const id = str(params.configId) ?? "";
    const value = str(params.value) ?? "";
    if (id === "mode") await this.changes.mode(conversation, value);
    else if (id === "model") await this.changes.model(conversation, value);
    else if (id === "thought") await this.changes.thought(conversation, value);
    else throw errors.badOption(id, value);
    return { configOptions: configOptions(conversation, this.language) };
  }

  private async attach(params: Obj): Promise<{ conversation: Conversation; id: string }> {
    const id = str(params.sessionId) ?? "";
    if (id === "") throw errors.sessionUnknown(id);
    const conversation = this.deps.sessions.open(id, this.root(params), mcpServers(params));
    this.client.knowAs(conversation.id, id, true);
    return { conversation, id };
  }

  /** Runs what needs the stored session; one that turns out not to exist leaves nothing behind. */
  private async usable<T>(conversation: Conversation, id: string, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      if (conversation.residency === 0 && !this.deps.sessions.running(conversation)) {
        this.deps.sessions.forget(conversation);
        this.client.forget(conversation.id);
      }
      this.deps.log.once(`attach:${id}`, "warn", "a session could not be opened");
      throw error;
    }
  }

  /** @throws where it was closed while it was being opened: nothing more is said of it then. */
  private stillOpen(conversation: Conversation, id: string): void {
    if (!this.deps.sessions.registry.owns(conversation)) throw errors.sessionUnknown(id);
  }

  private known(params: Obj): Conversation {
    const id = str(params.sessionId) ?? "";
    const conversation = this.deps.sessions.require(id);
    this.client.knowAs(conversation.id, id, false);
    return conversation;
  }

  /** A conversation that need not be live yet. */
  private opened(params: Obj): Conversation {
    const id = str(params.sessionId) ?? "";
    if (this.deps.sessions.registry.find(id) || str(params.cwd) === undefined) return this.known(params);
    return this.deps.sessions.open(id, this.root(params), mcpServers(params));
  }

  private root(params: Obj): string {
    const cwd = str(params.cwd) ?? "";
    const root = rootPath(cwd);
    if (root === undefined) throw errors.badPath(cwd);
    return root;
  }

  private settings(conversation: Conversation) {
    return {
      modes: modeState(conversation, this.language),
      configOptions: configOptions(conversation, this.language),
    };
  }

  private authMethods() {
    const { language } = this;
    const methods = [
      {
        id: AUTH_METHOD,
        name: t("auth.agent", {}, language),
        description: t("auth.agent.about", {}, language),
      },
    ];
    if (!this.client.terminalAuth) return methods;
    return [
      ...methods,
      {
        id: "zcode-login",
        type: "terminal" as const,
        name: t("auth.terminal", {}, language),
        description: t("auth.terminal.about", {}, language),
        args: ["login"],
      },
    ];
  }
}
