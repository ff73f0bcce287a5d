/** Where things lie. Computed once from an environment and handed down; nothing else reads HOME or XDG variables. */

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
  const home =
    (platform === "win32" ? env.USERPROFILE : env.HOME) || process.getBuiltinModule("node:os").homedir();
  const xdg = (value: string | undefined, fallback: string) =>
    under(value && isAbsolute(value) ? value : under(home, fallback), OURS);
  const configDir = xdg(env.XDG_CONFIG_HOME, ".config");
  return {
    home,
    configDir,
    configFile: under(configDir, "config.json"),
    stateDir: xdg(env.XDG_STATE_HOME, ".local/state"),
    zcodeHome: env.ZCODE_HOME ? expandHome(env.ZCODE_HOME, home) : under(home, ".zcode"),
  };
}

/** `~` and `~/…` resolved, since an editor's settings are read by no shell. */
export function expandHome(path: string, home: string): string {
  if (path === "~") return home;
  return path.startsWith("~/") ? under(home, path.slice(2)) : path;
}

/**
 * `join(dir, rest)`. The runtime's own one is loaded only for what it would change, or where paths are no POSIX ones: each
 * of its modules costs a twentieth of the time that a status bar's line has.
 */
export function under(dir: string, rest: string): string {
  const path = `${dir}/${rest}`;
  const untidy =
    dir[0] !== "/" ||
    rest === "" ||
    path.includes("//") ||
    path.includes("/./") ||
    path.includes("/../") ||
    path.endsWith("/.") ||
    path.endsWith("/..");
  return untidy ? process.getBuiltinModule("node:path").join(dir, rest) : path;
}

function isAbsolute(path: string): boolean {
  return path[0] === "/" || process.getBuiltinModule("node:path").isAbsolute(path);
}
