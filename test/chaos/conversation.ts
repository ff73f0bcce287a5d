/**
 * What is expected of one conversation. Every prompt has a number of its own in its world, and makes the model say
 * tags, `[p17.a]`, `[p17.b]`: whatever is drawn can be traced to the prompt that it belongs to.
 */
import type { Json } from "../support/plainClient.ts";
import type { Sent } from "./peer.ts";

export interface Prompt {
  readonly number: number;
  readonly conversation: Conversation;
  readonly text: string;
  /** The tags that it makes the model say, in order. */
  readonly tags: readonly string[];
  readonly sent: Sent;
  /** The driver has cancelled it, or sent another prompt behind it. */
  cancelled: boolean;
  /** The bridge that it was sent to ended first. */
  abandoned: boolean;
  /** A person said no to one of its tools. */
  refused: boolean;
  /** What it was answered; undefined before. */
  outcome: "end_turn" | "cancelled" | "error" | undefined;
}

const TAG = /\[p(\d+)\.([a-z])\]/g;
/** Longer than any tag. */
const TAIL = 16;

/** The tags in a piece of text, with the number of their prompt. */
export function tagsIn(text: string): { tag: string; prompt: number; rank: number }[] {
  return [...text.matchAll(TAG)].map(([tag, number = "", letter = ""]) => ({
    tag,
    prompt: Number(number),
    rank: Number(number) * 32 + letter.charCodeAt(0) - 96,
  }));
}

/** One telling of a conversation: what is said live, or one replay. */
export class Telling {
  readonly said = new Map<string, string>();
  readonly persons: string[] = [];
  private readonly unfinished = new Map<string, string>();
  private lastRank = 0;

  constructor(
    private readonly conversation: Conversation,
    private readonly live: boolean,
  ) {}

  /** @returns what is wrong with this update, if anything is. */
  take(update: Json): string | undefined {
    const kind = String(update.sessionUpdate);
    switch (kind) {
      case "user_message_chunk": {
        const words = textOf(update);
        this.persons.push(words);
        return this.conversation.prompts.some((prompt) => prompt.text === words)
          ? undefined
          : `a person's words that were never sent here: ${words.slice(0, 120)}`;
      }
      case "agent_message_chunk":
      case "agent_thought_chunk": {
        // A tag may arrive in pieces, and something else between them.
        const key = `${kind} ${update.messageId}`;
        const text = (this.unfinished.get(key) ?? "") + textOf(update);
        const tags = tagsIn(text);
        const last = tags.at(-1)?.tag;
        const rest = last === undefined ? text : text.slice(text.lastIndexOf(last) + last.length);
        this.unfinished.set(key, rest.slice(-TAIL));
        return this.speak(tags, key);
      }
      case "tool_call":
      case "tool_call_update":
        return this.speak(
          tagsIn(JSON.stringify([update.content, update.rawOutput])),
          `tool ${update.toolCallId}`,
        );
      default:
        return undefined;
    }
  }

  private speak(tags: ReturnType<typeof tagsIn>, by: string): string | undefined {
    for (const { tag, prompt: number, rank } of tags) {
      const prompt = this.conversation.prompts.find((each) => each.number === number);
      if (!prompt) return `${tag} belongs to another conversation`;
      const before = this.said.get(tag);
      // A card is told again and again as it changes.
      if (before === by && by.startsWith("tool ")) continue;
      if (before !== undefined) return `${tag} twice: by ${before}, and by ${by}`;
      if (rank <= this.lastRank) return `${tag} out of order`;
      if (this.live && prompt.outcome === "end_turn") return `${tag} behind the answer to its prompt`;
      this.said.set(tag, by);
      this.lastRank = rank;
    }
    return undefined;
  }
}

export interface Load {
  /** The load, or the page that is asked for now. */
  sent: Sent;
  /** Messages of a tail and of each page before it; undefined where all comes at once. */
  readonly limit?: number | undefined;
  /** What the later pages brought, oldest first. */
  readonly pages: Telling[];
  /** The last prompt that must stand in it where it ended well. */
  readonly since: number;
  replay: Telling | undefined;
  /** Another one runs beside it: both may tell all before either is answered, so that only the owner is looked at. */
  twin: boolean;
}

export class Conversation {
  readonly prompts: Prompt[] = [];
  readonly live = new Telling(this, true);
  /** Loads that are under way, in their order, and what each has brought so far. */
  readonly loads: Load[] = [];
  /** The present bridge has it open: it was made or loaded there, and not closed since. */
  open = true;
  /** Its close was answered, and nothing was asked of it since. */
  closed = false;
  /** Which backend session it is may not have been written down: a later bridge need not know it. */
  unrecorded: boolean;
  /** A prompt of it has ended well in a bridge that could write it down. */
  recorded = false;
  /** It was asked to be compacted: cursors of before may have expired. */
  compacted = false;
  /** It was used since it was last compared with its history. */
  used = false;
  /** Ends of backends before its last prompt that ended well, or before it was last opened. */
  deathsBefore = 0;
  /** In ms of `performance.now`. */
  readonly madeAt = performance.now();
  /** When its first prompt was answered as ended. */
  endedWellAt: number | undefined;

  constructor(
    readonly index: number,
    readonly id: string,
    unrecorded: boolean,
  ) {
    this.unrecorded = unrecorded;
  }

  get running(): Prompt[] {
    return this.prompts.filter((prompt) => prompt.outcome === undefined && !prompt.abandoned);
  }

  hear(update: Json): string | undefined {
    if (this.closed) return "an update of a conversation that is closed";
    const [loading] = this.loads;
    if (update.sessionUpdate === "user_message_chunk") {
      if (!loading) return "a person's words outside of a replay";
      loading.replay ??= new Telling(this, false);
    }
    if (loading?.replay && loading.twin) return undefined;
    return (loading?.replay ?? this.live).take(update);
  }

  /** Compares what a load brought with what was said; prompts that were open at its beginning are not asked for. */
  compare({ replay, since, twin, pages }: Load): string | undefined {
    if (twin) return undefined;
    const parts = [...(replay ? [replay] : []), ...pages];
    const persons = parts.flatMap((part) => part.persons);
    const tags = parts.flatMap((part) => [...part.said.keys()]);
    const doubled = tags.find((tag, at) => tags.indexOf(tag) !== at);
    if (doubled !== undefined) return `two pages have ${doubled}`;
    const all = new Set(tags);
    let place = -1;
    for (const prompt of this.prompts) {
      const places = persons.flatMap((words, at) => (words === prompt.text ? [at] : []));
      if (places.length > 1) return `the replay has prompt ${prompt.number} ${places.length} times`;
      const [at] = places;
      if (at !== undefined) {
        if (at < place) return `the replay has prompt ${prompt.number} out of order`;
        place = at;
      }
      if (prompt.outcome !== "end_turn" || prompt.cancelled || prompt.number > since) continue;
      if (at === undefined) return `the replay lacks prompt ${prompt.number}`;
      const lost = missing(prompt, all);
      if (lost.length > 0) return `the replay lacks ${lost.join(" ")}`;
    }
    return undefined;
  }
}

/** The tags that a prompt which ended well must have brought, and did not. */
export function missing(prompt: Prompt, said: { has(tag: string): boolean }): string[] {
  if (prompt.cancelled || prompt.refused || prompt.sent.touched) return [];
  return prompt.tags.filter((tag) => !said.has(tag));
}

function textOf(update: Json): string {
  const content = (update.content ?? {}) as Json;
  return typeof content.text === "string" ? content.text : "";
}
