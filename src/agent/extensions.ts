/** Methods outside the specification, under the backend's own names; `app.ts` registers each with ACP's underscore too. */

import { errors } from "../errors/index.ts";
import type { Language } from "../locale/index.ts";
import { isObj, type Obj, obj, str } from "../platform/json.ts";
import type { Usage } from "../quota/types.ts";
import type { Conversation } from "../session/conversation.ts";
import type { Sessions } from "../session/sessions.ts";
import { modelRef, modelValue } from "../session/settings.ts";
import { type Actions, GOAL_ACTIONS, type GoalAction } from "./actions.ts";
import type { Changes } from "./changes.ts";
import { configOptions, modeState } from "./options.ts";

export interface ExtensionDeps {
  readonly sessions: Sessions;
  readonly actions: Actions;
  readonly changes: Changes;
  readonly language: Language;
  usage(): Promise<Usage>;
  /** The conversation that params name. @throws where there is none. */
  known(params: Obj): Conversation;
  /** The same, opened where it is not live: a fork may be asked of any conversation. */
  opened(params: Obj): Conversation;
}

export type Extensions = Readonly<Record<string, (params: Obj) => Promise<Obj>>>;

export function extensions(deps: ExtensionDeps): Extensions {
  const { sessions, actions, changes, language, known } = deps;
  const options = (conversation: Conversation) => ({ configOptions: configOptions(conversation, language) });
  return {
    "account/usage_stats": async () => ({ ...(await deps.usage()) }),
    "session/setMode": async (params) => {
      const conversation = known(params);
      await changes.mode(conversation, str(params.mode) ?? str(params.modeId) ?? "");
      return options(conversation);
    },
    "session/setModel": async (params) => {
      const conversation = known(params);
      const ref = modelRef(params.model);
      await changes.model(
        conversation,
        ref ? modelValue(ref) : (str(params.model) ?? str(params.modelId) ?? ""),
      );
      return options(conversation);
    },
    "session/setThoughtLevel": async (params) => {
      const conversation = known(params);
      await changes.thought(conversation, str(params.thoughtLevel) ?? "");
      return options(conversation);
    },
    "session/cancelBackgroundTask": async (params) => {
      const answer = await sessions.cancelTask(known(params), str(params.taskId) ?? "");
      return { cancelled: answer.cancelled === true, ...words(answer, "status", "reason") };
    },
    "session/fork": async (params) => {
      const source = deps.opened(params);
      const id = await actions.fork(source, isObj(params.target) ? params.target : undefined);
      const fork = sessions.open(id, source.cwd, source.mcpServers);
      return { sessionId: id, modes: modeState(fork, language), ...options(fork) };
    },
    "session/goal": async (params) => {
      const conversation = known(params);
      const action = GOAL_ACTIONS.find((each) => each === params.action);
      if (!action) throw errors.badOption("action", String(params.action));
      return { response: await actions.goal(conversation, action, objectiveOf(action, params)) };
    },
    "session/compact": async (params) => ({
      state: await actions.compact(known(params), str(params.instructions)),
    }),
  };
}

/** @throws where a goal is to be set without one. */
function objectiveOf(action: GoalAction, params: Obj): string | undefined {
  const objective = str(params.objective)?.trim() || undefined;
  if ((action === "set" || action === "replace") && objective === undefined)
    throw errors.badOption("objective", "");
  return action === "set" || action === "replace" ? objective : undefined;
}

function words(answer: Obj, ...names: readonly string[]): Obj {
  return Object.fromEntries(names.flatMap((name) => (str(obj(answer)[name]) ? [[name, answer[name]]] : [])));
}
