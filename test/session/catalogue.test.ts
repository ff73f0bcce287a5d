/** The backend's lists of skills and commands, in whatever state. */

import { expect, test } from "bun:test";
import type { PlayedServer } from "../support/bridge.ts";
import type { Json, PlainClient } from "../support/plainClient.ts";
import { serveSubscribe, settle, startPlayed } from "../support/played.ts";
import { until } from "../support/processes.ts";
import { eachSeedAsync, someValue, WRONG_VALUES } from "../support/random.ts";

/** Answers both lists; an error where one is given. */
async function serve(server: PlayedServer, skills: unknown, commands: unknown): Promise<void> {
  for (const [method, value] of [
    ["skills/referenceCatalog", skills],
    ["workspace/readPresentation", commands],
  ] as const) {
    const frame = await server.take((each) => each.method === method);
    server.push(
      value instanceof Error
        ? { id: frame.id, error: { code: -32603, message: "no" } }
        : { id: frame.id, result: value },
    );
  }
}

const listed = (client: PlainClient, id: string) =>
  (
    (client.updates(id).findLast((update) => update.sessionUpdate === "available_commands_update")
      ?.availableCommands ?? []) as Json[]
  ).slice(9);

async function begin(): Promise<{
  client: PlainClient;
  server: PlayedServer;
  id: string;
  end: () => Promise<void>;
}> {
  const { test, client, server } = await startPlayed();
  // The lists of the folder that the bridge was warmed up with.
  await serve(server, { skills: [] }, { slashCommands: [] });
  const id = await client.newSession("/one");
  return { client, server, id, end: () => test.bridge.close() };
}

test("R40 R41 long, doubled, switched off and reserved ones: what is listed is short, once, and of use", async () => {
  const { client, server, id, end } = await begin();
  const skill = (name: unknown, more: Json = {}) => ({ name, description: "d", enabled: true, ...more });
  await serve(
    server,
    {
      skills: [
        skill("tdd", { description: `a\nb\u0007${"x".repeat(100_000)}` }),
        skill("tdd"),
        skill("off", { enabled: false }),
        skill("two words"),
        skill("../up"),
        skill(""),
        skill("__proto__"),
        skill("constructor"),
        skill("compact"),
      ],
    },
    {
      slashCommands: [
        { name: "/ship", description: "Ship it", inputHint: "/ship <where>", source: "custom" },
        {
          name: "long",
          description: `Two\nlines\u0007${"y".repeat(100_000)}`,
          inputHint: "/long <one>\n<two>",
          source: "plugin",
        },
        { name: "help", source: "custom" },
        { name: "Model", source: "custom" },
        { name: "plan", source: "builtin" },
        { name: "old", source: "builtin" },
        { name: "tdd", description: "a command of the same name", source: "custom" },
      ],
    },
  );
  await settle();
  const commands = listed(client, id);
  expect(commands.map(({ name }) => name)).toEqual([
    "ship",
    "long",
    "tdd",
    "$tdd",
    "__proto__",
    "constructor",
    "$compact",
  ]);
  expect(commands[0]).toMatchObject({ description: "Ship it", input: { hint: "<where>" } });
  expect(String(commands[1]!.description)).toStartWith("Two lines yyy");
  expect(String(commands[1]!.description)).toHaveLength(1_024);
  expect(commands[1]).toMatchObject({ input: { hint: "<one> <two>" } });
  expect(String(commands[3]!.description)).toStartWith("a b xxx");
  expect(String(commands[3]!.description)).toHaveLength(1_024);
  await end();
});

test("R40 R41 names are found in any case, and one like a command of ours is listed with its sign", async () => {
  const { client, server, id, end } = await begin();
  const skill = (name: string) => ({ name, description: "d", enabled: true });
  await serve(
    server,
    { skills: [skill("TDD"), skill("Goal")] },
    { slashCommands: [{ name: "Ship", description: "d", source: "custom" }] },
  );
  await until("the list is there", 5_000, () => listed(client, id).length > 0);
  expect(listed(client, id).map(({ name }) => name)).toEqual(["Ship", "TDD", "$Goal"]);
  let made = false;
  const sent = async (prompt: Json[]) => {
    const answer = client.request("session/prompt", { sessionId: id, prompt });
    if (!made) {
      const create = await server.take((frame) => frame.method === "session/create");
      server.push({ id: create.id, result: { session: { sessionId: "s1" }, runtime: { eventSeq: 0 } } });
      await serveSubscribe(server);
      made = true;
    }
    const send = await server.take((frame) => frame.method === "session/send");
    void answer.catch(() => {});
    server.push({ id: send.id, error: { code: -32603, message: "no" } });
    await answer.catch(() => {});
    return (send.params as Json).content as string;
  };
  const text = (words: string): Json => ({ type: "text", text: words });
  for (const words of ["/tdd fix it", "$Tdd fix it", "/skill $tdd fix it"])
    expect(await sent([text(words)])).toContain('calls the skill "TDD"');
  expect(await sent([text("/ship it")])).toBe("/ship it");
  // With something attached it is no command.
  const link = { type: "resource_link", uri: "https://example.org/x", name: "x" };
  expect(JSON.stringify(await sent([text("/goal"), link]))).toContain("/goal");
  await end();
}, 20_000);

test("R40 A8 no list, half a list, nonsense and tens of thousands break nothing; nothing is listed twice for it", async () => {
  const many = Array.from({ length: 20_000 }, (_, n) => ({ name: `s${n}`, description: "d", enabled: true }));
  for (const [skills, commands, count] of [
    [new Error(), new Error(), 0],
    [{ skills: many }, new Error(), 500],
    [{}, {}, 0],
    [null, 7, 0],
    [{ skills: WRONG_VALUES }, { slashCommands: WRONG_VALUES }, 0],
  ] as const) {
    const { client, server, id, end } = await begin();
    await serve(server, skills, commands);
    if (count > 0) await until("the list is there", 5_000, () => listed(client, id).length > 0);
    await Bun.sleep(30);
    expect(listed(client, id)).toHaveLength(count);
    const updates = client
      .updates(id)
      .filter((update) => update.sessionUpdate === "available_commands_update");
    expect(updates).toHaveLength(count > 0 ? 2 : 1);
    await end();
  }
  await eachSeedAsync(40, async (random) => {
    const { client, server, id, end } = await begin();
    const entries = () => random.times(random.int(0, 5), () => someValue(random, 2));
    await serve(server, { skills: entries() }, { slashCommands: entries() });
    await settle();
    for (const { name, description } of listed(client, id)) {
      expect(typeof name).toBe("string");
      expect(typeof description).toBe("string");
    }
    await end();
  });
}, 60_000);
