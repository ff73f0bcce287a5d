/** A build that got its key when it was started: when it is started anew because somebody has signed in. */

import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Backend } from "../../src/backend/backend.ts";
import type { Launch } from "../../src/backend/locate.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { silentLog } from "../../src/platform/log.ts";
import { ManualClock } from "../sim/manualClock.ts";
import { PlayedServer, type TestBridge, testBridge } from "../support/bridge.ts";
import type { Json, PlainClient } from "../support/plainClient.ts";
import { serveSubscribe, sessionEvent, settle } from "../support/played.ts";
import { tempDir } from "../support/temp.ts";

test("A11 B10 it is started anew only where it lacked a key, the files changed what it is given, and nothing runs", async () => {
  let stamp = "1";
  let key: string | undefined;
  let restarts = 0;
  let lost = 0;
  const servers: PlayedServer[] = [];
  const launch = (): Launch => ({
    argv: ["zcode"],
    env: key === undefined ? {} : { ANTHROPIC_API_KEY: key },
    source: "PATH",
    entry: "zcode",
    versionArgv: [],
    builtinTable: undefined,
  });
  const backend = new Backend(
    {
      clock: systemClock(),
      rules: systemClock(),
      log: silentLog(),
      locate: async () => ({ launch: launch(), looked: [] }),
      versionOf: async () => undefined,
      spawn: () => {
        const server = new PlayedServer();
        servers.push(server);
        void server
          .take((frame) => frame.method === "runtime/capabilities")
          .then((probe) => server.push({ id: probe.id, result: {} }));
        return server;
      },
      credentials: () => {
        throw new Error("not asked");
      },
      credentialsStamp: () => stamp,
      provider: undefined,
      refusal: () => "",
    },
    {
      event: () => {},
      state: () => {},
      terminal: () => {},
      started: () => {},
      question: () => {},
      lost: () => {
        lost++;
      },
      restarting: () => {
        restarts++;
      },
    },
  );
  await backend.ready();
  const [yes, no] = [() => true, () => false];
  // Nothing was wrong: a change of the files is of no interest.
  stamp = "2";
  key = "new";
  expect(backend.beforePrompt(yes)).toBeUndefined();
  backend.noteLacksKey();
  // A turn runs elsewhere: not now, but once it does not.
  await backend.beforePrompt(no);
  expect([backend.generation, restarts]).toEqual([1, 0]);
  await backend.beforePrompt(yes);
  expect([backend.generation, restarts, lost]).toEqual([1, 1, 0]);
  await backend.ready();
  expect(backend.generation).toBe(2);
  // It has what it lacked: further changes are of no interest.
  [stamp, key] = ["2b", "newer"];
  expect(backend.beforePrompt(yes)).toBeUndefined();
  [stamp, key] = ["2", "new"];
  // Lacking again, with files that changed in something else: it stays, and is not looked at again.
  backend.noteLacksKey();
  expect(backend.beforePrompt(yes)).toBeUndefined();
  stamp = "3";
  await backend.beforePrompt(yes);
  expect([backend.generation, restarts]).toEqual([2, 1]);
  expect(backend.beforePrompt(yes)).toBeUndefined();
  // A death of its own is still one.
  servers[1]!.die(1);
  await Bun.sleep(0);
  expect(lost).toBe(1);
  await backend.close();
});

const BUSY: Readonly<Record<string, (played: Running) => Promise<() => void>>> = {
  "a conversation is brought up": async ({ client, server }) => {
    void client.prompt(await client.newSession("/two"), "two").catch(() => {});
    const create = await server.take((frame) => frame.method === "session/create");
    return () => server.push({ id: create.id, error: { code: -32603, message: "no" } });
  },
  "a task runs in the background": async ({ server }) => {
    const task = { taskId: "task1", toolCallId: "c1", command: "sleep 9", startedAt: 1 };
    const update = (seq: number, status: string) =>
      server.push(sessionEvent("s1", seq, "session.updated", { ...task, taskKind: "bash", status }));
    update(3, "running");
    await settle();
    return () => update(4, "completed");
  },
  "a lock is held": async ({ server }) => {
    const lock = (reason: string) =>
      server.push({ method: "state.updated", params: { sessionId: "s1", reason, patch: {} } });
    lock("prompt_started");
    await settle();
    return () => lock("prompt_completed");
  },
};

interface Running {
  readonly client: PlainClient;
  readonly server: PlayedServer;
}

/** An older build that was started without a key, with a conversation `s1` at rest and one whose turn lacked a key. */
async function lacking(error: Json = { code: "provider_not_configured", message: "no provider" }) {
  const home = tempDir("signed-in");
  const zcode = join(home, "zcode");
  writeFileSync(zcode, "#!/bin/sh\n", { mode: 0o755 });
  const bridge = testBridge({
    env: { HOME: home, ZCODE_ACP_BACKEND: "zcode", ZCODE_BIN: zcode },
    rules: new ManualClock(),
  });
  const client = bridge.client();
  await client.initialize();
  await client.newSession("/warm");
  const server = await serverOf(bridge, 0);
  const id = await client.newSession("/one");
  const run = async (
    session: string,
    backendId: string,
    end: (push: (type: string, payload: Json) => void) => void,
  ) => {
    const settings = { model: { current: { providerId: "p", modelId: "m" } } };
    const answer = client.prompt(session, "hi").catch((error: unknown) => error);
    const create = await server.take((frame) => frame.method === "session/create");
    server.push({
      id: create.id,
      result: { session: { sessionId: backendId }, runtime: { eventSeq: 0 }, settings },
    });
    await serveSubscribe(server);
    const send = await server.take((frame) => frame.method === "session/send");
    server.push({ id: send.id, result: { accepted: true } });
    const { inputId } = send.params as Json;
    server.push(sessionEvent(backendId, 1, "turn.started", { inputId }));
    end((type, payload) => server.push(sessionEvent(backendId, 2, type, payload)));
    server.push({
      method: "state.updated",
      params: { sessionId: backendId, reason: "prompt_completed", patch: {} },
    });
    return answer;
  };
  await run(id, "s1", (push) => push("turn.completed", { resultType: "success" }));
  const other = await client.newSession("/other");
  expect(await run(other, "s2", (push) => push("turn.failed", { error }))).toBeInstanceOf(Error);
  const signIn = () => {
    mkdirSync(join(home, ".zcode", "v2"), { recursive: true });
    const provider = {
      "builtin:bigmodel-coding-plan": { enabled: true, options: { apiKey: "k".repeat(20) }, models: {} },
    };
    writeFileSync(join(home, ".zcode", "v2", "config.json"), JSON.stringify({ provider }));
  };
  await settle();
  return { bridge, client, server, other, signIn };
}

async function serverOf(bridge: TestBridge, index: number): Promise<PlayedServer> {
  const server = await bridge.server(index);
  const probe = await server.take((frame) => frame.method === "runtime/capabilities");
  const unknown = { code: -32601, message: "Method not found" };
  server.push({ id: probe.id, error: unknown });
  void server
    .take((frame) => frame.method === "workspace/updateProviderRegistry")
    .then((push) => server.push({ id: push.id, error: unknown }))
    .catch(() => {});
  return server;
}

for (const [what, begin] of Object.entries(BUSY))
  test(`A11 B10 while ${what} it is not started anew, and once nothing is lost with it, it is`, async () => {
    const { bridge, client, server, other, signIn } = await lacking();
    const end = await begin({ client, server });
    signIn();
    void client.prompt(other, "now?").catch(() => {});
    const send = await server.take((frame) => frame.method === "session/send");
    expect(bridge.servers).toHaveLength(1);
    server.push({ id: send.id, error: { code: -32603, message: "no" } });
    end();
    await settle();
    const next = client.prompt(other, "and now?").catch(() => {});
    const second = await serverOf(bridge, 1);
    await second.take((frame) => frame.method === "session/resume");
    await bridge.bridge.close();
    await next;
  });

test("A11 B17 a turn that failed for want of any model is mended by signing in as well", async () => {
  const error = { code: "CONFIGURATION_ERROR", message: "Select a model before continuing" };
  const { bridge, client, other, signIn } = await lacking(error);
  signIn();
  const next = client.prompt(other, "and now?").catch(() => {});
  const second = await serverOf(bridge, 1);
  await second.take((frame) => frame.method === "session/resume");
  await bridge.bridge.close();
  await next;
});

test("B19 the account is pushed again only where something of it has changed", async () => {
  const dir = tempDir("table");
  const table = join(dir, "table.json");
  const rule = (providerId: string) => ({ providerId, config: { access: { type: "zhipu-account" } } });
  const providerRules = [rule("account:zai-individual-coding-plan"), rule("account:bigmodel-start-plan")];
  writeFileSync(table, JSON.stringify({ revision: 1, config: { providerConfigRules: { providerRules } } }));
  let stamp = "1";
  let cachedPlans = ["builtin:zai-coding-plan"];
  const server = new PlayedServer();
  const backend = new Backend(
    {
      clock: systemClock(),
      rules: systemClock(),
      log: silentLog(),
      locate: async () => ({
        launch: {
          argv: ["zcode"],
          env: {},
          source: "PATH",
          entry: "zcode",
          versionArgv: [],
          builtinTable: table,
        },
        looked: [],
      }),
      versionOf: async () => undefined,
      spawn: () => server,
      credentials: () => ({ providers: [], personal: [], cachedPlans, selectedPlans: [], files: [] }),
      credentialsStamp: () => stamp,
      provider: undefined,
      refusal: () => "",
    },
    {
      event: () => {},
      state: () => {},
      terminal: () => {},
      started: () => {},
      question: () => {},
      lost: () => {},
      restarting: () => {},
    },
  );
  const pushed: unknown[] = [];
  const serve = async () => {
    const push = await server.take((frame) => frame.method === "provider/updateAccountConfig");
    pushed.push(Object.keys((push.params as Json).providers as Json));
    server.push({ id: push.id, result: { status: "applied" } });
  };
  const ready = backend.ready();
  const probe = await server.take((frame) => frame.method === "runtime/capabilities");
  server.push({ id: probe.id, result: {} });
  await serve();
  await ready;
  const zai = "account:zai-individual-coding-plan";
  expect(pushed).toEqual([[zai]]);
  // The files are other ones, and say the same of the account.
  stamp = "2";
  await backend.beforePrompt(() => true);
  expect(server.inbox).toEqual([]);
  expect(backend.beforePrompt(() => true)).toBeUndefined();
  stamp = "3";
  cachedPlans = [...cachedPlans, "builtin:bigmodel-start-plan"];
  await Promise.all([backend.beforePrompt(() => true), serve()]);
  expect(pushed).toEqual([[zai], [zai, "account:bigmodel-start-plan"]]);
  await backend.close();
});
