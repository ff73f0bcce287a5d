/** What no signal handler can do: ends of the whole group, and of what appears late. */

import { test } from "bun:test";
import { WATCHDOG } from "../../src/platform/processGuard.ts";
import { Agent, allowAll, BINARY } from "../support/agent.ts";
import { alive, pidsByArguments, until } from "../support/processes.ts";
import { tempDir } from "../support/temp.ts";

test("B11 a SIGKILL of the bridge's whole group leaves nothing behind", async () => {
  const workspace = tempDir("work"),
    home = tempDir("home");
  const child = Bun.spawn([BINARY, "stdio", "--backend", "sim"], {
    cwd: workspace,
    env: { PATH: process.env.PATH ?? "", HOME: home },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
    detached: true,
  });
  const agent = new Agent(child, home, workspace);
  const session = await agent.start();
  allowAll(agent.client);
  const seconds = `7${process.pid}.901`;
  await agent.client.prompt(session, `spawn-setsid sleep ${seconds}`);
  await until("it runs", 5000, () => pidsByArguments(seconds).length > 0);
  process.kill(-child.pid, "SIGKILL");
  await agent.exited;
  try {
    await until("nothing is left", 3000, () => pidsByArguments(seconds).length === 0);
  } finally {
    for (const pid of pidsByArguments(seconds)) process.kill(pid, "SIGKILL");
  }
}, 15000);

test("B11 a process whose marker shows only after the bridge's end is taken as well", async () => {
  const nonce = crypto.randomUUID();
  const shell = Bun.spawn(["/bin/sh", "-c", `exec 3<&0; ${WATCHDOG}`], { stdin: new Blob([`m ${nonce}\n`]) });
  await Bun.sleep(200);
  const late = Bun.spawn(["sleep", "300"], { detached: true, env: { ...process.env, MARK: nonce } });
  try {
    await until("it is gone", 2000, () => !alive(late.pid));
  } finally {
    if (alive(late.pid)) late.kill("SIGKILL");
    await shell.exited;
  }
});
