/** What older builds are told of a person's own providers, and that no key of them shows anywhere. */

import { describe, expect, test } from "bun:test";
import { Backend } from "../../src/backend/backend.ts";
import { registryProviders } from "../../src/backend/registry.ts";
import { RpcError } from "../../src/backend/rpc.ts";
import { systemClock } from "../../src/platform/clock.ts";
import type { Log } from "../../src/platform/log.ts";
import type { Credentials, ProviderEntry } from "../../src/store/providers.ts";
import { PlayedServer } from "../support/bridge.ts";
import type { Json } from "../support/plainClient.ts";
import { settle } from "../support/played.ts";

const KEY = 'a "quoted" Key-123';

const entry = (id: string, more: Partial<ProviderEntry> = {}): ProviderEntry => ({
  id,
  name: id.toUpperCase(),
  kind: "anthropic",
  apiKey: KEY,
  baseUrl: "https://llm.example.org",
  usable: true,
  models: [{ id: "m", contextWindow: undefined, levels: [], defaultLevel: undefined }],
  ...more,
});

const credentials = (...providers: ProviderEntry[]): Credentials => ({
  providers,
  personal: [],
  cachedPlans: [],
  selectedPlans: [],
  files: [],
});

describe("the shape of a provider", () => {
  test("B17 has what the file says, and nothing that it does not", () => {
    const models = [
      { id: "m", contextWindow: 128_000, levels: ["low", "high"], defaultLevel: "high" },
      { id: "n", contextWindow: undefined, levels: ["on"], defaultLevel: "gone" },
      { id: "o", contextWindow: undefined, levels: [], defaultLevel: undefined },
    ];
    expect(registryProviders(credentials(entry("p", { models })))).toEqual([
      {
        providerId: "p",
        kind: "anthropic",
        apiFormat: "anthropic-messages",
        baseURL: "https://llm.example.org",
        label: "P",
        apiKey: { source: "inline", value: KEY },
        models: [
          {
            modelId: "m",
            label: "m",
            contextWindow: 128_000,
            reasoning: {
              enabled: true,
              levels: [
                { value: "low", label: "low" },
                { value: "high", label: "high" },
              ],
              defaultLevel: "high",
            },
          },
          {
            modelId: "n",
            label: "n",
            reasoning: { enabled: true, levels: [{ value: "on", label: "on" }] },
          },
          { modelId: "o", label: "o" },
        ],
      },
    ]);
  });

  test.each([
    ["openai", "https://x", { kind: "openai", apiFormat: "openai-chat-completions" }],
    ["openai-compatible", "https://x", { kind: "openai-compatible", apiFormat: "openai-chat-completions" }],
    ["something", "https://x", { kind: "something" }],
    [undefined, "https://x/api/anthropic", { kind: "anthropic", apiFormat: "anthropic-messages" }],
    [undefined, "https://x/v1", { kind: "openai-compatible", apiFormat: "openai-chat-completions" }],
    [undefined, undefined, {}],
  ])("B17 of kind %p at %p", (kind, baseUrl, expected) => {
    const [made] = registryProviders(credentials(entry("p", { kind, baseUrl })));
    const { kind: spoken, apiFormat } = made!;
    expect({ ...(spoken ? { kind: spoken } : {}), ...(apiFormat ? { apiFormat } : {}) }).toEqual(expected);
  });

  test("B17 what cannot work or has no model is left out, what needs no key says so", () => {
    const made = registryProviders(
      credentials(
        entry("off", { usable: false }),
        entry("empty", { models: [] }),
        entry("local", { apiKey: undefined }),
        entry("builtin:zai-coding-plan"),
      ),
    );
    expect(made.map(({ providerId }) => providerId)).toEqual(["local", "builtin:zai-coding-plan"]);
    expect(made[0]).toMatchObject({ apiKeyRequired: false });
    expect(made[0]).not.toHaveProperty("apiKey");
  });
});

interface Ground {
  readonly backend: Backend;
  readonly server: PlayedServer;
  readonly logged: string[];
  files: Credentials;
  stamp: string;
  /** Takes a request and answers it. */
  answer(method: string, reply: Json): Promise<Json>;
}

/** @param probe what `runtime/capabilities` answers. */
async function ground(probe: Json, files: Credentials): Promise<Ground> {
  const server = new PlayedServer();
  const logged: string[] = [];
  const log = {
    write: (_level: string, line: string) => logged.push(line),
    once: (_key: string, _level: string, line: string) => logged.push(line),
  } as unknown as Log;
  const made = { files, stamp: "1" };
  const backend = new Backend(
    {
      clock: systemClock(),
      rules: systemClock(),
      log,
      locate: async () => ({
        launch: {
          argv: ["zcode"],
          env: {},
          source: "PATH",
          entry: "zcode",
          versionArgv: [],
          builtinTable: undefined,
        },
        looked: [],
      }),
      versionOf: async () => undefined,
      spawn: () => server,
      credentials: () => made.files,
      credentialsStamp: () => made.stamp,
      provider: undefined,
      refusal: () => "",
    },
    {
      event: () => {},
      state: () => {},
      terminal: () => {},
      question: () => {},
      lost: () => {},
      restarting: () => {},
      started: () => {},
    },
  );
  const answer = async (method: string, reply: Json) => {
    const frame = await server.take((each) => each.method === method);
    server.push({ id: frame.id, ...reply });
    return frame.params as Json;
  };
  const ready = backend.ready();
  await answer("runtime/capabilities", probe);
  await ready;
  return Object.assign(made, { backend, server, logged, answer });
}

const OLDER = { error: { code: -32601, message: "Method not found" } };
const PUSH = "workspace/updateProviderRegistry";
const taken = (params: Json) => (params.registry as Json).providers as Json[];

describe("the push", () => {
  test("B17 once for each workspace of a process, and again when the files have other providers or keys", async () => {
    const made = await ground(OLDER, credentials(entry("p")));
    const { backend, server, answer } = made;
    const one = backend.prepare("/one");
    const params = await answer(PUSH, { result: { status: "applied", providerCount: 1 } });
    // A matcher may take the place of what it matched.
    const { revision } = params.registry as Json;
    expect(params).toMatchObject({
      workspace: { workspacePath: "/one", workspaceKey: "/one" },
      registry: { revision: expect.any(String), generatedAt: expect.any(Number) },
    });
    expect(Object.keys(params)).toEqual(["workspace", "registry"]);
    await one;
    await backend.prepare("/one");
    const two = backend.prepare("/two");
    await answer(PUSH, { result: {} });
    await two;
    expect(backend.beforePrompt(() => false, "/one")).toBeUndefined();
    // Other files changed: nothing is pushed.
    made.stamp = "2";
    await backend.beforePrompt(() => false, "/one");
    expect(server.inbox).toEqual([]);
    made.stamp = "3";
    made.files = credentials(entry("p", { apiKey: "another" }));
    const again = backend.beforePrompt(() => false, "/one");
    const next = await answer(PUSH, { result: {} });
    await again;
    expect(taken(next)[0]).toMatchObject({ apiKey: { value: "another" } });
    expect((next.registry as Json).revision).not.toBe(revision);
    expect(backend.beforePrompt(() => false, "/one")).toBeUndefined();
    // The last one was removed: it is taken back.
    made.stamp = "4";
    made.files = credentials();
    const emptied = backend.beforePrompt(() => false, "/one");
    expect(taken(await answer(PUSH, { result: {} }))).toEqual([]);
    await emptied;
    await backend.close();
  });

  test("B17 a build that has no such method is not asked again", async () => {
    const made = await ground(OLDER, credentials(entry("p")));
    const first = made.backend.prepare("/one");
    await made.answer(PUSH, OLDER);
    await first;
    made.stamp = "2";
    made.files = credentials(entry("q"));
    await made.backend.prepare("/one");
    await made.backend.prepare("/two");
    expect(made.server.inbox).toEqual([]);
    expect(made.logged.filter((line) => line.includes("refused"))).toEqual([]);
    await made.backend.close();
  });

  test.each([
    ["refuses it", { error: { code: -32602, message: `no key in ${KEY}` } }],
    ["takes fewer", { result: { status: "applied", providerCount: 1 } }],
  ])(
    "B17 a build that %s for a provider without a key gets the others, and later no such one",
    async (_what, reply) => {
      const made = await ground(OLDER, credentials(entry("p"), entry("local", { apiKey: undefined })));
      const first = made.backend.prepare("/one");
      expect(taken(await made.answer(PUSH, reply))).toHaveLength(2);
      expect(taken(await made.answer(PUSH, { result: {} }))).toMatchObject([{ providerId: "p" }]);
      await first;
      const second = made.backend.prepare("/two");
      expect(taken(await made.answer(PUSH, { result: {} }))).toHaveLength(1);
      await second;
      await made.backend.close();
    },
  );

  test("B17 a refusal stops nothing and is logged without what was sent", async () => {
    const made = await ground(OLDER, credentials(entry("p")));
    const first = made.backend.prepare("/one");
    await made.answer(PUSH, { error: { code: -32602, message: `bad value ${KEY}` } });
    await first;
    expect(made.logged.join()).toContain("-32602");
    expect(made.logged.join()).not.toContain("Key-123");
    await made.backend.close();
  });

  test("B17 builds of today get neither a list nor a provider beside a model", async () => {
    for (const probe of [{ result: {} }, { error: { code: -32602, message: "Invalid params" } }]) {
      const made = await ground(probe, credentials(entry("p")));
      await made.backend.prepare("/one");
      const call = made.backend.call("session/send", { content: "" }, [], {
        model: { providerId: "p", modelId: "m" },
      });
      expect(await made.answer("session/send", { result: {} })).toEqual({ content: "" });
      await call;
      expect(made.server.inbox).toEqual([]);
      await made.backend.close();
    }
  });
});

describe("the provider beside a model", () => {
  const ask = (made: Ground, providerId = "p", modelId = "m") =>
    made.backend.call("session/send", { content: "" }, [], { model: { providerId, modelId } });

  test("B17 is that of a person's own provider, whole", async () => {
    const made = await ground(OLDER, credentials(entry("p"), entry("builtin:zai-coding-plan")));
    const call = ask(made);
    const { runtimeModel } = await made.answer("session/send", { result: {} });
    await call;
    expect(runtimeModel).toEqual({
      revision: expect.any(String),
      generatedAt: expect.any(Number),
      model: { providerId: "p", modelId: "m" },
      provider: {
        providerId: "p",
        kind: "anthropic",
        apiFormat: "anthropic-messages",
        baseURL: "https://llm.example.org",
        models: [{ modelId: "m", label: "m" }],
        apiKey: { source: "inline", value: KEY },
      },
    });
    for (const [provider, model] of [
      ["builtin:zai-coding-plan", "m"],
      ["p", "unknown"],
      ["q", "m"],
    ] as const) {
      const other = ask(made, provider, model);
      expect(await made.answer("session/send", { result: {} })).toEqual({ content: "" });
      await other;
    }
    await made.backend.close();
  });

  test.each(['Unrecognized key: "runtimeModel"', "Invalid params — runtimeModel.provider.kind: Required"])(
    "B17 a build that refuses it with %p gets it no more",
    async (message) => {
      const made = await ground(OLDER, credentials(entry("p")));
      const call = ask(made);
      expect(await made.answer("session/send", { error: { code: -32602, message } })).toHaveProperty(
        "runtimeModel",
      );
      expect(await made.answer("session/send", { result: {} })).toEqual({ content: "" });
      await call;
      const next = ask(made);
      expect(await made.answer("session/send", { result: {} })).toEqual({ content: "" });
      await next;
      await made.backend.close();
    },
  );

  test("B17 an error that quotes the key loses it", async () => {
    const made = await ground(OLDER, credentials(entry("p")));
    const call = ask(made).catch((error: unknown) => error as RpcError);
    await made.answer("session/send", {
      error: { code: -32603, message: `cannot use ${KEY}`, data: { seen: [KEY], name: "X" } },
    });
    const error = await call;
    expect(error).toBeInstanceOf(RpcError);
    expect(JSON.stringify([(error as RpcError).message, (error as RpcError).data])).not.toContain("Key-123");
    expect((error as RpcError).data).toEqual({ seen: ["***"], name: "X" });
    await settle();
    await made.backend.close();
  });
});
