/** The black box of a running bridge: heads of frames and the live state, and no content. */

import { expect, test } from "bun:test";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { BINARY, launch, within } from "../support/agent.ts";
import { tempDir } from "../support/temp.ts";

test("D8 doctor --of prints the black box of a running bridge, which holds no words of anybody", async () => {
  const agent = launch();
  const session = await agent.start();
  await agent.client.prompt(session, "text secretword");
  const running = agent.client.prompt(session, "text secretword; silence 60");
  await agent.client.update((update) => update.sessionUpdate === "agent_message_chunk");
  const doctor = Bun.spawn([BINARY, "doctor", "--of", String(agent.child.pid)], {
    env: { HOME: agent.home, PATH: "/usr/bin:/bin" },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [text, code] = await Promise.all([new Response(doctor.stdout).text(), doctor.exited]);
  expect(code).toBe(0);
  const box = JSON.parse(text) as {
    live: { conversations: { running: boolean }[]; clients: unknown[]; backend: { starts: number } };
    frames: [string, string, string, unknown, string, number][];
  };
  expect(box.live.conversations).toHaveLength(1);
  expect(box.live.conversations[0]?.running).toBe(true);
  expect(box.live.backend.starts).toBe(1);
  expect(box.live.clients).toHaveLength(1);
  const whats = new Set(box.frames.map((frame) => `${frame[1]} ${frame[2]}`));
  for (const what of [
    "out session/send",
    "in model.streaming",
    "client in session/prompt",
    "client out text",
  ]) {
    expect(whats).toContain(what);
  }
  expect(text).not.toContain("secretword");
  const dir = join(agent.home, ".local", "state", "zcode-acp");
  for (const name of readdirSync(dir)) expect(statSync(join(dir, name)).mode & 0o77).toBe(0);
  agent.client.notify("session/cancel", { sessionId: session });
  await running;
  await agent.close();
});

test("D8 doctor --of signals nobody but a zcode-acp", async () => {
  const sleeper = Bun.spawn(["sleep", "30"]);
  const doctor = Bun.spawn([BINARY, "doctor", "--of", String(sleeper.pid)], {
    stdout: "pipe",
    stderr: "pipe",
  });
  expect(await doctor.exited).toBe(1);
  expect(await new Response(doctor.stderr).text()).toContain("ZACP-");
  expect(sleeper.exitCode).toBeNull();
  sleeper.kill();
});

test("R2 A9 a client that closes its reading end ends the bridge", async () => {
  const child = Bun.spawn([BINARY, "stdio", "--backend", "sim"], {
    env: { HOME: tempDir("home"), PATH: process.env.PATH ?? "" },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "ignore",
  });
  const say = (method: string, params: unknown) => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })}\n`);
    child.stdin.flush();
  };
  const reader = child.stdout.getReader();
  say("initialize", { protocolVersion: 1, clientCapabilities: {} });
  await reader.read();
  await reader.cancel();
  // The first answer that cannot be delivered tells it.
  say("session/list", {});
  expect(await within(child.exited, 5_000, "the end")).toBe(0);
});
