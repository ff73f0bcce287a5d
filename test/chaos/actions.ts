/** What a client does. A row more is an action more: its name, how often it comes, and what it is. */
import type { Random } from "../support/random.ts";
import type { Prompt } from "./conversation.ts";
import { somePolicy, staysOpen } from "./people.ts";
import type { World } from "./world.ts";

export interface Row {
  readonly name: string;
  readonly weight: number;
  /** @returns what was done, for the log; undefined where there was nothing to do it to. */
  run(world: World): Promise<string | undefined> | string | undefined;
}

/** Conversations of one world over its life. */
export const MOST_CONVERSATIONS = 200;

type Words = (tag: () => string, random: Random) => string;

/** A command whose output holds the tag, and whose own words do not. */
function echo(tag: string): string {
  return `echo '${tag.slice(0, 3)}''${tag.slice(3)}'`;
}

/** Prompts that end by themselves, and whether the model asks for a permission on the way. */
const SHAPES: readonly Words[] = [
  (tag) => `text ${tag()}; text ${tag()}`,
  (tag) => `think ${tag()}; text ${tag()}; bash ${echo(tag())}; text ${tag()}`,
  (tag) => `bash ${echo(tag())}; bash ${echo(tag())}; text ${tag()}`,
  (tag) => `text ${tag()}; sleep 2; text ${tag()}`,
  (tag) => `text ${tag()}; silence 3; text ${tag()}`,
  (tag, random) => `text ${tag()}; burst ${random.int(20, 200)}; text ${tag()}`,
  (tag) => `text ${tag()}; read notes.txt; text ${tag()}`,
  (tag) => `todo; text ${tag()}`,
  (tag) => `hiccup; text ${tag()}`,
  // Tried again by the bridge, which shows what was said before the failure once.
  (tag, random) =>
    `text ${tag()}; fail ${random.pick(["network", "overload", "server"])} ${random.int(1, 2)}`,
  (tag) => `text ${tag()}; garbage; stderr words; text ${tag()}`,
  (tag) => `text ${tag()}; bash sleep 0.2 && ${echo(tag())}; text ${tag()}`,
  (tag) => `agent look around; text ${tag()}`,
  // Asked in a form or one by one, as the world's client can; the turn goes on whatever is said.
  (tag) => `text ${tag()}; question; text ${tag()}`,
];

/** Prompts that take longer than anybody waits. */
const LONG: readonly Words[] = [
  (tag) => `text ${tag()}; silence 200; text ${tag()}`,
  (tag) => `text ${tag()}; bash sleep 20 && ${echo(tag())}; text ${tag()}`,
  (tag) => `text ${tag()}; sleep 200; text ${tag()}`,
];

function somePrompt(world: World): Prompt | undefined {
  const { random } = world;
  const conversation = world.someConversation();
  const policy = somePolicy(random);
  const shape = random.pick(SHAPES);
  const patience = random.int(2, 10);
  if (!conversation) return undefined;
  const prompt = world.prompt(conversation, (tag) => shape(tag, random), policy);
  if (staysOpen(policy)) world.stuck.push({ prompt, until: world.step + patience });
  return prompt;
}

function told(prompt: Prompt | undefined, what = ""): string | undefined {
  return prompt && `${prompt.number} in ${prompt.conversation.index}: ${prompt.text}${what}`;
}

export const ACTIONS: readonly Row[] = [
  {
    name: "new",
    weight: 14,
    async run(world) {
      const wanted = Math.min(world.random.int(1, 12), MOST_CONVERSATIONS - world.conversations.length);
      const opened = await Promise.all(Array.from({ length: wanted }, () => world.open()));
      return wanted === 0 ? undefined : opened.map((conversation) => conversation?.index).join(" ");
    },
  },
  {
    name: "prompt several",
    weight: 10,
    run(world) {
      const prompts = Array.from({ length: world.random.int(2, 6) }, () => somePrompt(world));
      return prompts.every((prompt) => prompt === undefined)
        ? undefined
        : prompts.map((prompt) => told(prompt)).join(" | ");
    },
  },
  { name: "prompt", weight: 30, run: (world) => told(somePrompt(world)) },
  {
    name: "prompt and wait",
    weight: 10,
    async run(world) {
      const prompt = somePrompt(world);
      if (!prompt) return undefined;
      // One that asks a person who does not answer ends with its cancel, some steps on.
      if (!world.isStuck(prompt.conversation)) await world.settled(prompt.sent);
      return told(prompt);
    },
  },
  {
    name: "prompt and cancel",
    weight: 8,
    async run(world) {
      const { random } = world;
      const conversation = world.someConversation();
      const [words, ms, wait] = [random.pick(LONG), random.int(0, 60), random.chance(0.5)];
      if (!conversation) return undefined;
      const prompt = world.prompt(conversation, (tag) => words(tag, random), "now");
      if (ms > 10) await Bun.sleep(ms);
      world.cancel(conversation);
      if (wait) await world.settled(prompt.sent);
      return told(prompt, ` (cancelled after ${ms} ms)`);
    },
  },
  {
    name: "cancel",
    weight: 4,
    run(world) {
      const conversation = world.someConversation();
      if (!conversation) return undefined;
      world.cancel(conversation);
      return String(conversation.index);
    },
  },
  {
    name: "cancel one request",
    weight: 3,
    run(world) {
      const conversation = world.someConversation();
      const { random } = world;
      if (!conversation) return undefined;
      // Any of the last few, whether it still runs or not.
      const place = conversation.prompts.length - random.int(1, 3);
      const prompt = conversation.prompts[Math.max(0, place)];
      // Ids begin anew with each bridge: a request of an earlier one has no other of this one cancelled.
      if (!prompt || world.peer.open.get(prompt.sent.id) !== prompt.sent) return undefined;
      prompt.cancelled = true;
      world.peer.notify("$/cancel_request", { requestId: prompt.sent.id });
      return `of prompt ${prompt.number} in ${conversation.index}`;
    },
  },
  {
    name: "resume",
    weight: 3,
    run(world) {
      const conversation = world.someConversation();
      if (!conversation) return undefined;
      world.load(conversation, "session/resume");
      return String(conversation.index);
    },
  },
  {
    name: "load",
    weight: 8,
    async run(world) {
      const conversation = world.someConversation();
      const wait = world.random.chance(0.5);
      if (!conversation || conversation.loads.length > 0) return undefined;
      const sent = world.load(conversation);
      if (wait) await world.settled(sent);
      return String(conversation.index);
    },
  },
  {
    name: "load by pages",
    weight: 3,
    async run(world) {
      const conversation = world.someConversation();
      const limit = world.random.int(0, 3);
      const wait = world.random.chance(0.5);
      if (!conversation || conversation.loads.length > 0) return undefined;
      const sent = world.load(conversation, "session/load", limit);
      if (wait) await world.settled(sent);
      return `${limit} of ${conversation.index}`;
    },
  },
  {
    name: "load twice",
    weight: 2,
    run(world) {
      const conversation = world.someConversation();
      if (!conversation || conversation.loads.length > 0) return undefined;
      world.load(conversation);
      world.load(conversation);
      return String(conversation.index);
    },
  },
  {
    name: "close",
    weight: 5,
    async run(world) {
      const conversation = world.someConversation();
      const wait = world.random.chance(0.5);
      if (!conversation?.open) return undefined;
      const sent = world.close(conversation);
      if (wait) await world.settled(sent);
      return String(conversation.index);
    },
  },
  {
    name: "delete",
    weight: 2,
    async run(world) {
      const conversation = world.someConversation();
      const wait = world.random.chance(0.5);
      if (!conversation) return undefined;
      const sent = world.close(conversation, "session/delete");
      if (wait) await world.settled(sent);
      return String(conversation.index);
    },
  },
  {
    name: "command",
    weight: 3,
    run(world) {
      const conversation = world.someConversation();
      const text = world.random.pick(["/skill", "/mode", "/model", "/thought", "/mcp"]);
      if (!conversation?.open) return undefined;
      world.request("session/prompt", { sessionId: conversation.id, prompt: [{ type: "text", text }] });
      return `${text} in ${conversation.index}`;
    },
  },
  {
    name: "compact",
    weight: 2,
    run(world) {
      const conversation = world.someConversation();
      if (!conversation?.open) return undefined;
      conversation.compacted = true;
      const prompt = [{ type: "text", text: "/compact" }];
      world.request("session/prompt", { sessionId: conversation.id, prompt });
      return `in ${conversation.index}`;
    },
  },
  {
    name: "set mode",
    weight: 3,
    run(world) {
      const conversation = world.someConversation();
      const modeId = world.random.pick(["build", "edit", "yolo"]);
      if (!conversation?.open) return undefined;
      world.request("session/set_mode", { sessionId: conversation.id, modeId });
      return `${modeId} in ${conversation.index}`;
    },
  },
  {
    name: "list",
    weight: 2,
    async run(world) {
      const sent = world.request("session/list", {});
      await world.settled(sent);
      const listed = (sent.result?.sessions ?? []) as readonly { readonly sessionId: string }[];
      const ids = listed.map((entry) => entry.sessionId);
      if (new Set(ids).size !== ids.length) world.fault("session/list names a conversation twice");
      return `${ids.length} conversations`;
    },
  },
  {
    name: "settle",
    weight: 5,
    async run(world) {
      const open = [...world.peer.open.values()];
      for (const sent of open) {
        const conversation = world.conversationOf(sent);
        if (!conversation || !world.isStuck(conversation)) await world.settled(sent);
      }
      return `${open.length} requests`;
    },
  },
];
