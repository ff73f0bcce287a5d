/** What each word of a prompt does. */
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Obj } from "../../src/sim/types.ts";
import { WORDS } from "../../src/sim/words/list.ts";
import { choose, type Driver, inProcess, paramsOf, sessionId, tempDir, workspace, yes } from "./driver.ts";

/** A session in a directory of its own; both are gone afterwards. */
async function within(
  run: (sim: Driver, id: string, dir: string) => Promise<void>,
  options: Parameters<typeof inProcess>[0] = {},
  create: Obj = {},
  env: Record<string, string> = {},
): Promise<void> {
  using dir = tempDir();
  const sim = inProcess(options, { env });
  const id = await sim.open(dir.path, create);
  await run(sim, id, dir.path);
  await sim.close();
}

const tools = (sim: Driver, kind: string) =>
  sim
    .events("tool.updated")
    .map((event) => event.payload as Obj)
    .filter((payload) => payload.kind === kind);
const result = (sim: Driver, at = 0) => tools(sim, "result")[at]?.result as Obj;
const fast = { ZCODE_ACP_INTERNAL_TIME_SCALE: "50" };

describe("words of text", () => {
  test("P6: a prompt without words gets a plain answer that quotes it", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "What is a cart?");
      expect(sim.text()).toContain("What is a cart?");
      expect((sim.events("turn.completed")[0]!.payload as Obj).response).toBe(sim.text());
    }));

  test("an unknown word makes the whole prompt plain", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "think; dance wildly");
      expect(sim.text("reasoning_delta")).toBe("");
      expect(sim.text()).toContain("dance wildly");
    }));

  test("P6: think streams reasoning, text streams the reply", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "think one two three four; text five six");
      expect(sim.text("reasoning_delta")).toBe("one two three four");
      expect(sim.text()).toBe("five six");
      const ids = sim.events("model.streaming").map((event) => (event.payload as Obj).assistantMessageId);
      expect(new Set(ids).size).toBe(1);
    }));

  test("burst sends so many deltas, in order, and the answer holds them all", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "burst 2500");
      const seqs = sim.events().map((event) => event.seq as number);
      expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
      expect(new Set(sim.events().map((event) => event.eventId)).size).toBe(seqs.length);
      expect(sim.text().split(" ").length).toBe(2501);
      expect((sim.events("turn.completed")[0]!.payload as Obj).response).toBe(sim.text());
    }));

  test("burst at a rate takes its time", () =>
    within(async (sim, id) => {
      const begun = performance.now();
      await sim.prompt(id, "burst 50 /1000");
      expect(performance.now() - begun).toBeGreaterThan(30);
      expect(sim.text().split(" ").length).toBe(51);
    }));

  test("huge is one delta of so many megabytes", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "huge 2");
      expect(sim.text().length).toBe(2 * 1024 * 1024);
    }));

  test("P8: usage sets the size of the context, and the turn's usage follows", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "usage 150000");
      const read = await sim.call("session/read", { sessionId: id });
      expect((read.projection as Obj).contextUsed).toBe(150_000);
      const usage = (sim.events("turn.completed")[0]!.payload as Obj).usage as Obj;
      expect(usage).toMatchObject({ source: "provider", modelRequestCount: 1, totalTokens: 150_000 });
    }));

  test("P33: title is a generated title", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "title A cart of apples");
      const titles = sim.events("session.titleUpdated").map((event) => event.payload as Obj);
      expect(titles.map((title) => title.source)).toEqual(["first_input", "generated"]);
      expect(titles[1]!.title).toBe("A cart of apples");
    }));

  test("P33: the first input is a title before the turn, a generated one follows it", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "x".repeat(70));
      await sim.event("session.titleUpdated", (payload) => payload.source === "generated");
      const order = sim.events().map((event) => event.type);
      expect(order.indexOf("session.titleUpdated")).toBeLessThan(order.indexOf("turn.started"));
      expect(order.lastIndexOf("session.titleUpdated")).toBeGreaterThan(order.indexOf("turn.completed"));
      expect((sim.events("session.titleUpdated")[0]!.payload as Obj).title).toBe(`${"x".repeat(57)}...`);
    }));
});

describe("words with tools", () => {
  test("P7 P10: bash asks, runs for real, and gives its exit code", () =>
    within(async (sim, id, dir) => {
      writeFileSync(join(dir, "apple.txt"), "one");
      await sim.prompt(id, "bash ls; bash exit 3");
      expect(result(sim, 0)).toMatchObject({ success: true, content: "apple.txt" });
      expect(result(sim, 0).perf).toMatchObject({
        detail: { kind: "command", command: { exitCode: 0, status: "completed" } },
      });
      expect(result(sim, 1)).toMatchObject({ success: true, content: "Exit code 3" });
      expect(sim.frames.filter((frame) => frame.method === "interaction/requestPermission")).toHaveLength(2);
    }));

  test("P7: the order of a tool that asks", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "bash echo hi");
      const kinds = sim.frames
        .map((frame) => {
          if (frame.method === "interaction/requestPermission") return "request";
          const params = paramsOf(frame, "session/event");
          if (params?.type === "tool.updated") return String((params.payload as Obj).kind);
          return String(params?.type).startsWith("permission.") ? String(params!.type) : "";
        })
        .filter(Boolean);
      expect(kinds).toEqual([
        "scheduled",
        "permission.requested",
        "request",
        "permission.resolved",
        "started",
        "result",
        "batch",
      ]);
    }));

  test("P7: progress has cumulative tails of both streams", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "bash echo one\\; echo two >&2\\; sleep 0.25\\; echo three\\; sleep 0.25");
      const progress = tools(sim, "progress");
      expect(progress.length).toBeGreaterThanOrEqual(2);
      expect(progress[0]).toMatchObject({ stdoutTail: "one\n", stderrTail: "two\n" });
      expect(progress.at(-1)).toMatchObject({ stdoutTail: "one\nthree\n", stdoutBytes: 10 });
    }));

  test("long output is shortened and kept in a file", () =>
    within(
      async (sim, id) => {
        await sim.prompt(id, "bash yes | head -c 100000");
        const end = result(sim);
        expect(end).toMatchObject({ truncated: true, display: { kind: "bash_output", truncated: true } });
        expect(readFileSync(String(end.artifactPath), "utf8").length).toBeGreaterThan(99_000);
      },
      {},
      { mode: "yolo" },
    ));

  test("P7: read, write and edit are real, and show their diff", () =>
    within(async (sim, id, dir) => {
      await sim.prompt(id, "write a.txt first; read a.txt; edit a.txt; write a.txt last");
      expect(result(sim, 0)).not.toHaveProperty("display");
      expect(result(sim, 1).content).toBe("     1→first");
      expect(result(sim, 2).display).toMatchObject({
        kind: "file_diff",
        filePath: join(dir, "a.txt"),
        additions: 1,
        deletions: 0,
        structuredPatch: [
          {
            oldStart: 1,
            oldLines: 1,
            newStart: 1,
            newLines: 2,
            lines: [" first", "+changed by the simulator"],
          },
        ],
      });
      expect(result(sim, 3).display).toMatchObject({ additions: 1, deletions: 2 });
      expect(readFileSync(join(dir, "a.txt"), "utf8")).toBe("last\n");
      expect(sim.events("checkpoint.created")).toHaveLength(3);
    }));

  test("P7: a file that is not there is an error of the tool, not of the turn", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "read gone.txt; edit gone.txt");
      expect(tools(sim, "error").map((payload) => (payload.error as Obj).type)).toEqual([
        "TOOL_EXECUTION_FAILED",
        "TOOL_EXECUTION_FAILED",
      ]);
      expect((sim.events("turn.completed")[0]!.payload as Obj).resultType).toBe("success");
    }));

  test("patch adds a file by ApplyPatch, grep finds it, an unknown tool fails before it starts", () =>
    within(async (sim, id, dir) => {
      await sim.prompt(id, 'patch sub/new.txt; grep added by; tool MultiEdit {"file_path":"a"}');
      expect(existsSync(join(dir, "sub/new.txt"))).toBe(true);
      expect(result(sim, 1).content).toBe("sub/new.txt:1");
      expect((tools(sim, "error")[0]!.error as Obj).type).toBe("TOOL_NOT_FOUND");
      expect(tools(sim, "started")).toHaveLength(2);
    }));

  test("also puts tools into one request of the model", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "bash echo a; also bash echo b");
      const batch = tools(sim, "batch");
      expect(batch).toHaveLength(1);
      expect(batch[0]!.toolCallIds).toHaveLength(2);
    }));

  test("B3: tools that a client denies are not chosen", () =>
    within(
      async (sim, id) => {
        await sim.prompt(id, "cron");
        expect(tools(sim, "scheduled")).toHaveLength(0);
        expect(sim.text()).toContain("CronList may not be used");
      },
      {},
      { toolDenylist: ["CronList"] },
    ));
});

describe("permissions", () => {
  const asked = (sim: Driver) =>
    sim.frames.filter((frame) => frame.method === "interaction/requestPermission");

  test.each([
    ["yolo", 0],
    ["auto", 1],
    ["edit", 2],
    ["build", 3],
    ["plan", 3],
  ])("in mode %s there are %d questions", (mode, count) =>
    within(
      async (sim, id) => {
        await sim.prompt(id, "bash ls; bash touch x; write y");
        expect(asked(sim)).toHaveLength(count);
      },
      {},
      { mode },
    ),
  );

  test("ask asks in every mode, and offers no rule", () =>
    within(
      async (sim, id) => {
        await sim.prompt(id, "ask");
        const options = (asked(sim)[0]!.params as Obj).options as Obj[];
        expect(options.map((option) => option.kind)).toEqual(["allow_once", "deny"]);
      },
      {},
      { mode: "yolo" },
    ));

  test("A4: the ready answer of allow_always is remembered for the project and the command", () =>
    within(async (sim, id) => {
      sim.answer = (frame) =>
        frame.method === "interaction/requestPermission"
          ? { result: choose(frame, "allow_project") }
          : yes(frame);
      await sim.prompt(id, "bash touch a; bash touch a; bash touch b");
      expect(asked(sim)).toHaveLength(2);
    }));

  test("A4: a bare decision allows once and remembers nothing", () =>
    within(async (sim, id) => {
      sim.answer = (frame) =>
        frame.method === "interaction/requestPermission" ? { result: { decision: "allow" } } : yes(frame);
      await sim.prompt(id, "bash touch a; bash touch a");
      expect(asked(sim)).toHaveLength(2);
    }));

  test.each([
    ["a refusal", { result: { decision: "deny", reason: "no" } }],
    ["an error", { error: { code: -32601, message: "no" } }],
    ["a malformed answer", { result: { outcome: "allowed" } }],
    ["an unknown key", { result: { decision: "allow", hurry: true } }],
  ])("%s is a silent deny: no result, no error, only the batch", (_name, answer) =>
    within(async (sim, id, dir) => {
      sim.answer = (frame) => (frame.method === "interaction/requestPermission" ? answer : yes(frame));
      await sim.prompt(id, "bash touch made");
      expect(existsSync(join(dir, "made"))).toBe(false);
      expect((sim.events("permission.resolved")[0]!.payload as Obj).decision).toBe("deny");
      expect(tools(sim, "result").length + tools(sim, "error").length).toBe(0);
      expect(tools(sim, "batch")[0]).toMatchObject({ successCount: 0, errorCount: 1 });
    }),
  );

  test("a modified input is what runs", () =>
    within(async (sim, id) => {
      sim.answer = (frame) =>
        frame.method === "interaction/requestPermission"
          ? { result: { decision: "modify", modifiedInput: { command: "echo other" } } }
          : yes(frame);
      await sim.prompt(id, "bash echo one");
      expect(result(sim).content).toBe("other");
    }));
});

describe("questions, plans, to-dos", () => {
  test("P12: question has two questions, one with several answers, and tells the model what was said", () =>
    within(async (sim, id) => {
      const answers = { "Which colour?": "Blue", "Which toppings?": "Nuts, Salt" };
      sim.answer = (frame) =>
        frame.method === "interaction/requestUserInput"
          ? { result: { action: "accept", content: { answers } } }
          : yes(frame);
      await sim.prompt(id, "question");
      const params = sim.frames.find((frame) => frame.method === "interaction/requestUserInput")!
        .params as Obj;
      expect((params.questions as Obj[]).map((question) => question.multiSelect)).toEqual([false, true]);
      expect(params.schema).toEqual({ toolName: "AskUserQuestion" });
      expect((sim.events("permission.resolved")[0]!.payload as Obj).decision).toBe("modify");
      expect(result(sim).content).toBe(
        'The person answered: "Which colour?"="Blue", "Which toppings?"="Nuts, Salt".',
      );
    }));

  test("P12: a declined question is refused, and the turn goes on", () =>
    within(async (sim, id) => {
      sim.answer = (frame) =>
        frame.method === "interaction/requestUserInput"
          ? { result: { action: "decline", reason: "later" } }
          : yes(frame);
      await sim.prompt(id, "question");
      expect(sim.events("permission.resolved")[0]!.payload).toMatchObject({
        decision: "deny",
        reason: "later",
      });
      expect(sim.events("turn.completed")).toHaveLength(1);
    }));

  test("B22: without the preference a question answers itself after five minutes", () =>
    within(
      async (sim, id) => {
        sim.answer = (frame) =>
          frame.method === "session/requestRuntimePreferences"
            ? { result: { nativeSearchEnhancementsEnabled: false } }
            : undefined;
        await sim.prompt(id, "question");
        expect(result(sim).content).toContain('"Which colour?"="Red"');
      },
      {},
      {},
      { ZCODE_ACP_INTERNAL_TIME_SCALE: "3000" },
    ));

  test("P11: plan mode ends with the approval of a plan", () =>
    within(
      async (sim, id) => {
        await sim.prompt(id, "plan # My plan");
        const params = sim.frames.find((frame) => frame.method === "interaction/requestUserInput")!
          .params as Obj;
        expect(params.schema).toEqual({ interaction: "plan_approval", toolName: "ExitPlanMode" });
        expect((params.input as Obj).plan).toBe("# My plan");
        const read = await sim.call("session/read", { sessionId: id });
        expect((read.settings as Obj).mode).toEqual({ current: "build" });
      },
      {},
      { mode: "plan" },
    ));

  test("P11: other words refuse the plan and go to the model; the turn goes on", () =>
    within(async (sim, id) => {
      sim.answer = (frame) =>
        frame.method === "interaction/requestUserInput"
          ? { result: { action: "accept", content: { answer_0: "shorter" } } }
          : yes(frame);
      await sim.prompt(id, "plan; text after it");
      expect(sim.events("turn.steerQueued")[0]!.payload).toMatchObject({
        source: "plan_approval_feedback",
        delivery: "guide",
      });
      expect(sim.events("turn.steerDrained")).toHaveLength(1);
      expect(sim.text()).toBe("after it");
    }));

  test("P11: a plain decline ends the turn at once", () =>
    within(async (sim, id) => {
      sim.answer = (frame) =>
        frame.method === "interaction/requestUserInput" ? { result: { action: "decline" } } : yes(frame);
      await sim.prompt(id, "plan; text never said");
      expect(sim.text()).toBe("");
      expect(sim.events("turn.completed")[0]!.payload).toMatchObject({ resultType: "success", response: "" });
    }));

  test("mode plan is told by the tool's own event", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "mode plan");
      const told = sim.events("session.updated").find((event) => (event.payload as Obj).planEnabled === true);
      expect(told!.payload).toMatchObject({ mode: "plan", previousMode: "build", source: "tool" });
    }));

  test("todo moves on, and the list follows the result shortly after", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "todo; sleep 0.4");
      const read = await sim.call("session/read", { sessionId: id });
      expect((read.todos as Obj[]).map((todo) => todo.status)).toEqual([
        "completed",
        "completed",
        "completed",
      ]);
      expect((read.todoGroups as Obj[])[0]!.todos).toEqual(read.todos);
    }));

  test("mcp asks for permission and then for details, one question per field", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "mcp; mcp empty");
      const inputs = sim.frames
        .filter((frame) => frame.method === "interaction/requestUserInput")
        .map((frame) => frame.params as Obj);
      expect(inputs.map((params) => (params.questions as Obj[]).length)).toEqual([4, 1]);
      expect(String(inputs[0]!.requestId)).toStartWith("mcp-elicit-");
      expect(inputs[0]!.toolName).toBe("McpElicitation");
      expect(((inputs[0]!.questions as Obj[])[0]!.options as Obj[])[0]!.value).toBe("__zcode_free_text__");
      expect(sim.events("permission.requested")).toHaveLength(2);
    }));

  test("B2: what the client cannot do is an error of the tool; header takes its refusal", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "cron; browser; header");
      const methods = sim.frames
        .filter((frame) => frame.id !== undefined && frame.method)
        .map((frame) => frame.method);
      expect(methods).toContain("automation/list");
      expect(methods).toContain("interaction/browserList");
      expect(methods).toContain("interaction/requestOfficialMcpAuthHeaders");
      expect(tools(sim, "error")).toHaveLength(2);
    }));
});

describe("sub-agents and background work", () => {
  test("P25: a sub-agent's tools carry its ids, and its result what it cost", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "agent look around");
      const inner = sim
        .events("tool.updated")
        .map((event) => event.payload as Obj)
        .filter((payload) => payload.parentToolCallId);
      expect(inner.map((payload) => payload.kind)).toEqual([
        "scheduled",
        "started",
        "result",
        "scheduled",
        "started",
        "result",
      ]);
      for (const payload of inner) {
        expect(payload.source).toBe("subagent");
        expect(payload.toolCallId).toBe(
          `tool_subagent_${String(payload.agentId)}_${String(payload.childToolCallId)}`,
        );
      }
      const ask = sim.frames.find((frame) => frame.method === "interaction/requestPermission")!.params as Obj;
      expect(ask.origin).toMatchObject({ kind: "subagent", parentSessionId: id });
      expect(ask.toolCallId).toBe(inner[3]!.childToolCallId);
      const end = tools(sim, "result").at(-1)!.result as Obj;
      expect(end.content).toMatch(
        /agentId: agent_.*\n<usage>subagent_tokens: \d+\ntool_uses: 2\nduration_ms: \d+<\/usage>$/,
      );
      const list = await sim.call("session/subagents", { sessionId: id });
      expect(list).toMatchObject({ running: [], ended: { total: 1 } });
    }));

  test("P26 P28: a background agent ends after the turn, and a turn of its own tells of it", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "agent-background count the files");
      await sim.event(
        "session.updated",
        (payload) => payload.taskKind === "subagent" && payload.status === "completed",
      );
      const started = await sim.event("turn.started");
      expect(started.payload).toMatchObject({
        inputSource: "background_task",
        inputVisibility: "model-only",
        backgroundSource: "subagent",
      });
      const completed = await sim.event("turn.completed");
      expect(completed.payload).toMatchObject({ backgroundSubagentResultConsumed: true });
    }));

  test("P29 P28: a background command tells of its life, then of its end in a turn without a lock", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "background echo built\\; sleep 0.2");
      const end = await sim.event(
        "session.updated",
        (payload) => payload.taskKind === "bash" && payload.status !== "running",
      );
      expect(end.payload).toMatchObject({
        status: "completed",
        exitCode: 0,
        outputTail: "built\n",
        cancellable: false,
      });
      await sim.event("turn.started", (payload) => payload.inputSource === "background_task");
      await sim.event("turn.completed");
      const reasons = sim.frames.map((frame) => paramsOf(frame, "state.updated")?.reason).filter(Boolean);
      expect(reasons).toEqual(["prompt_started", "prompt_completed"]);
    }));

  test("P31: a background command can be cancelled once", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "background sleep 30");
      const task = sim.events("session.updated").find((event) => (event.payload as Obj).taskId)!
        .payload as Obj;
      const done = await sim.call("session/cancelBackgroundTask", { sessionId: id, taskId: task.taskId });
      expect(done).toMatchObject({ cancelled: true, status: "cancelled", snapshot: { status: "cancelled" } });
      const again = await sim.call("session/cancelBackgroundTask", { sessionId: id, taskId: task.taskId });
      expect(again).toMatchObject({ cancelled: false, reason: "background_task_not_running" });
      const unknown = await sim.call("session/cancelBackgroundTask", { sessionId: id, taskId: "exec_no" });
      expect(unknown).toMatchObject({
        cancelled: false,
        reason: "background_task_not_found",
        status: "lost",
      });
    }));

  test("B7: a send behind a notification's turn is queued and drained into it", () =>
    within(
      async (sim, id) => {
        await sim.prompt(id, "background true");
        await sim.event("turn.started", (payload) => payload.inputSource === "background_task");
        await sim.call("session/send", { sessionId: id, content: "text and now this", inputId: "in-7" });
        const queued = await sim.event("turn.steerQueued");
        expect(queued.payload).toMatchObject({ inputId: "in-7", delivery: "queue", queueLength: 1 });
        const drained = await sim.event("turn.steerDrained");
        expect((drained.payload as Obj).pendingInputIds).toEqual([(queued.payload as Obj).pendingInputId]);
        await sim.state("prompt_completed");
        expect(sim.text()).toContain("and now this");
        expect(sim.events("turn.started")).toHaveLength(2);
      },
      { pace: 20 },
    ));

  test("B7: with own-turn the queued send gets a turn of its own", () =>
    within(
      async (sim, id) => {
        await sim.prompt(id, "background true");
        await sim.event("turn.started", (payload) => payload.inputSource === "background_task");
        await sim.call("session/send", { sessionId: id, content: "text mine", inputId: "in-8" });
        await sim.event("turn.started", (payload) => payload.inputId === "in-8");
        await sim.state("prompt_completed");
        expect(sim.events("turn.steerDrained")).toHaveLength(0);
      },
      { pace: 20, ownTurn: true },
    ));
});

describe("words for trouble", () => {
  test.each([
    ["network", "model_request_failed", "network_error", true],
    ["rate", "model_rate_limited", "rate_limited", true],
    ["overload", "model_request_failed", "provider_overloaded", true],
    ["server", "model_request_failed", "server_error", true],
    ["auth", "provider_not_configured", "auth_failed", false],
    ["quota", "1308", "rate_limited", false],
    ["context", "model_context_exceeded", "context_exceeded", false],
    ["captcha", "3007", "auth_failed", false],
  ])("P9: fail %s is code %s", (kind, code, reason, retryable) =>
    within(
      async (sim, id) => {
        await sim.prompt(id, `fail ${kind}`);
        expect(sim.events("turn.failed")[0]!.payload).toMatchObject({
          error: { code, attribution: { reason, retryable } },
          turnPhase: "model_request",
        });
        const retries = sim
          .events("session.updated")
          .filter((event) => (event.payload as Obj).type === "model_retry_scheduled");
        expect(retries).toHaveLength(retryable ? 1 : 0);
        await sim.prompt(id, "text well again");
        expect(sim.text()).toBe("well again");
      },
      {},
      {},
      fast,
    ),
  );

  test("P9: fail config has no turn, and fail counts turns", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "fail config");
      expect(sim.events("turn.failed")[0]).not.toHaveProperty("turnId");
      expect(sim.events("turn.started")).toHaveLength(0);
      await sim.prompt(id, "fail auth 2");
      await sim.prompt(id, "text not yet");
      await sim.prompt(id, "text now");
      expect(sim.text()).toBe("now");
    }));

  test("P9: a hiccup is told and recovers by itself", () =>
    within(
      async (sim, id) => {
        await sim.prompt(id, "hiccup; text all is well");
        const retry = sim.events("session.updated").find((event) => (event.payload as Obj)._meta)!
          .payload as Obj;
        expect(retry._meta).toMatchObject({ zcode: { apiRetry: { kind: "api_retry", attempt: 1 } } });
        expect(sim.text()).toBe("all is well");
      },
      {},
      {},
      fast,
    ));

  test.each([
    ["silence 3", true],
    ["silence 3 frozen", false],
  ])("during %s the numbers move: %j", (word, moves) =>
    within(
      async (sim, id) => {
        await sim.call("session/send", { sessionId: id, content: word });
        await sim.event("session.updated", (payload) => payload.type === "model_request_started");
        const used = async () =>
          ((await sim.call("session/read", { sessionId: id })).projection as Obj).contextUsed as number;
        const before = await used();
        await Bun.sleep(50);
        expect((await used()) > before).toBe(moves);
        await sim.state("prompt_completed");
      },
      {},
      {},
      { ZCODE_ACP_INTERNAL_TIME_SCALE: "30" },
    ),
  );

  test("garbage leaves the turn whole", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "garbage; text after it");
      expect(sim.lines).toContain("null");
      expect(sim.lines).toContain("[1,2,3]");
      expect(sim.events("future.event")).toHaveLength(1);
      expect((sim.events("turn.completed")[0]!.payload as Obj).response).toBe("after it");
    }));

  test("stderr writes there and nowhere else", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "stderr a warning");
      expect(sim.stderr).toContain("a warning");
      expect(sim.lines.some((line) => line === "a warning")).toBe(false);
    }));

  test("P22 P23: compact tells of a compaction in the turn, goal sets one", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "compact; goal all is green");
      const told = sim.events("session.updated").map((event) => event.payload as Obj);
      expect(told.filter((payload) => payload.trigger === "auto").map((payload) => payload.status)).toEqual([
        "started",
        "completed",
      ]);
      const shown = await sim.call("session/goal", { sessionId: id, action: "show" });
      expect(shown.response).toContain("all is green");
    }));

  test("spawn and spawn-setsid leave a child that the simulator does not end", () =>
    within(async (sim, id) => {
      await sim.prompt(id, "spawn sleep 30; spawn-setsid sleep 30");
      const pids = [...sim.text().matchAll(/Left behind: (\d+)/g)].map((match) => Number(match[1]));
      expect(pids).toHaveLength(2);
      for (const pid of pids) {
        expect(() => process.kill(pid, 0)).not.toThrow();
        process.kill(pid, "SIGKILL");
      }
    }));

  test("crash ends the process with 1 in mid-turn", () =>
    within(async (sim, id) => {
      await sim.call("session/send", { sessionId: id, content: "text before; crash" });
      expect(await sim.ended()).toBe(1);
      expect(sim.text()).toBe("before");
      expect(sim.events("turn.completed")).toHaveLength(0);
    }));

  test("hang answers nothing any more", () =>
    within(async (sim, id) => {
      await sim.call("session/send", { sessionId: id, content: "text before; hang" });
      await sim.event("model.streaming");
      await Bun.sleep(20);
      const count = sim.frames.length;
      sim.write(JSON.stringify({ id: "late", method: "session/list", params: {} }));
      await Bun.sleep(20);
      expect(sim.frames.length).toBe(count);
      sim.exitCode = -1;
    }));

  test("every word is known to the tests or to the stream tests", () => {
    expect(new Set(WORDS.map((word) => word.word)).size).toBe(WORDS.length);
  });
});

test("A word's turn is in the history in both spellings", async () => {
  using dir = tempDir();
  const sim = inProcess();
  const id = await sim.open(dir.path, { mode: "yolo" });
  await sim.prompt(id, "think; bash echo hi; text the end");
  const stored = ((await sim.call("session/messages", { sessionId: id })).messages as Obj[]).map(
    (each) => each.parts as Obj[],
  );
  const tool = stored.flat().find((part) => part.type === "tool")!;
  expect(tool).toMatchObject({ tool: "Bash", state: { status: "completed", output: "hi" } });
  expect(tool.callID).toBeString();
  const shown = (await sim.call("session/read", { sessionId: id })).messages as Obj[];
  const part = shown.flatMap((each) => each.parts as Obj[]).find((each) => each.type === "tool")!;
  expect(part.callId).toBe(tool.callID);
  expect((part.state as Obj).startedAt).toBeNumber();
  expect(sessionId(await sim.call("session/resume", { sessionId: id, workspace: workspace(dir.path) }))).toBe(
    id,
  );
  await sim.close();
});
