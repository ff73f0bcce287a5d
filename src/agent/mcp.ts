/** MCP servers: what a client names, as the backend takes it. */
import { isObj, list, type Obj, str } from "../platform/json.ts";

/** MCP servers of a request, re-keyed to the backend's strict shape; entries of an unknown form are left out. */
export function mcpServers(params: Obj): Obj[] {
  return list(params.mcpServers)
    .filter(isObj)
    .flatMap((server): Obj[] => {
      const name = str(server.name);
      if (name === undefined) return [];
      if (server.type === "http" || server.type === "sse") {
        return [{ name, type: server.type, url: server.url, headers: pairs(server.headers) }];
      }
      if (server.type !== undefined && server.type !== "stdio") return [];
      return [{ name, command: server.command, args: list(server.args), env: pairs(server.env) }];
    });
}

function pairs(value: unknown): Obj[] {
  return list(value)
    .filter(isObj)
    .map((entry) => ({ name: entry.name, value: entry.value }));
}
