/** What a workspace has: MCP servers, skills, commands; and the account's providers. */
import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { readRegular } from "../../platform/files.ts";
import { workspaceOf } from "../session.ts";
import { SLASH_COMMANDS } from "../snapshot.ts";
import { isObj, type Obj, type Workspace } from "../types.ts";
import type { World } from "../world.ts";
import type { Handlers, Reply } from "./types.ts";

interface McpServer {
  name: string;
  type?: string;
  url?: string;
}

/** States of the servers of a config file and of the params; nothing is really connected to. */
function mcpList(world: World, params: Obj): Reply {
  const updatedAt = new Date(world.clock.now()).toISOString();
  const statuses: Obj = {};
  const given = params.mcpServers as McpServer[] | undefined;
  for (const server of given ?? configuredServers(world)) {
    statuses[server.name] = {
      status: "connected",
      transport: server.type ?? "stdio",
      toolCount: 1,
      updatedAt,
      ...(given ? { protocolEra: "legacy" } : {}),
    };
  }
  // One that never works, so that a client has something to show for it.
  if (!given) {
    statuses["sim-broken"] = {
      status: "failed",
      transport: "http",
      toolCount: 0,
      updatedAt,
      error: "connect ECONNREFUSED",
      failureKind: "network_unreachable",
    };
  }
  return { result: { statuses } };
}

function configuredServers(world: World): McpServer[] {
  const always: McpServer = { name: "sim-stock" };
  try {
    const config: unknown = JSON.parse(readRegular(join(zcodeHome(world), "cli", "config.json")));
    const servers = isObj(config) && isObj(config.mcp) && isObj(config.mcp.servers) ? config.mcp.servers : {};
    return [
      always,
      ...Object.entries(servers).map(([name, entry]) => ({
        name,
        ...(isObj(entry) && entry.url ? { type: "http" } : {}),
      })),
    ];
  } catch {
    return [always];
  }
}

function zcodeHome(world: World): string {
  const { env } = world;
  if (env.ZCODE_DATA_BASE_DIR) return join(env.ZCODE_DATA_BASE_DIR, ".zcode");
  return env.ZCODE_HOME ?? join(env.HOME ?? ".", ".zcode");
}

/** Skills on disk: the person's, then those of the workspace up to its git root. */
function skills(world: World, params: Obj): Reply {
  const { workspacePath } = params.workspace as Workspace;
  const found: Obj[] = [];
  const look = (root: string, scope: string) => {
    if (!existsSync(root)) return;
    for (const name of ["", ...readdirSync(root).sort()]) {
      const path = join(root, name, "SKILL.md");
      if (!existsSync(path)) continue;
      const text = readRegular(path);
      const key = (key: string) => new RegExp(`^${key}:\\s*(.+)$`, "m").exec(text)?.[1]?.trim();
      const skill = key("name") ?? (name || "skill");
      if (found.some((each) => each.name === skill)) continue;
      found.push({
        id: `glm:${scope}:${path}`,
        name: skill,
        description: key("description") ?? "",
        path,
        scope,
        enabled: true,
      });
    }
  };
  look(join(zcodeHome(world), "skills"), "user");
  for (let dir = workspacePath; ; dir = dirname(dir)) {
    look(join(dir, ".zcode", "skills"), "workspace");
    look(join(dir, ".agents", "skills"), "workspace");
    if (existsSync(join(dir, ".git")) || dirname(dir) === dir) break;
  }
  return { result: { authority: params.sessionId ? "session" : "workspace", skills: found } };
}

export const catalogueHandlers: Handlers = {
  "mcp/list": mcpList,
  "skills/referenceCatalog": skills,
  "workspace/readPresentation": (_world, params) => ({
    result: {
      workspace: workspaceOf(params.workspace as Workspace),
      mode: "build",
      slashCommands: SLASH_COMMANDS,
    },
  }),
  "workspace/updateInteractionPreferences": () => ({ result: {} }),
  "workspace/updateProviderRegistry": (world, params) => {
    const registry = params.registry as Obj;
    const status = world.registry.pushRegistry(registry);
    const providerCount = (registry.providers as Obj[]).length;
    return { result: { status, appliedProviderRevision: registry.revision, providerCount } };
  },
  "runtime/capabilities": () => ({ result: { independentPlanState: true } }),
  "provider/updateAccountConfig": (world, params) => {
    const status = world.registry.pushAccounts(params);
    return {
      result: {
        receivedRevision: params.revision,
        providerCount: Object.keys(params.providers as Obj).length,
        status,
      },
    };
  },
};
