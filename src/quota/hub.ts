/** Usage from the hub of this machine, which has asked for others too: where it answers at once. */

import { AskError, ask, type Web } from "./ask.ts";
import type { Report } from "./reader.ts";
import { UsageBody } from "./schema.ts";
import type { Usage } from "./types.ts";

export interface HubAddress {
  readonly host: string;
  readonly port: number;
  readonly token: string | undefined;
}

/** A hub that does not answer within this, in ms, is none. */
const HUB_MS = 50;

/** @returns undefined where there is no hub, or none that can be used. */
export async function askHub(web: Web, { host, port, token }: HubAddress): Promise<Report | undefined> {
  if (token === undefined) return undefined;
  try {
    const reply = await ask(web, {
      url: `http://${host.includes(":") ? `[${host}]` : host}:${port}/api/quota`,
      headers: { authorization: `Bearer ${token}` },
      deadlineMs: HUB_MS,
      direct: true,
    });
    if (reply.status !== 200 || reply.location) return undefined;
    const body = UsageBody.safeParse(JSON.parse(reply.text));
    if (!body.success) return undefined;
    const at = web.clock.now();
    const { glm, opencode, ollama } = body.data as Usage;
    return {
      glm: { at, answer: { section: glm } },
      opencode: { at, answer: { section: opencode, ...unsetOf(opencode.kind) } },
      ollama: { at, answer: { section: ollama, ...unsetOf(ollama.kind) } },
    };
  } catch (error) {
    // Whatever else listens there is not the hub.
    if (error instanceof AskError || error instanceof SyntaxError || error instanceof TypeError)
      return undefined;
    throw error;
  }
}

function unsetOf(kind: string): { unset?: true } {
  return kind === "not_configured" ? { unset: true } : {};
}
