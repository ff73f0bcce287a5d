/**
 * An app-server that does nothing but stream, as fast as it can be written: both the bridge and the plain relay get
 * their events from it, over the same kind of pipe. A prompt is `burst N` (N text deltas in blocks), `paced N RATE`
 * (N deltas, each with the time at which it was written), `together N OF [RATE]` (once OF conversations have said so,
 * N deltas come, one conversation after the other, RATE a second in all), or anything else (one delta with the time
 * of its arrival). Sessions beyond the first have a number.
 */
import { mono } from "./mono.ts";

if (process.argv.includes("--version")) {
  console.log("0.16.9");
  process.exit(0);
}

const out = Bun.stdout.writer();
const PAUSE_MS = 200;
const EVENT_ID = "84d2f0a1-2c1b-4f6c-9b1e-0d5a3c7e9f11";

interface Session {
  readonly id: string;
  seq: number;
  turn: string;
}

/** As long as real ones: an engine takes short texts that it has just seen from a table. */
const idOf = (kind: string, number: number) =>
  `${kind}_0d5a3c7e-2c1b-4f6c-9b1e-${String(number).padStart(12, "0")}`;
const sessions = new Map<string, Session>();
let turns = 0;
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
      turnId: session.turn,
      type,
    },
  });
const delta = (session: Session, text: string, eventId = EVENT_ID) =>
  `{"method":"session/event","params":{"deliveryKind":"desktop-continuous","eventId":"${eventId}","payload":{"assistantMessageId":"msg_615b2d2f-2a80-4020-a9ec-cc5d9e4419f8","delta":"${text}","done":false,"kind":"text_delta"},"seq":${++session.seq},"sessionId":"${session.id}","timestamp":1790000001608,"traceId":"trace_17830713","turnId":"${session.turn}","type":"model.streaming"}}\n`;

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
async function together(total: number, pace: number): Promise<void> {
  const all = waiting;
  waiting = [];
  // Where every moment counts, the beginnings of the turns are dealt with before.
  if (pace === 0) await Bun.sleep(PAUSE_MS);
  const start = mono();
  for (let done = 0; done < total; ) {
    let block = "";
    for (let i = 0; i < 512 && done < total; i++, done++) {
      const { session } = all[done % all.length]!;
      const text = done === 0 ? `@${mono().toFixed(4)}` : `w${done} `;
      // Each event has an id of its own, as in earnest.
      block += delta(session, text, `84d2f0a1-2c1b-4f6c-9b1e-${String(done).padStart(12, "0")}`);
    }
    await write(block);
    while (pace > 0 && mono() < start + (done * 1000) / pace) await Bun.sleep(0);
  }
  for (const each of all) await ends(each);
}

async function turn(session: Session, content: string, inputId: string, arrived: number): Promise<void> {
  session.turn = idOf("turn", ++turns);
  await write(event(session, "turn.started", { inputId, foregroundExecutionId: "fg" }));
  const [word, count = "0", rate = "0", pace = "0"] = content.split(" ");
  if (word === "together") {
    waiting.push({ session, inputId });
    if (waiting.length === Number(rate)) await together(Number(count), Number(pace));
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
    const session = sessions.get(params.sessionId ?? idOf("sess", 0));
    if (method === "session/create") {
      const sessionId = idOf("sess", sessions.size);
      sessions.set(sessionId, { id: sessionId, seq: 1, turn: "" });
      await write(frame({ id, result: { session: { sessionId }, runtime: { eventSeq: 1 } } }));
    } else if (method === "session/send" && session) {
      await write(frame({ id, result: { accepted: true } }));
      void turn(session, params.content ?? "", params.inputId ?? "", arrived);
    } else await write(frame({ id, result: {} }));
  }
}
process.exit(0);
