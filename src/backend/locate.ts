/**
 * Finding the app-server and what it is started with. Editors started from a desktop have no shell PATH, so
 * the desktop app's own places are looked at as well.
 */

import { accessSync, constants, existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { delimiter, dirname, extname, isAbsolute, join } from "node:path";
import { phrase, type Value } from "../locale/index.ts";
import { type Credentials, selectedProvider } from "../store/providers.ts";

export type Env = Readonly<Record<string, string | undefined>>;

export interface LocateInput {
  readonly env: Env;
  /** The person's home directory. */
  readonly home: string;
  /** The directory that holds `v2`. */
  readonly zcodeHome: string;
  readonly platform: string;
  /** `ZCODE_BIN`, `ZCODE_NODE` and `ZCODE_PROVIDER` after configuration. */
  readonly bin: string | undefined;
  readonly node: string | undefined;
  readonly provider: string | undefined;
  readonly keepHappyEyeballs: boolean;
  /** `"sim"` for the built-in simulator. */
  readonly backend: "auto" | "sim";
  readonly simArgs: readonly string[];
  /** The words that start this very program. */
  readonly self: readonly string[];
  readonly credentials: Credentials;
  readonly versionOf: VersionOf;
  /** Ends what is started on the way. */
  readonly ending?: AbortSignal | undefined;
}

/** The first dotted version that a command prints, or undefined; `versionReader` makes one for real programs. */
export type VersionOf = (argv: readonly string[], ending?: AbortSignal) => Promise<string | undefined>;

export interface Launch {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Where it was found, for `doctor`. */
  readonly source: "simulator" | "ZCODE_BIN" | "PATH" | "desktop app";
  readonly entry: string;
  /** Words that print the version, or undefined where it is known. */
  readonly versionArgv: readonly string[];
  /** The built-in provider table near the entry; there only on app 3.12 and newer. */
  readonly builtinTable: string | undefined;
}

export interface Located {
  readonly launch: Launch | undefined;
  /** Each place looked at, with what was wrong there. */
  readonly looked: readonly Value[];
}

const NODE_FLAGS = ["--no-network-family-autoselection", "--dns-result-order=ipv4first"];
const SCRIPT = new Set([".cjs", ".mjs", ".js"]);
/** The first Node that has `node:sqlite` without a flag. */
const OLDEST_NODE: readonly [number, number] = [22, 5];

/** The app-server to start, or the places where none was found. */
export async function locateBackend(input: LocateInput): Promise<Located> {
  const looked: Value[] = [];
  if (input.backend === "sim") {
    const argv = [...input.self, "sim", ...input.simArgs];
    const launch = describe(input, argv[0] ?? "", argv, "simulator", []);
    return { launch, looked };
  }
  const found = findEntry(input, looked);
  if (!found) return { launch: undefined, looked };
  const { entry, source } = found;
  if (!SCRIPT.has(extname(entry).toLowerCase())) {
    return {
      launch: describe(input, entry, [entry, "app-server", "--stdio"], source, [entry, "--version"]),
      looked,
    };
  }
  const node = await findNode(input, looked);
  if (!node) return { launch: undefined, looked };
  const flags = input.keepHappyEyeballs ? [] : NODE_FLAGS;
  return {
    launch: describe(input, entry, [node, ...flags, entry, "app-server", "--stdio"], source, [
      node,
      entry,
      "--version",
    ]),
    looked,
  };
}

function findEntry(
  input: LocateInput,
  looked: Value[],
): { entry: string; source: Launch["source"] } | undefined {
  if (input.bin !== undefined) {
    if (isFile(input.bin)) return { entry: input.bin, source: "ZCODE_BIN" };
    // A path that a person gave and that is not there is an error, not a reason to run something else.
    const why = phrase("problem.missing", {});
    looked.push(phrase("looked.because", { place: `ZCODE_BIN=${input.bin}`, why }));
    return undefined;
  }
  const names = input.platform === "win32" ? ["zcode.exe", "zcode.cmd", "zcode"] : ["zcode"];
  for (const dir of (input.env.PATH ?? "").split(delimiter)) {
    if (!isAbsolute(dir)) continue;
    for (const name of names) {
      const path = join(dir, name);
      if (isFile(path) && isExecutable(path)) return { entry: path, source: "PATH" };
    }
  }
  looked.push(phrase("looked.path", {}));
  for (const path of desktopEntries(input)) {
    if (isFile(path)) return { entry: path, source: "desktop app" };
    looked.push(path);
  }
  return undefined;
}

function desktopEntries(input: LocateInput): string[] {
  const file = "zcode.cjs";
  if (input.platform === "darwin") {
    const inside = join("ZCode.app", "Contents", "Resources", "glm", file);
    return [join("/Applications", inside), join(input.home, "Applications", inside)];
  }
  if (input.platform === "win32") {
    const local = input.env.LOCALAPPDATA ?? join(input.home, "AppData", "Local");
    return [join(local, "Programs", "ZCode", "resources", "glm", file)];
  }
  return [join("/opt/ZCode/resources/glm", file), join("/usr/share/zcode/resources/glm", file)];
}

async function findNode(input: LocateInput, looked: Value[]): Promise<string | undefined> {
  const needed = OLDEST_NODE.join(".");
  for (const path of nodeCandidates(input)) {
    if (input.ending?.aborted) break;
    if (!isFile(path)) continue;
    const version = await input.versionOf([path, "--version"], input.ending);
    const [major = 0, minor = 0] = (version ?? "").split(".").map(Number);
    if (major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])) return path;
    looked.push(
      version === undefined
        ? phrase("looked.nodeUnknown", { path, needed })
        : phrase("looked.node", { path, version, needed }),
    );
  }
  looked.push(phrase("looked.noNode", { needed }));
  return undefined;
}

function* nodeCandidates(input: LocateInput): Generator<string> {
  if (input.node !== undefined) {
    yield input.node;
    return;
  }
  const name = input.platform === "win32" ? "node.exe" : "node";
  if (input.platform !== "win32") {
    yield "/opt/homebrew/bin/node";
    yield "/usr/local/bin/node";
  }
  for (const dir of (input.env.PATH ?? "").split(delimiter)) if (isAbsolute(dir)) yield join(dir, name);
  const zed = join(input.home, "Library", "Application Support", "Zed", "node");
  try {
    for (const dir of readdirSync(zed).sort().reverse()) {
      if (dir.startsWith("node-v")) yield join(zed, dir, "bin", "node");
    }
  } catch {
    // No Zed here.
  }
}

function describe(
  input: LocateInput,
  entry: string,
  argv: readonly string[],
  source: Launch["source"],
  versionArgv: readonly string[],
): Launch {
  const builtinTable = source === "simulator" ? undefined : builtinTableNear(entry);
  return { argv, env: launchEnv(input, source, builtinTable), source, entry, versionArgv, builtinTable };
}

function builtinTableNear(entry: string): string | undefined {
  let real = entry;
  try {
    real = realpathSync(entry);
  } catch {
    return undefined;
  }
  const dir = dirname(real);
  return [
    join(dir, "provider", "zcode-builtin.json"),
    join(dir, "..", "config", "provider", "zcode-builtin.json"),
  ].find((path) => existsSync(path));
}

/**
 * What programs that we start get of our environment: no origin that would mislead them and no variable of ours, which
 * may hold a token that the commands of a model must not inherit.
 */
export function handedOn(env: Env, but: (name: string) => boolean): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || name === "ZCODE_BASE_URL") continue;
    if (name.startsWith("ZCODE_ACP_") && !but(name)) continue;
    kept[name] = value;
  }
  return kept;
}

/** The app-server's environment: the editor's, and what it needs in it. */
function launchEnv(
  input: LocateInput,
  source: Launch["source"],
  table: string | undefined,
): Record<string, string> {
  const env = handedOn(input.env, (name) => name.startsWith("ZCODE_ACP_INTERNAL_"));
  const map = (to: string, ...from: string[]) => {
    const value = from.map((name) => input.env[name]).find((candidate) => candidate);
    if (!env[to] && value) env[to] = value;
  };
  map("ZCODE_HTTP_PROXY", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy");
  map("ZCODE_NO_PROXY", "NO_PROXY", "no_proxy");
  map("ZCODE_AGENT_CA_CERT", "NODE_EXTRA_CA_CERTS");
  if (input.env.ZCODE_HOME && !env.ZCODE_DATA_BASE_DIR) env.ZCODE_DATA_BASE_DIR = dirname(input.zcodeHome);
  if (source === "simulator") return env;
  if (table !== undefined) {
    // With one of the two alone the account push is void, so both are set whether or not the second file exists.
    env.ZCODE_BUILTIN_PROVIDER_CONFIG_FILE = table;
    env.ZCODE_PERSONAL_PROVIDER_CONFIG_FILE = join(input.zcodeHome, "v2", "provider_config.json");
    return env;
  }
  const provider = selectedProvider(input.credentials, input.provider);
  if (provider?.apiKey && !env.ANTHROPIC_API_KEY) env.ANTHROPIC_API_KEY = provider.apiKey;
  const model = provider?.models[0]?.id;
  if (model && !env.ZCODE_MODEL) env.ZCODE_MODEL = model;
  return env;
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
