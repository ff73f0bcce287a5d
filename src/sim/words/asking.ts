/** Tools that want something of the person or of the client. */
import type { ToolContext, ToolEnd, ToolPlan } from "../model.ts";
import { Stopped } from "../model.ts";
import type { Live } from "../session.ts";
import { isObj, type Obj, type Todo } from "../types.ts";
import { runCommand } from "./bash.ts";

/** A permission that is asked for in every mode, and that no rule answers. */
export function askTool(live: Live): ToolPlan {
  const command = "echo asked";
  return {
    name: "Bash",
    input: { command, description: "A harmless command" },
    readOnly: false,
    scope: "system",
    ask: { kind: "permission", risk: "low", reason: "The simulator asks because it was told to" },
    run: (context) =>
      runCommand(context, (onProgress) =>
        live.world.commands.run(String(context.input.command), live.cwd, onProgress),
      ),
  };
}

const QUESTIONS = [
  {
    header: "Colour",
    multiSelect: false,
    options: [
      { label: "Red", description: "As a rose" },
      { label: "Blue", description: "As the sea" },
    ],
    question: "Which colour?",
  },
  {
    header: "Toppings",
    multiSelect: true,
    options: [
      { label: "Nuts", description: "Chopped" },
      { label: "Honey", description: "A spoonful" },
      { label: "Salt", description: "A pinch" },
    ],
    question: "Which toppings?",
  },
];

export function questionTool(): ToolPlan {
  return {
    name: "AskUserQuestion",
    input: { questions: QUESTIONS },
    readOnly: true,
    scope: "none",
    ask: { kind: "questions", risk: "low", reason: "The model wants to know something" },
    run: async (context) => ({ kind: "result", content: answerText(context.input) }),
  };
}

export function answerText(input: Obj): string {
  const answers = isObj(input.answers) ? input.answers : {};
  const said = Object.entries(answers).map(([question, answer]) => `"${question}"="${String(answer)}"`);
  return `Answers: ${said.join(", ")}.`;
}

/** Approval of a plan; with it plan mode ends. */
export function planTool(text: string): ToolPlan {
  return {
    name: "ExitPlanMode",
    input: {
      plan: text || "# Plan\n\n1. Look at the files\n2. Change **one** of them\n3. Run the tests",
      allowedPrompts: [{ tool: "Bash", prompt: "run the tests" }],
    },
    readOnly: true,
    scope: "session",
    ask: { kind: "plan", risk: "low", reason: "A plan waits for approval" },
    run: async (context) => {
      const { data } = context.live;
      if (data.planEnabled) switchPlan(context, false, data.modeBeforePlan);
      return { kind: "result", content: "Approved; go ahead." };
    },
  };
}

export function modeTool(): ToolPlan {
  return {
    name: "EnterPlanMode",
    input: {},
    readOnly: true,
    scope: "session",
    run: async (context) => {
      const { data } = context.live;
      if (!data.planEnabled) {
        data.modeBeforePlan = data.mode;
        switchPlan(context, true, "plan");
      }
      return { kind: "result", content: "From now on nothing is changed, only planned." };
    },
  };
}

function switchPlan(context: ToolContext, on: boolean, mode: string): void {
  const { data } = context.live;
  const previousMode = data.mode;
  data.mode = mode;
  data.planEnabled = on;
  context.turn.event("session.updated", {
    mode,
    previousMode,
    source: "tool",
    toolCallId: context.callId,
    planEnabled: on,
    previousPlanEnabled: !on,
  });
}

const TODOS: [string, Todo["priority"]][] = [
  ["Look at the files", "high"],
  ["Change one of them", "medium"],
  ["Run the tests", "low"],
];

/** The list moves on with each call, until everything is done. */
export function todoTools(live: Live): ToolPlan[] {
  const stages: Todo["status"][][] = [
    ["in_progress", "pending", "pending"],
    ["completed", "in_progress", "pending"],
    ["completed", "completed", "completed"],
  ];
  return stages.map((stage) =>
    todoTool(
      live,
      TODOS.map(([content, priority], i) => ({ content, status: stage[i]!, priority })),
    ),
  );
}

/** Shown in the session shortly after the result, not with it. */
export function todoTool(live: Live, todos: Todo[]): ToolPlan {
  return {
    name: "TodoWrite",
    input: { todos },
    readOnly: true,
    scope: "session",
    run: async (context) => {
      const { data, world } = live;
      const count = (status: Todo["status"]) => todos.filter((todo) => todo.status === status).length;
      const content = JSON.stringify({
        oldTodos: data.todos,
        todos,
        summary: {
          total: todos.length,
          pending: count("pending"),
          inProgress: count("in_progress"),
          completed: count("completed"),
        },
      });
      const write = () => {
        data.todos = todos;
        data.todosSince ??= context.turn.startedAt;
        data.todosAt = world.clock.now();
        live.save();
      };
      return {
        kind: "result",
        content,
        after: () => {
          if (world.settings.todoDelay > 0) world.clock.after(world.settings.todoDelay, write);
          else write();
        },
      };
    },
  };
}

/** What an MCP server may ask for in the middle of a call. */
export interface Elicitation {
  message: string;
  requestedSchema: { type: "object"; properties: Record<string, Obj>; required?: string[] };
}

const DETAILS: Elicitation = {
  message: "The shop wants to know more.",
  requestedSchema: {
    type: "object",
    properties: {
      count: { type: "integer", title: "Pieces", description: "How many shall it be?" },
      express: { type: "boolean", title: "Express" },
      depot: { type: "string", title: "Depot", enum: ["north", "south"], enumNames: ["North", "South"] },
      note: { type: "string", title: "Note" },
    },
    required: ["count"],
  },
};
const NO_FIELDS: Elicitation = { message: "Go on?", requestedSchema: { type: "object", properties: {} } };

export function mcpTool(rest: string): ToolPlan {
  return mcpOrder("sim-stock", { sku: "A-17" }, rest === "empty" ? NO_FIELDS : DETAILS);
}

/** An MCP tool whose server asks for details while it runs. */
export function mcpOrder(serverName: string, input: Obj, elicitation: Elicitation = DETAILS): ToolPlan {
  const name = `mcp__${serverName}__order`;
  return {
    name,
    input,
    readOnly: false,
    scope: "external",
    ask: { kind: "permission", risk: "medium", reason: `${name} needs approval`, rule: { toolName: name } },
    run: async (context) => {
      const answer = await elicit(context, serverName, elicitation);
      if (answer.action === "accept") {
        return {
          kind: "result",
          content: `Ordered: ${answer.said}`,
          detail: { kind: "mcp", mcp: { serverName, toolName: "order" } },
        };
      }
      if (answer.action === "decline") return { kind: "result", content: "Nothing was ordered." };
      return {
        kind: "error",
        error: { type: "TOOL_EXECUTION_FAILED", message: "The server took the question back." },
      };
    },
  };
}

/** One question per field of the schema, or one alone; free text has the single option `__zcode_free_text__`. */
function questionsOf({ message, requestedSchema }: Elicitation): Obj[] {
  const free = [{ value: "__zcode_free_text__", label: "Type your answer" }];
  const fields = Object.entries(requestedSchema.properties);
  if (fields.length === 0) return [{ header: "Answer", question: message, options: free }];
  return fields.map(([name, field]) => {
    const title = String(field.title ?? name);
    const values = field.type === "boolean" ? ["true", "false"] : (field.enum as string[] | undefined);
    const labels =
      field.type === "boolean" ? ["Yes", "No"] : ((field.enumNames as string[] | undefined) ?? values);
    return {
      header: title,
      question: field.description ? String(field.description) : `${message}\n\n${title}`,
      options: values ? values.map((value, i) => ({ value, label: labels![i] })) : free,
    };
  });
}

async function elicit(
  context: ToolContext,
  serverName: string,
  asked: Elicitation,
): Promise<{ action: string; said: string }> {
  const { live, turn, callId, signal } = context;
  const { message, requestedSchema } = asked;
  const questions = questionsOf(asked);
  const answer = await live.world.interactions.ask(
    "interaction/requestUserInput",
    {
      input: { serverName, message, requestedSchema },
      prompt: message,
      questions,
      requestId: `mcp-elicit-${live.world.ids.uuid()}`,
      schema: { interaction: "mcp_elicitation", serverName, requestedSchema },
      sessionId: live.id,
      toolCallId: callId,
      toolName: "McpElicitation",
      turnId: turn.id,
    },
    { repeat: true, signal },
  );
  if (answer.kind === "cancelled") throw new Stopped();
  const result = answer.kind === "result" && isObj(answer.result) ? answer.result : { action: "cancel" };
  const content = isObj(result.content) ? result.content : {};
  const answers = isObj(content.answers) ? content.answers : {};
  const said = questions.map((question, i) => content[`answer_${i}`] ?? answers[String(question.question)]);
  return {
    action: String(result.action),
    said: said
      .filter((each) => each !== undefined)
      .map(String)
      .join(", "),
  };
}

/** A tool that works only with a client that has what it asks for. */
export function cronTool(): ToolPlan {
  return clientTool("CronList", {}, true, async (context) => {
    const answer = await askClient(context, "automation/list", {});
    return answer.kind === "error" ? answer : { kind: "result", content: JSON.stringify(answer.result) };
  });
}

export function browserTool(): ToolPlan {
  return clientTool("js", { code: "browser.list()" }, true, async (context) => {
    const { live, turn } = context;
    const answer = await askClient(context, "interaction/browserList", {
      requestId: live.world.ids.uuid(),
      sessionId: live.id,
      turnId: turn.id,
      workspaceKey: live.data.workspace.workspaceKey,
      workspacePath: live.cwd,
      clientMode: "desktop-continuous",
      sessionContext: "live",
    });
    if (answer.kind === "result") return { kind: "result", content: JSON.stringify(answer.result) };
    return { kind: "error", error: { type: "TOOL_EXECUTION_FAILED", message: "No browser is connected." } };
  });
}

export function clientTool(
  name: string,
  input: Obj,
  readOnly: boolean,
  run: (context: ToolContext) => Promise<ToolEnd>,
): ToolPlan {
  return { name, input, readOnly, scope: "external", run };
}

/** Asks the client; its error is the tool's. */
export async function askClient(
  context: ToolContext,
  method: string,
  params: Obj,
): Promise<{ kind: "result"; result: unknown } | (ToolEnd & { kind: "error" })> {
  const { live, signal } = context;
  const trace = method.startsWith("interaction/") ? { trace: { traceId: live.data.traceId } } : {};
  const answer = await live.world.interactions.ask(method, params, { timeoutS: 60, signal, ...trace });
  if (answer.kind === "cancelled") throw new Stopped();
  if (answer.kind === "result") return answer;
  const message = answer.kind === "error" ? answer.message : `No answer to ${method}`;
  return { kind: "error", error: { type: "TOOL_EXECUTION_FAILED", message } };
}
