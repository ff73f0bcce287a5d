/**
 * An app-server that does nothing but stream, as fast as it can be written: both the bridge and the plain relay get
 * their events from it, over the same kind of pipe. A prompt is `burst N` (N text deltas in blocks), `paced N RATE`
 * (N deltas, each with the time at which it was written), or anything else (one delta with the time of its arrival).
 */
import { mono } from "./mono.ts";

if (process.argv.includes("--version")) {
  console.log("0.16.9");
  process.exit(0);
}

const out = Bun.stdout.writer();
const SESSION = "sess_bench";
let seq = 1;
let turns = 0;

async function write(text: string): Promise<void> {
  await out.write(text);
  await out.flush();
}

const frame = (value: unknown) => `${JSON.stringify(value)}\n`;
const event = (type: string, payload: unknown) =>
  frame({
    method: "session/event",
    params: {
      deliveryKind: "desktop-continuous",
      eventId: "e",
      payload,
      seq: ++seq,
      sessionId: SESSION,
      timestamp: 0,
      traceId: "t",
      turnId: `turn_${turns}`,
      type,
    },
  });
const delta = (text: string) =>
  `{"method":"session/event","params":{"deliveryKind":"desktop-continuous","eventId":"84d2f0a1-2c1b-4f6c-9b1e-0d5a3c7e9f11","payload":{"assistantMessageId":"msg_615b2d2f-2a80-4020-a9ec-cc5d9e4419f8","delta":"${text}","done":false,"kind":"text_delta"},"seq":${++seq},"sessionId":"${SESSION}","timestamp":1790000001608,"traceId":"trace_17830713","turnId":"turn_${turns}","type":"model.streaming"}}\n`;

async function turn(content: string, inputId: string, arrived: number): Promise<void> {
  turns++;
  await write(event("turn.started", { inputId, foregroundExecutionId: "fg" }));
  const [word, count = "0", rate = "0"] = content.split(" ");
  if (word === "burst") {
    const total = Number(count);
    for (let done = 0; done < total; ) {
      let block = "";
      for (let i = 0; i < 512 && done < total; i++, done++) block += delta(`w${done} `);
      await write(block);
    }
  } else if (word === "paced") {
    const start = mono();
    for (let i = 0; i < Number(count); i++) {
      const due = start + (i * 1000) / Number(rate);
      while (mono() < due) await Bun.sleep(0);
      await write(delta(`@${mono().toFixed(4)}`));
    }
  } else {
    await write(delta(`@${arrived.toFixed(4)}`));
  }
  await write(event("turn.completed", { resultType: "success", response: "", inputId }));
  await write(
    frame({
      method: "state.updated",
      params: { scope: "session", sessionId: SESSION, revision: 1, reason: "prompt_completed", patch: {} },
    }),
  );
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
      params: { content?: string; inputId?: string };
    };
    if (method === undefined) continue;
    if (method === "session/create")
      await write(frame({ id, result: { session: { sessionId: SESSION }, runtime: { eventSeq: 1 } } }));
    else if (method === "session/send") {
      await write(frame({ id, result: { accepted: true } }));
      void turn(params.content ?? "", params.inputId ?? "", arrived);
    } else await write(frame({ id, result: {} }));
  }
}
process.exit(0);
