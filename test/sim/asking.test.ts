/** What each word of a prompt does: permissions, questions, plans. */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Obj } from "../../src/sim/types.ts";
import { choose, type Driver, yes } from "./driver.ts";
import { result, tools, within } from "./within.ts";

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
      expect(result(sim).content).toBe('Answers: "Which colour?"="Blue", "Which toppings?"="Nuts, Salt".');
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
