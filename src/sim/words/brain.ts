/** Makes of a prompt's words what the model does, step by step. */
import type { Brain, ModelStep, StepStream, ToolPlan } from "../model.ts";
import type { Live } from "../session.ts";
import type { Turn } from "../turn.ts";
import { agentTool } from "./agents.ts";
import {
  askTool,
  browserTool,
  cronTool,
  mcpTool,
  modeTool,
  planTool,
  questionTool,
  todoTools,
} from "./asking.ts";
import { backgroundTool, bashTool } from "./bash.ts";
import { editTool, grepTool, patchTool, readTool, writeTool } from "./files.ts";
import { compactNow, failStep, garbage, goalNow, officialHeaders } from "./odd.ts";
import { parsePrompt, type Said } from "./parse.ts";

const DEFAULT_THOUGHT = "The person wants something simple. One step after the other.";
const DEFAULT_TEXT = "This is the simulator; it does what the words of the prompt say.";

/** Words that make a step of their own, by the tools that they call. */
const TOOLS: Record<string, (rest: string, live: Live, turn: Turn) => ToolPlan | ToolPlan[]> = {
  bash: (rest, live) => bashTool(live, rest),
  background: (rest, live) => backgroundTool(live, rest),
  read: (rest, live) => readTool(live, rest),
  edit: (rest, live) => editTool(live, rest),
  write: (rest, live) => writeTool(live, rest),
  grep: (rest, live) => grepTool(live, rest),
  patch: (rest, live) => patchTool(live, rest),
  tool: (rest) => unknownTool(rest),
  ask: (_rest, live) => askTool(live),
  question: () => questionTool(),
  plan: (rest) => planTool(rest),
  mode: () => modeTool(),
  todo: (_rest, live) => todoTools(live),
  agent: (rest, live) => agentTool(live, rest, false),
  "agent-background": (rest, live) => agentTool(live, rest, true),
  mcp: (rest) => mcpTool(rest),
  cron: () => cronTool(),
  browser: () => browserTool(),
};

/** Which model runs, and its level of thought. */
function modelWords(live: Live): string {
  const { model } = live.data;
  if (!model) return "no model";
  const level = model.options?.reasoningLevel;
  return `${model.providerId}/${model.modelId}${level ? ` at ${level}` : ""}`;
}

/** Words that each need a request per tool. */
const ONE_BY_ONE = new Set(["todo"]);

export async function* wordsBrain(prompt: string, live: Live, turn: Turn): Brain {
  const { world } = live;
  const failing = world.failures.left > 0 ? failStep(live, world.failures.kind) : undefined;
  if (failing) {
    world.failures.left--;
    yield failing;
    return;
  }
  const said = /^<task-notification>/.test(prompt) ? noticeWords(prompt) : parsePrompt(prompt);
  if (!said) {
    yield { stream: (stream) => speak(stream, plainAnswer(prompt)) };
    return;
  }
  let streams: ((stream: StepStream) => Promise<void>)[] = [];
  let before: ModelStep["before"];
  let usage: ModelStep["usage"];
  let recovers: ModelStep["fail"];
  let tools: ToolPlan[] = [];
  let spoke = false;
  const step = (): ModelStep => {
    const parts = streams;
    const made: ModelStep = {
      stream: async (stream) => {
        for (const part of parts) await part(stream);
      },
      tools,
      ...(before ? { before } : {}),
      ...(usage ? { usage } : {}),
      ...(recovers ? { fail: recovers } : {}),
    };
    streams = [];
    tools = [];
    before = usage = recovers = undefined;
    return made;
  };
  const addStream = (part: (stream: StepStream) => Promise<void>) => streams.push(part);
  for (let i = 0; i < said.length; i++) {
    const { word, rest } = said[i]!;
    const makeTool = TOOLS[word];
    if (makeTool) {
      const made = [makeTool(rest, live, turn)].flat();
      const denied = made.find((tool) => live.toolDenylistOfTurn.includes(tool.name));
      if (denied) {
        spoke = true;
        addStream((stream) => stream.text(`The tool ${denied.name} may not be used here. `));
        continue;
      }
      if (ONE_BY_ONE.has(word)) {
        for (const tool of made) {
          tools = [tool];
          yield step();
        }
        continue;
      }
      tools.push(...made);
      if (!said[i + 1]?.also || !TOOLS[said[i + 1]!.word]) yield step();
      continue;
    }
    switch (word) {
      case "think":
        addStream((stream) => reason(stream, rest || DEFAULT_THOUGHT));
        break;
      case "text":
        spoke = true;
        addStream((stream) => speak(stream, rest || DEFAULT_TEXT));
        break;
      case "model":
        spoke = true;
        addStream((stream) => stream.text(modelWords(live)));
        break;
      case "burst": {
        spoke = true;
        const [count, rate] = rest.split("/").map((each) => Number(each.trim()));
        addStream((stream) => stream.burst(count!, rate));
        break;
      }
      case "huge":
        spoke = true;
        addStream((stream) => stream.text("x".repeat(Math.round(Number(rest) * 1024 * 1024))));
        break;
      case "silence":
        addStream((stream) => silence(stream, Number.parseFloat(rest), rest.endsWith("frozen")));
        break;
      case "sleep":
        addStream((stream) => stream.wait(Number(rest) * 1000));
        break;
      case "usage":
        usage = { inputTokens: Math.max(0, Number(rest) - 4), outputTokens: 4 };
        break;
      case "hiccup":
        recovers = { ...failStep(live, "network")!.fail!, times: 1, recovers: true };
        break;
      case "fail": {
        const { failures } = world;
        // The same prompt sent again once its failures are over is a client's further try, and goes on.
        if (failures.by === prompt && failures.left === 0) {
          world.failures = { kind: "", left: 0, by: "" };
          break;
        }
        const [kind, count] = rest.split(/\s+/);
        world.failures = { kind: kind!, left: Number(count ?? 1) - 1, by: prompt };
        yield failStep(live, kind!)!;
        return;
      }
      case "compact":
        before = (stream) => compactNow(stream);
        break;
      case "title":
        addStream(async () => live.setTitle(rest, "generated", turn.messageId));
        break;
      case "goal":
        addStream(async () => goalNow(live, rest));
        break;
      case "header":
        spoke = true;
        addStream((stream) => officialHeaders(stream));
        break;
      case "spawn":
      case "spawn-setsid":
        spoke = true;
        addStream(async (stream) => {
          const pid = world.commands.leave(rest, live.cwd, word === "spawn-setsid");
          await stream.text(`Left behind: ${pid}\n`);
        });
        break;
      case "stderr":
        addStream(async () => world.warn(rest || "simulated noise on stderr"));
        break;
      case "garbage":
        addStream(async (stream) => garbage(stream));
        break;
      case "crash":
        addStream(async (stream) => {
          await world.out.idle();
          world.exit(1);
          await stream.wait(86_400_000);
        });
        break;
      case "hang":
        addStream(async (stream) => {
          await world.out.idle();
          world.hang();
          await stream.wait(86_400_000);
        });
        break;
    }
  }
  const words = said.map((each) => each.word).filter((each, i, all) => all.indexOf(each) === i);
  if (!spoke) addStream((stream) => speak(stream, `Done: ${words.join(", ")}.`));
  yield step();
}

/** A notification's turn says in a sentence what it was told. */
function noticeWords(notification: string): Said[] {
  const summary = /<summary>([\s\S]*?)<\/summary>/.exec(notification)?.[1] ?? "something";
  return [{ word: "text", rest: `I was told: ${summary}`, also: false }];
}

function plainAnswer(prompt: string): string {
  const quoted = prompt.length > 400 ? `${prompt.slice(0, 400)}…` : prompt;
  return `You said: “${quoted}”. The simulator has no more to say; its words are in its help.`;
}

/** A few words a piece. */
export async function speak(stream: StepStream, text: string): Promise<void> {
  for (const piece of pieces(text)) await stream.text(piece);
}

async function reason(stream: StepStream, text: string): Promise<void> {
  for (const piece of pieces(text)) await stream.reason(piece);
}

function pieces(text: string): string[] {
  return text.match(/\s*(?:\S+\s*){1,3}/g) ?? [text];
}

/** Nothing comes, and the counters of the projection move each second unless they are frozen. */
async function silence(stream: StepStream, seconds: number, frozen: boolean): Promise<void> {
  const { data, world } = stream.live;
  const moving = frozen
    ? undefined
    : world.clock.every(1000, () => {
        data.contextUsed += 10;
      });
  try {
    await stream.wait(seconds * 1000);
  } finally {
    moving?.cancel();
  }
}

function unknownTool(rest: string): ToolPlan {
  const [, name, json] = /^(\S+)\s*([\s\S]*)$/.exec(rest)!;
  let input: Record<string, unknown> = {};
  try {
    if (json) input = JSON.parse(json) as Record<string, unknown>;
  } catch {
    input = { text: json };
  }
  return {
    name: name!,
    input,
    readOnly: false,
    scope: "none",
    unknown: true,
    run: () => Promise.reject(new Error("never run")),
  };
}
