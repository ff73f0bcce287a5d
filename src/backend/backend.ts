/**
 * The app-server as the rest of the program sees it: always there. It is started at first use, probed, told
 * the account, and started again after it died; what it asks for itself is answered here, what it asks a
 * person is handed on.
 */

import { errors, ProductError } from "../errors/index.ts";
import { phrase } from "../locale/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Obj } from "../platform/json.ts";
import { errorName, type Log } from "../platform/log.ts";
import { maskSecrets, safeName } from "../platform/mask.ts";
import type { Credentials } from "../store/providers.ts";
import { accountSnapshot, type HeaderRefusal, headersFor } from "./account.ts";
import { OLDEST_VERSION, PROBE_DEADLINE_MS, STDERR_SHOWN_LINES } from "./limits.ts";
import type { Launch, Located, VersionOf } from "./locate.ts";
import {
  type ModelPair,
  OlderProviders,
  PushedProviders,
  RUNTIME_MODEL,
  refusedKey,
  withoutKey,
} from "./registry.ts";
import { Restarts } from "./restarts.ts";
import { CODE, LostError, type RequestOptions, RpcError, type RpcHooks, type ServerRequest } from "./rpc.ts";
import { AppServer, type ServerExit, type ServerProcess } from "./server.ts";
import { compareVersions } from "./version.ts";

/** Answers one request of the app-server; a second answer is dropped. */
export interface Reply {
  result(value: Obj): void;
  error(code: number, message: string): void;
}

export interface BackendHooks {
  /** The params of one `session/event`. */
  event(params: Obj): void;
  /** The params of one `state.updated`. */
  state(params: Obj): void;
  /** The params of a `v4/telemetry/event` of kind `turn.terminal`. */
  terminal(params: Obj): void;
  /** A question for a person: `interaction/requestPermission` or `interaction/requestUserInput`. */
  question(request: ServerRequest, reply: Reply): void;
  /** The process is gone; every session of it must be resumed before it is used again. */
  lost(error: ProductError): void;
  /** The process is about to be replaced; every session of it must be resumed before it is used again. */
  restarting(): void;
  /** A process was started and its era is known, before anything else is asked of it. */
  started(): void;
}

export interface BackendRequest extends RequestOptions {
  /** The model that this is about: older builds are given its provider beside it. */
  readonly model?: ModelPair | undefined;
}

export interface BackendDeps {
  readonly clock: Clock;
  /** The scaled clock of the rules. */
  readonly rules: Clock;
  readonly log: Log;
  /** Finds the app-server; `ending` ends what it starts for that. */
  locate(ending: AbortSignal): Promise<Located>;
  readonly versionOf: VersionOf;
  spawn(launch: Launch): ServerProcess;
  credentials(): Credentials;
  /** Changes whenever a file behind `credentials` does. */
  credentialsStamp(): string;
  /** The provider that the person pinned, if any. */
  readonly provider: string | undefined;
  /** Why headers were refused, as a sentence for the person. */
  refusal(reason: HeaderRefusal): string;
  onFrame?: RpcHooks["onFrame"];
  onLine?: RpcHooks["onLine"];
}

/** Questions come to the client instead of answering themselves after five minutes. */
const PREFERENCES = {
  nativeSearchEnhancementsEnabled: false,
  memoryEnabled: false,
  askUserQuestionAutoResolutionEnabled: false,
};

export class Backend {
  private server: AppServer | undefined;
  private starting: Promise<AppServer> | undefined;
  /** The last process that was started, from its first moment on. */
  private begun: AppServer | undefined;
  private accountRevision = 0;
  private pushedAccount = "";
  private pushedStamp = "";
  /** The built-in provider table of the running build; undefined where it takes no account push. */
  private table: string | undefined;
  /** What a build that takes no push was started with. */
  private startedKeys = "";
  private lacksKey = false;
  /** A process that is ended on purpose, to be started anew. */
  private replaced: AppServer | undefined;
  private closed = false;
  private readonly ending = new AbortController();
  private readonly restarts: Restarts;
  private startCount = 0;
  private closing: Promise<void> | undefined;
  private readonly older: OlderProviders;
  private lastModern: boolean | undefined;

  constructor(
    private readonly deps: BackendDeps,
    private readonly hooks: BackendHooks,
  ) {
    this.older = new OlderProviders(deps);
    this.restarts = new Restarts(deps.rules);
  }

  /** Whether the build is of app 3.12 or newer, as the last process said; undefined before the first one has. */
  get modern(): boolean | undefined {
    return this.lastModern;
  }

  /** How often a process has been started; sessions that an earlier one held are not resident any more. */
  get generation(): number {
    return this.startCount;
  }

  /** For the black box. */
  get live(): { pid: number | undefined; starts: number; openRequests: number } {
    return {
      pid: this.server?.process.pid,
      starts: this.startCount,
      openRequests: this.server?.rpc.open ?? 0,
    };
  }

  /** A running, probed app-server; rejects with a `ProductError` a person can act on. */
  ready(): Promise<AppServer> {
    if (this.closed) return Promise.reject(errors.bridgeClosing());
    if (this.server?.alive) return Promise.resolve(this.server);
    if (!this.starting) {
      const starting = this.start();
      this.starting = starting;
      const done = () => {
        if (this.starting === starting) this.starting = undefined;
      };
      starting.then(done, done);
    }
    return this.starting;
  }

  /**
   * One request, on a process that is started where there is none. Keys named in `optional` are left out once
   * the build has refused them, so that older builds get only what they accept.
   * @throws RpcError the backend's own error; ProductError where the process is missing or died.
   */
  async call(
    method: string,
    params: Obj,
    optional: readonly string[] = [],
    options?: BackendRequest,
  ): Promise<unknown> {
    const server = this.server?.alive ? this.server : await this.ready();
    return this.callOn(server, method, params, optional, options);
  }

  /** Like `call`, but only where a process runs already; nobody waits for the answer. */
  tell(method: string, params: Obj): void {
    const server = this.server;
    if (!server?.alive) return;
    server.rpc.request(method, params).catch((error) => {
      this.deps.log.once(
        `tell:${method}:${error instanceof RpcError ? error.code : "lost"}`,
        "warn",
        `${method} was not taken`,
      );
    });
  }

  /**
   * Before each prompt, awaited where it answers a promise: signing in elsewhere must be enough, so changed files are
   * pushed again. A build that takes no push got its key when it was started: where it has failed for want of one, it is
   * started anew.
   * @param mayRestart asked where that would be needed; true where nothing runs that would be lost.
   * @param cwd the workspace that the prompt belongs to.
   */
  beforePrompt(mayRestart: () => boolean, cwd?: string): Promise<void> | undefined {
    const server = this.server;
    if (!server?.alive) return undefined;
    const providers = cwd === undefined ? undefined : this.pushProviders(server, cwd);
    if (this.table === undefined && !this.lacksKey) return providers;
    if (this.deps.credentialsStamp() === this.pushedStamp) return providers;
    const account = () =>
      this.table === undefined ? this.renew(server, mayRestart) : this.pushAccount(server);
    return providers ? providers.then(account) : account();
  }

  /** Before a session of this workspace is made or resumed. */
  async prepare(cwd: string): Promise<void> {
    const server = await this.ready();
    await this.pushProviders(server, cwd);
  }

  /** True where the running build was given the list of providers, and has not said that it takes none. */
  get listed(): boolean {
    return this.server?.providers?.wanted === true;
  }

  /** True where the model's provider goes along with each choice of it, so that no list need name it. */
  lends(model: ModelPair): boolean {
    const server = this.server;
    if (!server?.providers || server.refusedKeys.get("session/send")?.has(RUNTIME_MODEL)) return false;
    return this.older.runtimeModel(model) !== undefined;
  }

  private pushProviders(server: AppServer, cwd: string): Promise<void> | undefined {
    const { providers } = server;
    if (!providers || !this.older.due(providers, cwd)) return undefined;
    return this.older.push(providers, cwd, (method, params, options) =>
      this.callOn(server, method, params, [], options),
    );
  }

  /** A turn failed because nobody is signed in, or no longer. */
  noteLacksKey(): void {
    this.lacksKey = true;
  }

  private async renew(server: AppServer, mayRestart: () => boolean): Promise<void> {
    const stamp = this.deps.credentialsStamp();
    const { launch } = await this.deps.locate(this.ending.signal);
    if (this.server !== server || !launch) return;
    if (keysOf(launch) !== this.startedKeys) {
      if (!mayRestart()) return;
      this.deps.log.write("info", "somebody signed in: the app-server is started anew");
      this.replaced = server;
      this.hooks.restarting();
      await server.kill();
      return;
    }
    this.pushedStamp = stamp;
  }

  /** Ends the process and everything that it started; memoised. */
  close(): Promise<void> {
    this.closed = true;
    this.ending.abort();
    this.closing ??= (async () => {
      await this.begun?.kill();
      // Whatever it waited for went with its process; without one it finds that all is closed.
      await this.starting?.catch(() => {});
    })();
    return this.closing;
  }

  private async callOn(
    server: AppServer,
    method: string,
    params: Obj,
    optional: readonly string[],
    options?: BackendRequest,
  ): Promise<unknown> {
    let refused = server.refusedKeys.get(method);
    const provider = server.providers ? this.older.runtimeModel(options?.model) : undefined;
    const all = provider ? { ...params, [RUNTIME_MODEL]: provider } : params;
    for (;;) {
      const known = refused;
      const sent = known?.size
        ? Object.fromEntries(Object.entries(all).filter(([key]) => !known.has(key)))
        : all;
      try {
        return await server.rpc.request(method, sent, options);
      } catch (failure) {
        const error = failure instanceof RpcError && provider ? withoutKey(failure, provider) : failure;
        if (error instanceof RpcError && error.code === CODE.invalidParams) {
          const key = refusedKey(error.message, sent, optional);
          if (key !== undefined) {
            refused = server.refusedKeys.get(method) ?? new Set();
            refused.add(key);
            server.refusedKeys.set(method, refused);
            continue;
          }
        }
        throw error instanceof LostError ? this.lostError(server, error) : error;
      }
    }
  }

  private lostError(server: AppServer, error: LostError): ProductError {
    if (error.why === "deadline") return errors.backendSilent(error.method);
    return errors.backendDied(shownTail(server.stderrTail));
  }

  private async start(): Promise<AppServer> {
    await this.restarts.backOff(this.ending.signal);
    const stamp = this.deps.credentialsStamp();
    const located = await this.deps.locate(this.ending.signal);
    const launch = located.launch;
    if (!launch) throw errors.backendNotFound(located.looked);
    if (this.closed) throw errors.bridgeClosing();
    let process: ServerProcess;
    try {
      process = this.deps.spawn(launch);
    } catch (error) {
      throw errors.backendFailed(launch.entry, String(error));
    }
    this.startCount++;
    this.pushedAccount = "";
    this.pushedStamp = stamp;
    this.startedKeys = keysOf(launch);
    this.lacksKey = false;
    this.table = launch.builtinTable;
    let probed = false;
    const server: AppServer = new AppServer(
      process,
      this.rpcHooks(() => server),
      this.deps.clock,
      ({ code, signal }) => {
        if (this.server === server) this.server = undefined;
        if (!probed || this.closed || this.replaced === server) return;
        this.restarts.noteDeath();
        const how = signal ? `signal ${signal}` : `code ${code}`;
        const tail = shownTail(server.stderrTail);
        this.deps.log.write("warn", `the app-server ended (${how})${tail ? `: ${tail}` : ""}`);
        this.hooks.lost(errors.backendDied(tail));
      },
    );
    this.begun = server;
    this.deps.log.write("info", `started ${launch.entry} (${launch.source}), process ${process.pid}`);
    const recent = launch.source === "simulator" ? Promise.resolve() : this.requireVersion(launch);
    try {
      // A version that is too old explains whatever else goes wrong with it.
      await Promise.all([
        recent,
        this.probe(server).catch((error) => recent.then(() => Promise.reject(error))),
      ]);
      this.lastModern = server.modern;
      // The simulator has models of its own, and is given nobody's keys.
      if (!server.modern && launch.source !== "simulator") server.providers = new PushedProviders();
      this.hooks.started();
      await this.pushAccount(server);
      if (this.closed) throw errors.bridgeClosing();
    } catch (error) {
      const died = error instanceof LostError && error.why === "closed";
      const exit = died ? await process.exited : undefined;
      await server.kill();
      const failure = exit
        ? this.startError(launch, server, exit)
        : error instanceof LostError
          ? errors.backendSilent(error.method)
          : error;
      if (failure instanceof ProductError && !this.closed) {
        this.deps.log.write("warn", `the app-server could not be used: ${failure.sentence}`);
      }
      throw failure;
    }
    probed = true;
    this.server = server;
    return server;
  }

  /** @throws where the version is known and too old; an unknown one is tried. */
  private async requireVersion(launch: Launch): Promise<void> {
    const version = await this.deps.versionOf(launch.versionArgv, this.ending.signal);
    this.deps.log.write("info", `it calls itself ${version ?? "nothing that is a version"}`);
    if (version !== undefined && compareVersions(version, OLDEST_VERSION) < 0) {
      throw errors.backendTooOld(version, OLDEST_VERSION);
    }
  }

  /** Any answer proves that it speaks; that there is no such method is what older builds say. */
  private async probe(server: AppServer): Promise<void> {
    try {
      await server.rpc.request("runtime/capabilities", {}, { deadlineMs: PROBE_DEADLINE_MS });
      server.modern = true;
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      server.modern = error.code !== CODE.methodNotFound;
    }
  }

  private async pushAccount(server: AppServer): Promise<void> {
    const { table } = this;
    if (table === undefined) return;
    this.pushedStamp = this.deps.credentialsStamp();
    const snapshot = accountSnapshot(table, this.deps.credentials(), this.deps.provider);
    if (!snapshot) return;
    const key = JSON.stringify(snapshot);
    if (key === this.pushedAccount) return;
    const revision = String(++this.accountRevision);
    try {
      await server.rpc.request(
        "provider/updateAccountConfig",
        { revision, ...snapshot },
        { deadlineMs: PROBE_DEADLINE_MS },
      );
      this.pushedAccount = key;
    } catch (error) {
      // An older build has no such method and needs no push; anything else shows at the first model request.
      if (!(error instanceof RpcError)) throw error;
      if (error.code === CODE.methodNotFound) {
        this.table = undefined;
      } else {
        this.deps.log.once(`account:${error.code}`, "warn", `the account push was refused (${error.code})`);
      }
    }
  }

  private startError(launch: Launch, server: AppServer, exit: ServerExit): ProductError {
    const { signal, code } = exit;
    const how = signal ? phrase("reason.signal", { signal }) : phrase("reason.code", { code: code ?? "?" });
    const tail = shownTail(server.stderrTail);
    return errors.backendFailed(launch.entry, tail === "" ? how : phrase("reason.because", { how, tail }));
  }

  private rpcHooks(server: () => AppServer): RpcHooks {
    return {
      onRequest: (request) => this.onRequest(request, server()),
      onNotification: (method, params) => {
        if (method === "session/event") this.hooks.event(params);
        else if (method === "state.updated") this.hooks.state(params);
        else if (method === "v4/telemetry/event" && params.kind === "turn.terminal")
          this.hooks.terminal(params);
      },
      onBadLine: (what, bytes) => {
        this.deps.log.once(
          `backend-line:${what}`,
          "warn",
          `the app-server wrote a line that is ${what} (${bytes} characters)`,
        );
      },
      ...(this.deps.onFrame ? { onFrame: this.deps.onFrame } : {}),
      ...(this.deps.onLine ? { onLine: this.deps.onLine } : {}),
    };
  }

  private onRequest(request: ServerRequest, server: AppServer): void {
    let answered = false;
    const once = (send: () => void) => {
      if (answered) return;
      answered = true;
      send();
    };
    const reply: Reply = {
      result: (value) => once(() => server.rpc.respond(request.id, value)),
      error: (code, message) => once(() => server.rpc.respondError(request.id, code, message)),
    };
    try {
      this.answer(request, reply);
    } catch (error) {
      this.deps.log.once(
        `request:${request.method}`,
        "error",
        `answering ${safeName(request.method)} failed: ${errorName(error)}`,
      );
      reply.error(CODE.internal, "the client could not answer");
    }
  }

  private answer(request: ServerRequest, reply: Reply): void {
    switch (request.method) {
      case "session/requestRuntimePreferences":
        return reply.result(PREFERENCES);
      case "interaction/requestProviderRuntimeHeaders": {
        const answer = headersFor(request.params, this.deps.credentials());
        return reply.result(
          "apiKey" in answer
            ? { headersApplied: true, requestAuth: { apiKey: answer.apiKey } }
            : { headersApplied: false, errorMessage: this.deps.refusal(answer.refusal) },
        );
      }
      case "interaction/requestOfficialMcpAuthHeaders":
        return reply.result({ ok: false, reason: "official_auth_unavailable" });
      case "interaction/requestPermission":
      case "interaction/requestUserInput":
        return this.hooks.question(request, reply);
      default:
        this.deps.log.once(
          `unserved:${request.method}`,
          "info",
          `the app-server asked for ${safeName(request.method)}, which is not served`,
        );
        return reply.error(CODE.methodNotFound, `Method not found: ${request.method}`);
    }
  }
}

/** What a launch hands over of a person's sign-in. */
function keysOf({ env }: Launch): string {
  return JSON.stringify([env.ANTHROPIC_API_KEY, env.ZCODE_MODEL]);
}

function shownTail(tail: string): string {
  return maskSecrets(tail.trim().split("\n").slice(-STDERR_SHOWN_LINES).join("\n"));
}
