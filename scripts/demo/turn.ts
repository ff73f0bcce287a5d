/**
 * The demo itself: starts the built binary as an editor would with the simulator behind it, in a temporary folder with
 * a HOME of its own, and shows one turn as it streams. Exit 0 when everything that a turn can show was shown, or was
 * not because a person said no to it; 1 when something is missing. `ZCODE_ACP_DEMO_PROMPT` puts another prompt in the
 * place of the demo's own.
 */
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import * as acp from "@agentclientprotocol/sdk/unstable";
import { Answers, type Reply, readReply } from "./answers.ts";

const ROOT = join(import.meta.dir, "..", "..");
const BINARY = join(ROOT, "dist", process.platform === "win32" ? "zcode-acp.exe" : "zcode-acp");
/** The whole of it, in ms. */
const DEADLINE_MS = 90_000;

const coloured =
  process.env.NO_COLOR === undefined &&
  (process.stdout.isTTY === true || process.env.FORCE_COLOR !== undefined);
const paint = (code: string) => (text: string) => (coloured ? `\x1b[${code}m${text}\x1b[0m` : text);
const dim = paint("2");
const bold = paint("1");
const red = paint("31");
const green = paint("32");
const yellow = paint("33");
const blue = paint("34");
const cyan = paint("36");

/** What a person must have seen by the end. */
const SHOWN = {
  thought: false,
  text: false,
  "a command's live output": false,
  diff: false,
  permission: false,
  "to-do list": false,
  usage: false,
};
type Part = keyof typeof SHOWN;

/** What a call of each kind would have shown, had it been allowed. */
const SHOWN_BY_KIND: Readonly<Partial<Record<acp.ToolKind, Part>>> = {
  execute: "a command's live output",
  edit: "diff",
};

/** The simulator's words: each is one kind of thing that a turn can show. They are true whatever is answered. */
const WORDS = [
  "think I read the greeting, ask to change it, and ask to run the check",
  "text First a look at the file.",
  "read greeting.ts",
  'write greeting.ts export const greeting = "Hello, editor!"',
  "bash sh check.sh",
  "todo",
  "text That is the end of the turn.",
];
const PROMPT = process.env.ZCODE_ACP_DEMO_PROMPT ?? WORDS.join("; ");

/** Calls by id: their kind, and whether a person said no. */
const calls = new Map<string, { kind: acp.ToolKind; todo: boolean; denied: boolean }>();
/** What was not shown because a person said no. */
const refused = new Set<Part>();
/** The to-do list as it was shown last: each entry with its state. */
const todos = new Map<string, string>();

let line = "";
let outputs = 0;
/** Starts a new block of output; text that streams stays on its own lines. */
function block(head: string): void {
  if (line !== "") process.stdout.write("\n");
  line = "";
  process.stdout.write(`${head}\n`);
}

function stream(kind: string, text: string, colour: (text: string) => string): void {
  if (line !== kind) {
    if (line !== "") process.stdout.write("\n");
    process.stdout.write(kind === "thought" ? dim("thinking  ") : "");
    line = kind;
  }
  process.stdout.write(colour(text));
}

function show(update: acp.SessionUpdate): void {
  switch (update.sessionUpdate) {
    case "agent_thought_chunk":
      if (update.content.type !== "text") return;
      SHOWN.thought = true;
      return stream("thought", update.content.text, dim);
    case "agent_message_chunk":
      if (update.content.type !== "text") return;
      SHOWN.text = true;
      return stream("text", update.content.text, (text) => text);
    case "tool_call": {
      const todo = /to-do/i.test(update.title);
      calls.set(update.toolCallId, { kind: update.kind ?? "other", todo, denied: false });
      // The list itself is shown, so its calls need not be.
      if (!todo) block(`${blue("●")} ${bold(update.title)} ${dim(update.kind ?? "")}`);
      return;
    }
    case "tool_call_update": {
      const call = calls.get(update.toolCallId);
      const output = update._meta?.terminal_output as { data?: string } | undefined;
      if (typeof output?.data === "string" && !call?.denied) {
        // Live means that it came in pieces, while the command ran.
        SHOWN["a command's live output"] = ++outputs > 1;
        process.stdout.write(output.data.replace(/^(?=.)/gm, dim("  │ ")));
      }
      if ((update.status !== "completed" && update.status !== "failed") || call?.todo) return;
      if (call?.denied) return block(yellow("  – not done: you said no"));
      if (update.status === "failed") return block(red("  ✗ failed"));
      for (const part of update.content ?? []) if (part.type === "diff") showDiff(part);
      return block(green("  ✓ done"));
    }
    case "plan":
      SHOWN["to-do list"] = true;
      return showTodos(update.entries);
    case "usage_update":
      SHOWN.usage = true;
      return;
  }
}

function showDiff(part: { path: string; oldText?: string | null; newText: string }): void {
  SHOWN.diff = true;
  const before = (part.oldText ?? "").split("\n");
  const after = part.newText.split("\n");
  for (const text of before) if (!after.includes(text)) process.stdout.write(`  ${red(`- ${text}`)}\n`);
  for (const text of after) {
    if (before.includes(text)) process.stdout.write(text === "" ? "" : `    ${dim(text)}\n`);
    else process.stdout.write(`  ${green(`+ ${text}`)}\n`);
  }
}

/** The whole list once, then what changes of it. */
function showTodos(entries: readonly acp.PlanEntry[]): void {
  const changed = entries.filter((entry) => todos.get(entry.content) !== entry.status);
  if (todos.size === 0) block(cyan("to-do"));
  else if (changed.length > 0) block(dim("  then"));
  for (const entry of changed) {
    todos.set(entry.content, entry.status);
    const mark =
      { completed: green("☑"), in_progress: yellow("◐"), pending: "☐" }[entry.status as string] ?? "☐";
    process.stdout.write(`  ${mark} ${entry.content}\n`);
  }
}

const answers = new Answers(process.stdin);

async function permission(request: acp.RequestPermissionRequest): Promise<acp.RequestPermissionResponse> {
  SHOWN.permission = true;
  const { options } = request;
  block(`${yellow("?")} ${bold(request.toolCall.title ?? "a tool")} wants to run`);
  options.forEach((option, i) => {
    process.stdout.write(`    ${i + 1}  ${option.name}\n`);
  });
  const { option, said } = await choose(options);
  if (!option) return { outcome: { outcome: "cancelled" } };
  process.stdout.write(dim(`    → ${option.name}${said ? "" : " (nobody answered)"}\n`));
  if (option.kind.startsWith("reject")) {
    const call = calls.get(request.toolCall.toolCallId);
    if (call) call.denied = true;
    const part = SHOWN_BY_KIND[call?.kind ?? "other"];
    if (part) refused.add(part);
  }
  return { outcome: { outcome: "selected", optionId: option.optionId } };
}

/** What a person chooses; what allows once when nobody does. */
async function choose(
  options: readonly acp.PermissionOption[],
): Promise<{ option: acp.PermissionOption | undefined; said: boolean }> {
  const seconds = answers.waitMs / 1000;
  const fallback = readReply("", options);
  const byItself = fallback === "again" ? undefined : fallback;
  if (!answers.attended) {
    process.stdout.write(dim(`    no terminal to answer in: allowed by itself in ${seconds} s\n`));
    await Bun.sleep(answers.waitMs);
    return { option: byItself, said: false };
  }
  for (;;) {
    process.stdout.write(
      dim(`    y or Enter allows once, n denies, or a number; allowed by itself in ${seconds} s: `),
    );
    const typed = await answers.next();
    if (typed === undefined) {
      process.stdout.write("\n");
      return { option: byItself, said: false };
    }
    const reply: Reply = readReply(typed, options);
    if (reply !== "again") return { option: reply, said: true };
    process.stdout.write(`    ${yellow(`"${typed}" is no answer here.`)}\n`);
  }
}

let agentProcess: Bun.Subprocess | undefined;

async function turn(home: string, workspace: string): Promise<acp.PromptResponse> {
  const child = Bun.spawn([BINARY, "stdio", "--backend", "sim"], {
    cwd: workspace,
    env: { PATH: process.env.PATH ?? "", HOME: home, USERPROFILE: home },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  agentProcess = child;
  const input = new WritableStream<Uint8Array>({
    async write(chunk) {
      child.stdin.write(chunk);
      await child.stdin.flush();
    },
  });
  try {
    return await acp
      .client({ name: "demo" })
      .onNotification("session/update", ({ params }) => show(params.update))
      .onRequest("session/request_permission", ({ params }) => permission(params))
      .connectWith(acp.ndJsonStream(input, child.stdout), async (agent) => {
        const { agentInfo } = await agent.request("initialize", {
          protocolVersion: acp.PROTOCOL_VERSION,
          clientInfo: { name: "demo", version: "1" },
          clientCapabilities: { _meta: { terminal_output: true } },
        });
        block(
          dim(
            `${agentInfo?.title} through ${agentInfo?.name} ${agentInfo?.version}, with the built-in simulator,\nwhich does what the words of a prompt say:\n`,
          ),
        );
        const { sessionId } = await agent.request("session/new", { cwd: workspace, mcpServers: [] });
        block(`${bold("you")}  ${PROMPT.replaceAll("; ", ";\n     ")}\n`);
        return agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text: PROMPT }] });
      });
  } finally {
    child.stdin.end();
    await child.exited;
  }
}

const began = Date.now();
const watchdog = setTimeout(() => {
  console.error(red(`\nThe demo took longer than ${DEADLINE_MS / 1000} s.`));
  process.exit(1);
}, DEADLINE_MS);
const untouched = [".zcode", join(".local", "state", "zcode-acp")]
  .map((name) => join(homedir(), name))
  .filter((path) => !existsSync(path));
const dir = realpathSync(mkdtempSync(join(tmpdir(), "zcode-acp-demo-")));
/** How a shell reports the end by each signal. */
const STOPPED = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
for (const [signal, code] of Object.entries(STOPPED)) {
  process.on(signal, async () => {
    answers.close();
    // It takes everything that it started along, and its logs lie in the folder.
    agentProcess?.kill("SIGTERM");
    await agentProcess?.exited;
    rmSync(dir, { recursive: true, force: true });
    process.exit(code);
  });
}
const workspace = join(dir, "work");
let ok = false;
try {
  const home = join(dir, "home");
  for (const path of [home, workspace]) mkdirSync(path);
  writeFileSync(join(workspace, "greeting.ts"), 'export const greeting = "hello"\n');
  writeFileSync(
    join(workspace, "check.sh"),
    'for part in types lint tests; do echo "$part: fine"; sleep 0.3; done\n',
  );
  const { stopReason, usage } = await turn(home, workspace);
  block("");
  block(
    dim(
      `${stopReason}, ${usage?.inputTokens ?? 0} tokens in, ${usage?.cachedReadTokens ?? 0} cached, ${usage?.outputTokens ?? 0} out; ${((Date.now() - began) / 1000).toFixed(1)} s`,
    ),
  );
  if (!usage) SHOWN.usage = false;
  const unseen = (Object.keys(SHOWN) as Part[]).filter((part) => !SHOWN[part]);
  const missing = unseen.filter((part) => !refused.has(part));
  const denied = unseen.filter((part) => refused.has(part));
  const left = untouched.filter((path) => existsSync(path));
  ok = stopReason === "end_turn" && missing.length === 0 && left.length === 0;
  if (missing.length > 0) console.error(red(`Not shown: ${missing.join(", ")}.`));
  if (left.length > 0) console.error(red(`Left behind: ${left.join(", ")}.`));
  if (denied.length > 0)
    block(
      yellow(`Not shown, because you said no: ${denied.join(", ")}. The to-do list is played all the same.`),
    );
  if (ok) block(`\n${green("That is what your editor gets.")} How to set it up is in README.md.`);
} catch (error) {
  console.error(red(`\nThe turn failed: ${error instanceof Error ? error.message : String(error)}`));
} finally {
  rmSync(dir, { recursive: true, force: true });
  clearTimeout(watchdog);
  answers.close();
}
process.exit(ok ? 0 : 1);
