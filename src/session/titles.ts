/**
 * A conversation's title, wherever it is shown: its record, every client, the app's own list. The bridge makes one
 * of the first prompt; after that only the backend's pushes and a person's own choice change it, and what a person
 * chose nothing else replaces.
 */

import type { Clock } from "../platform/clock.ts";
import { type Obj, str, text } from "../platform/json.ts";
import type { TasksIndex } from "../store/tasksIndex.ts";
import { typedTitle } from "../translate/wording.ts";
import type { Conversation, PromptContent } from "./conversation.ts";
import { TITLE_CHARS } from "./limits.ts";

export interface TitleDeps {
  readonly index: TasksIndex;
  readonly clock: Clock;
}

export class Titles {
  /** Conversations whose title was made of a prompt that is not taken yet. */
  private readonly unlisted = new WeakSet<Conversation>();

  constructor(
    private readonly deps: TitleDeps,
    /** A conversation is called something else now; told after the record has it. */
    private readonly told: (conversation: Conversation, title: string) => void,
  ) {}

  /** A backend session stands behind the conversation: the app's list may show it. */
  created(conversation: Conversation, backendId: string, traceId: unknown): void {
    const { mode, model } = conversation.settings;
    void this.deps.index.add({
      taskId: backendId,
      traceId: text(traceId),
      workspacePath: conversation.cwd,
      title: conversation.title,
      mode: mode ?? conversation.wanted.mode ?? "build",
      model: model && `${model.providerId}/${model.modelId}`,
      createdAt: this.deps.clock.now(),
    });
  }

  /**
   * The title in a snapshot's `session`; empty where the backend has none. Its own first words are no better than ours
   * here either.
   */
  stored(conversation: Conversation, { title: stored, titleSource: source }: Obj): void {
    const title = text(typedTitle(str(stored) ?? ""));
    if (title === undefined || conversation.titlePinned) return;
    const made = source === "generated" || source === "custom";
    if (!made && source !== undefined && conversation.title !== "") return;
    conversation.titlePinned = source === "custom";
    this.adopt(conversation, title);
  }

  /** A session of an earlier process: a person may have renamed it there, or in the app. */
  async resumed(conversation: Conversation, backendId: string): Promise<void> {
    // An id of its own was given out by a bridge, which made the session as well.
    if (conversation.residency === 1 && conversation.id !== backendId) void this.deps.index.adopt(backendId);
    const chosen = await this.deps.index.chosenTitle(backendId);
    if (chosen === undefined || conversation.titlePinned) return;
    conversation.titlePinned = true;
    this.adopt(conversation, chosen);
  }

  /** A prompt is on its way. */
  sent(conversation: Conversation, { content }: PromptContent): void {
    if (conversation.backendId === undefined || conversation.title !== "") return;
    const title = firstLine(content);
    if (title === "") return;
    this.adopt(conversation, title);
    this.unlisted.add(conversation);
  }

  /** The backend has taken a prompt: from here on the list may say that the conversation was used. */
  taken(conversation: Conversation, { content }: PromptContent): void {
    const { backendId, title } = conversation;
    if (backendId === undefined) return;
    if (this.unlisted.delete(conversation)) void this.deps.index.autoTitle(backendId, title);
    void this.deps.index.searchable(backendId, content);
  }

  /** @param source of `session.titleUpdated`; the backend's own first words are no better than ours. */
  pushed(conversation: Conversation, pushed: string, source: string): void {
    const { backendId } = conversation;
    const title = text(typedTitle(pushed));
    if (backendId === undefined || title === undefined) return;
    if (source === "custom") {
      conversation.titlePinned = true;
      this.adopt(conversation, title);
      void this.deps.index.rename(backendId, title);
    } else if (source === "generated" && !conversation.titlePinned) {
      this.adopt(conversation, title);
      void this.deps.index.autoTitle(backendId, title);
    }
  }

  private adopt(conversation: Conversation, title: string): void {
    if (conversation.title === title) return;
    conversation.title = title;
    this.told(conversation, title);
  }
}

/** Something that is seen: no space of any width, and nothing that only steers. */
const VISIBLE = /[^\s\p{C}]/u;

/** The first line that says something, cut to a title's length without halving a character. */
export function firstLine(content: string): string {
  const line = content.split(/\r\n|[\n\r\u2028\u2029]/).find((each) => VISIBLE.test(each)) ?? "";
  const clean = line.replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ").trim();
  return [...clean.slice(0, 2 * TITLE_CHARS)].slice(0, TITLE_CHARS).join("").trim();
}
