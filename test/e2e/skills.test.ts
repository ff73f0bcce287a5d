/** Skills and commands of a workspace: who is listed what, and what a prompt that begins with a slash becomes. */

import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Agent, launch } from "../support/agent.ts";
import type { Json } from "../support/plainClient.ts";
import { until } from "../support/processes.ts";
import { tempDir } from "../support/temp.ts";

function write(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

function workspace(): string {
  const cwd = tempDir("skills");
  write(join(cwd, ".zcode/skills/tdd/SKILL.md"), "---\nname: tdd\ndescription: Tests first\n---\n");
  write(join(cwd, ".zcode/skills/mode/SKILL.md"), "---\nname: mode\ndescription: Named like ours\n---\n");
  write(
    join(cwd, ".zcode/commands/deploy.md"),
    "---\ndescription: Ship it\nargument-hint: <where>\n---\nShip to $1",
  );
  return cwd;
}

/** Without the simulator's lists, as on builds that have none. */
const OLD = "--missing skills/referenceCatalog,workspace/readPresentation";

async function begin(
  name: string | undefined,
  options: { sim?: string; record?: string; home?: string; cwd?: string } = {},
) {
  const agent = launch({
    workspace: options.cwd ?? workspace(),
    ...(options.sim === undefined ? {} : { sim: options.sim }),
    ...(options.home === undefined ? {} : { home: options.home }),
    ...(options.record === undefined ? {} : { env: { ZCODE_ACP_RECORD: options.record } }),
  });
  await agent.client.initialize({}, name === undefined ? undefined : { name, version: "1" });
  return agent;
}

const lists = (agent: Agent, session: string) =>
  agent.client
    .updates(session)
    .filter((update) => update.sessionUpdate === "available_commands_update")
    .map((update) => update.availableCommands as Json[]);

const listed = async (agent: Agent, session: string, name: string) => {
  await until(`${name} is listed`, 5_000, () =>
    lists(agent, session)
      .at(-1)
      ?.some((each) => each.name === name),
  );
  return lists(agent, session).at(-1)!;
};

const OURS = ["compact", "goal", "fork", "model", "mode", "thought", "quota", "mcp", "resume"];

test.each([
  ["zed", "", [...OURS, "shout", "$mode", "$tdd"]],
  ["martty", "", [...OURS, "shout", "$mode", "tdd"]],
  [undefined, "", [...OURS, "shout", "$mode", "tdd"]],
  ["JetBrains.IntelliJ IDEA", "", [...OURS, "shout", "$mode", "tdd"]],
  ["zed", OLD, [...OURS, "deploy", "$mode", "$tdd"]],
  [undefined, OLD, [...OURS, "deploy", "$mode", "tdd"]],
] as const)("R40 R41 A8 the client %p with flags %p is listed %p", async (name, sim, names) => {
  const agent = await begin(name, { sim });
  const session = await agent.client.newSession(agent.workspace);
  const last = await listed(agent, session, names.at(-1)!);
  expect(last.map((each) => each.name)).toEqual([...names]);
  expect(last.find((each) => String(each.name).endsWith("tdd"))).toMatchObject({
    description: "Tests first",
    input: { hint: "what to use it for" },
  });
  const command = last.find((each) => each.name === (sim === "" ? "shout" : "deploy"))!;
  expect(command.input).toEqual({ hint: sim === "" ? "<words>" : "<where>" });
  // Behind the answer that names the session, never before it; and without a change nothing is listed again.
  const answer = agent.client.frames.findIndex((frame) => (frame.result as Json)?.sessionId === session);
  const first = agent.client.frames.findIndex(
    (frame) => ((frame.params as Json)?.update as Json)?.sessionUpdate === "available_commands_update",
  );
  expect(first).toBeGreaterThan(answer);
  const before = lists(agent, session).length;
  await agent.client.prompt(session, "text hello");
  expect(lists(agent, session)).toHaveLength(before);
  expect(await agent.close()).toBe(0);
});

test("R40 A8 a skill of the disk is listed with the hint of its head, and a description of several lines as one", async () => {
  const cwd = workspace();
  write(
    join(cwd, ".zcode/skills/plot/SKILL.md"),
    '---\ndescription: |\n  Draws\n  a map\nargument-hint: "<place>"\n---\n',
  );
  const agent = await begin(undefined, { sim: OLD, cwd });
  const session = await agent.client.newSession(agent.workspace);
  const plot = (await listed(agent, session, "plot")).find(({ name }) => name === "plot");
  expect(plot).toEqual({ name: "plot", description: "Draws a map", input: { hint: "<place>" } });
  expect((await agent.client.prompt(session, "/skill")).stopReason).toBe("end_turn");
  expect(agent.client.text()).toContain("- `plot`: Draws a map\n");
  expect(await agent.close()).toBe(0);
});

test.each([
  ["the backend's own lists", ""],
  ["the disk's", OLD],
])(
  "R40 R41 with %s: only commands and skills are more than text, and everybody is shown what was typed",
  async (_, sim) => {
    const record = tempDir("record");
    const home = tempDir("home");
    const agent = await begin(undefined, { sim, record, home });
    const session = await agent.client.newSession(agent.workspace);
    await listed(agent, session, "tdd");
    const command = sim === "" ? "/shout hey" : "/deploy there";
    const typed = [
      "/Users/me/notes.txt what is in it?",
      "/x",
      " /nothing of ours",
      command,
      "/INIT",
      "/tdd fix it",
      "/$tdd fix it again",
      "$tdd and more",
      "/skill tdd go",
      "/skill nothing of that name",
      "$HOME is a variable",
      "no slash",
      "\u200b/x, and a space that nobody sees",
    ];
    for (const words of typed)
      expect((await agent.client.prompt(session, words)).stopReason).toBe("end_turn");
    const sent = readdirSync(record)
      .filter((name) => name.endsWith(".backend.jsonl"))
      .flatMap((name) => readFileSync(join(record, name), "utf8").trim().split("\n"))
      .map((line) => (JSON.parse(line) as Json).frame as Json)
      .filter((frame) => frame.method === "session/send")
      .map((frame) => (frame.params as Json).content as string);
    const plain = (words: string) => `\u200b${words}`;
    expect(sent.map((words) => (words.includes("calls the skill") ? "skill" : words))).toEqual([
      plain("/Users/me/notes.txt what is in it?"),
      plain("/x"),
      plain(" /nothing of ours"),
      command,
      "/INIT",
      "skill",
      "skill",
      "skill",
      "skill",
      plain("/skill nothing of that name"),
      "$HOME is a variable",
      "no slash",
      plain("\u200b/x, and a space that nobody sees"),
    ]);
    for (const words of sent.filter((each) => each.includes("calls the skill")))
      expect(words).toContain('the skill "tdd"');
    expect(await agent.close()).toBe(0);

    const again = await begin(undefined, { sim, home, cwd: agent.workspace });
    await again.client.request("session/load", { sessionId: session, cwd: agent.workspace, mcpServers: [] });
    const replayed = again.client
      .updates(session)
      .filter((update) => update.sessionUpdate === "user_message_chunk")
      .map((update) => ((update.content as Json).text as string).trim());
    expect(replayed).toEqual(typed.map((words) => words.trim()));
    const { sessions } = await again.client.request("session/list", { cwd: agent.workspace });
    for (const { title } of sessions as Json[]) expect(title).not.toContain("\u200b");
    expect(await again.close()).toBe(0);
  },
);

test("R40 R41 /skill lists the skills; one that comes and one that goes are listed anew, and prompts keep their order meanwhile", async () => {
  const cwd = tempDir("skills");
  // Asking takes its time, and a prompt behind is not sent before.
  const agent = await begin(undefined, { cwd, sim: "--slow skills/referenceCatalog:0.3" });
  const session = await agent.client.newSession(cwd);
  const say = async (words: string) => {
    const before = agent.client.text("agent_message_chunk", session).length;
    expect((await agent.client.prompt(session, words)).stopReason).toBe("end_turn");
    return agent.client.text("agent_message_chunk", session).slice(before).trim();
  };
  expect(await say("/skill")).toBe("There are none.");
  write(join(cwd, ".zcode/skills/late/SKILL.md"), "---\nname: late\ndescription: Came later\n---\n");
  const second = await agent.client.newSession(cwd);
  await until("it is listed in both", 20_000, async () => {
    await agent.client.prompt(second, "/skill");
    return [session, second].every((id) =>
      lists(agent, id)
        .at(-1)
        ?.some((each) => each.name === "late"),
    );
  });
  expect(await say("/skill")).toBe("Skills:\n\n- `late`: Came later");
  const slashed = agent.client.prompt(session, "/late one");
  await Bun.sleep(20);
  const plain = agent.client.prompt(session, "text two");
  const ended: string[] = [];
  await Promise.all([
    slashed.then(({ stopReason }) => ended.push(`slash ${stopReason}`)),
    plain.then(({ stopReason }) => ended.push(`plain ${stopReason}`)),
  ]);
  expect(ended[0]).toStartWith("slash");
  expect(ended[1]).toBe("plain end_turn");
  expect(await agent.close()).toBe(0);
}, 40_000);
