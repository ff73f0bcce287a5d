/** The slash commands themselves: each says in the conversation what came of it. */

import { type Language, sentence, t } from "../locale/index.ts";
import { obj, str } from "../platform/json.ts";
import type { Conversation } from "../session/conversation.ts";
import type { Sessions } from "../session/sessions.ts";
import { currentMode, levelsOf, modelValue } from "../session/settings.ts";
import type { Actions } from "./actions.ts";
import type { Changes } from "./changes.ts";
import type { SlashCommand } from "./commands.ts";
import { modeIds } from "./options.ts";

export interface SlashCommandDeps {
  readonly sessions: Sessions;
  readonly actions: Actions;
  readonly changes: Changes;
  readonly language: Language;
  quota(words: string): Promise<string>;
}

/** Words behind `/goal` that are no goal. */
const GOAL_WORDS = ["show", "pause", "resume", "clear"] as const;
/** So many conversations are listed. */
const LISTED = 20;

export function slashCommands(deps: SlashCommandDeps): Readonly<Record<string, SlashCommand>> {
  const { sessions, actions, changes, language } = deps;
  return {
    compact: {
      description: "slash.compact",
      hint: "slash.compact.hint",
      run: async (words, conversation) => {
        const state = await actions.compact(conversation, words || undefined);
        return t(state === "already_running" ? "slash.compact.running" : "slash.compact.begun", {}, language);
      },
    },
    goal: {
      description: "slash.goal",
      hint: "slash.goal.hint",
      run: async (words, conversation) => {
        const word = GOAL_WORDS.find((each) => each === words.toLowerCase());
        const action = words === "" ? "show" : (word ?? "set");
        const said = await actions.goal(conversation, action, action === "set" ? words : undefined);
        return said === "" ? t("slash.done", {}, language) : said;
      },
    },
    fork: {
      description: "slash.fork",
      run: async (_, conversation) =>
        t("slash.forked", { id: await actions.fork(conversation, undefined) }, language),
    },
    model: {
      description: "slash.model",
      hint: "slash.model.hint",
      run: async (words, conversation) => {
        if (words === "") return listed("slash.models", modelIds(conversation), language);
        await changes.model(conversation, words);
        return t("slash.model.now", { model: words }, language);
      },
    },
    mode: {
      description: "slash.mode",
      hint: "slash.mode.hint",
      run: async (words, conversation) => {
        if (words === "") return listed("slash.modes", modeIds(conversation.settings), language);
        await changes.mode(conversation, words);
        return t("slash.mode.now", { mode: currentMode(conversation.settings) }, language);
      },
    },
    thought: {
      description: "slash.thought",
      hint: "slash.thought.hint",
      run: async (words, conversation) => {
        if (words === "") return listed("slash.thoughts", levelsOf(conversation.settings), language);
        await changes.thought(conversation, words);
        return t("slash.thought.now", { level: words }, language);
      },
    },
    quota: { description: "slash.quota", hint: "slash.quota.hint", run: (words) => deps.quota(words) },
    mcp: {
      description: "slash.mcp",
      run: async (_, conversation) => {
        const lines = Object.entries(await actions.mcp(conversation)).map(([name, value]) => {
          const { status, toolCount, error } = obj(value);
          const tools = typeof toolCount === "number" ? ` (${toolCount})` : "";
          const why = str(error) ? `: ${str(error)}` : "";
          return `${name}: ${str(status) ?? "?"}${tools}${why}`;
        });
        return listed("slash.mcp.servers", lines, language);
      },
    },
    skill: {
      description: "slash.skill",
      unlisted: true,
      // With a name it is a prompt.
      answers: (words) => words === "",
      run: async (_, conversation) => {
        const lines = (await sessions.catalogue.read(conversation.cwd))
          .filter(({ kind }) => kind === "skill")
          .map(({ name, description }) =>
            description === "" ? `\`${name}\`` : `\`${name}\`: ${description}`,
          );
        return listed("slash.skills", lines, language);
      },
    },
    resume: {
      description: "slash.resume",
      run: async (_, conversation) => {
        const found = (await sessions.stored.list(conversation.cwd)).slice(0, LISTED);
        const lines = found.map(
          ({ sessionId, title }) => `${title || t("slash.untitled", {}, language)}: \`${sessionId}\``,
        );
        return listed("slash.conversations", lines, language);
      },
    },
  };
}

function modelIds({ settings }: Conversation): string[] {
  return settings.models.map(({ ref }) => modelValue(ref));
}

function listed(
  head:
    | "slash.models"
    | "slash.modes"
    | "slash.thoughts"
    | "slash.skills"
    | "slash.mcp.servers"
    | "slash.conversations",
  lines: readonly string[],
  language: Language,
): string {
  if (lines.length === 0) return t("slash.none", {}, language);
  return [sentence(head, {}, language), "", ...lines.map((line) => `- ${line}`)].join("\n");
}
