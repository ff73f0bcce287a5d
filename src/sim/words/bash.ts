/** Commands: run for real, in the turn or behind it. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { BackgroundTask, commandEndFacts, commandFacts } from "../background.ts";
import type { CommandEnd, CommandProgress, RunningCommand } from "../commands.ts";
import { OUTPUT_CHARS } from "../limits.ts";
import type { AskPlan, ToolContext, ToolEnd, ToolPlan } from "../model.ts";
import { Stopped } from "../model.ts";
import type { Live } from "../session.ts";
import type { Obj } from "../types.ts";

/** Commands that change nothing; `auto` does not ask about them. */
const SAFE = /^(ls|cat|pwd|echo|head|tail|wc|grep|find|git (status|log|diff)|true|date|printf)\b[^;&|<>`$]*$/;

export function bashAsk(live: Live, command: string): { ask?: AskPlan } {
  const { mode } = live.data;
  const safe = SAFE.test(command);
  if (mode === "yolo" || (mode === "auto" && safe)) return {};
  const critical = /\brm\b|\bsudo\b/.test(command);
  return {
    ask: {
      kind: "permission",
      risk: critical ? "critical" : "high",
      reason: safe ? "Bash needs approval" : "This command can change things",
      rule: { toolName: "Bash", ruleContent: command },
    },
  };
}

export function bashTool(live: Live, command: string): ToolPlan {
  return {
    name: "Bash",
    input: { command, description: describe(command) },
    readOnly: false,
    scope: "system",
    ...bashAsk(live, command),
    run: (context) =>
      runCommand(context, (onProgress) =>
        live.world.commands.run(String(context.input.command), live.cwd, onProgress),
      ),
  };
}

export type StartCommand = (onProgress: (progress: CommandProgress) => void) => RunningCommand;

/** Runs a command as the content of a tool, with progress; a stop ends it. */
export async function runCommand(context: ToolContext, start: StartCommand): Promise<ToolEnd> {
  const { live, signal } = context;
  const running = start((progress) => context.progress(progressPayload(live, progress)));
  const stop = () => running.kill();
  signal.addEventListener("abort", stop, { once: true });
  const end = await running.done;
  signal.removeEventListener("abort", stop);
  if (signal.aborted) throw new Stopped();
  return commandResult(live, String(context.input.command), end, context.callId);
}

function progressPayload(live: Live, progress: CommandProgress): Obj {
  const { elapsedMs, pid, stdoutBytes, stderrBytes, outputBytes, stdoutTail, stderrTail } = progress;
  if (!live.world.era.modern) return { elapsedMs, stdoutTail, kind: "progress" };
  const text = stdoutTail + stderrTail;
  return {
    elapsedMs,
    pid,
    stdoutBytes,
    stderrBytes,
    outputBytes,
    outputPreview: {
      text,
      fullText: text,
      totalLines: text.split("\n").length - (text.endsWith("\n") ? 1 : 0),
      totalBytes: outputBytes,
      linesEstimated: false,
    },
    stdoutTail,
    stderrTail,
    kind: "progress",
  };
}

export function commandResult(live: Live, command: string, end: CommandEnd, callId: string): ToolEnd {
  const whole = end.exitCode === 0 ? end.output : `Exit code ${end.exitCode}\n${end.output}`.trimEnd();
  const detail = {
    kind: "command",
    command: commandDetail(command, end.exitCode === 0 ? "completed" : "failed", {
      runMs: end.runMs,
      firstOutputMs: end.firstOutputMs,
      exitCode: end.exitCode,
      outputBytes: end.outputBytes,
    }),
  };
  if (whole.length <= OUTPUT_CHARS) {
    return { kind: "result", content: whole, detail, exitCode: end.exitCode, totalMs: end.runMs };
  }
  const shown = whole.slice(0, OUTPUT_CHARS);
  const outputPath = outputFile(live, callId);
  keepOutput(outputPath, end.output);
  return {
    kind: "result",
    content: `${shown}\n[shortened]`,
    detail,
    exitCode: end.exitCode,
    totalMs: end.runMs,
    display: { kind: "bash_output", output: shown, truncated: true, outputPath },
    truncated: { originalBytes: Buffer.byteLength(whole), artifactPath: outputPath },
  };
}

function commandDetail(
  command: string,
  status: string,
  facts: { runMs: number; firstOutputMs?: number | undefined; exitCode?: number; outputBytes: number },
): Obj {
  return {
    runMs: facts.runMs,
    ...(facts.firstOutputMs === undefined ? {} : { firstOutputMs: facts.firstOutputMs }),
    ...(facts.exitCode === undefined ? {} : { exitCode: facts.exitCode }),
    timedOut: false,
    outputBytes: facts.outputBytes,
    category: "other",
    name: command.split(/\s/)[0] ?? "",
    count: 1,
    status,
    hash: Bun.hash(command).toString(16).padStart(16, "0"),
  };
}

/** Where output goes that outlives its call. */
export function outputFile(live: Live, name: string): string {
  return join(live.world.store.artifacts, `${name.replaceAll(/[^\w-]/g, "_")}.txt`);
}

function keepOutput(path: string, output: string): void {
  try {
    writeFileSync(path, output, { mode: 0o600 });
  } catch {
    // The process ends, and its folder is gone already.
  }
}

function describe(command: string): string {
  return `Run ${command.length > 60 ? `${command.slice(0, 57)}...` : command}`;
}

export function backgroundTool(live: Live, command: string): ToolPlan {
  return {
    name: "Bash",
    input: { command, description: describe(command), run_in_background: true },
    readOnly: false,
    scope: "system",
    ...bashAsk(live, command),
    run: async (context) => startBackground(context, command, describe(command)),
  };
}

/** Starts a command that goes on after its turn; `start` is another way of running it, for tests. */
export function startBackground(
  context: ToolContext,
  command: string,
  description: string,
  start: StartCommand = (onProgress) =>
    context.live.world.commands.run(command, context.live.cwd, onProgress),
): ToolEnd {
  const { live, turn, callId } = context;
  const { world } = live;
  const taskId = `exec_${world.ids.uuid()}`;
  const outputPath = outputFile(live, taskId);
  return {
    kind: "result",
    content: `Command running in background with ID: ${taskId}. Output goes to: ${outputPath}. A message follows at the end.`,
    detail: {
      kind: "command",
      command: commandDetail(command, "backgrounded", {
        runMs: context.elapsed(),
        firstOutputMs: 0,
        outputBytes: 0,
      }),
    },
    after: () => {
      let running: RunningCommand | undefined;
      let cancelled = false;
      const startedAt = world.clock.now();
      const facts = {
        cancellable: true,
        command,
        description,
        status: "running",
        outputPath,
        stdoutPersistedOutputPath: outputPath,
        terminalId: taskId,
      };
      const task = new BackgroundTask(
        live,
        taskId,
        "bash",
        callId,
        description,
        outputPath,
        facts,
        async () => {
          cancelled = true;
          running?.kill();
          await ended;
        },
      );
      task.tell(turn.id);
      running = start((progress) => {
        if (!task.running || cancelled) return;
        task.facts = { ...task.facts, ...commandFacts(progress, startedAt) };
        task.tell();
      });
      const ended = running.done.then((end) => {
        keepOutput(outputPath, end.output);
        const { exitCode: code, ...rest } = commandEndFacts(end, running!.pid, startedAt, world.clock.now());
        const status = cancelled ? "cancelled" : end.exitCode === 0 ? "completed" : "failed";
        task.outcome.summary = cancelled
          ? `${description}: stopped`
          : `${description}: ${status === "completed" ? "done" : "failed"} (exit code ${end.exitCode})`;
        task.finish(status, cancelled ? rest : { exitCode: code, ...rest });
        task.notice();
      });
    },
  };
}
