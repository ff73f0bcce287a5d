import { describe, expect, test } from "bun:test";
import type { Obj } from "../../src/platform/json.ts";
import {
  closeOpenCards,
  contextUsage,
  ensureCard,
  newTranslateState,
  planUpdate,
  type TranslateState,
  translateEvent,
} from "../../src/translate/events.ts";
import { OUTPUT_CHARS } from "../../src/translate/output.ts";
import type { ToolCard } from "../../src/translate/updates.ts";
import { eachSeed, type Random, someText, someValue, WRONG_VALUES } from "../support/random.ts";
import { Watcher } from "./watch.ts";

const CWD = "/home/ana/shop";

interface Scene {
  readonly state: TranslateState;
  readonly watcher: Watcher;
  say(type: string, payload: Obj): Scene;
  tool(kind: string, toolCallId: string, more?: Obj): Scene;
  card(id: string): ToolCard;
}

function scene(): Scene {
  const state = newTranslateState(CWD, "en");
  const watcher = new Watcher();
  const self: Scene = {
    state,
    watcher,
    say(type, payload) {
      watcher.take(translateEvent(state, type, payload));
      return self;
    },
    tool: (kind, toolCallId, more = {}) => self.say("tool.updated", { kind, toolCallId, ...more }),
    card(id) {
      const seen = watcher.cards.get(id);
      if (!seen) throw new Error(`no card ${id}`);
      return seen.card;
    },
  };
  return self;
}

const bash = (command: string, more: Obj = {}) => ({ toolName: "Bash", input: { command, ...more } });

/** One good payload of each type and kind, with the fields of every era. */
const EVENTS: readonly (readonly [string, Obj])[] = [
  [
    "turn.started",
    {
      turnNumber: 1,
      input: "hi",
      inputId: "i",
      inputSource: "background_task",
      inputVisibility: "model-only",
      messageId: "m",
    },
  ],
  ...[
    "start",
    "finish",
    "error",
    "text_start",
    "text_delta",
    "text_end",
    "reasoning_start",
    "reasoning_delta",
    "reasoning_end",
    "tool_input_start",
    "tool_input_delta",
    "tool_input_end",
    "tool_call",
    "never_heard",
  ].map(
    (kind) =>
      [
        "model.streaming",
        {
          kind,
          delta: "words",
          assistantMessageId: "m1",
          partId: "p1",
          toolCallId: "c1",
          toolName: "Bash",
          input: { command: "ls" },
        },
      ] as const,
  ),
  ...[
    "Bash",
    "Read",
    "Write",
    "Edit",
    "ApplyPatch",
    "TodoWrite",
    "Agent",
    "Task",
    "mcp__a__b",
    "Unheard",
  ].flatMap(
    (toolName) =>
      [
        [
          "tool.updated",
          {
            kind: "scheduled",
            toolCallId: "c1",
            toolName,
            inputOmitted: true,
            inputRef: "model_stream",
            inputByteLength: 17,
            parentToolCallId: "c0",
            source: "subagent",
            agentId: "agent_1",
            childSessionId: "sess_2",
            input: {
              command: "ls",
              description: "look",
              run_in_background: true,
              file_path: "src/a.ts",
              offset: 3,
              content: "x",
              old_string: "a",
              new_string: "b",
              patch_text: "*** Begin Patch\n*** Update File: a.ts\n@@\n-a\n+b\n*** End Patch",
              todos: [{ content: "buy", status: "pending", priority: "high" }],
              questions: [{ question: "Which?" }],
            },
          },
        ],
        ["tool.updated", { kind: "started", toolCallId: "c1", toolName }],
        [
          "tool.updated",
          {
            kind: "progress",
            toolCallId: "c1",
            toolName,
            stdoutTail: "out\n",
            stderrTail: "err\n",
            elapsedMs: 7,
            outputPreview: { text: "o", fullText: "out\n", totalLines: 1, totalBytes: 4 },
          },
        ],
        [
          "tool.updated",
          {
            kind: "result",
            toolCallId: "c1",
            toolName,
            duration: 12,
            result: {
              success: true,
              content: "Exit code 0\nout\nerr\nmore",
              truncated: false,
              error: { message: "no" },
              display: {
                kind: "file_diff",
                filePath: "src/a.ts",
                structuredPatch: [{ lines: [" a", "-b", "+c"] }],
                files: [{ filePath: "b.ts", movePath: "c.ts", structuredPatch: [{ lines: ["+x"] }] }],
              },
              files: [{ filePath: "b.ts", structuredPatch: [] }],
              perf: {
                totalMs: 3,
                exitCode: 0,
                detail: { kind: "command", command: { exitCode: 0, timedOut: false, status: "completed" } },
              },
            },
          },
        ],
        [
          "tool.updated",
          { kind: "error", toolCallId: "c1", toolName, error: { message: "broke", type: "E" } },
        ],
      ] as const,
  ),
  ["tool.updated", { kind: "batch", toolCallId: "c1", toolCallIds: ["c1"], successCount: 1, errorCount: 1 }],
  ["tool.updated", { kind: "raw", toolCallId: "c1", toolName: "Bash" }],
  [
    "turn.completed",
    {
      resultType: "success",
      response: "done",
      tokenCount: 3,
      toolCallCount: 1,
      duration: 9,
      usage: { inputTokens: 5, outputTokens: 2, totalTokens: 7, contextWindow: 128_000 },
    },
  ],
  [
    "turn.terminal",
    { kind: "turn.terminal", status: "success", resultType: "end_turn", inputTokens: 1, totalTokens: 2 },
  ],
  [
    "turn.failed",
    {
      error: { type: "E", message: "m", attribution: { reason: "timeout" }, cause: { code: 1 } },
      turnPhase: "x",
    },
  ],
  [
    "session.updated",
    {
      contextWindow: 128_000,
      usage: { inputTokens: 5, outputTokens: 2, totalTokens: 7 },
      querySource: "main_turn",
      mode: "plan",
      previousMode: "build",
    },
  ],
  [
    "session.updated",
    {
      taskId: "t",
      taskKind: "bash",
      toolCallId: "c1",
      status: "running",
      outputTail: "x",
      description: "d",
      pid: 7,
      contextWindow: 128_000,
      usage: { totalTokens: 9 },
    },
  ],
  ["session.titleUpdated", { title: "A title", previousTitle: "", source: "generated" }],
  ["turn.steerQueued", { inputId: "i", targetTurnId: "t" }],
  ["turn.steerDrained", { pendingInputId: "i", pendingInputIds: ["i"] }],
  ["permission.requested", { requestId: "r", toolCallId: "c1" }],
  ["permission.resolved", { requestId: "r", toolCallId: "c1", decision: "deny", reason: "no" }],
  ["permission.resolved", { requestId: "r", toolCallId: "c1", decision: "allow" }],
  ["permission.resolved", { requestId: "r", toolCallId: "c1", decision: "modify", modifiedInput: {} }],
  ["model.response", { content: "x", usage: { totalTokens: 4 }, contextWindow: 9, stopReason: "s" }],
  ...[
    "message.upserted",
    "message.removed",
    "part.started",
    "part.delta",
    "part.upserted",
    "part.removed",
    "checkpoint.created",
    "rewind.triggered",
    "streamRecovery.updated",
    "session.created",
    "session.resumed",
    "session.closed",
    "userInput.requested",
    "never.heard.of",
    "constructor",
    "",
  ].map((type) => [type, { content: "x", delta: "y", role: "user", text: "z" }] as const),
];

/** The paths of all fields, nested ones too, as lists of keys. */
function paths(value: unknown, at: readonly string[] = []): string[][] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [[...at, key], ...paths(inner, [...at, key])]);
}

function withField(payload: Obj, path: readonly string[], value: unknown): Obj {
  const copy = structuredClone(payload) as Record<string, unknown>;
  let place: Record<string, unknown> = copy;
  for (const key of path.slice(0, -1)) place = place[key] as Record<string, unknown>;
  const last = path.at(-1)!;
  if (value === undefined) delete place[last];
  else place[last] = value;
  return copy;
}

const MOMENTS: readonly ((scene: Scene) => void)[] = [
  () => {},
  (s) =>
    s.say("model.streaming", {
      kind: "tool_call",
      toolCallId: "c1",
      toolName: "Bash",
      input: { command: "a" },
    }),
  (s) =>
    s.tool("scheduled", "c1", bash("a")).tool("started", "c1").tool("progress", "c1", { stdoutTail: "o" }),
  (s) =>
    s.tool("scheduled", "c1", bash("a", { run_in_background: true })).tool("result", "c1", { result: {} }),
  (s) => s.tool("scheduled", "c1", bash("a")).tool("result", "c1", { result: { success: true } }),
];

describe("payloads that are not what they should be", () => {
  test("P7 P9 each field of each event missing once and wrong once, at each moment of a card: nothing throws, no card breaks", () => {
    let cases = 0;
    for (const [type, payload] of EVENTS) {
      for (const path of paths(payload)) {
        for (const wrong of WRONG_VALUES) {
          const broken = withField(payload, path, wrong);
          for (const moment of MOMENTS) {
            const s = scene();
            moment(s);
            try {
              s.say(type, broken);
              s.say(type, broken);
              s.watcher.take(closeOpenCards(s.state));
            } catch (error) {
              throw new Error(
                `${type} ${payload.kind ?? ""} with ${path.join(".")} = ${String(wrong).slice(0, 40)}: ${error}`,
              );
            }
            cases++;
          }
        }
      }
    }
    expect(cases).toBeGreaterThan(10_000);
  });

  test("P7 P9 the whole payload wrong", () => {
    for (const [type, payload] of EVENTS) {
      for (const wrong of WRONG_VALUES) {
        const s = scene();
        // The wire's reader hands on an object always; what it made of anything else is an empty one.
        const value = typeof wrong === "object" && wrong !== null && !Array.isArray(wrong) ? wrong : {};
        s.say(type, value as Obj).say(type, { ...(value as Obj), kind: payload.kind });
      }
    }
  });

  test("P6 P7 P9 random streams of good and spoilt events keep every card's order", () => {
    eachSeed(1_500, (random) => {
      const s = scene();
      const ids = ["c1", "c2", "c3"];
      for (let n = 0; n < 40; n++) {
        const [type, good] = random.pick(EVENTS);
        let payload: Obj = { ...good, toolCallId: random.pick(ids) };
        if (random.chance(0.3)) {
          const path = random.pick(paths(payload));
          payload = withField(payload, path, random.chance(0.5) ? someValue(random) : someText(random));
        }
        if (random.chance(0.05)) {
          const { updates } = ensureCard(s.state, random.pick(ids), "Bash", { command: "x" });
          s.watcher.take(updates);
        }
        s.say(type, payload);
        if (type === "turn.completed" || type === "turn.failed") s.watcher.turnOver();
      }
      s.watcher.take(closeOpenCards(s.state));
      for (const id of s.watcher.open) expect(s.card(id).background).toBe(true);
    });
  });

  test("P6 a name from outside that is a property of every object is a tool like any other", () => {
    for (const name of ["constructor", "__proto__", "toString", "hasOwnProperty"]) {
      const s = scene()
        .tool("scheduled", name, { toolName: name })
        .tool("result", name, { result: { content: "x" } });
      expect(s.card(name)).toMatchObject({ title: name, kind: "other", status: "completed" });
    }
  });
});

describe("text and thoughts", () => {
  test("P6 deltas go out as they came, thoughts under an id of their own", () => {
    const s = scene();
    s.say("model.streaming", { kind: "reasoning_delta", delta: "hm", assistantMessageId: "m1" });
    s.say("model.streaming", { kind: "text_delta", delta: "he", assistantMessageId: "m1" });
    s.say("model.streaming", { kind: "text_delta", delta: "llo" });
    expect(s.watcher.updates).toEqual([
      { kind: "text", role: "thought", messageId: "thought_m1", text: "hm" },
      { kind: "text", role: "agent", messageId: "m1", text: "he" },
      { kind: "text", role: "agent", messageId: undefined, text: "llo" },
    ]);
  });

  test("P6 what only marks a beginning or an end draws nothing", () => {
    const s = scene();
    for (const kind of [
      "start",
      "finish",
      "error",
      "text_start",
      "text_end",
      "reasoning_start",
      "tool_input_delta",
    ])
      s.say("model.streaming", { kind, delta: "x", assistantMessageId: "m" });
    expect(s.watcher.updates).toEqual([]);
  });
});

describe("tools", () => {
  test("P6 P7 a call's name and input come from the model's stream where the schedule left them out", () => {
    const s = scene();
    s.say("model.streaming", {
      kind: "tool_call",
      toolCallId: "c1",
      toolName: "Bash",
      input: { command: "npm test", description: "Run the tests" },
    });
    expect(s.watcher.updates).toEqual([]);
    s.tool("scheduled", "c1", { inputOmitted: true, inputRef: "model_stream" });
    expect(s.card("c1")).toMatchObject({
      name: "Bash",
      title: "Run the tests",
      kind: "execute",
      rawInput: { command: "npm test", description: "Run the tests" },
    });
  });

  test("P7 tools in parallel, interleaved, end each in its own way", () => {
    const s = scene();
    s.tool("scheduled", "a", bash("one"))
      .tool("scheduled", "b", bash("two"))
      .tool("scheduled", "c", { toolName: "Read", input: { file_path: "x.ts", offset: 4 } });
    s.tool("started", "b").tool("started", "a").tool("started", "c");
    s.tool("progress", "a", { stdoutTail: "1\n" }).tool("progress", "b", { stderrTail: "2\n" });
    s.tool("result", "c", { result: { success: true, content: "text" } });
    s.tool("progress", "a", { stdoutTail: "1\n3\n" });
    s.tool("error", "b", { error: { message: "gone" } });
    s.tool("result", "a", { result: { success: true, content: "1\n3\n4" } });
    s.tool("batch", "a", { toolCallIds: ["a", "b", "c"], successCount: 2, errorCount: 1 });
    expect(s.card("a")).toMatchObject({ status: "completed", output: "1\n3\n4", exitCode: 0 });
    expect(s.card("b")).toMatchObject({ status: "failed", output: "2\n", failure: "gone" });
    expect(s.card("c")).toMatchObject({
      status: "completed",
      output: "text",
      locations: [{ path: `${CWD}/x.ts`, line: 4 }],
    });
    expect(s.watcher.open).toEqual([]);
  });

  test.each(["started", "progress", "result", "error"])(
    "P7 a %s before the schedule opens the card first",
    (kind) => {
      const s = scene().tool(kind, "c1", {
        toolName: "Read",
        result: { content: "x" },
        error: { message: "e" },
      });
      expect(s.watcher.log[0]).toBe("opened c1 pending");
      s.tool("scheduled", "c1", { toolName: "Read", input: { file_path: "a" } });
      expect(s.watcher.log.filter((line) => line.startsWith("opened"))).toHaveLength(1);
    },
  );

  test("P7 events of a call that nobody named, and kinds that nobody knows, draw nothing", () => {
    const s = scene()
      .tool("result", "c1")
      .tool("batch", "c1", { toolName: "Bash" })
      .tool("raw", "c2", { toolName: "Bash" });
    s.say("tool.updated", { kind: "scheduled", toolName: "Bash" });
    expect(s.watcher.updates).toEqual([]);
  });

  test("P7 A6 cumulative tails of both streams are shown once each, and the result adds what was missing", () => {
    const s = scene().tool("scheduled", "c1", bash("x")).tool("started", "c1");
    for (let n = 1; n <= 5; n++) {
      const lines = Array.from({ length: n }, (_, i) => `out ${i}\n`);
      s.tool("progress", "c1", { stdoutTail: lines.slice(-3).join(""), stderrTail: n > 2 ? "warn\n" : "" });
    }
    s.tool("progress", "c1", { elapsedMs: 900 });
    s.tool("result", "c1", {
      result: { success: true, content: "out 0\nout 1\nout 2\nout 3\nout 4\nwarn\nlast" },
    });
    const seen = s.watcher.cards.get("c1")!.output.split("\n").sort();
    expect(seen).toEqual(["last", "out 0", "out 1", "out 2", "out 3", "out 4", "warn"].sort());
  });

  test("P7 A6 a result that repeats more than is kept of the output shows nothing twice", () => {
    const lines = Array.from({ length: 500 }, (_, i) => `${`${i} `.repeat(250)}\n`);
    for (const [last, content] of [
      ["", lines.join("")],
      ["the end", `${lines.join("")}the end`],
      [
        "the end",
        `Exit code 1\n${lines.slice(0, 20).join("")}[480 lines left out]\n${lines.slice(-20).join("")}the end`,
      ],
      ["", `${lines.slice(0, 20).join("")}[cut]`],
    ] as const) {
      const s = scene().tool("scheduled", "c1", bash("x"));
      for (let n = 0; n < lines.length; n += 10)
        s.tool("progress", "c1", { stdoutTail: lines.slice(Math.max(0, n - 20), n + 10).join("") });
      s.tool("result", "c1", { result: { success: true, content } });
      expect(s.watcher.cards.get("c1")!.output === lines.join("") + last).toBe(true);
    }
  });

  test("P7 a preview in place of a tail is read the same way", () => {
    const s = scene().tool("scheduled", "c1", bash("x"));
    s.tool("progress", "c1", { outputPreview: { text: "a", fullText: "a\n", totalLines: 1 } });
    s.tool("progress", "c1", { outputPreview: { text: "b", fullText: "a\nb\n", totalLines: 2 } });
    expect(s.watcher.cards.get("c1")!.output).toBe("a\nb\n");
  });

  test("P7 A14 output without end is kept by its newest part alone, what is appended is complete", () => {
    const s = scene().tool("scheduled", "c1", bash("x"));
    let total = 0;
    for (let n = 0; n < 40; n++) {
      const part = `${n} ${"z".repeat(20_000)}\n`;
      total += part.length;
      s.tool("progress", "c1", { stdoutTail: part });
    }
    expect(s.watcher.cards.get("c1")!.output.length).toBe(total);
    expect(s.card("c1").output.length).toBe(OUTPUT_CHARS);
    const read = scene().tool("result", "c2", {
      toolName: "Read",
      result: { content: "q".repeat(OUTPUT_CHARS * 2) },
    });
    expect(read.card("c2").output.length).toBe(OUTPUT_CHARS);
  });

  test.each([
    [
      "perf.detail.command",
      { success: false, content: "x", perf: { detail: { command: { exitCode: 3 } } } },
      3,
    ],
    ["perf of older builds", { success: false, content: "x", perf: { exitCode: 4 } }, 4],
    ["the content's first line", { success: false, content: "Exit code 5\nx" }, 5],
    ["nowhere, but it failed", { success: false, content: "x" }, 1],
    ["nowhere, and it did not fail", { success: true, content: "x" }, 0],
    [
      "success says otherwise",
      { success: true, content: "x", perf: { detail: { command: { exitCode: 2 } } } },
      2,
    ],
    ["two places, the newer first", { perf: { exitCode: 9, detail: { command: { exitCode: 6 } } } }, 6],
  ] as const)("P7 A6 the exit code from %s", (_, result, exitCode) => {
    const s = scene().tool("scheduled", "c1", bash("x")).tool("result", "c1", { result });
    expect(s.card("c1")).toMatchObject({ exitCode, status: exitCode === 0 ? "completed" : "failed" });
  });

  test.each(["failed", "timed_out", "cancelled", "spawn_error"])(
    "P7 a command that ended as %s has failed, whatever else is said",
    (status) => {
      const result = { content: "", perf: { detail: { command: { status } } } };
      for (const more of [{}, { run_in_background: true }]) {
        const s = scene().tool("scheduled", "c1", bash("x", more)).tool("result", "c1", { result });
        expect(s.card("c1").status).toBe("failed");
        expect(s.card("c1").exitCode).not.toBe(0);
      }
    },
  );

  test("A6 P7 a tool that a person denied is closed as failed with the reason, once", () => {
    const s = scene().tool("scheduled", "c1", bash("rm")).say("permission.resolved", {
      toolCallId: "c1",
      decision: "deny",
      reason: "not that",
    });
    s.say("permission.resolved", { toolCallId: "c1", decision: "deny" });
    s.tool("error", "c1", { error: "denied" });
    s.say("turn.completed", {});
    expect(s.card("c1")).toMatchObject({ status: "failed", failure: "not that" });
    expect(s.watcher.log.filter((line) => line.startsWith("closed"))).toHaveLength(1);
  });

  test("P10 an allowed or changed call stays open, and a deny of an unknown one is nothing", () => {
    const s = scene().tool("scheduled", "c1", bash("x"));
    for (const decision of ["allow", "modify", "escalate", 5, null])
      s.say("permission.resolved", { toolCallId: "c1", decision });
    s.say("permission.resolved", { toolCallId: "other", decision: "deny" });
    expect(s.watcher.open).toEqual(["c1"]);
  });

  test("A3 a question about a call opens its card where no event has, and never touches a closed one", () => {
    const s = scene();
    const first = ensureCard(s.state, "c1", "Bash", { command: "ls" });
    s.watcher.take(first.updates);
    s.watcher.take(ensureCard(s.state, "c1", "Bash", { command: "ls" }).updates);
    expect(s.watcher.log).toEqual(["opened c1 pending"]);
    s.tool("scheduled", "c2", { toolName: "Bash" });
    s.watcher.take(ensureCard(s.state, "c2", "Bash", { command: "pwd" }).updates);
    expect(s.card("c2")).toMatchObject({ title: "pwd", rawInput: { command: "pwd" } });
    s.tool("scheduled", "c3", { toolName: "Bash" }).tool("error", "c3", { error: { message: "x" } });
    s.watcher.take(ensureCard(s.state, "c3", "Bash", { command: "pwd" }).updates);
  });

  test("P7 a turn's end closes what was left open as failed, and forgets calls that were never made", () => {
    const s = scene().tool("scheduled", "c1", bash("x")).tool("started", "c1");
    s.say("model.streaming", { kind: "tool_call", toolCallId: "c9", toolName: "Bash", input: {} });
    s.say("turn.failed", { error: { message: "x" } });
    expect(s.card("c1").status).toBe("failed");
    s.tool("scheduled", "c9");
    expect(s.watcher.cards.has("c9")).toBe(false);
    expect(s.state.cards.size).toBe(0);
  });

  test("P7 nothing of a turn is kept after it", () => {
    const s = scene();
    for (let turn = 0; turn < 200; turn++) {
      s.tool("scheduled", `c${turn}`, bash("x")).tool("result", `c${turn}`, { result: { content: "y" } });
      s.say("turn.completed", {});
    }
    expect(s.state.cards.size).toBe(0);
    expect(s.state.calls.size).toBe(0);
  });
});

describe("diffs", () => {
  test("P7 an edit shows its change before it runs, and the result's own afterwards", () => {
    const s = scene().tool("scheduled", "c1", {
      toolName: "Edit",
      input: { file_path: "a.ts", old_string: "x", new_string: "y" },
    });
    expect(s.card("c1").diffs).toEqual([{ path: `${CWD}/a.ts`, oldText: "x", newText: "y" }]);
    s.tool("result", "c1", {
      result: {
        success: true,
        content: "ok",
        display: { kind: "file_diff", filePath: "a.ts", structuredPatch: [{ lines: [" k", "-x", "+y"] }] },
      },
    });
    expect(s.card("c1").diffs).toEqual([{ path: `${CWD}/a.ts`, oldText: "k\nx", newText: "k\ny" }]);
    expect(s.card("c1").output).toBe("");
  });

  test("P7 a patch names its files in either form, in the input and in the result", () => {
    const patch_text =
      "*** Begin Patch\n*** Add File: n.ts\n+new\n*** Update File: u.ts\n@@\n-a\n+b\n*** End Patch";
    const s = scene().tool("scheduled", "c1", { toolName: "ApplyPatch", input: { patch_text } });
    expect(s.card("c1")).toMatchObject({
      title: "Patch 2 files",
      diffs: [
        { path: `${CWD}/n.ts`, oldText: null, newText: "new" },
        { path: `${CWD}/u.ts`, oldText: "a", newText: "b" },
      ],
    });
    const files = [
      { filePath: "z.ts", type: "move", movePath: "w.ts", structuredPatch: [{ lines: ["-1", "+2"] }] },
    ];
    for (const result of [
      { content: JSON.stringify({ files }) },
      { content: "ok", files },
      { content: "ok", display: { files } },
    ]) {
      const other = scene().tool("result", "c2", { toolName: "ApplyPatch", result });
      expect(other.card("c2").diffs).toEqual([{ path: `${CWD}/w.ts`, oldText: "1", newText: "2" }]);
    }
  });
});

describe("background commands", () => {
  const launch = (perf: Obj = {}) =>
    scene()
      .tool("scheduled", "c1", bash("npm start", { run_in_background: true }))
      .tool("started", "c1")
      .tool("result", "c1", {
        result: { success: true, content: "Command running in background with ID: exec_1", perf },
      });

  test("P29 the launch ends without an exit, and the card outlives its turn", () => {
    for (const perf of [{}, { exitCode: 0 }, { detail: { command: { status: "backgrounded" } } }]) {
      const s = launch(perf).say("turn.completed", {});
      expect(s.watcher.open).toEqual(["c1"]);
      expect(s.card("c1").exitCode).toBeUndefined();
    }
  });

  test("P29 a launch that failed, was denied or never came about is closed", () => {
    const start = () => scene().tool("scheduled", "c1", bash("x", { run_in_background: true }));
    const failed = start().tool("result", "c1", { result: { success: false, content: "no" } });
    expect(failed.watcher.open).toEqual([]);
    const denied = start().say("permission.resolved", { toolCallId: "c1", decision: "deny" });
    expect(denied.watcher.open).toEqual([]);
    const stopped = start().say("turn.completed", { resultType: "cancelled" });
    expect(stopped.watcher.open).toEqual([]);
  });

  test("P29 a command that the backend itself moved to the background stays open too", () => {
    const s = scene()
      .tool("scheduled", "c1", bash("x"))
      .tool("result", "c1", {
        result: { success: true, content: "", perf: { detail: { command: { status: "backgrounded" } } } },
      })
      .say("turn.completed", {});
    expect(s.watcher.open).toEqual(["c1"]);
  });
});

describe("sub-agents", () => {
  const ID = "agent_73c7c63d";
  const figures = "subagent_tokens: 40904\ntool_uses: 3\nduration_ms: 10559";

  test.each([
    ["on the first figure's line", `<usage>${figures}</usage>`],
    ["on lines of their own", `<usage>\n${figures}\n</usage>`],
    ["with carriage returns", `<usage>${figures.replaceAll("\n", "\r\n")}</usage>`],
    ["not at all", figures],
  ])("P25 the figures are read with their tags %s", (_, usage) => {
    const content = `It is sound.\n\nagentId: ${ID} (use SendMessage with this id to go on)\n${usage}`;
    for (const toolName of ["Agent", "Task"]) {
      const s = scene().tool("scheduled", "c1", {
        toolName,
        input: { description: "Look around", prompt: "p" },
      });
      s.tool("result", "c1", { result: { success: true, content } });
      expect(s.card("c1")).toMatchObject({
        title: "Look around",
        output: "It is sound.",
        status: "completed",
        subagent: { agentId: ID, tokens: 40904, toolUses: 3, durationMs: 10559 },
      });
    }
  });

  test("P25 words of the sub-agent that look like figures stay words", () => {
    const said = "The log says:\nagentId: someone\ntool_uses: 99\nThat is all.";
    const content = `${said}\n\nagentId: ${ID} (internal)\n<usage>${figures}</usage>`;
    const s = scene().tool("result", "c1", { toolName: "Agent", result: { success: true, content } });
    expect(s.card("c1").output).toBe(said);
    expect(s.card("c1").subagent).toMatchObject({ agentId: ID, toolUses: 3 });
  });

  test("P25 figures that are missing are left out, and a result without an id is text", () => {
    const some = scene().tool("result", "c1", {
      toolName: "Agent",
      result: { content: `ok\nagentId: ${ID}` },
    });
    expect(some.card("c1").subagent).toEqual({ agentId: ID });
    const none = scene().tool("result", "c1", { toolName: "Agent", result: { content: "just text" } });
    expect(none.card("c1")).toMatchObject({ subagent: undefined, output: "just text" });
  });

  test("P25 its own tools are cards that name their parent", () => {
    const s = scene().tool("scheduled", "tool_subagent_a_b", {
      ...bash("ls"),
      parentToolCallId: "c1",
      source: "subagent",
    });
    expect(s.card("tool_subagent_a_b").parentId).toBe("c1");
  });

  test("P26 a background launch ends with its own result, and one that never came about with its turn", () => {
    const input = { description: "d", run_in_background: true };
    const s = scene()
      .tool("scheduled", "c1", { toolName: "Agent", input })
      .tool("result", "c1", {
        result: {
          success: true,
          content: `Started.\nagentId: ${ID} (internal id)\nWorking in the background.`,
        },
      });
    expect(s.card("c1")).toMatchObject({ status: "completed", subagent: { agentId: ID } });
    const stopped = scene().tool("scheduled", "c1", { toolName: "Agent", input }).say("turn.completed", {});
    expect(stopped.watcher.open).toEqual([]);
  });
});

describe("to-dos", () => {
  const todos = [
    { content: "a", status: "completed", priority: "high" },
    { content: "b", status: "in_progress" },
    { content: "c", status: "strange", priority: 7 },
    { status: "pending" },
    null,
  ];
  const entries = [
    { content: "a", status: "completed", priority: "high" },
    { content: "b", status: "in_progress", priority: "medium" },
    { content: "c", status: "pending", priority: "medium" },
  ];

  test("P7 a plan comes from the result, else from the input, and never twice", () => {
    for (const content of [JSON.stringify({ todos }), "Todos have been modified"]) {
      const s = scene().tool("scheduled", "c1", { toolName: "TodoWrite", input: { todos } });
      s.tool("result", "c1", { result: { success: true, content } });
      expect(s.watcher.updates.filter((update) => update.kind === "plan")).toEqual([
        { kind: "plan", entries } as never,
      ]);
      expect(planUpdate(s.state, todos)).toEqual([]);
      expect(planUpdate(s.state, [])).toEqual([{ kind: "plan", entries: [] }]);
    }
  });

  test("P7 a list that could not be written is no plan", () => {
    const s = scene().tool("scheduled", "c1", { toolName: "TodoWrite", input: { todos } });
    s.tool("result", "c1", { result: { success: false, content: "no" } });
    expect(s.watcher.updates.some((update) => update.kind === "plan")).toBe(false);
  });
});

describe("usage, mode and title", () => {
  test("P27 usage of the turn is shown with the window's size once that is known; a task's, a title's and a compaction's is not", () => {
    const s = scene();
    s.say("session.updated", { usage: { totalTokens: 10 } });
    s.say("session.updated", { contextWindow: 100, usage: { totalTokens: 10 } });
    s.say("session.updated", { usage: { totalTokens: 10 } });
    s.say("session.updated", { usage: { inputTokens: 20, outputTokens: 5 }, querySource: "main_turn" });
    for (const querySource of ["title", "compact"])
      s.say("session.updated", { usage: { totalTokens: 99 }, querySource });
    s.say("session.updated", { taskId: "t", usage: { totalTokens: 98 } });
    expect(s.watcher.log).toEqual(["usage 10/100", "usage 25/100"]);
  });

  test("P8 M7 another window is told with what is in it, and a title's or a compaction's own is none", () => {
    const s = scene();
    s.say("session.updated", { contextWindow: 100, usage: { totalTokens: 10 } });
    for (const querySource of ["title", "compact"])
      s.say("session.updated", { contextWindow: 5, querySource });
    s.say("session.updated", { contextWindow: 200, modelSelection: { modelId: "m" } });
    s.say("session.updated", { contextWindow: 0, modelSelection: { modelId: "n" } });
    s.say("session.updated", { contextWindow: 300, usage: { totalTokens: 10 } });
    expect(s.watcher.log).toEqual(["usage 10/100", "usage 10/200", "usage 10/300"]);
  });

  test("P8 the window of older builds comes with the turn's end", () => {
    const s = scene()
      .say("turn.completed", { usage: { contextWindow: 500 } })
      .say("session.updated", { usage: { totalTokens: 3 } });
    expect(s.watcher.log).toEqual(["usage 3/500"]);
  });

  test("P8 numbers that are no counts are never shown", () => {
    for (const wrong of [-1, 0, Number.NaN, Number.POSITIVE_INFINITY, 1e308, -1e308, 0.4]) {
      const state = newTranslateState(CWD, "en");
      const watcher = new Watcher();
      watcher.take(contextUsage(state, wrong, 100));
      watcher.take(contextUsage(state, 10, wrong));
      watcher.take(
        translateEvent(state, "session.updated", {
          contextWindow: 7.5,
          usage: { inputTokens: wrong, outputTokens: wrong },
        }),
      );
    }
  });

  test("A7 a mode that changed is told, one that is merely named is not", () => {
    const s = scene()
      .say("session.updated", { mode: "plan", previousMode: "build" })
      .say("session.updated", { mode: "plan" });
    expect(s.watcher.updates).toEqual([{ kind: "mode", mode: "plan" }]);
  });

  test("P33 a title is handed on with its source", () => {
    const s = scene()
      .say("session.titleUpdated", { title: "T", source: "generated" })
      .say("session.titleUpdated", { title: "" });
    expect(s.watcher.updates).toEqual([{ kind: "title", title: "T", source: "generated" }]);
  });
});

test("P6 unknown types draw nothing, however they are filled", () => {
  eachSeed(300, (random: Random) => {
    const s = scene().say(`x.${someText(random)}`, {
      a: someValue(random),
      kind: "result",
      toolCallId: "c1",
    });
    expect(s.watcher.updates).toEqual([]);
  });
});
