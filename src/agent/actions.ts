/**
 * What the backend does for a conversation besides prompts: forks, goals, compactions. Asked for as extension methods and as
 * slash commands; a build that lacks one says so in a sentence.
 */

import type { Backend } from "../backend/backend.ts";
import { CODE, RpcError } from "../backend/rpc.ts";
import { errors } from "../errors/index.ts";
import { phrase } from "../locale/index.ts";
import { list, type Obj, obj, str, text } from "../platform/json.ts";
import type { Conversation } from "../session/conversation.ts";
import { isBusy } from "../session/residence.ts";
import type { Sessions } from "../session/sessions.ts";
import { turnFailure } from "../translate/failure.ts";

export const GOAL_ACTIONS = ["show", "set", "replace", "pause", "resume", "clear"] as const;
export type GoalAction = (typeof GOAL_ACTIONS)[number];

export interface ActionDeps {
  readonly sessions: Sessions;
  readonly backend: Backend;
}

export class Actions {
  constructor(private readonly deps: ActionDeps) {}

  /**
   * A new conversation that goes on from a place of this one.
   * @param target the backend's own words for the place; without one the latest checkpoint, or where there is none yet the
   * last message.
   * @returns the new session's id.
   */
  fork(conversation: Conversation, target: Obj | undefined): Promise<string> {
    return this.forked(conversation, target).catch((error) => {
      throw lacking("session/fork", error);
    });
  }

  private async forked(conversation: Conversation, target: Obj | undefined): Promise<string> {
    const { sessions } = this.deps;
    const fork = async (place: Obj) => {
      const answer = obj(await sessions.call(conversation, "session/fork", { target: place }));
      const id = text(answer.forkedSessionId) ?? text(obj(obj(answer.snapshot).session).sessionId);
      if (id === undefined) throw errors.backendAnswered("session/fork", phrase("reason.noSessionId", {}));
      return id;
    };
    if (target) return fork(target);
    try {
      return await fork({ kind: "latestCheckpoint" });
    } catch (error) {
      if (!(error instanceof RpcError) || error.code !== CODE.internal) throw error;
      const answer = await sessions.call(conversation, "session/messages", { limit: 1 });
      const messages = list(obj(answer).messages);
      const info = obj(obj(messages.at(-1)).info);
      const messageId = text(info.messageId) ?? text(info.id);
      if (messageId === undefined) throw error;
      return fork({ kind: "message", messageId });
    }
  }

  /** @returns what the backend says of the goal. */
  async goal(conversation: Conversation, action: GoalAction, objective: string | undefined): Promise<string> {
    const answer = await this.call(conversation, "session/goal", {
      action,
      ...(objective === undefined ? {} : { objective }),
    });
    return str(answer.response) ?? "";
  }

  /** @returns `accepted`, or `already_running`; it is done later. */
  async compact(conversation: Conversation, instructions: string | undefined): Promise<string> {
    const answer = await this.deps.sessions
      .compact(conversation, instructions)
      .catch((error) => Promise.reject(lacking("session/compact", error)));
    return str(obj(answer.compact).state) ?? "accepted";
  }

  /** The state of each MCP server of the conversation's folder, by name. */
  async mcp(conversation: Conversation): Promise<Obj> {
    const { cwd } = conversation;
    const workspace = { workspacePath: cwd, workspaceKey: cwd };
    const { mcpServers } = conversation;
    // The person's own servers, and those that the editor has named: asked for together, the latter replace the former.
    const asked = [{ workspace }, ...(mcpServers.length > 0 ? [{ workspace, mcpServers }] : [])];
    const answers = await Promise.all(
      asked.map((params) => this.deps.backend.call("mcp/list", { ...params, mode: "status" }, ["mode"])),
    ).catch((error) => Promise.reject(lacking("mcp/list", error)));
    return Object.fromEntries(answers.flatMap((answer) => Object.entries(obj(obj(answer).statuses))));
  }

  private async call(conversation: Conversation, method: string, params: Obj): Promise<Obj> {
    try {
      return obj(await this.deps.sessions.call(conversation, method, params));
    } catch (error) {
      throw lacking(method, error);
    }
  }
}

/** Errors of the backend that have a sentence of their own. */
function lacking(method: string, error: unknown): unknown {
  if (!(error instanceof RpcError)) return error;
  if (error.code === CODE.methodNotFound) return errors.unsupported(method);
  if (isBusy(error)) return errors.sessionBusy();
  // What a model or its provider says has sentences of its own; nothing else of it is about a turn.
  const { code, message, data } = error;
  return turnFailure({ code, message, data }).kind === "other" ? errors.backendRefused(message) : error;
}
