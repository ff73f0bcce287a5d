/**
 * Keeping a conversation's backend session ready for use: created at first use, resumed where its process or its
 * residency is gone, subscribed, and followed from where its events were left.
 */

import type { Backend, BackendRequest } from "../backend/backend.ts";
import { CODE, RpcError } from "../backend/rpc.ts";
import { errors } from "../errors/index.ts";
import { type Language, phrase } from "../locale/index.ts";
import type { Clock } from "../platform/clock.ts";
import { isObj, list, num, type Obj, obj, text } from "../platform/json.ts";
import type { AliasStore } from "../store/aliases.ts";
import type { TasksIndex } from "../store/tasksIndex.ts";
import { contextUsage, planUpdate } from "../translate/events.ts";
import { saysBusy } from "../translate/failure.ts";
import type { Update } from "../translate/updates.ts";
import type { Conversation, Wish } from "./conversation.ts";
import { BRING_UP_TRIES, RESIDENT_TRUST_MS, SET_ASIDE_DEATHS } from "./limits.ts";
import { type Call, isModelGone, type ModelHooks, Models, refusesModel, unguessed } from "./models.ts";
import type { Registry } from "./registry.ts";
import type { ModelRef, Settings } from "./settings.ts";

/** Tools that ask the client for services which no editor offers; a model that cannot see them picks none. */
export const UNSERVED_TOOLS = [
  "CronCreate",
  "CronList",
  "CronUpdate",
  "CronDelete",
  "OffPeakCreate",
  "OffPeakList",
];
const WISHES = ["mode", "model", "thought"] as const;

const CREATE_OPTIONAL = ["toolDenylist", "mcpServers", "thoughtLevel", "model", "mode"];

export interface ResidenceHooks extends ModelHooks {
  /** One event that a subscription brought along. */
  event(params: Obj): void;
  update(conversation: Conversation, update: Update): void;
  /** A session was made; `session` of its snapshot. */
  created(conversation: Conversation, session: Obj): void;
  /** The snapshot of a session that was there before. */
  resumed(conversation: Conversation, snapshot: Obj): void;
}

export interface CallOptions extends BackendRequest {
  /** Asked before a call is made once more: nobody may want it by then. */
  readonly wanted?: () => boolean;
}

export interface ResidenceDeps {
  readonly backend: Backend;
  readonly aliases: AliasStore;
  readonly index: TasksIndex;
  /** The scaled clock of the rules. */
  readonly rules: Clock;
  /** The provider that a person pinned. */
  readonly provider: string | undefined;
  readonly language: Language;
}

export class Residence {
  /**
   * The backend keeps a few sessions at a time and drops the idle ones, so what is brought up is used before another
   * may push it out: one at a time. It answers requests in order anyway.
   */
  private gate: Promise<unknown> = Promise.resolve();
  private readonly models: Models;
  /** What was wished for last of each setting. */
  private readonly lastWishes = new WeakMap<Conversation, Wish>();

  constructor(
    private readonly deps: ResidenceDeps,
    private readonly registry: Registry,
    private readonly hooks: ResidenceHooks,
  ) {
    this.models = new Models(deps.backend, hooks, deps.provider, deps.language);
  }

  /** True where the session can be used as it is. */
  holds(conversation: Conversation): boolean {
    return (
      conversation.opening === undefined && this.isResident(conversation) && this.isTrusted(conversation)
    );
  }

  /** Its session was heard of just now. */
  trust(conversation: Conversation): void {
    conversation.trustedAt = this.deps.rules.mono();
  }

  private isTrusted({ trustedAt }: Conversation): boolean {
    return this.deps.rules.mono() - trustedAt < RESIDENT_TRUST_MS;
  }

  /** True where the backend's process is the one that has it, as far as is known. */
  isResident({ residentIn }: Conversation): boolean {
    return residentIn !== 0 && residentIn === this.deps.backend.generation;
  }

  /**
   * Makes the backend session ready for use: created at first use, resumed where its process or its residency is
   * gone. Concurrent callers share one.
   * @returns the snapshot of the create or resume; undefined where the session was resident already.
   */
  of(conversation: Conversation): Promise<Obj | undefined> {
    if (conversation.opening) return conversation.opening;
    if (this.holds(conversation)) return Promise.resolve(undefined);
    const opening = this.alone(async () => {
      if (this.isResident(conversation) && (await this.isThere(conversation))) return undefined;
      return this.bringUp(conversation);
    }).finally(() => {
      if (conversation.opening === opening) conversation.opening = undefined;
    });
    conversation.opening = opening;
    return opening;
  }

  saveAlias(conversation: Conversation): Promise<void> {
    const { id, cwd, backendId, createdAt } = conversation;
    return this.deps.aliases.put(id, { cwd, backendId, createdAt });
  }

  private alone<T>(run: () => Promise<T>): Promise<T> {
    const turn = this.gate.then(run);
    this.gate = turn.catch(() => {});
    return turn;
  }

  /** Asks for what came since the last event: a session that was dropped says so, one that is there tells it. */
  private async isThere(conversation: Conversation): Promise<boolean> {
    if (this.isTrusted(conversation)) return true;
    try {
      await this.subscribe(conversation);
    } catch (error) {
      if (isEvicted(error)) return false;
      // Builds that cannot say are believed: what is asked of the session next will tell.
      if (!(error instanceof RpcError)) throw error;
    }
    this.trust(conversation);
    return true;
  }

  private async bringUp(conversation: Conversation): Promise<Obj> {
    // Whatever needs its session, it is not the next process that dies of it.
    if (conversation.deaths >= SET_ASIDE_DEATHS) throw errors.sessionSetAside(conversation.id);
    try {
      for (let attempt = 1; ; attempt++) {
        try {
          return await this.bringUpOnce(conversation);
        } catch (error) {
          // Pushed out between two requests: by another client of that process, or by turns that began meanwhile.
          if (!isEvicted(error) || attempt >= BRING_UP_TRIES) throw error;
        }
      }
    } finally {
      conversation.bringingUp = false;
    }
  }

  private async bringUpOnce(conversation: Conversation): Promise<Obj> {
    await this.deps.backend.prepare(conversation.cwd);
    conversation.bringingUp = true;
    const generation = this.deps.backend.generation;
    const before = conversation.backendId;
    const snapshot =
      before === undefined ? await this.createSession(conversation) : await this.resume(conversation, before);
    const fresh = conversation.backendId !== before;
    if (!this.registry.owns(conversation)) {
      // Closed while it was brought up: the session goes as well, where nobody else asks for it.
      const { backendId } = conversation;
      if (backendId !== undefined && !this.registry.ofBackend(backendId))
        this.deps.backend.tell("session/close", { sessionId: backendId });
      throw errors.sessionUnknown(conversation.id);
    }
    conversation.residentIn = generation;
    conversation.residency++;
    conversation.behind.length = 0;
    conversation.formerRevision = conversation.revision;
    conversation.revision = num(obj(snapshot.runtime).stateRevision);
    conversation.order.reset(num(obj(snapshot.runtime).eventSeq));
    const { asked } = conversation;
    conversation.asked = undefined;
    // What files made of it was a guess about a session that was there before, or would not be made with it.
    const guessed = fresh ? asked?.refused : conversation.settings.fromFiles;
    this.takeSnapshot(
      conversation,
      snapshot,
      guessed ? unguessed(conversation.settings) : conversation.settings,
    );
    if (fresh) {
      this.hooks.created(conversation, obj(snapshot.session));
      conversation.wanted = {};
    } else this.hooks.resumed(conversation, snapshot);
    try {
      await this.subscribe(conversation);
    } catch (error) {
      // Nothing is heard of a session without a subscription: the next who needs it brings it up anew.
      conversation.residentIn = 0;
      throw error;
    }
    this.trust(conversation);
    try {
      if (!fresh) await this.models.repair(conversation, this.direct);
      else if (asked) await this.models.settle(conversation, this.direct, asked);
    } catch (error) {
      // It is there, and what its model is worth shows at the first turn.
      if (!(error instanceof RpcError) || isEvicted(error)) throw error;
    }
    return snapshot;
  }

  /**
   * A call on a session that is resident, as far as is known: nothing is brought up for it.
   * @throws what the backend says, where it has dropped the session; the next who needs it brings it up.
   */
  async ask(
    conversation: Conversation,
    method: string,
    params: Obj,
    optional: readonly string[],
  ): Promise<unknown> {
    const { residentIn, residency } = conversation;
    try {
      return await this.deps.backend.call(method, params, optional);
    } catch (error) {
      if (isEvicted(error) && conversation.residency === residency && conversation.residentIn === residentIn)
        conversation.residentIn = 0;
      throw error;
    }
  }

  /** A call that brings nothing up: what makes a session ready would wait for itself. */
  private readonly direct: Call = (_conversation, method, params, optional = [], options = {}) =>
    this.deps.backend.call(method, params, optional, options);

  private async createSession(conversation: Conversation): Promise<Obj> {
    const { cwd, wanted, mcpServers } = conversation;
    const params: Record<string, unknown> = { workspace: workspaceOf(cwd), toolDenylist: UNSERVED_TOOLS };
    if (wanted.mode !== undefined) params.mode = wanted.mode;
    if (mcpServers.length > 0) params.mcpServers = mcpServers;
    const asked = this.models.asked(conversation);
    conversation.asked = asked;
    const { model, thought } = asked;
    const create = (chosen: Obj) =>
      this.deps.backend.call("session/create", { ...params, ...chosen }, CREATE_OPTIONAL, { model });
    const chosen = {
      ...(model === undefined ? {} : { model: withLevel(model, thought) }),
      ...(thought === undefined ? {} : { thoughtLevel: thought }),
    };
    let snapshot: Obj;
    try {
      snapshot = obj(await create(chosen));
    } catch (error) {
      if (Object.keys(chosen).length === 0 || !refusesModel(error)) throw error;
      conversation.asked = { ...asked, refused: true };
      snapshot = obj(await this.deps.backend.call("session/create", params, CREATE_OPTIONAL));
    }
    const backendId = text(obj(snapshot.session).sessionId);
    if (backendId === undefined)
      throw errors.backendAnswered("session/create", phrase("reason.noSessionId", {}));
    const owner = this.registry.ofBackend(backendId);
    if (owner !== undefined && owner !== conversation)
      throw errors.backendAnswered("session/create", phrase("reason.othersSession", {}));
    if (!this.registry.owns(conversation)) {
      conversation.backendId = backendId;
      return snapshot;
    }
    this.registry.bind(conversation, backendId);
    const recording = this.saveAlias(conversation).finally(() => {
      if (conversation.recording === recording) conversation.recording = undefined;
    });
    conversation.recording = recording;
    return snapshot;
  }

  private async resume(conversation: Conversation, backendId: string): Promise<Obj> {
    const { cwd, mcpServers } = conversation;
    const params = {
      sessionId: backendId,
      workspace: workspaceOf(cwd),
      toolDenylist: UNSERVED_TOOLS,
      ...(mcpServers.length > 0 ? { mcpServers } : {}),
    };
    const { fromFiles, model } = conversation.settings;
    const resume = async () => {
      const snapshot = obj(
        await this.deps.backend.call("session/resume", params, ["toolDenylist", "mcpServers"], {
          model: fromFiles ? undefined : model,
        }),
      );
      // What is in another's is nothing to show here.
      if ((text(obj(snapshot.session).sessionId) ?? backendId) !== backendId)
        throw errors.backendAnswered("session/resume", phrase("reason.othersSession", {}));
      return snapshot;
    };
    try {
      return await resume();
    } catch (error) {
      if (isModelGone(error) && (await unlessRefused(this.models.cureUnseen(conversation, this.direct))))
        return resume();
      if (!isEvicted(error)) throw error;
      // A session that was never prompted is not stored: a fresh one stands behind the same placeholder.
      // Of what an earlier bridge did with it only the app's list tells.
      const used = conversation.residency === 0 && (await this.deps.index.wasUsed(backendId));
      if (conversation.prompted || conversation.id === backendId || used)
        throw errors.sessionUnknown(conversation.id);
      const { mode, thought } = conversation.settings;
      conversation.wanted = {
        ...(mode ? { mode } : {}),
        ...(model && !fromFiles ? { model } : {}),
        ...(thought ? { thought } : {}),
        ...conversation.wanted,
      };
      return this.createSession(conversation);
    }
  }

  private async subscribe(conversation: Conversation): Promise<void> {
    const answer = await this.deps.backend.call(
      "session/subscribe",
      {
        sessionId: conversation.backendId,
        deliveryKind: "desktop-continuous",
        afterSeq: conversation.order.lastSeq,
      },
      ["deliveryKind", "afterSeq"],
    );
    // No snapshot is asked for, since the create or resume has just brought one; a build may send it all the same.
    const snapshot = obj(answer).snapshot;
    if (isObj(snapshot)) this.takeSnapshot(conversation, snapshot);
    for (const event of list(obj(answer).events))
      if (isObj(event) && conversation.order.hasPlace(num(event.seq)))
        this.hooks.event({ sessionId: conversation.backendId, ...event });
  }

  /** @param whole there where the snapshot has the full list of models: what its settings are folded into. */
  private takeSnapshot(conversation: Conversation, snapshot: Obj, whole?: Settings): void {
    const projection = obj(snapshot.projection);
    this.hooks.settings(conversation, settingsOf(snapshot), whole);
    const used = num(projection.contextUsed) ?? 0;
    const updates = [
      ...contextUsage(conversation.translate, used, num(projection.contextWindow)),
      ...planUpdate(conversation.translate, todosOf(snapshot)),
    ];
    for (const update of updates) this.hooks.update(conversation, update);
  }

  /**
   * Changes what was wished for. What the backend cannot take now waits on the record for the next prompt, and counts
   * as chosen meanwhile.
   */
  async applyWanted(conversation: Conversation): Promise<void> {
    const { wanted } = conversation;
    const { mode, model, thought } = wanted;
    conversation.wanted = {};
    this.lastWishes.set(conversation, { ...this.lastWishes.get(conversation), ...wanted });
    if (mode !== undefined) {
      await this.unlessBusy(conversation, { mode }, async () => {
        const params = { sessionId: conversation.backendId, mode };
        const snapshot = await this.call(conversation, "session/setMode", params);
        // A build that answers no snapshot has still taken it.
        this.hooks.settings(conversation, { mode: { current: mode }, ...settingsOf(snapshot) });
      });
    }
    if (model !== undefined)
      await this.unlessBusy(conversation, { model }, () =>
        this.models.set(conversation, this.call.bind(this), model),
      );
    if (thought !== undefined) {
      await this.unlessBusy(conversation, { thought }, async () => {
        const params = {
          sessionId: conversation.backendId,
          thoughtLevel: thought,
          persistAsWorkspaceLastUsed: false,
        };
        const answer = await this.call(conversation, "session/setThoughtLevel", params, [
          "persistAsWorkspaceLastUsed",
        ]);
        this.hooks.settings(conversation, { thoughtLevel: { current: thought }, ...settingsOf(answer) });
      });
    }
  }

  private async unlessBusy(
    conversation: Conversation,
    wish: Wish,
    change: () => Promise<void>,
  ): Promise<void> {
    try {
      await change();
    } catch (error) {
      if (!isBusy(error)) throw error;
      // A later wish has the last word, also one that is on its way or was taken meanwhile.
      const last = this.lastWishes.get(conversation);
      if (WISHES.some((name) => wish[name] !== undefined && wish[name] !== last?.[name])) return;
      conversation.wanted = { ...wish, ...conversation.wanted };
      this.hooks.settings(conversation, wishedSettings(wish));
    }
  }

  /** Gives a model to a session that was made when there was none: somebody has signed in since. */
  async chooseModel(conversation: Conversation): Promise<void> {
    if (conversation.settings.model !== undefined || conversation.wanted.model !== undefined) return;
    const params = { sessionId: conversation.backendId, workspace: workspaceOf(conversation.cwd) };
    const answer = await this.call(conversation, "session/resume", params);
    this.hooks.settings(conversation, settingsOf(answer), conversation.settings);
    if (conversation.settings.model === undefined)
      await this.models.first(conversation, this.call.bind(this));
  }

  /**
   * A call on a resident session; an eviction is answered by a resume and another try right behind it.
   */
  async call(
    conversation: Conversation,
    method: string,
    params: Obj,
    optional: readonly string[] = [],
    options: CallOptions = {},
  ): Promise<unknown> {
    try {
      return await this.deps.backend.call(method, params, optional, options);
    } catch (error) {
      const again = () =>
        this.deps.backend.call(method, { ...params, sessionId: conversation.backendId }, optional, options);
      if (isModelGone(error) && (await unlessRefused(this.models.cure(conversation, this.direct))))
        return again();
      if (!isEvicted(error)) throw error;
      conversation.residentIn = 0;
      return this.alone(async () => {
        for (let attempt = 1; ; attempt++) {
          // Another call may have brought it up while this one waited.
          if (!this.isResident(conversation)) await this.bringUp(conversation);
          if (options.wanted?.() === false) throw new Error("cancelled");
          try {
            return await again();
          } catch (error) {
            // Pushed out once more: where all others are busy it is the only one that can be.
            if (!isEvicted(error) || attempt >= BRING_UP_TRIES) throw error;
            conversation.residentIn = 0;
          }
        }
      });
    }
  }
}

/** False as well where the backend will not: what was wrong before is told then. */
async function unlessRefused(cure: Promise<boolean>): Promise<boolean> {
  try {
    return await cure;
  } catch (error) {
    if (error instanceof RpcError) return false;
    throw error;
  }
}

function withLevel(model: ModelRef, level: string | undefined): Obj {
  return { ...model, ...(level === undefined ? {} : { options: { reasoningLevel: level } }) };
}

/** A wish in the shape of a settings patch. */
export function wishedSettings({ mode, model, thought }: Wish): Obj {
  return {
    ...(mode === undefined ? {} : { mode: { current: mode } }),
    ...(model === undefined ? {} : { model: { current: model } }),
    ...(thought === undefined ? {} : { thoughtLevel: { current: thought } }),
  };
}

/** Busy is `-32010`; older builds said 1308 in these words, a number that elsewhere is a quota code. */
export function isBusy(error: unknown): boolean {
  return error instanceof RpcError && (error.code === CODE.busy || (error.code === 1308 && saysBusy(error)));
}

export function isEvicted(error: unknown): boolean {
  return error instanceof RpcError && error.code === CODE.notResident;
}

function workspaceOf(cwd: string): Obj {
  return { workspacePath: cwd, workspaceKey: cwd };
}

/** The settings of a snapshot, or of any answer that holds one. */
export function settingsOf(snapshot: unknown): Obj {
  return obj(obj(snapshot).settings);
}

/** To-dos of a snapshot, in groups or not. */
export function todosOf(snapshot: Obj): readonly unknown[] {
  const groups = list(snapshot.todoGroups).flatMap((group) => list(obj(group).todos));
  return groups.length > 0 ? groups : list(snapshot.todos);
}
