/** What a conversation that was used and is idle holds: two looks at one bridge, with few of them and with many. */
import { INITIALIZE, Program } from "./program.ts";

const FEW = 200;
const MANY = 2_200;
/** The lowest of so many looks counts, since what waits to be collected swings. */
const LOOKS = 8;
const LOOK_MS = 1_500;

export async function measureMemory(argv: readonly string[], recorded: string, dir: string): Promise<void> {
  const program = new Program([...argv], dir, { ZCODE_BIN: recorded });
  await program.ask(INITIALIZE);
  let id = 1;
  const request = (method: string, params: unknown) => ({ jsonrpc: "2.0", id: ++id, method, params });
  /** Makes conversations until there are `count`; each is prompted once, and everything asked is allowed. */
  let made = 0;
  const grow = async (count: number) => {
    for (; made < count; made++) {
      const session = await program.ask(request("session/new", { cwd: dir, mcpServers: [] }));
      await prompted(
        program,
        request("session/prompt", {
          sessionId: session.result?.sessionId,
          prompt: [{ type: "text", text: "Run the tests and list the folder" }],
        }),
      );
    }
  };
  const settled = async () => {
    const looks: number[] = [];
    for (let n = 0; n < LOOKS; n++) {
      await Bun.sleep(LOOK_MS);
      looks.push(program.pss());
    }
    return Math.min(...looks);
  };
  await grow(FEW);
  const few = await settled();
  await grow(MANY);
  const many = await settled();
  await program.end();
  const each = (many - few) / (MANY - FEW);
  console.log(
    `${"memory (PSS) of an idle conversation".padEnd(46)} ${each.toFixed(1).padStart(10)} ${"".padEnd(10)} KB     ${"".padEnd(6)}  < 30`,
  );
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly options?: readonly { readonly kind: string; readonly optionId: string }[] };
}

/** Sends a prompt, answers what is asked meanwhile, and resolves with its end. */
function prompted(program: Program, message: { id: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    program.onLine = (line) => {
      if (!line.includes('"id":')) return;
      const frame = JSON.parse(line) as Message & { error?: unknown };
      if (frame.method === "session/request_permission") {
        const option = frame.params?.options?.find((each) => each.kind === "allow_once");
        const outcome = { outcome: "selected", optionId: option?.optionId };
        program.send({ jsonrpc: "2.0", id: frame.id, result: { outcome } });
      } else if (frame.method === undefined && frame.id === message.id) {
        if (frame.error) reject(new Error(JSON.stringify(frame.error)));
        else resolve();
      }
    };
    program.send(message);
  });
}
