import { describe, expect, test } from "bun:test";
import { zSessionNotification } from "../../node_modules/@agentclientprotocol/sdk/dist/v1/unstable/schema/zod.gen.js";
import { Client } from "../../src/clients/client.ts";
import { Clients } from "../../src/clients/clients.ts";
import { cardContent, fenced, renderUpdate, STYLES, type Style } from "../../src/clients/render.ts";
import { type Obj, obj } from "../../src/platform/json.ts";
import { closeOpenCards, newTranslateState, translateEvent } from "../../src/translate/events.ts";
import type { ToolCard, Update } from "../../src/translate/updates.ts";
import { eachSeed, type Random, someText, someValue } from "../support/random.ts";

const CARD: ToolCard = {
  id: "c1",
  name: "Bash",
  title: "Run the tests",
  kind: "execute",
  locations: [{ path: "/w/a.ts", line: 3 }, { path: "/w/b.ts" }],
  rawInput: { command: "npm test" },
  status: "in_progress",
  diffs: [{ path: "/w/a.ts", oldText: null, newText: "x" }],
  command: true,
  output: "",
  outputStyle: "markdown",
  exitCode: undefined,
  signal: undefined,
  failure: undefined,
  subagent: undefined,
  task: undefined,
  parentId: undefined,
  background: false,
  language: "en",
};

const card = (more: Partial<ToolCard> = {}): ToolCard => ({ ...CARD, ...more });

/** The update as a client of the protocol's own schema reads it; what that leaves out of ours is a defect. */
function read(update: Update, style: Style): Obj {
  const body = renderUpdate(update, style);
  if (body === undefined) throw new Error("nothing was rendered");
  const params = { sessionId: "s", update: JSON.parse(body) };
  const parsed = zSessionNotification.parse(structuredClone(params)) as { update: Obj };
  expect(JSON.parse(JSON.stringify(parsed))).toEqual(params);
  return params.update as Obj;
}

const inBoth = (update: Update) => STYLES.map((style) => read(update, style));

const PLAIN: readonly Update[] = [
  { kind: "text", role: "agent", messageId: "m", text: 'a\n"b"\u2028\ud83d' },
  { kind: "text", role: "agent", messageId: undefined, text: "x" },
  { kind: "text", role: "thought", messageId: "thought_m", text: "hm" },
  { kind: "text", role: "user", messageId: "u", text: "do it" },
  { kind: "plan", entries: [] },
  { kind: "plan", entries: [{ content: "a", priority: "high", status: "in_progress" }] },
  { kind: "usage", used: 5, size: 100 },
  { kind: "title", title: "T", source: "generated" },
  { kind: "mode", mode: "plan" },
];

const TOOLS: readonly Update[] = [
  card({ status: "pending" }),
  card({ command: false, kind: "edit", name: "Edit" }),
  card({ rawInput: undefined, locations: [], diffs: [], parentId: "p" }),
  card({ status: "completed", output: "out\n", exitCode: 0 }),
  card({ status: "failed", output: "out", exitCode: 7, failure: "why" }),
  card({ status: "failed", signal: "SIGKILL" }),
  card({ status: "completed", command: false, output: "# text", subagent: { agentId: "a", tokens: 1 } }),
  card({ status: "completed", command: false, output: "code ```", outputStyle: "code" }),
].flatMap((value): Update[] => [
  { kind: "tool", change: "opened", card: value },
  { kind: "tool", change: "changed", card: value },
  { kind: "tool", change: "status", card: value },
  { kind: "tool", change: "output", card: value, appended: "more\n", soFar: "all\nmore\n" },
  { kind: "tool", change: "closed", card: value },
]);

describe("every kind of update in both styles", () => {
  test("A6 A9 is what the protocol's own schema takes, whole", () => {
    for (const update of [...PLAIN, ...TOOLS]) inBoth(update);
  });

  test("P6 text goes under its role, with its message id where there is one", () => {
    expect(inBoth(PLAIN[1]!)[0]).toEqual({
      sessionUpdate: "agent_message_chunk",
      content: { type: "text", text: "x" },
    });
    expect(inBoth(PLAIN[2]!)[1]).toEqual({
      sessionUpdate: "agent_thought_chunk",
      content: { type: "text", text: "hm" },
      messageId: "thought_m",
    });
    expect(inBoth(PLAIN[3]!)[0]?.sessionUpdate).toBe("user_message_chunk");
  });

  test("A6 a live terminal is opened with its id, fed by appended text alone, and closed in an update of its own", () => {
    const terminal: Style = { terminal: true };
    const opened = read({ kind: "tool", change: "opened", card: card({ diffs: [] }) }, terminal);
    expect(opened.content).toEqual([{ type: "terminal", terminalId: "c1" }]);
    expect(opened._meta).toEqual({ claudeCode: { toolName: "Bash" }, terminal_info: { terminal_id: "c1" } });
    const output = read(
      { kind: "tool", change: "output", card: CARD, appended: "b\n", soFar: "a\nb\n" },
      terminal,
    );
    expect(output).toEqual({
      sessionUpdate: "tool_call_update",
      toolCallId: "c1",
      _meta: { terminal_output: { terminal_id: "c1", data: "b\n" } },
    });
    const closed = read(
      { kind: "tool", change: "closed", card: card({ status: "failed", exitCode: 7 }) },
      terminal,
    );
    expect(closed).toMatchObject({
      status: "failed",
      content: [{ type: "terminal", terminalId: "c1" }],
      _meta: { terminal_exit: { terminal_id: "c1", exit_code: 7, signal: null } },
    });
  });

  test("A6 a client without live terminals gets the whole output in a fence, and the exit code in words", () => {
    const fencedStyle: Style = { terminal: false };
    const output = read(
      { kind: "tool", change: "output", card: CARD, appended: "b\n", soFar: "a\nb\n" },
      fencedStyle,
    );
    expect(output.content).toEqual([
      { type: "content", content: { type: "text", text: "```console\na\nb\n```" } },
    ]);
    const closed = read(
      {
        kind: "tool",
        change: "closed",
        card: card({ diffs: [], status: "failed", output: "a\n", exitCode: 7 }),
      },
      fencedStyle,
    );
    expect(closed.content).toEqual([
      { type: "content", content: { type: "text", text: "```console\na\n```" } },
      { type: "content", content: { type: "text", text: "Exit code 7" } },
    ]);
    expect(JSON.stringify(closed)).not.toContain("terminal_");
  });

  test("A6 a reason that the output already says is not said twice", () => {
    const said = (output: string, failure: string) =>
      cardContent(card({ command: false, diffs: [], output, failure })).length;
    expect(said("no", "no")).toBe(1);
    expect(said("", "no")).toBe(1);
    expect(said("out", "no")).toBe(2);
  });

  test("P25 a sub-agent's figures and a card's parent ride in _meta", () => {
    const subagent = { agentId: "a", tokens: 40904, toolUses: 1, durationMs: 10559 };
    for (const body of inBoth({
      kind: "tool",
      change: "closed",
      card: card({ name: "Agent", command: false, status: "completed", subagent, parentId: "p" }),
    }))
      expect(body._meta).toEqual({ claudeCode: { toolName: "Agent", parentToolUseId: "p" }, subagent });
  });
});

describe("fences", () => {
  test("A6 are longer than any run of backticks inside, so that nothing inside can end them", () => {
    eachSeed(2_000, (random) => {
      const body = random
        .times(random.int(0, 12), () => random.pick(["`", "``", "```", "`````", "\n", "x", " ", "console"]))
        .join("");
      const text = fenced(body, random.pick(["", "console"]));
      const lines = text.split("\n");
      const fence = /^`+/.exec(lines[0]!)![0];
      expect(fence.length).toBeGreaterThanOrEqual(3);
      expect(lines.at(-1)).toBe(fence);
      for (const line of lines.slice(1, -1)) expect(line.includes(fence)).toBe(false);
      expect(lines.slice(1, -1).join("\n")).toBe(body.replace(/\n$/, ""));
    });
  });
});

describe("real streams of events", () => {
  const TOOL_NAMES = ["Bash", "Read", "Edit", "Agent", "TodoWrite", "ApplyPatch", "mcp__a__b"];

  function someEvent(random: Random): [string, Obj] {
    const toolCallId = random.pick(["c1", "c2"]);
    const toolName = random.pick(TOOL_NAMES);
    const input = {
      command: someText(random),
      file_path: random.pick(["a.ts", "/x/y", 3]),
      offset: random.pick([1, 2.5, -1, 2 ** 40, Number.NaN]),
      old_string: "a",
      new_string: someText(random),
      todos: [{ content: someText(random) }],
      run_in_background: random.chance(0.2),
      extra: someValue(random),
    };
    const kind = random.pick(["scheduled", "started", "progress", "result", "error"]);
    switch (random.int(0, 6)) {
      case 0:
        return [
          "model.streaming",
          {
            kind: random.pick(["text_delta", "reasoning_delta"]),
            delta: someText(random),
            assistantMessageId: "m",
          },
        ];
      case 1:
        return [
          "session.updated",
          { contextWindow: someValue(random), usage: { totalTokens: random.pick([0.5, 10, -3, 1e300]) } },
        ];
      case 2:
        return [
          "permission.resolved",
          { toolCallId, decision: random.pick(["deny", "allow"]), reason: someValue(random) },
        ];
      default:
        return [
          "tool.updated",
          {
            kind,
            toolCallId,
            toolName,
            input,
            stdoutTail: someText(random),
            result: {
              success: random.pick([true, false, undefined]),
              content: someText(random),
              perf: { exitCode: random.pick([0, 1, 137, undefined]) },
            },
            error: { message: someText(random) },
          },
        ];
    }
  }

  test("A6 A9 every rendering is valid; output and exit never share an update; a terminal's data is what was appended", () => {
    eachSeed(800, (random) => {
      const state = newTranslateState("/w", "en");
      const data = new Map<string, string>();
      const appended = new Map<string, string>();
      const exits = new Map<string, number>();
      const opened = new Set<string>();
      const draw = (updates: readonly Update[]) => {
        for (const update of updates) {
          const [plain, live] = inBoth(update);
          expect(plain?.sessionUpdate).toBe(live?.sessionUpdate);
          if (update.kind !== "tool") continue;
          const { id } = update.card;
          const meta = obj(live?._meta);
          expect("terminal_output" in meta && "terminal_exit" in meta).toBe(false);
          if ("terminal_output" in meta) {
            expect(live).not.toHaveProperty("status");
            expect(live).not.toHaveProperty("content");
            data.set(id, (data.get(id) ?? "") + obj(meta.terminal_output).data);
          }
          if (update.change === "output") appended.set(id, (appended.get(id) ?? "") + update.appended);
          if (update.change === "opened") opened.add(id);
          expect(opened.has(id)).toBe(true);
          if ("terminal_exit" in meta) {
            exits.set(id, (exits.get(id) ?? 0) + 1);
            expect(["completed", "failed"]).toContain(String(live?.status));
          }
        }
      };
      for (let n = 0; n < 25; n++) draw(translateEvent(state, ...someEvent(random)));
      draw(closeOpenCards(state));
      expect(data).toEqual(appended);
      for (const count of exits.values()) expect(count).toBe(1);
    });
  });
});

describe("several clients", () => {
  function attach(clients: Clients, capabilities: Obj | undefined) {
    const got: Obj[] = [];
    const client = new Client({
      send: (message) => got.push(JSON.parse(message) as Obj),
      room: () => undefined,
      request: () => Promise.reject(new Error("no")),
    });
    if (capabilities) client.introduce({ clientCapabilities: capabilities, clientInfo: { name: "c" } });
    clients.add(client);
    return { client, got };
  }

  test("A6 P36 each gets an update in its own style and under its own id, one that has not introduced itself none", () => {
    const clients = new Clients();
    const plain = attach(clients, {});
    const live = attach(clients, { _meta: { terminal_output: true } });
    const odd = attach(clients, { _meta: { terminal_output: "yes" } });
    const silent = attach(clients, undefined);
    live.client.knowAs("first", "alias", true);
    const update: Update = { kind: "tool", change: "output", card: CARD, appended: "x", soFar: "x" };
    clients.publish("first", update);
    clients.publishBody("first", { sessionUpdate: "current_mode_update", currentModeId: "plan" });
    clients.publishTo(plain.client, "first", { kind: "usage", used: 1, size: 2 });
    expect(silent.got).toEqual([]);
    expect(plain.got.map((frame) => obj(frame.params).sessionId)).toEqual(["first", "first", "first"]);
    expect(live.got.map((frame) => obj(frame.params).sessionId)).toEqual(["alias", "alias"]);
    expect(obj(plain.got[0]?.params).update).toHaveProperty("content");
    expect(obj(odd.got[0]?.params).update).toEqual(obj(plain.got[0]?.params).update);
    expect(obj(live.got[0]?.params).update).not.toHaveProperty("content");
    for (const { got } of [plain, live]) for (const frame of got) zSessionNotification.parse(frame.params);
  });

  test("an id with quotes in it, a new name for a conversation, and one that was forgotten", () => {
    const clients = new Clients();
    const { client, got } = attach(clients, {});
    const say = () => clients.publish("first", { kind: "mode", mode: "plan" });
    const last = () => obj(got.at(-1)?.params).sessionId;
    client.knowAs("first", 'a"b\\c', true);
    say();
    expect(last()).toBe('a"b\\c');
    client.knowAs("first", "later", false);
    say();
    expect(last()).toBe('a"b\\c');
    client.knowAs("first", "later", true);
    say();
    expect(last()).toBe("later");
    client.forget("first");
    say();
    expect(last()).toBe("first");
  });
});

test("B15 R42 a file that a person sent is named by what is known of it", () => {
  const file = (name: string, mime: string | undefined, url: string) => {
    const drawn = renderUpdate({ kind: "file", messageId: "m", file: { name, mime, url } }, STYLES[0]!);
    return obj(JSON.parse(drawn ?? "null")).content;
  };
  expect(file("a.pdf", "application/pdf", "data:application/pdf;base64,AAAA")).toMatchObject({
    text: "[a.pdf]",
  });
  expect(file("", "application/pdf", "data:application/pdf;base64,AAAA")).toMatchObject({
    text: "[application/pdf]",
  });
  expect(file("", undefined, "x://1")).toMatchObject({ text: "[file]" });
  expect(file("a.ts", "text/plain", "file:///one/a.ts")).toEqual({
    type: "resource_link",
    name: "a.ts",
    uri: "file:///one/a.ts",
    mimeType: "text/plain",
  });
  expect(file("", undefined, "https://x.example/a")).toEqual({
    type: "resource_link",
    name: "https://x.example/a",
    uri: "https://x.example/a",
  });
});

test("A13 the start and the end of a turn are told once each, to who has the conversation", () => {
  const clients = new Clients();
  const made = (name: string) => {
    const sent: string[] = [];
    const client = new Client({
      send: (line) => void sent.push(line),
      room: () => undefined,
      request: async () => ({}),
    });
    client.introduce({ clientInfo: { name } });
    clients.add(client);
    return { client, sent };
  };
  const one = made("one");
  const other = made("other");
  one.client.knowAs("s", "mine", true);
  for (const running of [false, true, true, false, false, true]) clients.turn("s", running);
  expect(one.sent.map((line) => obj(JSON.parse(line)).params)).toEqual([
    { sessionId: "mine", running: true },
    { sessionId: "mine", running: false },
    { sessionId: "mine", running: true },
  ]);
  expect(other.sent).toEqual([]);
});
