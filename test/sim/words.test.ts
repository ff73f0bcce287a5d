/** What each word of a prompt does: text and tools. */
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Obj } from "../../src/sim/types.ts";
import { inProcess, paramsOf, sessionId, tempDir, workspace } from "./driver.ts";
import { result, tools, within } from "./within.ts";

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

  test("long output is shortened and kept in a file, which without a store goes with the process", async () => {
    let path = "";
    await within(
      async (sim, id) => {
        await sim.prompt(id, "bash yes | head -c 100000");
        const end = result(sim);
        expect(end).toMatchObject({ truncated: true, display: { kind: "bash_output", truncated: true } });
        path = String(end.artifactPath);
        expect(readFileSync(path, "utf8").length).toBeGreaterThan(99_000);
      },
      {},
      { mode: "yolo" },
    );
    expect(existsSync(dirname(path))).toBe(false);
  });

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

  test("P7: a workspace that is gone is an error of the tool", () =>
    within(async (sim, id, dir) => {
      rmSync(dir, { recursive: true });
      await sim.prompt(id, "bash ls");
      expect((tools(sim, "error")[0]!.error as Obj).type).toBe("TOOL_EXECUTION_FAILED");
      expect(sim.events("turn.completed")).toHaveLength(1);
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
