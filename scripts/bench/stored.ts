/**
 * An app-server with stored conversations: the session `h<N>` has N messages. The newest message says when the answer that
 * holds it was written, as `@<ms>`.
 */
import { mono } from "./mono.ts";

if (process.argv.includes("--version")) {
  console.log("0.16.9");
  process.exit(0);
}

/** Messages of a turn: a person's, and answers with words and a tool call each. */
const TURN = 4;
const WORDS = "What was said here is as long as what an agent says between two calls of its tools. ".repeat(
  5,
);

function message(session: string, number: number): string {
  const id = `${session}-${number}`;
  if (number % TURN === 0)
    return JSON.stringify({
      info: { messageId: id, role: "user" },
      parts: [{ type: "text", text: `prompt ${number}` }],
    });
  const state = { status: "completed", input: { file_path: "/one/a.ts" }, output: WORDS };
  return JSON.stringify({
    info: { messageId: id, role: "assistant" },
    parts: [
      { type: "text", text: `${number} ${WORDS}` },
      { type: "tool", callId: `c-${id}`, tool: "Read", state },
    ],
  });
}

const stored = new Map<string, string[]>();
function messagesOf(session: string): string[] {
  let all = stored.get(session);
  if (!all) {
    const count = Number(session.slice(1));
    all = Array.from({ length: count }, (_, number) => message(session, number));
    stored.set(session, all);
  }
  return all;
}

/** The newest of them, the last one with the time. */
function joined(session: string, limit: unknown, after: unknown): string {
  let all = messagesOf(session);
  if (typeof after === "string") all = all.slice(Number(after.split("-")[1]) + 1);
  if (typeof limit === "number") all = all.slice(-limit);
  const info = { messageId: `${session}-now`, role: "user" };
  const now = JSON.stringify({ info, parts: [{ type: "text", text: `@${mono()}` }] });
  return `[${[...all, now].join(",")}]`;
}

const out = Bun.stdout.writer();
let rest = "";
const decoder = new TextDecoder();
for await (const chunk of Bun.stdin.stream()) {
  rest += decoder.decode(chunk, { stream: true });
  const lines = rest.split("\n");
  rest = lines.pop() ?? "";
  for (const line of lines) {
    if (line === "") continue;
    const {
      id,
      method,
      params = {},
    } = JSON.parse(line) as {
      id: number;
      method: string;
      params?: Record<string, unknown>;
    };
    const session = String(params.sessionId);
    let result = "{}";
    if (method === "session/resume")
      result = `{"session":{"sessionId":"${session}"},"runtime":{"eventSeq":0},"messages":${joined(session, undefined, undefined)}}`;
    if (method === "session/messages")
      result = `{"messages":${joined(session, params.limit, params.afterMessageId)}}`;
    await out.write(`{"id":${id},"result":${result}}\n`);
    await out.flush();
  }
}
process.exit(0);
