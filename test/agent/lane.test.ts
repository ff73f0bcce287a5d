import { describe, expect, test } from "bun:test";
import type { AnyMessage } from "@agentclientprotocol/sdk/unstable";
import { zPromptRequest } from "../../node_modules/@agentclientprotocol/sdk/dist/v1/unstable/schema/zod.gen.js";
import { type AgentDeps, connectAgent } from "../../src/agent/app.ts";
import { PromptLane } from "../../src/agent/lane.ts";
import { Client } from "../../src/clients/client.ts";
import { Clients } from "../../src/clients/clients.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { isObj, type Obj } from "../../src/platform/json.ts";
import { silentLog } from "../../src/platform/log.ts";
import { Conversation } from "../../src/session/conversation.ts";
import { eachSeed, eachSeedAsync, Random, someText, someValue, WRONG_VALUES } from "../support/random.ts";

const request = (id: unknown, method: string, params: unknown) =>
  ({ jsonrpc: "2.0", id, method, params }) as unknown as AnyMessage;
const notification = (method: string, params: unknown) =>
  ({ jsonrpc: "2.0", method, params }) as unknown as AnyMessage;
const prompt = (id: unknown, text: string, sessionId = "s") =>
  request(id, "session/prompt", { sessionId, prompt: [{ type: "text", text }] });

const turn = async (times = 30) => {
  for (let i = 0; i < times; i++) await new Promise<void>((resolve) => setImmediate(resolve));
};

/** A lane on its own; prompts are answered when the test says so. */
function lane(initialized = true) {
  const client = new Client({
    send: () => {},
    room: () => undefined,
    request: () => Promise.reject(new Error("no")),
  });
  if (initialized) client.introduce({});
  const heard: string[] = [];
  const answers: Obj[] = [];
  const open = new Map<string, (answer: Obj | Error) => void>();
  const made = new PromptLane(
    client,
    {
      prompt(params, cancellable) {
        const text = String(((params.prompt as Obj[])[0] as Obj | undefined)?.text);
        heard.push(`prompt ${text}`);
        cancellable(() => heard.push(`cancelled ${text}`));
        return new Promise((resolve, reject) => {
          open.set(text, (answer) => (answer instanceof Error ? reject(answer) : resolve(answer)));
        });
      },
      cancel: (params) => heard.push(`cancel ${params.sessionId}`),
    },
    (_, message) => answers.push(JSON.parse(message) as Obj),
    (message) => heard.push(`sdk ${(message as { method?: string }).method}`),
    "en",
  );
  return { made, heard, answers, open };
}

describe("what is taken", () => {
  test("A5 a well-formed prompt, its answer and its error go the short way", async () => {
    const { made, heard, answers, open } = lane();
    expect(made.take(prompt(1, "a"))).toBe(true);
    expect(made.take(prompt("x", "b"))).toBe(true);
    expect(heard).toEqual(["prompt a", "prompt b"]);
    open.get("b")!({ stopReason: "end_turn" });
    open.get("a")!(new Error("secret words"));
    await turn(2);
    expect(answers[0]).toEqual({ jsonrpc: "2.0", id: "x", result: { stopReason: "end_turn" } });
    expect(answers[1]).toMatchObject({ jsonrpc: "2.0", id: 1, error: { code: -32603 } });
    expect(JSON.stringify(answers[1])).not.toContain("secret");
  });

  test("A5 $/cancel_request cancels the prompt that it names and no other, once", async () => {
    const { made, heard, open } = lane();
    made.take(prompt(1, "a"));
    made.take(prompt("1", "b"));
    expect(made.take(notification("$/cancel_request", { requestId: "1" }))).toBe(true);
    expect(heard).toEqual(["prompt a", "prompt b", "cancelled b"]);
    for (const requestId of [2, null, undefined, {}, ""])
      expect(made.take(notification("$/cancel_request", { requestId }))).toBe(false);
    open.get("b")!({ stopReason: "cancelled" });
    await turn(2);
    expect(made.take(notification("$/cancel_request", { requestId: "1" }))).toBe(false);
    expect(heard).toHaveLength(3);
  });

  test("A2 before initialize nothing is taken", () => {
    const { made, heard } = lane(false);
    expect(made.take(prompt(1, "a"))).toBe(false);
    expect(made.take(notification("session/cancel", { sessionId: "s" }))).toBe(false);
    expect(heard).toEqual([]);
  });

  test("B16 B20 a prompt waits for what the SDK has of its own session, not for another's", () => {
    const { made, heard } = lane();
    const answer = (id: unknown) => made.sent({ jsonrpc: "2.0", id, result: {} } as unknown as AnyMessage);
    expect(made.take(request(1, "session/load", { sessionId: "s" }))).toBe(false);
    made.started("s");
    expect(made.take(request(2, "session/set_mode", { sessionId: "s" }))).toBe(false);
    expect(made.take(request(3, "session/load", { sessionId: "r" }))).toBe(false);
    expect(made.take(request(4, "session/list", {}))).toBe(false);
    expect(made.take(prompt(5, "a"))).toBe(true);
    expect(made.take(prompt(6, "b", "q"))).toBe(true);
    expect(made.take(prompt(7, "c"))).toBe(true);
    expect(made.take(prompt(8, "d", "r"))).toBe(true);
    expect(heard).toEqual(["prompt b"]);
    answer(2);
    expect(heard).toEqual(["prompt b"]);
    made.sent({ jsonrpc: "2.0", id: 1, error: { code: 1, message: "x" } } as unknown as AnyMessage);
    expect(heard).toEqual(["prompt b", "prompt a", "prompt c"]);
    answer(3);
    expect(heard).toEqual(["prompt b", "prompt a", "prompt c", "prompt d"]);
    expect(made.take(prompt(9, "e"))).toBe(true);
    expect(heard.at(-1)).toBe("prompt e");
  });

  test("A5 a cancel of a request that waits behind a prompt answers it with -32800, and it is not handed on", () => {
    const { made, heard, answers } = lane();
    made.take(request(1, "session/load", { sessionId: "s", cwd: "/", mcpServers: [] }));
    made.take(prompt(2, "waits"));
    made.take(request(3, "session/close", { sessionId: "s" }));
    expect(made.take(notification("$/cancel_request", { requestId: 3 }))).toBe(true);
    expect(answers).toMatchObject([{ id: 3, error: { code: -32800 } }]);
    made.sent({ jsonrpc: "2.0", id: 1, result: {} } as unknown as AnyMessage);
    expect(heard).toEqual(["prompt waits"]);
  });

  test("A5 a cancel reaches the prompts that wait, all of a session or the one that is named", () => {
    const { made, heard, answers } = lane();
    made.take(request(1, "session/set_mode", { sessionId: "s" }));
    made.take(prompt(2, "a"));
    made.take(notification("session/cancel", { sessionId: "r" }));
    expect(heard).toEqual(["cancel r"]);
    made.take(notification("session/cancel", { sessionId: "s" }));
    expect(heard).toEqual(["cancel r", "cancel s"]);
    made.take(prompt(3, "b"));
    expect(made.take(prompt(3, "same id"))).toBe(false);
    expect(made.take(notification("$/cancel_request", { requestId: 3 }))).toBe(true);
    made.sent({ jsonrpc: "2.0", id: 1, result: {} } as unknown as AnyMessage);
    expect(heard).toEqual(["cancel r", "cancel s"]);
    expect(answers).toEqual(
      [2, 3].map((id) => ({ jsonrpc: "2.0", id, result: { stopReason: "cancelled" } })),
    );
  });

  test("A5 M9 what came behind a prompt that waits does not overtake it", async () => {
    const { made, heard, answers } = lane();
    expect(made.take(request(1, "session/load", { sessionId: "s" }))).toBe(false);
    expect(made.take(prompt(2, "a"))).toBe(true);
    expect(made.take(request(3, "session/close", { sessionId: "s" }))).toBe(true);
    expect(made.take(prompt(4, "b"))).toBe(true);
    expect(made.take(request(5, "session/list", {}))).toBe(false);
    expect(heard).toEqual([]);
    made.sent({ jsonrpc: "2.0", id: 1, result: {} } as unknown as AnyMessage);
    expect(heard).toEqual(["prompt a", "sdk session/close"]);
    made.sent({ jsonrpc: "2.0", id: 3, result: {} } as unknown as AnyMessage);
    expect(heard).toEqual(["prompt a", "sdk session/close", "prompt b"]);
    expect(answers).toEqual([]);
  });

  test("A2 M11 what the SDK has not begun with is not overtaken by another request of its session", () => {
    const { made, heard } = lane();
    expect(made.take(request(1, "session/close", { sessionId: "s" }))).toBe(false);
    expect(made.take(request(2, "session/load", { sessionId: "s" }))).toBe(true);
    expect(made.take(request(3, "session/close", { sessionId: "s" }))).toBe(true);
    expect(made.take(request(4, "session/load", { sessionId: "r" }))).toBe(false);
    made.started("s");
    expect(heard).toEqual(["sdk session/load"]);
    // One that is refused never begins.
    made.sent({ jsonrpc: "2.0", id: 2, error: { code: -32602, message: "x" } } as unknown as AnyMessage);
    expect(heard).toEqual(["sdk session/load", "sdk session/close"]);
    made.started("s");
    expect(made.take(request(5, "session/load", { sessionId: "s" }))).toBe(false);
  });

  test("A5 M11 a close behind prompts that are cancelled while they wait does not wait on", () => {
    const { made, heard } = lane();
    made.take(request(1, "session/load", { sessionId: "s" }));
    made.started("s");
    made.take(prompt(2, "a"));
    expect(made.take(request(3, "session/close", { sessionId: "s" }))).toBe(true);
    made.take(notification("session/cancel", { sessionId: "s" }));
    expect(heard).toEqual(["cancel s", "sdk session/close"]);
  });

  test("M9 prompts that wait when the client is gone are answered as cancelled", () => {
    const { made, heard, answers } = lane();
    made.take(request(1, "session/load", { sessionId: "s" }));
    made.take(prompt(2, "a"));
    made.take(request(3, "session/close", { sessionId: "s" }));
    made.take(prompt("b", "b"));
    made.end();
    expect(made.take(prompt(4, "late"))).toBe(true);
    expect(answers).toEqual(
      [2, "b", 4].map((id) => ({ jsonrpc: "2.0", id, result: { stopReason: "cancelled" } })),
    );
    expect(heard).toEqual([]);
  });

  test("A5 an answer of the client to a question of ours is no request of its own", () => {
    const { made } = lane();
    expect(made.take({ jsonrpc: "2.0", id: 3, result: {} } as unknown as AnyMessage)).toBe(false);
    expect(made.take(prompt(4, "a"))).toBe(true);
  });

  test("A10 only what the protocol's own schema takes is taken", () => {
    const GOOD: Obj[] = [
      { type: "text", text: "x" },
      { type: "image", data: "QUJD", mimeType: "image/png" },
      { type: "audio", data: "QUJD", mimeType: "audio/wav" },
      { type: "resource_link", uri: "file:///a", name: "a" },
      { type: "resource", resource: { uri: "file:///a", text: "x" } },
      { type: "resource", resource: { uri: "file:///a", blob: "QUJD" } },
    ];
    const judge = (params: unknown) => {
      const { made } = lane();
      const taken = made.take(request(1, "session/prompt", params));
      if (taken && !zPromptRequest.safeParse(structuredClone(params)).success)
        throw new Error(`taken, and no prompt: ${JSON.stringify(params)}`);
      return taken;
    };
    for (const block of GOOD) {
      expect(judge({ sessionId: "s", prompt: [block] })).toBe(true);
      for (const key of Object.keys(block))
        for (const wrong of WRONG_VALUES)
          judge({ sessionId: "s", prompt: [GOOD[0], { ...block, [key]: wrong }] });
      if (!isObj(block.resource)) continue;
      for (const key of ["uri", "text", "blob"])
        for (const wrong of WRONG_VALUES)
          judge({ sessionId: "s", prompt: [{ ...block, resource: { ...block.resource, [key]: wrong } }] });
    }
    for (const wrong of WRONG_VALUES) {
      judge(wrong);
      judge({ sessionId: wrong, prompt: [] });
      judge({ sessionId: "s", prompt: wrong });
      judge({ sessionId: "s", prompt: [wrong] });
    }
    eachSeed(1_000, (random) => {
      judge({
        sessionId: random.chance(0.9) ? "s" : someValue(random),
        prompt: random.times(random.int(0, 3), () =>
          random.chance(0.5)
            ? random.pick(GOOD)
            : {
                ...random.pick(GOOD),
                [random.pick(["type", "text", "data", "uri", "resource"])]: someValue(random),
              },
        ),
      });
    });
  });

  test("messages of no form at all are the SDK's", () => {
    const { made } = lane();
    for (const wrong of WRONG_VALUES) {
      expect(made.take(wrong as AnyMessage)).toBe(false);
      expect(made.take({ method: "session/prompt", id: 1, params: wrong } as unknown as AnyMessage)).toBe(
        false,
      );
      if (typeof wrong !== "string" && !(typeof wrong === "number" && Number.isFinite(wrong)))
        expect(made.take(prompt(wrong, "a"))).toBe(false);
    }
  });
});

/** A whole connection over sessions that only write down what reaches them. */
function connection(random: Random) {
  const heard: string[] = [];
  const answers = new Map<unknown, Obj>();
  const conversations = new Map<string, Conversation>();
  for (const id of ["s", "r"]) conversations.set(id, new Conversation(id, "/w", [], id, "en"));
  const pending: (() => void)[] = [];
  let keys = 0;
  const sessions = {
    registry: { find: (id: string) => conversations.get(id), owns: () => true },
    require(id: string) {
      const found = conversations.get(id);
      if (!found) throw new Error("unknown");
      return found;
    },
    prompt(conversation: Conversation, content: { content: string }) {
      heard.push(`prompt ${content.content} ${conversation.id}`);
      const outcome = new Promise((resolve) => {
        const end = () => resolve({ kind: "ended", stopReason: "end_turn", usage: undefined });
        if (random.chance(0.5)) end();
        else pending.push(end);
      });
      return { key: ++keys, outcome };
    },
    cancel(conversation: Conversation, key?: number) {
      heard.push(key === undefined ? `cancel ${conversation.id}` : `cancelKey ${key}`);
    },
    async change(conversation: Conversation, wanted: { model?: { modelId: string } }) {
      heard.push(`mode ${wanted.model?.modelId} ${conversation.id}`);
      if (random.chance(0.5)) await turn(random.int(0, 3));
    },
    stored: {
      async page() {
        heard.push("list");
        return { sessions: [], nextCursor: undefined };
      },
    },
  };
  const deps = {
    sessions,
    clients: new Clients(),
    backend: { ready: () => Promise.resolve() },
    log: silentLog(),
    language: "en",
    version: "0",
    simulated: true,
    clock: systemClock(),
    onFrame: () => {},
    credentials: () => ({ providers: [], personal: [], cachedPlans: [], selectedPlans: [], files: [] }),
  };
  const send = (message: string) => {
    const frame = JSON.parse(message) as Obj;
    if (!("id" in frame)) return;
    if (answers.has(frame.id)) throw new Error(`answered twice: ${frame.id}`);
    answers.set(frame.id, frame);
  };
  const connected = connectAgent({ send, room: () => undefined }, deps as unknown as AgentDeps);
  const agent = { ...connected, message: (message: AnyMessage) => connected.message(message, 0) };
  return { agent, heard, answers, pending };
}

/** Sends a random mix of what a client may ask, all without waiting, and tells what should be heard of it. */
async function pipeline(random: Random, kinds: readonly string[]) {
  const { agent, heard, answers, pending } = connection(random);
  agent.message(request("init", "initialize", { protocolVersion: 1, clientCapabilities: {} }));
  await turn();
  const expected: string[] = [];
  const ids: unknown[] = ["init"];
  for (let n = 0; n < 20; n++) {
    const sessionId = random.pick(["s", "r"]);
    const id = random.chance(0.5) ? n : `id-${n}`;
    const kind = random.pick(kinds);
    if (kind !== "cancel") ids.push(id);
    switch (kind) {
      case "prompt":
        expected.push(`prompt ${n} ${sessionId}`);
        agent.message(prompt(id, String(n), sessionId));
        break;
      case "cancel":
        expected.push(`cancel ${sessionId}`);
        agent.message(notification("session/cancel", { sessionId }));
        break;
      case "mode":
        expected.push(`mode ${n} ${sessionId}`);
        agent.message(
          request(id, "session/set_config_option", { sessionId, configId: "model", value: `p/${n}` }),
        );
        break;
      case "list":
        expected.push("list");
        agent.message(request(id, "session/list", {}));
        break;
      default:
        // A prompt that is none is answered by the SDK and reaches nobody.
        agent.message(request(id, "session/prompt", { sessionId, prompt: [{ type: someText(random) }] }));
    }
    if (random.chance(0.2)) await turn(random.int(0, 4));
    if (random.chance(0.3)) pending.shift()?.();
  }
  await turn();
  for (const end of pending.splice(0)) end();
  await turn();
  expect(new Set(answers.keys())).toEqual(new Set(ids));
  agent.end();
  await agent.closed;
  // Cancelled while they waited for the SDK: answered as such, and heard by nobody.
  const dropped = expected.filter((line) => {
    const [kind, n] = line.split(" ");
    const answer = answers.get(Number(n)) ?? answers.get(`id-${n}`);
    return kind === "prompt" && (answer?.result as Obj | undefined)?.stopReason === "cancelled";
  });
  return { heard, expected, dropped };
}

describe("order", () => {
  test("B16 A5 pipelined prompts and cancels reach the sessions in the order in which they came", async () => {
    await eachSeedAsync(100, async (random) => {
      const { heard, expected } = await pipeline(random, ["prompt", "prompt", "cancel"]);
      expect(heard).toEqual(expected);
    });
  });

  test("B16 A5 among requests of any mix, prompts keep their order and overtake no setting, all is heard, and each is answered once", async () => {
    await eachSeedAsync(100, async (random) => {
      const { heard, expected, dropped } = await pipeline(random, [
        "prompt",
        "prompt",
        "cancel",
        "mode",
        "list",
        "malformed",
      ]);
      expect(new Set(heard).size).toBe(new Set(expected).size - dropped.length);
      for (const session of ["s", "r"]) {
        const turns = (lines: readonly string[]) =>
          lines.filter((line) => /^(prompt|cancel)/.test(line) && line.endsWith(` ${session}`));
        expect(turns(heard)).toEqual(turns(expected).filter((line) => !dropped.includes(line)));
        // No prompt overtakes a setting that was asked for before it.
        for (const [at, line] of expected.entries()) {
          if (!line.startsWith("mode") || !line.endsWith(` ${session}`)) continue;
          for (const later of turns(expected.slice(at)))
            if (later.startsWith("prompt") && heard.includes(later))
              expect(heard.indexOf(line)).toBeLessThan(heard.indexOf(later));
        }
      }
    });
  });

  test("A5 B16 what stands between a setting, a cancel and a prompt of one session is their order", async () => {
    const { agent, heard } = connection(new Random(1));
    agent.message(request("init", "initialize", { protocolVersion: 1, clientCapabilities: {} }));
    await turn();
    const model = (value: string) => ({ sessionId: "s", configId: "model", value });
    agent.message(request(1, "session/set_config_option", model("p/one")));
    agent.message(prompt(2, "a"));
    await turn();
    expect(heard).toEqual(["mode one s", "prompt a s"]);
    agent.message(request(3, "session/list", {}));
    agent.message(notification("session/cancel", { sessionId: "s" }));
    agent.message(prompt(4, "b"));
    await turn();
    expect(heard.filter((line) => line !== "list")).toEqual([
      "mode one s",
      "prompt a s",
      "cancel s",
      "prompt b s",
    ]);
  });

  test("A2 what is sent right behind initialize, without waiting for its answer, is served", async () => {
    const { agent, heard } = connection(new Random(1));
    agent.message(request("init", "initialize", { protocolVersion: 1, clientCapabilities: {} }));
    agent.message(request(1, "session/list", {}));
    await turn();
    expect(heard).toEqual(["list"]);
  });
});
