/** Servers on loopback that play the providers of plan usage, and count who asks. */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempDir } from "./temp.ts";

export type Answerer = (request: Request) => Response | Promise<Response>;

export interface Provider {
  readonly origin: string;
  /** Requests so far. */
  readonly requests: { readonly path: string; readonly headers: Headers }[];
  answer: Answerer;
}

export interface Providers {
  readonly glm: Provider;
  readonly opencode: Provider;
  readonly ollama: Provider;
  stop(): Promise<void>;
}

export const KEYS = {
  glm: "glm-key-0123456789",
  ollama: "ollama-key-0123456789",
  cookie: "cookie-0123456789",
};

/** Far enough that no test runs into it. */
export const RESET = 4_000_000_000_000;

export const GLM_BODY = {
  success: true,
  code: 200,
  msg: "ok",
  data: {
    level: "pro",
    limits: [
      { type: "TOKENS_LIMIT", number: 5, percentage: 35, nextResetTime: RESET },
      { type: "TOKENS_LIMIT", number: 7, percentage: 12, nextResetTime: RESET },
      {
        type: "TIME_LIMIT",
        number: 1,
        usage: 30,
        currentValue: 3,
        remaining: 27,
        percentage: 10,
        nextResetTime: RESET,
        usageDetails: [{ modelCode: "search-prime", usage: 2 }],
      },
    ],
  },
};

export const OPENCODE_PAGE =
  '<html><script>x={rollingUsage:$R[12]={status:"ok",resetInSec:3600,usagePercent:5},weeklyUsage:$R[13]={usagePercent:25,status:"ok",resetInSec:86400.5}}</script></html>';

/** Every provider answers well until it is told otherwise. */
export function startProviders(): Providers {
  const servers: Bun.Server<undefined>[] = [];
  const start = (answer: Answerer): Provider => {
    const requests: { path: string; headers: Headers }[] = [];
    const provider: { answer: Answerer } = { answer };
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      idleTimeout: 30,
      fetch(request) {
        requests.push({ path: new URL(request.url).pathname, headers: new Headers([...request.headers]) });
        return provider.answer(request);
      },
    });
    servers.push(server);
    return Object.assign(provider, { origin: `http://127.0.0.1:${server.port}`, requests });
  };
  return {
    glm: start(() => Response.json(GLM_BODY)),
    opencode: start(() => new Response(OPENCODE_PAGE, { headers: { "content-type": "text/html" } })),
    ollama: start((request) =>
      new URL(request.url).pathname === "/api/me"
        ? Response.json({ Plan: "pro" })
        : Response.json({ limits: { session: { usage: 0.31 }, weekly: { usage: 0.675 } } }),
    ),
    async stop() {
      await Promise.all(servers.map((server) => server.stop(true)));
    },
  };
}

/** A HOME in which a coding plan is signed in. */
export function homeWithPlan(): string {
  const home = tempDir("quota");
  mkdirSync(join(home, ".zcode", "v2"), { recursive: true });
  const provider = {
    "builtin:bigmodel-coding-plan": { enabled: true, options: { apiKey: KEYS.glm }, models: {} },
  };
  writeFileSync(join(home, ".zcode", "v2", "config.json"), JSON.stringify({ provider }));
  return home;
}

/** What makes a process ask these servers. */
export function envFor(providers: Providers, home: string): Record<string, string> {
  return {
    HOME: home,
    PATH: process.env.PATH ?? "",
    TZ: "UTC",
    ZCODE_ACP_GLM_ORIGIN: providers.glm.origin,
    ZCODE_ACP_OPENCODE_ORIGIN: providers.opencode.origin,
    ZCODE_ACP_OLLAMA_ORIGIN: providers.ollama.origin,
    OLLAMA_API_KEY: KEYS.ollama,
    OPENCODE_GO_WORKSPACE_ID: "wrk",
    OPENCODE_GO_AUTH_COOKIE: KEYS.cookie,
  };
}
