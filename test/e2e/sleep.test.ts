/**
 * A machine that sleeps: the bridge and its backend are stopped for longer than what counts as sleep, and go on. All
 * that has to sleep does so at the same time, since that time is real.
 */

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { type Agent, launch, within } from "../support/agent.ts";
import type { Json } from "../support/plainClient.ts";
import { pidsByArguments, until } from "../support/processes.ts";

/** A look that is 30 s late counts as sleep, and looks are 10 s apart; milliseconds. */
const STOPPED_MS = 42_000;
const STOPPED_S = STOPPED_MS / 1000;

function backendOf(agent: Agent): number | undefined {
  return pidsByArguments("sim").find((pid) => {
    try {
      const parent = /^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
      return Number(parent) === agent.child.pid;
    } catch {
      return false;
    }
  });
}

function signal(pids: readonly number[], name: "SIGSTOP" | "SIGCONT"): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch {
      // It is gone, which the test says by itself.
    }
  }
}

test.skipIf(process.platform !== "linux")(
  "D9 B8 B10 a sleep ends no silent turn, gives up no request, and leaves the backend its process",
  async () => {
    // Twenty times faster, ten minutes without progress are 30 s: fewer than it sleeps.
    const scale = 20;
    const silent = launch({ env: { ZCODE_ACP_INTERNAL_TIME_SCALE: String(scale) } });
    const idle = launch();
    // The question that a new backend is asked first is given up after 20 s.
    const starting = launch({ sim: `--slow=runtime/capabilities:${STOPPED_S + 4}` });
    const agents = [silent, idle, starting];
    let pids: number[] = [];
    try {
      const session = await silent.start();
      const before = await idle.start();
      expect((await idle.client.prompt(before, "text before")).stopReason).toBe("end_turn");
      const fresh = await starting.start();
      const first = starting.client.prompt(fresh, "text first");
      // Silent for the time that it sleeps and some seconds more, which are far from ten minutes.
      const turn = silent.client.prompt(
        session,
        `text before; silence ${(STOPPED_S + 9) * scale} frozen; text after`,
      );
      await until("the words before", 5_000, () => silent.client.text() === "before");
      const backends = await Promise.all(
        agents.map((agent) => until("a backend", 5_000, () => backendOf(agent))),
      );
      // Some looks at the turn, so that its numbers are known to stand still.
      await Bun.sleep(3_000);
      pids = [...agents.map((agent) => agent.child.pid), ...backends];
      signal(pids, "SIGSTOP");
      await Bun.sleep(STOPPED_MS);
      signal(pids, "SIGCONT");

      const ends: Json[] = await within(Promise.all([turn, first]), 25_000, "both ends");
      expect(ends.map((end) => end.stopReason)).toEqual(["end_turn", "end_turn"]);
      expect(silent.client.text()).toBe("beforeafter");
      expect(starting.client.text()).toBe("first");
      expect((await idle.client.prompt(before, "text after")).stopReason).toBe("end_turn");
      expect(idle.client.text()).toBe("beforeafter");
      expect(agents.map(backendOf)).toEqual(backends);
      for (const agent of agents) expect(await agent.close()).toBe(0);
    } finally {
      signal(pids, "SIGCONT");
      for (const agent of agents) agent.child.kill();
    }
  },
  120_000,
);
