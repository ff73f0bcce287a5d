/**
 * The demo itself: starts the built binary as an editor would with the simulator behind it, in a temporary folder with
 * a HOME of its own, and shows one turn as it streams. Exit 0 when everything that a turn can show was shown, 1 when
 * something is missing.
 */
import { existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import * as acp from "@agentclientprotocol/sdk/unstable";

const ROOT = join(import.meta.dir, "..", "..");
const BINARY = join(ROOT, "dist", process.platform === "win32" ? "zcode-acp.exe" : "zcode-acp");
/** A permission that nobody answers is allowed after this long, in ms. */
const ANSWER_MS = 2_000;
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

/** The simulator's words: each is one kind of thing that a turn can show. */
const PROMPT = [
  "think First a look at the file, then one change",
  "text I read the file first.",
  "read greeting.ts",
  "bash sh check.sh",
  "edit greeting.ts",
  "todo",
  "text All done: the greeting is changed and checked.",
].join("; ");

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
    case "tool_call":
      block(`${blue("●")} ${bold(update.title)} ${dim(update.kind ?? "")}`);
      return;
    case "tool_call_update": {
      const output = update._meta?.terminal_output as { data?: string } | undefined;
      if (typeof output?.data === "string") {
        // Live means that it came in pieces, while the command ran.
        SHOWN["a command's live output"] = ++outputs > 1;
        process.stdout.write(output.data.replace(/^(?=.)/gm, dim("  │ ")));
      }
      if (update.status !== "completed" && update.status !== "failed") return;
      for (const part of update.content ?? []) if (part.type === "diff") showDiff(part);
      block(update.status === "completed" ? green("  ✓ done") : red("  ✗ failed"));
      return;
    }
    case "plan":
      SHOWN["to-do list"] = true;
      block(cyan("to-do"));
      for (const entry of update.entries) {
        const mark =
          { completed: green("☑"), in_progress: yellow("◐"), pending: "☐" }[entry.status as string] ?? "☐";
        process.stdout.write(`  ${mark} ${entry.content}\n`);
      }
      return;
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
  for (const text of after)
    process.stdout.write(before.includes(text) ? `    ${dim(text)}\n` : `  ${green(`+ ${text}`)}\n`);
}

async function permission(request: acp.RequestPermissionRequest): Promise<acp.RequestPermissionResponse> {
  SHOWN.permission = true;
  block(`${yellow("?")} ${bold(request.toolCall.title ?? "a tool")} wants to run`);
  request.options.forEach((option, i) => {
    process.stdout.write(`    ${i + 1}  ${option.name}\n`);
  });
  const typed = await answer();
  const chosen = request.options[Number(typed) - 1] ?? request.options[0];
  if (!chosen) return { outcome: { outcome: "cancelled" } };
  block(dim(typed === undefined ? `    → ${chosen.name} (by itself)` : `    → ${chosen.name}`));
  return { outcome: { outcome: "selected", optionId: chosen.optionId } };
}

/** What a person types, or undefined when nobody does. */
function answer(): Promise<string | undefined> {
  if (process.stdin.isTTY !== true) return Bun.sleep(ANSWER_MS).then(() => undefined);
  process.stdout.write(dim(`    number and Enter, or wait ${ANSWER_MS / 1000} s: `));
  const terminal = createInterface({ input: process.stdin });
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      terminal.close();
      resolve(undefined);
    }, ANSWER_MS);
    terminal.once("line", (typed) => {
      clearTimeout(timer);
      terminal.close();
      resolve(typed.trim());
    });
  });
}

async function turn(home: string, workspace: string): Promise<acp.PromptResponse> {
  const child = Bun.spawn([BINARY, "stdio", "--backend", "sim"], {
    cwd: workspace,
    env: { PATH: process.env.PATH ?? "", HOME: home, USERPROFILE: home },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
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
            `${agentInfo?.title} through ${agentInfo?.name} ${agentInfo?.version}, with the built-in simulator\n`,
          ),
        );
        const { sessionId } = await agent.request("session/new", { cwd: workspace, mcpServers: [] });
        block(`${bold("you")}  Greet louder, and check it.\n`);
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
const workspace = join(dir, "work");
let ok = false;
try {
  const home = join(dir, "home");
  for (const path of [home, workspace]) Bun.spawnSync(["mkdir", "-p", path]);
  writeFileSync(join(workspace, "greeting.ts"), 'export const greeting = "hello";\nconsole.log(greeting);\n');
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
  const missing = Object.entries(SHOWN)
    .filter(([, seen]) => !seen)
    .map(([name]) => name);
  const left = untouched.filter((path) => existsSync(path));
  ok = stopReason === "end_turn" && missing.length === 0 && left.length === 0;
  if (missing.length > 0) console.error(red(`Not shown: ${missing.join(", ")}.`));
  if (left.length > 0) console.error(red(`Left behind: ${left.join(", ")}.`));
  if (ok) block(`\n${green("That is what your editor gets.")} How to set it up is in README.md.`);
} catch (error) {
  console.error(red(`\nThe turn failed: ${error instanceof Error ? error.message : String(error)}`));
} finally {
  rmSync(dir, { recursive: true, force: true });
  clearTimeout(watchdog);
}
process.exit(ok ? 0 : 1);
