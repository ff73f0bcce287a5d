/** Sub-agents: their own tools are told in the parent's stream, under ids of their own. */

import { sleep } from "../../platform/clock.ts";
import { askFirst, type Origin } from "../asks.ts";
import { BackgroundTask } from "../background.ts";
import type { ToolContext, ToolEnd, ToolPlan } from "../model.ts";
import { Stopped } from "../model.ts";
import type { Live } from "../session.ts";
import { runSafely, schedule, toolResult } from "../tools.ts";
import type { Obj, SubagentRecord } from "../types.ts";
import { bashTool, outputFile } from "./bash.ts";
import { grepTool } from "./files.ts";

/** A sub-agent's work, apart from how it is told. */
export interface AgentWork {
  agentType: string;
  description: string;
  prompt: string;
  tools: ToolPlan[];
  answer: string;
  tokens: number;
  /** A sentence about its end for the notification. */
  summary?: string;
  /** Milliseconds before each tool and before the end. */
  thinkMs: number;
}

const DEFAULT_TASK = "Look around in the workspace";

export function agentTool(live: Live, words: string, background: boolean): ToolPlan {
  const prompt = words || DEFAULT_TASK;
  const work: AgentWork = {
    agentType: background ? "Explore" : "general-purpose",
    description: prompt.split(/\s+/).slice(0, 5).join(" "),
    prompt,
    tools: [grepTool(live, "e"), bashTool(live, "ls")],
    answer: `The sub-agent did this: ${prompt}`,
    tokens: 5200,
    thinkMs: live.world.settings.pace * 2,
  };
  return agentPlan(work, background);
}

export function agentPlan(work: AgentWork, background: boolean, callId?: string): ToolPlan {
  return {
    name: "Agent",
    input: {
      description: work.description,
      prompt: work.prompt,
      subagent_type: work.agentType,
      ...(background ? { run_in_background: true } : {}),
    },
    readOnly: false,
    scope: "session",
    ...(callId ? { callId } : {}),
    run: (context) => (background ? startAgent(context, work) : runAgent(context, work)),
  };
}

interface Agent {
  id: string;
  childSessionId: string;
  childTurnId: string;
  startedAt: number;
  facts: Obj;
  record: SubagentRecord;
}

function begin(context: ToolContext, work: AgentWork, background: boolean): Agent {
  const { live, turn, callId } = context;
  const { world, data } = live;
  const id = `agent_${world.ids.uuid()}`;
  const childSessionId = `sess_subagent_${id}`;
  const startedAt = world.clock.now();
  const record: SubagentRecord = {
    childSessionId,
    agentId: id,
    toolCallId: callId,
    subagentType: work.agentType,
    title: work.description,
    startedAt,
    status: "running",
  };
  data.subagents.push(record);
  turn.event("session.updated", {
    agentId: id,
    agentType: work.agentType,
    childSessionId,
    description: work.description,
    prompt: work.prompt,
    parentToolCallId: callId,
    status: "running",
    allowedTools: ["Read", "Grep", "Glob", "Bash"],
    ...(data.model ? { model: { providerId: data.model.providerId, modelId: data.model.modelId } } : {}),
    ...(background ? { background: true, outputFile: outputFile(live, id) } : {}),
  });
  return {
    id,
    childSessionId,
    childTurnId: `turn_${world.ids.uuid()}`,
    startedAt,
    record,
    facts: {
      agentId: id,
      agentType: work.agentType,
      childSessionId,
      description: work.description,
      parentToolCallId: callId,
      source: "subagent",
      ...(background ? { background: true } : {}),
    },
  };
}

/** Does the work; how many tools it used. */
async function doWork(
  context: ToolContext,
  work: AgentWork,
  agent: Agent,
  background: boolean,
  signal: AbortSignal,
): Promise<number> {
  const { live } = context;
  let used = 0;
  const pause = async () => {
    if (!(await sleep(live.world.clock, work.thinkMs, signal))) throw new Stopped();
  };
  for (const plan of work.tools) {
    await pause();
    used++;
    await innerTool(context, plan, agent, background, signal);
  }
  await pause();
  return used;
}

async function innerTool(
  context: ToolContext,
  plan: ToolPlan,
  agent: Agent,
  background: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { live, turn } = context;
  const { world, data } = live;
  const { modern } = world.era;
  const childToolCallId = plan.callId ?? world.ids.call();
  const cardId = `tool_subagent_${agent.id}_${childToolCallId}`;
  const { agentId, agentType, childSessionId, ...others } = agent.facts;
  const facts = { toolCallId: cardId, agentId, agentType, childSessionId, childToolCallId, ...others };
  const tell = (payload: Obj) => turn.event("tool.updated", { ...facts, ...payload });
  tell({
    ...(modern ? schedule(plan, childToolCallId) : { toolName: plan.name }),
    kind: "scheduled",
    input: plan.input,
  });
  let { input } = plan;
  if (plan.ask) {
    const from: Origin = {
      childSessionId: agent.childSessionId,
      childTurnId: agent.childTurnId,
      cardId,
      background,
      origin: {
        kind: "subagent",
        agentId,
        agentType,
        childSessionId,
        childTurnId: agent.childTurnId,
        description: agent.record.title,
        parentSessionId: data.sessionId,
        parentToolCallId: context.callId,
        parentTurnId: turn.id,
      },
    };
    const asked = await askFirst(turn, plan, childToolCallId, from, signal);
    // Of a refused tool of a sub-agent nothing more is told, not even a batch.
    if (asked.kind === "denied") return;
    input = asked.input;
  }
  const started = world.clock.now();
  const begun = world.clock.mono();
  const elapsed = () => Math.round(world.clock.mono() - begun);
  tell({
    toolName: plan.name,
    ...(modern ? { startedAt: started, readOnly: plan.readOnly, sideEffectScope: plan.scope } : {}),
    kind: "started",
  });
  const end = await runSafely(plan, {
    live,
    turn,
    callId: childToolCallId,
    input,
    signal,
    elapsed,
    progress: ({ outputPreview: _preview, ...payload }) => tell({ toolName: plan.name, ...payload }),
  });
  if (signal.aborted) throw new Stopped();
  if (end.kind === "error") tell({ toolName: plan.name, error: end.error, kind: "error" });
  else if (end.kind === "result") {
    const result = toolResult(end, { modern, totalMs: end.totalMs ?? elapsed() });
    tell({ toolName: plan.name, result, duration: end.totalMs ?? elapsed(), kind: "result" });
  }
}

function endFacts(
  agent: Agent,
  context: ToolContext,
  status: string,
  used: number,
  tokens: number,
  background: boolean,
): Obj {
  return {
    agentId: agent.id,
    agentType: agent.record.subagentType,
    childSessionId: agent.childSessionId,
    parentToolCallId: context.callId,
    status,
    totalDurationMs: context.live.world.clock.now() - agent.startedAt,
    totalToolUseCount: used,
    totalTokens: tokens,
    ...(background ? { background: true } : {}),
  };
}

/** The turn waits for it; the result ends with what it cost. */
async function runAgent(context: ToolContext, work: AgentWork): Promise<ToolEnd> {
  const { live, turn } = context;
  const agent = begin(context, work, false);
  let used: number;
  try {
    used = await doWork(context, work, agent, false, context.signal);
  } catch (error) {
    close(live, agent, "cancelled");
    throw error;
  }
  close(live, agent, "success");
  turn.event("session.updated", endFacts(agent, context, "completed", used, work.tokens, false));
  const duration = live.world.clock.now() - agent.startedAt;
  return {
    kind: "result",
    content: `${work.answer}\n\nagentId: ${agent.id} (use SendMessage with this id to go on)\n<usage>subagent_tokens: ${work.tokens}\ntool_uses: ${used}\nduration_ms: ${duration}</usage>`,
    totalMs: duration,
  };
}

function close(live: Live, agent: Agent, status: SubagentRecord["status"]): void {
  agent.record.status = status;
  agent.record.endedAt = live.world.clock.now();
  live.save();
}

/** It goes on after the turn, as a task with a life of its own. */
async function startAgent(context: ToolContext, work: AgentWork): Promise<ToolEnd> {
  const { live, turn, callId } = context;
  const { world } = live;
  const agent = begin(context, work, true);
  const outputPath = outputFile(live, agent.id);
  const abort = new AbortController();
  const facts = {
    childSessionId: agent.childSessionId,
    cancellable: true,
    description: work.description,
    status: "running",
    outputPath,
    terminalId: agent.id,
  };
  let used = 0;
  const task = new BackgroundTask(
    live,
    agent.id,
    "subagent",
    callId,
    work.description,
    outputPath,
    facts,
    async () => {
      abort.abort();
      await ended;
    },
  );
  task.tell(turn.id);
  const inBackground: ToolContext = { ...context, signal: abort.signal };
  // The launch is told first, whatever the work does.
  const ended = Promise.resolve()
    .then(() => sleep(world.clock, work.thinkMs, abort.signal))
    .then(() => doWork(inBackground, work, agent, true, abort.signal))
    .then(
      (count) => {
        used = count;
        end("completed");
      },
      () => end("cancelled"),
    );
  const end = (status: "completed" | "cancelled") => {
    const now = world.clock.now();
    const duration = now - agent.startedAt;
    const done = status === "completed";
    close(live, agent, done ? "success" : "cancelled");
    const who = `${work.agentType}, ${work.description}`;
    task.outcome = {
      summary: work.summary ?? (done ? `${who}: done.` : `${who}: stopped.`),
      consumed: true,
      ...(done
        ? {
            extra: `<result>${work.answer}</result>\n<usage><subagent_tokens>${work.tokens}</subagent_tokens><tool_uses>${used}</tool_uses><duration_ms>${duration}</duration_ms></usage>`,
          }
        : {}),
    };
    task.finish(status, {
      startedAt: new Date(agent.startedAt).toISOString(),
      completedAt: new Date(now).toISOString(),
    });
    turn.event("session.updated", endFacts(agent, context, status, used, done ? work.tokens : 800, true));
    task.notice();
  };
  return {
    kind: "result",
    content: `The helper has started.\nagentId: ${agent.id} (internal id)\nIt is working in the background; a message follows at the end.\noutput_file: ${outputPath}`,
    totalMs: 30,
  };
}
