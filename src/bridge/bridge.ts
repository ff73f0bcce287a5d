/**
 * Composition: one bridge is one backend, its conversations, and the clients attached to them. It constructs and
 * owns; every room below gets the interfaces it uses. Many bridges may live in one process.
 */

import { type AgentConnection, connectAgent } from "../agent/app.ts";
import { ASK_AGAIN_MS } from "../agent/limits.ts";
import { announceSettings } from "../agent/options.ts";
import { Backend } from "../backend/backend.ts";
import { type Launch, locateBackend, type VersionOf } from "../backend/locate.ts";
import type { ServerProcess } from "../backend/server.ts";
import type { Client } from "../clients/client.ts";
import { Clients } from "../clients/clients.ts";
import type { Config } from "../config/index.ts";
import { Questions } from "../interact/questions.ts";
import { t } from "../locale/index.ts";
import type { BlackBox } from "../platform/blackbox.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { maskedHead } from "../platform/mask.ts";
import type { Paths } from "../platform/paths.ts";
import type { Recorder } from "../platform/recorder.ts";
import { Rest } from "../platform/rest.ts";
import type { QuotaReader } from "../quota/reader.ts";
import type { Conversation } from "../session/conversation.ts";
import { NOTHING_OFFERED, offeredModels } from "../session/models.ts";
import { Sessions } from "../session/sessions.ts";
import { AliasStore } from "../store/aliases.ts";
import { type Credentials, credentialsStamp, readCredentials } from "../store/providers.ts";
import { Remembered } from "../store/remembered.ts";
import { TasksIndex } from "../store/tasksIndex.ts";
import { CLIENT_NAME_CHARS, REST_MS } from "./limits.ts";
import type { Transport } from "./transport.ts";

export interface BridgeDeps {
  readonly config: Config;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly paths: Paths;
  readonly platform: string;
  /** The words that start this very program, for the simulator. */
  readonly self: readonly string[];
  readonly version: string;
  /** Real time, for deadlines on processes and files. */
  readonly clock: Clock;
  /** The scaled clock of the rules. */
  readonly rules: Clock;
  readonly log: Log;
  readonly blackbox: BlackBox;
  /** There where a person asked for a recording of every frame. */
  readonly recorder?: Recorder | undefined;
  /** New ids for placeholders and commands; random where none is given. */
  readonly newId?: () => string;
  /** Milliseconds that a question waits for a person, where the bridge serves without an editor; else without end. */
  readonly questionTtl?: number | undefined;
  /** Names the window of a terminal client that leaves this to its agent. */
  readonly windowTitle?: (title: string) => void;
  /** Called when the bridge has come to rest after work, to give back what that took. */
  readonly atRest?: () => void;
  /** Starts an app-server; `groupSpawner` for a real one. */
  readonly spawn: (launch: Launch) => ServerProcess;
  /** Asks a program for its version; `versionReader` for a real one. */
  readonly versionOf: VersionOf;
}

export interface Connection {
  /** Resolves when the client is gone. */
  readonly closed: Promise<void>;
}

export interface Bridge {
  connect(transport: Transport): Connection;
  /** Settles every prompt, ends the backend and all that it started; memoised. */
  close(): Promise<void>;
  /** The live state for the black box: no content. */
  live(): Record<string, unknown>;
}

export function createBridge(deps: BridgeDeps): Bridge {
  const { config, log, clock, recorder } = deps;
  const language = config.language;
  const { zcodeHome } = deps.paths;
  let read: { stamp: string; credentials: Credentials } | undefined;
  const credentials = () => {
    const stamp = credentialsStamp(zcodeHome);
    if (read?.stamp !== stamp) read = { stamp, credentials: readCredentials(zcodeHome) };
    return read.credentials;
  };
  const clients = new Clients((what, session, size) =>
    deps.blackbox.frame("client out", what, undefined, session, size),
  );
  const backend: Backend = new Backend(
    {
      clock,
      rules: deps.rules,
      log,
      versionOf: deps.versionOf,
      locate: (ending) =>
        locateBackend({
          env: deps.env,
          home: deps.paths.home,
          zcodeHome: deps.paths.zcodeHome,
          platform: deps.platform,
          bin: config.bin,
          node: config.node,
          provider: config.provider,
          keepHappyEyeballs: config.keepHappyEyeballs,
          backend: config.backend,
          simArgs: config.simArgs,
          self: deps.self,
          credentials: credentials(),
          versionOf: deps.versionOf,
          ending,
        }),
      spawn: deps.spawn,
      credentials,
      credentialsStamp: () => credentialsStamp(deps.paths.zcodeHome),
      provider: config.provider,
      refusal: (reason) => t(`headers.${reason}`, {}, language),
      onFrame: (direction, what, id, session, size) =>
        deps.blackbox.frame(direction, what, id, session, size),
      ...(recorder ? { onLine: (direction, line) => recorder.frame("backend", direction, line) } : {}),
    },
    {
      event: (params) => sessions.intake.event(params),
      state: (params) => sessions.intake.state(params),
      terminal: (params) => sessions.intake.terminal(params),
      question: (request, reply) => questions.ask(request, reply),
      lost: (error) => sessions.lost(error),
      restarting: () => sessions.restarting(),
      started: () => sessions.offersModels(),
    },
  );
  const sessions: Sessions = new Sessions({
    backend,
    aliases: new AliasStore(deps.paths.zcodeHome, log, clock),
    index: new TasksIndex(deps.paths.zcodeHome, log, clock),
    remembered: new Remembered(deps.paths.stateDir, log, clock),
    rules: deps.rules,
    clock,
    log,
    language,
    onDisk: async (cwd) => {
      // Builds of today list everything themselves.
      const { readCatalogue } = await import("../store/catalogue.ts");
      return readCatalogue(cwd, { home: deps.paths.home, zcodeHome: deps.paths.zcodeHome });
    },
    offered: () =>
      config.backend === "sim"
        ? NOTHING_OFFERED
        : offeredModels(credentials(), {
            modern: backend.modern,
            provider: config.provider,
            model: deps.env.ZCODE_MODEL,
          }),
    provider: config.provider,
    compactAt: config.autoCompactThreshold,
    newId: deps.newId ?? (() => crypto.randomUUID()),
    sink: {
      update: (conversation, update, except) => {
        clients.publish(conversation.id, update, except);
        if (update.kind === "title") titled(conversation, clients.all);
      },
      settings: (conversation, before) => announceSettings(clients, conversation, before, language),
      hold: (conversation, update, client) => clients.hold(client, conversation.id, update),
      offers: (cwd) => {
        for (const connection of connections) connection.offersChanged(cwd);
      },
      running: (conversation, running) => {
        rest.stir();
        clients.turn(conversation.id, running);
      },
      asking: (conversation) => questions.asking(conversation),
      dropQuestions: (conversation) => questions.drop(conversation),
    },
  });
  const rest = new Rest({
    clock: deps.rules,
    ms: REST_MS,
    busy: () => sessions.registry.all().some((conversation) => sessions.running(conversation)),
    work: () => deps.atRest?.(),
  });
  const questions: Questions = new Questions({
    clients,
    log,
    language,
    generation: () => backend.generation,
    limit: deps.questionTtl === undefined ? undefined : { clock: deps.rules, ms: deps.questionTtl },
    owner: (params) => sessions.owner(params),
    publish: (conversation, update) => clients.publish(conversation.id, update),
  });
  const titled = ({ id, title }: Conversation, shownTo: readonly Client[]) => {
    if (title !== "" && shownTo.some((client) => client.isMartty && client.knownId(id) !== undefined))
      deps.windowTitle?.(title);
  };
  let reader: Promise<QuotaReader> | undefined;
  // Loaded when somebody asks: most windows never do, and every one of them starts.
  const quota = () => {
    reader ??= import("../quota/open.ts").then(
      ({ openQuota }) => openQuota({ clock, log, env: deps.env, paths: deps.paths, config }).reader,
    );
    return reader;
  };
  const connections = new Set<AgentConnection>();
  let closing: Promise<void> | undefined;
  return {
    connect(transport) {
      const send = (message: string) => {
        transport.send(message);
        recorder?.frame("client", "out", message);
      };
      const connection = connectAgent(
        { send, room: () => transport.room() },
        {
          sessions,
          clients,
          backend,
          log,
          language,
          version: deps.version,
          clock,
          simulated: config.backend === "sim",
          credentials,
          shown: (conversation, client) => {
            titled(conversation, [client]);
            clock.after(ASK_AGAIN_MS, () => questions.again(conversation, client));
          },
          quota: {
            usage: async () => (await quota()).usage(),
            say: async (words) => {
              const { sayUsage } = await import("../quota/say.ts");
              return sayUsage(await quota(), words, () => clock.now(), language);
            },
          },
          onFrame: (direction, what, id, session, size) =>
            deps.blackbox.frame(`client ${direction}`, what, id, session, size),
        },
      );
      connections.add(connection);
      void connection.closed.then(() => connections.delete(connection));
      transport.listen({
        message: (message, line) => {
          recorder?.frame("client", "in", line);
          rest.stir();
          connection.message(message, line.length);
        },
        end: () => connection.end(),
      });
      return { closed: connection.closed };
    },
    close() {
      rest.end();
      for (const connection of connections) connection.settle();
      closing ??= Promise.all([sessions.closeAll(), backend.close()]).then(() => {});
      return closing;
    },
    live: () => ({
      backend: backend.live,
      clients: clients.all.map((client) => ({
        name: maskedHead(client.name, CLIENT_NAME_CHARS),
        initialized: client.initialized,
      })),
      questions: questions.waiting,
      conversations: sessions.registry.all().map((conversation) => ({
        id: conversation.id,
        backendId: conversation.backendId,
        running: sessions.running(conversation),
        waiting: conversation.turns.waiting.length,
        lastSeq: conversation.order.lastSeq,
        residency: conversation.residency,
      })),
    }),
  };
}
