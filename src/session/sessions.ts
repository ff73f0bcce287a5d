/**
 * The conversations of one bridge: made lazily, resumed when the backend lost them, driven by the turn rules.
 * What a person sees leaves through `SessionSink`.
 */

import type { Backend } from "../backend/backend.ts";
import { RpcError } from "../backend/rpc.ts";
import { errors } from "../errors/index.ts";
import type { Language } from "../locale/index.ts";
import type { Clock, Timer } from "../platform/clock.ts";
import { type Obj, obj, text } from "../platform/json.ts";
import { errorName, type Log } from "../platform/log.ts";
import type { AliasStore } from "../store/aliases.ts";
import type { Offer } from "../store/catalogue.ts";
import type { Remembered } from "../store/remembered.ts";
import type { TasksIndex } from "../store/tasksIndex.ts";
import { endTasks, openTasks } from "../tasks/background.ts";
import { cutOpenCards, setWindow } from "../translate/events.ts";
import { lastMessageId, missedUpdates } from "../translate/missed.ts";
import type { Update } from "../translate/updates.ts";
import { isRunning, type Notice, type Outcome } from "../turn/machine.ts";
import { Catalogue } from "./catalogue.ts";
import { Choices } from "./choices.ts";
import { Conversation, type PromptContent, type Wish } from "./conversation.ts";
import { History } from "./history.ts";
import { Intake } from "./intake.ts";
import { RECORD_CANCELLED_MS, RECORD_MS, SET_ASIDE_DEATHS } from "./limits.ts";
import { SessionList } from "./list.ts";
import { type Offered, seeded } from "./models.ts";
import { noticeWords } from "./notices.ts";
import { holdBack } from "./readers.ts";
import { Registry } from "./registry.ts";
import { Residence, wishedSettings } from "./residence.ts";
import { chosenModel, foldSettings, type Settings, sameSettings } from "./settings.ts";
import { cancelBackgroundTask } from "./tasks.ts";
import { Titles } from "./titles.ts";
import { Todos } from "./todos.ts";
import { TurnRunner, wasSent } from "./turns.ts";
import { SilenceWatch } from "./watch.ts";

export interface SessionSink {
  /** @param except clients that are not told now. */
  update(conversation: Conversation, update: Update, except?: ReadonlySet<object>): void;
  /** @returns what tells it to this client alone, as it is now. */
  hold(conversation: Conversation, update: Update, client: object): () => void;
  /** Mode, model or level are not what they were before. */
  settings(conversation: Conversation, before: Settings): void;
  /** Other skills or commands than before may be named in this workspace. */
  offers(cwd: string): void;
  /** A turn of any kind began or ended. */
  running(conversation: Conversation, running: boolean): void;
  /** A question of this conversation waits for a person. */
  asking(conversation: Conversation): boolean;
  /** The running turn was cancelled, preempted or lost: nobody waits for its questions any more. */
  dropQuestions(conversation: Conversation): void;
}

export interface SessionDeps {
  readonly backend: Backend;
  readonly aliases: AliasStore;
  readonly index: TasksIndex;
  readonly remembered: Remembered;
  /** The scaled clock of the rules. */
  readonly rules: Clock;
  readonly clock: Clock;
  readonly log: Log;
  readonly sink: SessionSink;
  readonly newId: () => string;
  /** Tokens of context from which on a conversation is compacted after a turn; undefined for never. */
  readonly compactAt: number | undefined;
  readonly language: Language;
  /** The skills and commands that lie on the disk for a workspace. */
  readonly onDisk: (cwd: string) => Promise<readonly Offer[]>;
  /** The models of ZCode's files, for conversations whose session has named none. */
  readonly offered: () => Offered;
  /** The provider that a person pinned. */
  readonly provider: string | undefined;
}

export class Sessions {
  readonly registry = new Registry();
  /** What the backend stores, whether it is open here or not. */
  readonly stored: SessionList;
  /** Skills and commands by workspace. */
  readonly catalogue: Catalogue;
  private readonly residence: Residence;
  private readonly turns: TurnRunner;
  private readonly watch: SilenceWatch;
  private readonly titles: Titles;
  private readonly choices: Choices;
  private readonly todos: Todos;
  readonly history: History;
  /** What the backend says of its own accord. */
  readonly intake: Intake;
  private closing: Promise<void> | undefined;

  constructor(private readonly deps: SessionDeps) {
    this.stored = new SessionList(deps);
    this.choices = new Choices(deps.remembered);
    this.catalogue = new Catalogue(deps, (cwd) => deps.sink.offers(cwd));
    this.titles = new Titles(deps, (conversation, title) => {
      if (this.registry.owns(conversation))
        deps.sink.update(conversation, { kind: "title", title, source: "" });
    });
    this.residence = new Residence(deps, this.registry, {
      event: (params) => this.intake.event(params),
      update: (conversation, update) => this.deliver(conversation, update),
      settings: (conversation, patch, whole) => this.fold(conversation, patch, whole),
      created: (conversation, session) => {
        const backendId = text(session.sessionId);
        if (backendId !== undefined) this.titles.created(conversation, backendId, session.traceId);
      },
      say: (conversation, words) => this.say(conversation, words),
      resumed: (conversation, snapshot) => {
        this.catchUp(conversation, snapshot.messages);
        // Whatever ran there and asked is over.
        this.turns.dispatch(conversation, { type: "gone" });
        deps.sink.dropQuestions(conversation);
        // What an earlier bridge could not have made counts as chosen, until the next prompt makes it.
        this.fold(conversation, wishedSettings(conversation.wanted));
        this.titles.stored(conversation, obj(snapshot.session));
        const { backendId } = conversation;
        if (backendId !== undefined) void this.titles.resumed(conversation, backendId);
      },
    });
    this.history = new History(deps, this.residence);
    this.todos = new Todos(deps, this.residence, (conversation, update) =>
      this.deliver(conversation, update),
    );
    this.turns = new TurnRunner(deps, this.registry, this.residence, {
      update: (conversation, update) => this.deliver(conversation, update),
      running: (conversation, running) => {
        if (!running) {
          this.residence.trust(conversation);
          conversation.live.clear();
          conversation.ends++;
        }
        this.watch.running(conversation, running);
        deps.sink.running(conversation, running);
      },
      sent: (conversation, prompt) => {
        conversation.translate.shown.prompted(prompt.content);
        this.titles.sent(conversation, prompt);
      },
      taken: (conversation, prompt) => {
        this.titles.taken(conversation, prompt);
        this.choices.stored(conversation);
      },
      idle: (conversation) => this.idle(conversation),
      mayRestart: () => this.mayRestart(),
      notice: (conversation, notice) => this.notice(conversation, notice),
      wording: (conversation, typed) => this.catalogue.wording(conversation.cwd, typed),
      dropQuestions: (conversation) => deps.sink.dropQuestions(conversation),
    });
    this.watch = new SilenceWatch(deps, this.residence, {
      update: (conversation, update) => this.deliver(conversation, update),
      asking: (conversation) => deps.sink.asking(conversation),
      end: (conversation) => {
        conversation.muted = conversation.turns.turn?.turnId;
        conversation.translate.shown.givenUp = true;
        this.turns.dispatch(conversation, { type: "silent" });
      },
    });
    this.intake = new Intake(deps, this.registry, this.turns, {
      heard: (conversation) => this.watch.heard(conversation),
      update: (conversation, update) => this.deliver(conversation, update),
      settings: (conversation, patch) => this.fold(conversation, patch),
    });
  }

  /** A conversation behind a placeholder id; nothing is asked of the backend. */
  create(cwd: string, mcpServers: readonly Obj[]): Conversation {
    const conversation = this.register(this.deps.newId(), cwd, mcpServers);
    conversation.createdAt = this.deps.clock.now();
    void this.residence.saveAlias(conversation);
    return conversation;
  }

  /**
   * The conversation that an id names: live here, a placeholder of this or an earlier bridge, or a session of the
   * backend. Nothing is resumed yet.
   */
  open(id: string, cwd: string, mcpServers: readonly Obj[]): Conversation {
    const live = this.live(id);
    if (live) {
      // Opening it again is a person's wish to try once more.
      live.deaths = 0;
      if (!live.aliases.has(id)) this.registry.alias(live, id);
      if (mcpServers.length > 0) live.mcpServers = mcpServers;
      this.used(live);
      return live;
    }
    const alias = this.deps.aliases.get(id);
    const conversation = this.register(id, alias?.cwd ?? cwd, mcpServers);
    conversation.createdAt = alias?.createdAt ?? this.deps.clock.now();
    if (alias === undefined) {
      this.registry.bind(conversation, id);
      conversation.prompted = true;
    } else {
      if (alias.backendId !== undefined) this.registry.bind(conversation, alias.backendId);
      const choice = this.choices.restore(conversation);
      if (choice) this.fold(conversation, wishedSettings(choice));
    }
    this.used(conversation);
    return conversation;
  }

  /** The live conversation that an id names; a placeholder also where its session is open here by another id. */
  private live(id: string): Conversation | undefined {
    const found = this.registry.find(id);
    const backendId = found ? undefined : this.deps.aliases.get(id)?.backendId;
    return backendId === undefined ? found : this.registry.ofBackend(backendId);
  }

  /** The live conversation of an id; throws the error that a client is answered with. */
  require(id: string): Conversation {
    const conversation = this.registry.find(id);
    if (!conversation) throw errors.sessionUnknown(id);
    return conversation;
  }

  /** Makes the backend session ready without reading its history. */
  async ensure(conversation: Conversation): Promise<void> {
    await this.residence.of(conversation);
  }

  /** Forgets a conversation that turned out not to exist. */
  forget(conversation: Conversation): void {
    this.turns.retire(conversation);
    this.registry.remove(conversation);
  }

  /** Runs one prompt; resolves when its own turn has ended, however that was. */
  prompt(conversation: Conversation, prompt: PromptContent): { key: number; outcome: Promise<Outcome> } {
    if (conversation.deaths >= SET_ASIDE_DEATHS) throw errors.sessionSetAside(conversation.id);
    return this.turns.prompt(conversation, prompt);
  }

  /**
   * Resolves when a later bridge would find the way from the conversation's id to its session, or after a moment: an
   * answer is not held up for longer by a disk.
   * @param cancelled a person wants it to end now, and is owed the answer at once.
   */
  async recorded(conversation: Conversation, cancelled: boolean): Promise<void> {
    const { recording } = conversation;
    if (!recording) return;
    let timer: Timer | undefined;
    const late = new Promise<void>((resolve) => {
      timer = this.deps.clock.after(cancelled ? RECORD_CANCELLED_MS : RECORD_MS, resolve);
    });
    await Promise.race([recording, late]);
    timer?.cancel();
  }

  /** Cancels the running and the waiting prompts, or one of them. */
  cancel(conversation: Conversation, key?: number): void {
    this.turns.dispatch(conversation, key === undefined ? { type: "cancel" } : { type: "cancel", key });
  }

  running(conversation: Conversation): boolean {
    return isRunning(conversation.turns);
  }

  /** Changes mode or model: at once where the session is live, else with its creation. */
  async change(conversation: Conversation, wish: Wish): Promise<void> {
    const unused = conversation.backendId === undefined && !conversation.opening;
    if (!unused) await this.residence.of(conversation);
    conversation.wanted = { ...conversation.wanted, ...wish };
    if (unused) this.fold(conversation, wishedSettings(wish));
    else await this.residence.applyWanted(conversation);
    this.choices.made(conversation, wish);
  }

  /**
   * Cancels a background task of this conversation.
   * @returns what the backend answered.
   * @throws where the task was never seen in this conversation: another's task is nobody's to end.
   */
  cancelTask(conversation: Conversation, taskId: string): Promise<Obj> {
    return cancelBackgroundTask(this.residence, conversation, taskId, (update) =>
      this.deliver(conversation, update),
    );
  }

  /**
   * Closes one conversation here and its runtime in the backend; what is stored stays. Nobody waits for the backend, which
   * may be busy with another conversation: whatever is asked of the session next comes behind it.
   */
  close(conversation: Conversation): void {
    this.turns.retire(conversation);
    this.registry.remove(conversation);
    const { backendId } = conversation;
    if (backendId !== undefined && conversation.residentIn === this.deps.backend.generation)
      this.deps.backend.tell("session/close", { sessionId: backendId });
  }

  /** Closes a conversation and leaves it out of every later list, until it is used again; what is stored stays. */
  async delete(id: string): Promise<Conversation | undefined> {
    const conversation = this.live(id);
    const alias = conversation ? undefined : this.deps.aliases.get(id);
    if (conversation) this.close(conversation);
    // A placeholder that was never used is in no list.
    const backendId = conversation ? conversation.backendId : alias ? alias.backendId : id;
    const { remembered } = this.deps;
    for (const each of new Set([id, conversation?.id ?? id])) remembered.choose(each, undefined);
    if (backendId !== undefined && !(await remembered.hide(backendId)))
      throw errors.notDeleted(remembered.path);
    return conversation;
  }

  /** A conversation that was deleted is listed again once somebody uses it. */
  private used({ backendId }: Conversation): void {
    if (backendId !== undefined) this.deps.remembered.show(backendId);
  }

  /** Settles every prompt as cancelled and forgets every conversation; memoised. */
  closeAll(): Promise<void> {
    this.closing ??= (async () => {
      for (const conversation of this.registry.clear()) this.turns.retire(conversation);
      const { aliases, index, remembered } = this.deps;
      await Promise.all([aliases.flushed(), index.flushed(), remembered.flushed()]);
    })();
    return this.closing;
  }

  /** The backend's process is gone: what ran is answered, what waited goes on with the next process. */
  lost(error: Error): void {
    for (const conversation of this.registry.all()) {
      // What was in its hands when it died may be what it died of.
      if (conversation.bringingUp || wasSent(conversation)) conversation.deaths++;
      const { tasks, translate, turns } = conversation;
      // Its session may have been dropped before: what is still shown as running ends all the same.
      const ran = turns.turn !== undefined || turns.active?.accepted === true || openTasks(tasks) > 0;
      if (conversation.residentIn === 0 && !ran) continue;
      conversation.residentIn = 0;
      // Whatever ran in the background was below that process, and went with it.
      for (const update of [...endTasks(tasks, translate, "lost"), ...cutOpenCards(translate)]) {
        this.deliver(conversation, update);
      }
      this.deps.sink.dropQuestions(conversation);
      this.turns.dispatch(conversation, { type: "lost", error });
    }
  }

  /** The backend's process is about to be replaced while nothing runs in it. */
  restarting(): void {
    for (const conversation of this.registry.all()) conversation.residentIn = 0;
  }

  /** True where nothing runs but prompts that are not sent yet. */
  private mayRestart(): boolean {
    return this.registry
      .all()
      .every(
        ({ turns, tasks, opening }) =>
          !opening && !turns.turn && !turns.active?.accepted && !turns.lockHeld && openTasks(tasks) === 0,
      );
  }

  /** The conversation that a question of the backend belongs to. */
  owner(params: Obj): Conversation | undefined {
    return this.intake.owner(params);
  }

  private idle(conversation: Conversation): void {
    // Another process may have deleted it meanwhile.
    this.used(conversation);
    const { compactAt } = this.deps;
    if (!conversation.grown) return;
    conversation.grown = false;
    if (compactAt === undefined || conversation.translate.lastUsed < compactAt) return;
    void this.compact(conversation).catch((error) => this.logFailure("session/compact", error));
  }

  /** Has the context made smaller; prompts wait for it meanwhile. @returns what the backend answered at once. */
  async compact(conversation: Conversation, instructions?: string): Promise<Obj> {
    this.turns.dispatch(conversation, { type: "compact" });
    try {
      const params = { sessionId: conversation.backendId, ...(instructions ? { instructions } : {}) };
      return obj(await this.call(conversation, "session/compact", params));
    } finally {
      this.turns.dispatch(conversation, { type: "compactAnswered" });
    }
  }

  /** A request about a conversation, whose session is made ready first. */
  async call(conversation: Conversation, method: string, params: Obj): Promise<unknown> {
    await this.residence.of(conversation);
    return this.residence.call(conversation, method, { ...params, sessionId: conversation.backendId });
  }

  private register(id: string, cwd: string, mcpServers: readonly Obj[]): Conversation {
    const { newId, language } = this.deps;
    const conversation = new Conversation(id, cwd, mcpServers, `acp-${newId()}`, language);
    conversation.settings = seeded(conversation.settings, this.deps.offered(), false);
    this.registry.add(conversation);
    return conversation;
  }

  /** The files may offer other models than before: conversations without a session are shown those. */
  offersModels(): void {
    const offered = this.deps.offered();
    for (const conversation of this.registry.all()) {
      const { backendId, settings, wanted } = conversation;
      if (backendId === undefined)
        this.settle(conversation, seeded(settings, offered, wanted.model !== undefined));
    }
  }

  /** @param whole there where the patch has the full list of models: what it is folded into. */
  private fold(conversation: Conversation, patch: Obj, whole?: Settings): void {
    this.settle(conversation, foldSettings(whole ?? conversation.settings, patch, whole !== undefined));
  }

  private settle(conversation: Conversation, after: Settings): void {
    const before = conversation.settings;
    conversation.settings = after;
    // A record that was closed while it was brought up speaks for nobody.
    if (!this.registry.owns(conversation)) return;
    this.foldWindow(conversation, before);
    if (!sameSettings(before, after)) this.deps.sink.settings(conversation, before);
  }

  /** A session is back with its whole history: what of it was not shown is shown, to all who do not read it anyway. */
  private catchUp(conversation: Conversation, messages: unknown): void {
    if (!Array.isArray(messages)) return;
    const { translate } = conversation;
    // What it held when it was opened first is for those who ask for it.
    if (conversation.residency > 1) {
      for (const update of missedUpdates(translate, messages)) this.deliver(conversation, update);
    }
    translate.shown.reset(lastMessageId(messages));
    // Up to here it is in the history that they are shown.
    for (const reader of conversation.readers) reader.covered = reader.held.length;
    this.history.whole(conversation, messages);
  }

  /** The window of another model is another one; a backend that names none, or 0, leaves the list's word. */
  private foldWindow(conversation: Conversation, before: Settings): void {
    const { settings, translate } = conversation;
    const chosen = chosenModel(settings);
    const changed =
      chosen?.ref.modelId !== before.model?.modelId || chosen?.ref.providerId !== before.model?.providerId;
    if (chosen?.contextWindow === undefined || (!changed && translate.contextWindow > 0)) return;
    for (const update of setWindow(translate, chosen.contextWindow)) this.deliver(conversation, update);
  }

  private deliver(conversation: Conversation, update: Update): void {
    if (!this.registry.owns(conversation)) return;
    if (update.kind === "mode") return this.fold(conversation, { mode: { current: update.mode } });
    if (update.kind === "title") return this.titles.pushed(conversation, update.title, update.source);
    if (update.kind === "text" && update.role !== "user") {
      const words = conversation.repeats[update.role].filter(update.text);
      if (words === "") return;
      return this.show(conversation, words === update.text ? update : { ...update, text: words });
    }
    this.show(conversation, update);
    if (update.kind === "tool" && update.change === "closed" && update.card.name === "TodoWrite")
      this.todos.rereadSoon(conversation);
  }

  private show(conversation: Conversation, update: Update): void {
    const { readers, turns, live } = conversation;
    if (turns.turn) live.note(update);
    if (readers.size === 0) return this.deps.sink.update(conversation, update);
    const { sink } = this.deps;
    const except = holdBack(conversation, (client) => sink.hold(conversation, update, client));
    sink.update(conversation, update, except);
  }

  /** A line of ours in the conversation: a message of its own, never stored and never replayed. */
  private notice(conversation: Conversation, notice: Notice): void {
    this.say(conversation, noticeWords(notice, this.deps.language));
  }

  /** One line to the person, beside what the model says. */
  say(conversation: Conversation, words: string): void {
    if (!this.registry.owns(conversation)) return;
    this.deps.sink.update(conversation, {
      kind: "text",
      role: "agent",
      messageId: `notice_${this.deps.newId()}`,
      // Some clients join all chunks of a reply, so the line brings its own room.
      text: `\n\n${words}\n\n`,
    });
  }

  private logFailure(method: string, error: unknown): void {
    this.deps.log.once(
      `call:${method}`,
      "warn",
      `${method} failed: ${error instanceof RpcError ? error.code : errorName(error)}`,
    );
  }
}
