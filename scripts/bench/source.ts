/**
 * An app-server that does nothing but stream, as fast as it can be written: both the bridge and the plain relay get
 * their events from it, over the same kind of pipe. A prompt is `burst N` (N text deltas in blocks), `paced N RATE`
 * (N deltas, each with the time at which it was written), `together N OF` (once OF conversations have said so, each says
 * "ready", and a moment later N deltas come, one conversation after the other), or anything else (one delta with the time
 * of its arrival). Sessions beyond the first have a number.
 */
import { mono } from "./mono.ts";

if (process.argv.includes("--version")) {
  console.log("0.16.9");
  process.exit(0);
}

const out = Bun.stdout.writer();
/** Between "ready" and the first delta, in milliseconds: long enough to see what was spent until then. */
const PAUSE_MS = 300;

interface Session {
  readonly id: string;
  seq: number;
  turns: number;
}

const first = "sess_bench_0000";
const sessions = new Map<string, Session>();
/** Conversations that wait for the others of a `together`. */
let waiting: { session: Session; inputId: string }[] = [];

async function write(text: string): Promise<void> {
  await out.write(text);
  await out.flush();
}

const frame = (value: unknown) => `${JSON.stringify(value)}\n`;
const event = (session: Session, type: string, payload: unknown) =>
  frame({
    method: "session/event",
    params: {
      deliveryKind: "desktop-continuous",
      eventId: "e",
      payload,
      seq: ++session.seq,
      sessionId: session.id,
      timestamp: 0,
      traceId: "t",
      turnId: `turn_${session.turns}`,
      type,
    },
  });
const delta = (session: Session, text: string) =>
  `{"method":"session/event","params":{"deliveryKind":"desktop-continuous","eventId":"84d2f0a1-2c1b-4f6c-9b1e-0d5a3c7e9f11","payload":{"assistantMessageId":"msg_615b2d2f-2a80-4020-a9ec-cc5d9e4419f8","delta":"${text}","done":false,"kind":"text_delta"},"seq":${++session.seq},"sessionId":"${session.id}","timestamp":1790000001608,"traceId":"trace_17830713","turnId":"turn_${session.turns}","type":"model.streaming"}}\n`;

async function ends({ session, inputId }: { session: Session; inputId: string }): Promise<void> {
  await write(event(session, "turn.completed", { resultType: "success", response: "", inputId }));
  await write(
    frame({
      method: "state.updated",
      params: { scope: "session", sessionId: session.id, revision: 1, reason: "prompt_completed", patch: {} },
    }),
  );
}

/** `total` deltas, taken by turns by all conversations that wait. */
async function together(total: number): Promise<void> {
  const all = waiting;
  waiting = [];
  for (const { session } of all) await write(delta(session, "ready"));
  await Bun.sleep(PAUSE_MS);
  for (let done = 0; done < total; ) {
    let block = "";
    for (let i = 0; i < 512 && done < total; i++, done++) {
      const { session } = all[done % all.length]!;
      block += delta(session, done === 0 ? `@${mono().toFixed(4)}` : `w${done} `);
    }
    await write(block);
  }
  for (const each of all) await ends(each);
}

async function turn(session: Session, content: string, inputId: string, arrived: number): Promise<void> {
  session.turns++;
  await write(event(session, "turn.started", { inputId, foregroundExecutionId: "fg" }));
  const [word, count = "0", rate = "0"] = content.split(" ");
  if (word === "together") {
    waiting.push({ session, inputId });
    if (waiting.length === Number(rate)) await together(Number(count));
    return;
  }
  if (word === "burst") {
    const total = Number(count);
    for (let done = 0; done < total; ) {
      let block = "";
      for (let i = 0; i < 512 && done < total; i++, done++) block += delta(session, `w${done} `);
      await write(block);
    }
  } else if (word === "paced") {
    const start = mono();
    for (let i = 0; i < Number(count); i++) {
      const due = start + (i * 1000) / Number(rate);
      while (mono() < due) await Bun.sleep(0);
      await write(delta(session, `@${mono().toFixed(4)}`));
    }
  } else {
    await write(delta(session, `@${arrived.toFixed(4)}`));
  }
  await ends({ session, inputId });
}

let rest = "";
const decoder = new TextDecoder();
for await (const chunk of Bun.stdin.stream()) {
  const arrived = mono();
  rest += decoder.decode(chunk, { stream: true });
  const lines = rest.split("\n");
  rest = lines.pop() ?? "";
  for (const line of lines) {
    if (line === "") continue;
    const { id, method, params } = JSON.parse(line) as {
      id: number;
      method?: string;
      params: { sessionId?: string; content?: string; inputId?: string };
    };
    if (method === undefined) continue;
    const session = sessions.get(params.sessionId ?? first);
    if (method === "session/create") {
      const sessionId = `sess_bench_${String(sessions.size).padStart(4, "0")}`;
      sessions.set(sessionId, { id: sessionId, seq: 1, turns: 0 });
      await write(frame({ id, result: { session: { sessionId }, runtime: { eventSeq: 1 } } }));
    } else if (method === "session/send" && session) {
      await write(frame({ id, result: { accepted: true } }));
      void turn(session, params.content ?? "", params.inputId ?? "", arrived);
    } else await write(frame({ id, result: {} }));
  }
}
process.exit(0);
