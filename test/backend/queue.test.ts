/** Prompts of one conversation from several clients at once, over an app-server that keeps a prompt lock. */

import { expect, test } from "bun:test";
import { scaledClock, systemClock } from "../../src/platform/clock.ts";
import { type PlayedServer, testBridge } from "../support/bridge.ts";
import type { Json, PlainClient } from "../support/plainClient.ts";

const tick = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Serves one session as the backend does: a prompt lock, turns that last until they are stopped or released. */
class LockedServer {
  /** What was taken for a turn, in order: the stored history. */
  readonly history: string[] = [];
  /** How each turn ended. */
  readonly ends: string[] = [];
  private seq = 0;
  private running: { turnId: string; inputId: unknown; fg: string } | undefined;
  private over = false;

  constructor(
    private readonly server: PlayedServer,
    /** Whether the turn of this prompt ends by itself. */
    private readonly finishes: (words: string) => boolean,
  ) {
    void this.serve();
  }

  stop(): void {
    this.over = true;
  }

  private async serve(): Promise<void> {
    while (!this.over) {
      const frame = await this.server
        .take((each) => each.method !== undefined, 60_000)
        .catch(() => undefined);
      if (!frame) return;
      const params = frame.params as Json;
      const answer = (result: Json) => frame.id !== undefined && this.server.push({ id: frame.id, result });
      switch (frame.method) {
        case "runtime/capabilities":
        case "session/subscribe":
          answer({});
          break;
        case "session/create":
          answer({ session: { sessionId: "s" }, runtime: { eventSeq: 0 } });
          break;
        case "session/send": {
          if (this.running) {
            const error = { code: -32010, message: "A prompt is already running for this session" };
            this.server.push({ id: frame.id, error });
            break;
          }
          const words = String(params.content);
          const turnId = `turn_${this.history.push(words)}`;
          this.running = { turnId, inputId: params.inputId, fg: `fg_${turnId}` };
          this.state("prompt_started");
          answer({ accepted: true });
          this.event("turn.started", { inputId: params.inputId, foregroundExecutionId: this.running.fg });
          this.event("model.streaming", {
            kind: "text_delta",
            assistantMessageId: turnId,
            delta: `[${words}]`,
          });
          if (this.finishes(words)) {
            await tick();
            this.end("success");
          }
          break;
        }
        case "v4/command": {
          const { expectedForegroundExecutionId: fg } = params.payload as Json;
          answer({ status: "accepted" });
          if (this.running?.fg === fg) this.end("cancelled");
          break;
        }
        default:
          // This build ignores `session/stop`.
          answer({});
      }
    }
  }

  private end(resultType: string): void {
    this.event("turn.completed", { resultType });
    this.ends.push(resultType);
    this.running = undefined;
    this.state("prompt_completed");
  }

  private event(type: string, payload: Json): void {
    const { turnId } = this.running!;
    this.server.push({
      method: "session/event",
      params: { sessionId: "s", seq: ++this.seq, turnId, type, payload },
    });
  }

  private state(reason: string): void {
    const params = { type: "state.updated", scope: "session", sessionId: "s", reason, patch: {} };
    this.server.push({ method: "state.updated", params });
  }
}

async function start(clients: number, endsByItself: (words: string) => boolean) {
  const test = testBridge({ rules: scaledClock(systemClock(), 20) });
  const all: PlainClient[] = [];
  for (let n = 0; n < clients; n++) {
    const client = test.client();
    await client.initialize();
    all.push(client);
  }
  const id = await all[0]!.newSession("/one");
  const server = new LockedServer(await test.server(0), endsByItself);
  for (const client of all.slice(1)) {
    await client.request("session/resume", { sessionId: id, cwd: "/one", mcpServers: [] });
  }
  return { test, all, id, server };
}

for (const clients of [1, 3]) {
  for (const count of [2, 3, 30]) {
    test(`B16 M4 B22 ${count} prompts at once from ${clients} of the clients: the running one is stopped, the waiting ones run in order, none is lost`, async () => {
      // The first turn never ends by itself; all that wait do.
      const { test, all, id, server } = await start(clients, (words) => words !== "p0");
      const answers = [all[0]!.prompt(id, "p0")];
      await all[0]!.update((update) => JSON.stringify(update).includes("[p0]"));
      for (let n = 1; n < count; n++) answers.push(all[n % clients]!.prompt(id, `p${n}`));
      const ended = await Promise.all(answers);
      expect(ended.map((each) => each.stopReason)).toEqual([
        "cancelled",
        ...Array.from({ length: count - 1 }, () => "end_turn"),
      ]);
      expect(server.history).toEqual(Array.from({ length: count }, (_, n) => `p${n}`));
      expect(server.ends).toEqual(
        ended.map((each) => (each.stopReason === "cancelled" ? "cancelled" : "success")),
      );
      // Everybody sees everything, once and in order.
      const words = server.history.map((each) => `[${each}]`).join("");
      for (const client of all) {
        const said = client
          .updates(id)
          .filter((update) => update.sessionUpdate === "agent_message_chunk")
          .map((update) => ({
            ours: String(update.messageId).startsWith("notice_"),
            ...(update.content as Json),
          }));
        const model = said.filter(({ ours }) => !ours);
        expect(model.map((each) => (each as Json).text).join("")).toBe(words);
        // One line tells those who wait for more than the stop.
        expect(said.length - model.length).toBe(count > 2 ? 1 : 0);
      }
      server.stop();
      await test.bridge.close();
    }, 20_000);
  }
}

test("B16 A5 a cancel ends the running and all waiting prompts, of every client; one too many is refused with a sentence", async () => {
  const { test, all, id, server } = await start(3, () => false);
  const first = all[0]!.prompt(id, "p0");
  await all[0]!.update((update) => JSON.stringify(update).includes("[p0]"));
  // The first of these stops the running turn and takes its place: it runs, 32 wait, and one is too many.
  const taken = all[1]!.prompt(id, "p1");
  expect((await first).stopReason).toBe("cancelled");
  await all[0]!.update((update) => JSON.stringify(update).includes("[p1]"));
  server.stop();
  const waiting = Array.from({ length: 33 }, (_, n) =>
    all[n % 3]!.prompt(id, `w${n}`).catch((error) => error),
  );
  const last = await waiting[32]!;
  expect(last).toMatchObject({ data: { code: "ZACP-202" } });
  all[2]!.notify("session/cancel", { sessionId: id });
  const ended = await Promise.all([taken, ...waiting.slice(0, 32)]);
  expect(new Set(ended.map((each) => (each as Json).stopReason))).toEqual(new Set(["cancelled"]));
  await test.bridge.close();
}, 20_000);
