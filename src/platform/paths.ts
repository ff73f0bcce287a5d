/** Where things lie. Computed once from an environment and handed down; nothing else reads HOME or XDG variables. */
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

export interface Paths {
  readonly home: string;
  /** `config.json` lies here. */
  readonly configDir: string;
  readonly configFile: string;
  /** Logs and black boxes. */
  readonly stateDir: string;
  /** ZCode's own directory, which holds `v2/`. */
  readonly zcodeHome: string;
}

const OURS = "zcode-acp";

/**
 * @param env `HOME` (`USERPROFILE` on Windows), `XDG_CONFIG_HOME`, `XDG_STATE_HOME` (ignored when not absolute, as
 *   the XDG specification wants) and `ZCODE_HOME` (may start with `~/`) are read.
 */
export function resolvePaths(env: Readonly<Record<string, string | undefined>>, platform: string): Paths {
  const home = (platform === "win32" ? env.USERPROFILE : env.HOME) || homedir();
  const xdg = (value: string | undefined, ...fallback: string[]) =>
    join(value && isAbsolute(value) ? value : join(home, ...fallback), OURS);
  const configDir = xdg(env.XDG_CONFIG_HOME, ".config");
  return {
    home,
    configDir,
    configFile: join(configDir, "config.json"),
    stateDir: xdg(env.XDG_STATE_HOME, ".local", "state"),
    zcodeHome: env.ZCODE_HOME ? expandHome(env.ZCODE_HOME, home) : join(home, ".zcode"),
  };
}

/** `~` and `~/…` resolved, since an editor's settings are read by no shell. */
export function expandHome(path: string, home: string): string {
  if (path === "~") return home;
  return path.startsWith("~/") ? join(home, path.slice(2)) : path;
}
