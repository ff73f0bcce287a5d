/** More conversations than the backend keeps at a time. */

import { expect, test } from "bun:test";
import { launch, within } from "../support/agent.ts";

for (const residents of [1, 3, 16]) {
  test(`B5 M3 B20 ${2 * residents + 8} conversations at once are all served where the backend keeps ${residents}`, async () => {
    const agent = launch({ sim: `--residents=${residents}` });
    await agent.client.initialize();
    const sessions: string[] = [];
    for (let n = 0; n < 2 * residents + 8; n++) sessions.push(await agent.client.newSession(agent.workspace));
    for (const words of ["first", "second"]) {
      const answers = sessions.map((id, n) => agent.client.prompt(id, `text ${words} ${n}`));
      const ended = await within(Promise.all(answers), 30_000, "all of them");
      expect(ended.map((each) => each.stopReason)).toEqual(sessions.map(() => "end_turn"));
    }
    for (const [n, id] of sessions.entries())
      expect(agent.client.text("agent_message_chunk", id)).toBe(`first ${n}second ${n}`);
    await agent.close();
    const next = launch({ sim: `--residents=${residents}`, home: agent.home, workspace: agent.workspace });
    await next.client.initialize();
    const loads = sessions.map((sessionId) =>
      next.client.request("session/load", { sessionId, cwd: agent.workspace, mcpServers: [] }),
    );
    await within(Promise.all(loads), 30_000, "all loads");
    for (const [n, id] of sessions.entries())
      expect(next.client.text("agent_message_chunk", id)).toBe(`first ${n}second ${n}`);
    await next.close();
  }, 90_000);
}

test("R8 M1 a conversation that a client has open is listed under the id that it knows, and answers go to the thread that asked", async () => {
  const agent = launch();
  const session = await agent.start();
  await agent.client.prompt(session, "text one");
  const listed = (await agent.client.request("session/list", {})) as { sessions: { sessionId: string }[] };
  expect(listed.sessions.map((entry) => entry.sessionId)).toEqual([session]);
  await agent.close();
  // In another bridge it is known under the backend's id alone, and under both where a client opens both.
  const next = launch({ home: agent.home, workspace: agent.workspace });
  await next.client.initialize();
  const other = (await next.client.request("session/list", {})) as { sessions: { sessionId: string }[] };
  const stored = other.sessions[0]!.sessionId;
  for (const sessionId of [session, stored])
    await next.client.request("session/load", { sessionId, cwd: agent.workspace, mcpServers: [] });
  for (const [id, words] of [
    [session, "two"],
    [stored, "three"],
    [session, "four"],
  ] as const) {
    const before = next.client.text("agent_message_chunk", id);
    await next.client.prompt(id, `text ${words}`);
    expect(next.client.text("agent_message_chunk", id)).toBe(`${before}${words}`);
  }
  await next.close();
});

test("A2 M3 M11 close, load and prompt without waiting are served in this order, and a load that a close overtakes says nothing more", async () => {
  const agent = launch({ sim: "--residents=1 --slow session/resume:1" });
  const session = await agent.start();
  const load = () =>
    agent.client.request("session/load", { sessionId: session, cwd: agent.workspace, mcpServers: [] });
  for (const words of ["one", "two"]) {
    await agent.client.request("session/close", { sessionId: session });
    const answers = [
      agent.client.request("session/close", { sessionId: session }),
      load(),
      agent.client.prompt(session, `text ${words}`),
    ];
    expect((await Promise.all(answers)).at(-1)).toMatchObject({ stopReason: "end_turn" });
  }
  await agent.client.request("session/close", { sessionId: session });
  const overtaken = load();
  const before = agent.client.frames.length;
  await agent.client.request("session/close", { sessionId: session });
  await expect(overtaken).rejects.toMatchObject({ data: { code: "ZACP-201" } });
  expect(agent.client.frames.slice(before).filter((frame) => frame.method === "session/update")).toEqual([]);
  await load();
  expect(agent.client.text("user_message_chunk", session)).toContain("text two");
  await agent.close();
});

test("B12 a request nested deeper than can be written again ends nothing", async () => {
  const agent = launch();
  const session = await agent.start();
  const deep = `${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`;
  for (const frame of [
    `{"x":${deep}}`,
    `{"jsonrpc":"2.0","id":901,"method":${deep}}`,
    `{"jsonrpc":"2.0","id":902,"method":"session/new","params":${deep}}`,
    `{"jsonrpc":"2.0","id":903,"method":"no/such","params":${deep}}`,
    `{"jsonrpc":"2.0","id":${deep},"method":"session/new","params":{}}`,
    `{"jsonrpc":"2.0","id":904,"method":"session/prompt","params":{"sessionId":"${session}","prompt":[${deep}]}}`,
    `{"jsonrpc":"2.0","method":"session/cancel","params":${deep}}`,
  ])
    agent.write(`${frame}\n`);
  expect((await agent.client.prompt(session, "text still here")).stopReason).toBe("end_turn");
  expect(agent.client.text("agent_message_chunk", session)).toBe("still here");
  expect(agent.strays).toEqual([]);
  await agent.close();
});
