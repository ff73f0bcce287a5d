/**
 * An app-server that plays one recorded stream for each of its sessions: a create, and a prompt whose turn runs several
 * tools, some of which are asked about. Ids differ from session to session as they would in earnest.
 */
import recording from "../../test/frames/03-bash-permission.jsonl" with { type: "text" };

if (process.argv.includes("--version")) {
  console.log("0.16.9");
  process.exit(0);
}

type Frame = { id?: number | string; method?: string; params?: Record<string, unknown> };
interface Step {
  readonly dir: "in" | "out";
  readonly frame: Frame;
  readonly line: string;
}

/** A look that was taken for the recording's own sake, and which no client takes by itself. */
const LOOK = "session/read";
const looks = new Set<unknown>();
const steps: Step[] = [];
for (const text of recording.split("\n")) {
  if (text === "") continue;
  const { dir, frame } = JSON.parse(text) as { dir: "in" | "out"; frame: Frame };
  if (frame.method === LOOK) looks.add(frame.id);
  if (!looks.has(frame.id)) steps.push({ dir, frame, line: JSON.stringify(frame) });
}

const out = Bun.stdout.writer();
const write = async (line: string) => {
  await out.write(`${line}\n`);
  await out.flush();
};

/** One session: `told` takes what the client writes. */
class Session {
  private inputs: Frame[] = [];
  private wake = () => {};

  constructor(private readonly number: number) {}

  told(frame: Frame): void {
    this.inputs.push(frame);
    this.wake();
  }

  async run(): Promise<void> {
    const ids = new Map<unknown, unknown>();
    let input: unknown;
    for (const { dir, frame, line } of steps) {
      if (dir === "in") {
        const told = await this.take((each) =>
          frame.method === undefined ? each.id === this.own(String(frame.id)) : each.method === frame.method,
        );
        if (frame.method !== undefined) ids.set(frame.id, told.id);
        input = told.params?.inputId ?? input;
        continue;
      }
      const mine = JSON.parse(this.own(line)) as Frame;
      if (frame.method === undefined) mine.id = ids.get(frame.id) as number;
      const payload = mine.params?.payload as Record<string, unknown> | undefined;
      if (payload?.inputId !== undefined) payload.inputId = input;
      await write(JSON.stringify(mine));
    }
  }

  /** A text with this session's ids in place of the recorded ones. */
  private own(text: string): string {
    const mine = String(this.number).padStart(8, "0");
    return text
      .replace(/([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4})[0-9a-f]{8}/g, `$1${mine}`)
      .replace(/call_([0-9a-f]{12})[0-9a-f]{8}/g, `call_$1${mine}`)
      .replace(/server-(\d+)/g, `server-${this.number}-$1`);
  }

  private async take(fits: (frame: Frame) => boolean): Promise<Frame> {
    for (;;) {
      const place = this.inputs.findIndex(fits);
      if (place >= 0) return this.inputs.splice(place, 1)[0]!;
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
  }
}

const sessions: Session[] = [];
const byId = new Map<unknown, Session>();
const start = () => {
  const session = new Session(sessions.length);
  sessions.push(session);
  void session.run();
  return session;
};
const recorded = steps.find(({ dir, frame }) => dir === "out" && frame.id === steps[0]?.frame.id)?.line ?? "";
const sessionId = /sess_([0-9a-f-]{28})/.exec(recorded)?.[1];

let rest = "";
const decoder = new TextDecoder();
for await (const chunk of Bun.stdin.stream()) {
  rest += decoder.decode(chunk, { stream: true });
  const lines = rest.split("\n");
  rest = lines.pop() ?? "";
  for (const line of lines) {
    if (line === "") continue;
    const frame = JSON.parse(line) as Frame;
    if (frame.method === "session/create") {
      byId.set(`sess_${sessionId}${String(sessions.length).padStart(8, "0")}`, start());
      sessions.at(-1)?.told(frame);
    } else if (frame.method === undefined)
      sessions[Number(/^server-(\d+)-/.exec(String(frame.id))?.[1])]?.told(frame);
    else if (frame.method === "session/subscribe" || frame.method === "session/send")
      byId.get(frame.params?.sessionId)?.told(frame);
    else await write(JSON.stringify({ id: frame.id, result: {} }));
  }
}
process.exit(0);
