/** An app-server process of its own group, which cannot outlive this one. */

import type { Launch } from "../backend/locate.ts";
import type { ServerProcess } from "../backend/server.ts";
import { usableFolder } from "../platform/files.ts";
import type { Log } from "../platform/log.ts";
import { type Guard, killTree, spawnGroup } from "../platform/process.ts";

/**
 * @param folders where the app-server may run, the first that is there at the time; conversations name their own
 * roots.
 */
export function groupSpawner(
  guard: Guard,
  folders: readonly string[],
  log: Log,
): (launch: Launch) => ServerProcess {
  return (launch) => {
    const cwd = usableFolder(folders);
    const child = spawnGroup({ argv: launch.argv, cwd, env: launch.env }, guard);
    return {
      pid: child.pid,
      stdin: child.stdin,
      stdout: child.stdout,
      stderr: child.stderr,
      exited: child.exited,
      kill: async () => {
        if (!(await killTree(child))) log.once("kill", "warn", "a process of the backend did not end");
      },
    };
  };
}
