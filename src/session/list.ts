/** The sessions that the backend stores, as a client lists them. */

import { isAbsolute } from "node:path";
import type { Backend } from "../backend/backend.ts";
import { list, num, obj, str, text } from "../platform/json.ts";
import { typedTitle } from "../translate/wording.ts";
import { LIST_LIMIT } from "./limits.ts";

/** One entry of `session/list`, in the backend's own words. */
export interface ListedSession {
  readonly sessionId: string;
  readonly cwd: string;
  readonly title: string;
  /** Milliseconds since the epoch. */
  readonly updatedAt: number;
}

export class SessionList {
  constructor(private readonly backend: Backend) {}

  /** Sessions that the backend stores, newest first; of one workspace, where one is named. */
  async list(cwd: string | undefined): Promise<ListedSession[]> {
    const workspace = cwd === undefined ? {} : { workspace: { workspacePath: cwd, workspaceKey: cwd } };
    const answer = await this.backend.call("session/list", { ...workspace, limit: LIST_LIMIT }, ["limit"]);
    return list(obj(answer).sessions)
      .map(obj)
      .flatMap((entry) => {
        const sessionId = text(entry.sessionId);
        const path = text(obj(entry.workspace).workspacePath) ?? cwd;
        if (sessionId === undefined || path === undefined || !isAbsolute(path)) return [];
        if (num(entry.archivedAt) !== undefined) return [];
        const updatedAt = num(entry.updatedAt) ?? num(entry.createdAt) ?? 0;
        return [{ sessionId, cwd: path, title: typedTitle(str(entry.title) ?? ""), updatedAt }];
      })
      .sort((a, b) => b.updatedAt - a.updatedAt);
  }
}
