/**
 * Skills and commands that lie on the disk, for builds that have no catalogue of their own. Where they lie and what
 * their heads say is what ZCode 0.16 reads; whatever cannot be read is passed over.
 */

import { constants, type Dirent } from "node:fs";
import { open, readdir, realpath } from "node:fs/promises";
import { basename, dirname, join, sep } from "node:path";
import { isObj, list, type Obj, obj, str, text } from "../platform/json.ts";

/** What a person may name in a prompt. */
export interface Offer {
  readonly kind: "skill" | "command";
  readonly name: string;
  readonly description: string;
  /** What may follow the name. */
  readonly hint: string | undefined;
}

/** Bytes of a file that are read: its head is all that is wanted. */
const HEAD_BYTES = 16 * 1024;
/** More than these in one place are not looked at. */
const MAX_ENTRIES = 500;
const COMMAND_DEPTH = 12;
/** A git root is looked for so far up. */
const MAX_PARENTS = 64;
/** Manifests are small; one that is not is none. */
const MAX_MANIFEST_BYTES = 256 * 1024;
const COMMAND_NAME = /^[a-z0-9][a-z0-9_:-]{0,63}$/;
const SKILL_NAME = /^[^\s/\\\p{Cc}]{1,100}$/u;
const MAX_DESCRIPTION = 1_024;
const MANIFESTS = [".zcode-plugin", ".claude-plugin", ".codex-plugin"];

export interface CataloguePlaces {
  readonly home: string;
  /** `~/.zcode`, or where the person has put it. */
  readonly zcodeHome: string;
}

/** Everything that is offered in `cwd`; of two with one kind and name the first one found. */
export async function readCatalogue(cwd: string, places: CataloguePlaces): Promise<Offer[]> {
  const found = new Map<string, Offer>();
  const add = (offer: Offer | undefined) => {
    if (offer && found.size < MAX_ENTRIES && !found.has(`${offer.kind} ${offer.name}`))
      found.set(`${offer.kind} ${offer.name}`, offer);
  };
  const roots = [places.zcodeHome, join(places.home, ".agents")];
  for (const dir of await upToGit(cwd)) roots.push(join(dir, ".zcode"), join(dir, ".agents"));
  for (const root of roots) {
    for (const offer of await skillsIn(join(root, "skills"))) add(offer);
    for (const offer of await commandsIn(join(root, "commands"))) add(offer);
  }
  for (const plugin of await enabledPlugins(places.zcodeHome)) {
    for (const dir of plugin.skills)
      for (const offer of await skillsIn(dir)) add({ ...offer, name: `${plugin.name}:${offer.name}` });
    for (const dir of plugin.commands) for (const offer of await commandsIn(dir)) add(offer);
  }
  return [...found.values()];
}

/** The folder and those above it, up to the one that holds the repository; alone where there is no repository. */
async function upToGit(cwd: string): Promise<string[]> {
  const dirs = [cwd];
  for (let dir = cwd; dirs.length < MAX_PARENTS; ) {
    if ((await namesIn(dir)).some((entry) => entry.name === ".git")) return dirs;
    const parent = dirname(dir);
    if (parent === dir) break;
    dirs.push(parent);
    dir = parent;
  }
  return [cwd];
}

/** `SKILL.md` of a folder itself, and of each folder in it. */
async function skillsIn(root: string): Promise<Offer[]> {
  const entries = await namesIn(root);
  const dirs = entries.filter((entry) => entry.isDirectory() || entry.isSymbolicLink());
  const found: Offer[] = [];
  for (const dir of [root, ...dirs.map(({ name }) => join(root, name)).sort()]) {
    const head = await headOf(join(dir, "SKILL.md"));
    if (head === undefined) continue;
    const { fields } = frontmatter(head);
    const name = fields.get("name") || basename(dir);
    if (!SKILL_NAME.test(name) || fields.get("user-invocable") === "false") continue;
    const description = shortened(fields.get("description") ?? "");
    found.push({ kind: "skill", name, description, hint: fields.get("argument-hint") || undefined });
  }
  return found;
}

/** `**\/*.md`: a command is called what its path is, joined by colons. */
async function commandsIn(root: string): Promise<Offer[]> {
  const found: Offer[] = [];
  const seen = new Set<string>();
  const look = async (dir: string, path: readonly string[]): Promise<void> => {
    const real = await realpath(dir).catch(() => undefined);
    if (real === undefined || seen.has(real) || seen.size >= MAX_ENTRIES) return;
    seen.add(real);
    for (const entry of (await namesIn(dir)).sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const at = join(dir, entry.name);
      if (entry.name.endsWith(".md")) {
        const name = [...path, entry.name.slice(0, -3)].join(":").toLowerCase();
        if (!COMMAND_NAME.test(name) || found.length >= MAX_ENTRIES) continue;
        const head = await headOf(at);
        if (head === undefined) continue;
        const { fields, body } = frontmatter(head);
        const description = shortened(fields.get("description") || firstLine(body));
        found.push({ kind: "command", name, description, hint: fields.get("argument-hint") || undefined });
      } else if (path.length < COMMAND_DEPTH && (entry.isDirectory() || entry.isSymbolicLink())) {
        await look(at, [...path, entry.name]);
      }
    }
  };
  await look(root, []);
  return found;
}

interface Plugin {
  readonly name: string;
  readonly skills: readonly string[];
  readonly commands: readonly string[];
}

/** Plugins that the person has switched on; what is on by default is not written down anywhere. */
async function enabledPlugins(zcodeHome: string): Promise<Plugin[]> {
  const config = await json(join(zcodeHome, "cli", "config.json"));
  const enabled = Object.entries(obj(obj(config.plugins).enabledPlugins))
    .filter(([, on]) => on === true)
    .map(([key]) => key);
  const found: Plugin[] = [];
  for (const key of enabled.slice(0, MAX_ENTRIES)) {
    const at = key.lastIndexOf("@");
    const [plugin, marketplace] = [key.slice(0, at), key.slice(at + 1)];
    if (at <= 0 || !isPlainName(plugin) || !isPlainName(marketplace)) continue;
    const versions = join(zcodeHome, "cli", "plugins", "cache", marketplace, plugin);
    const names = (await namesIn(versions)).filter((entry) => entry.isDirectory()).map(({ name }) => name);
    const newest = names.sort((a, b) => a.localeCompare(b, "en", { numeric: true })).at(-1);
    if (newest === undefined) continue;
    const dir = join(versions, newest);
    let manifest: Obj = {};
    for (const place of MANIFESTS) {
      manifest = await json(join(dir, place, "plugin.json"));
      if (Object.keys(manifest).length > 0) break;
    }
    found.push({
      name: text(manifest.name) ?? plugin,
      skills: dirsOf(manifest.skills, dir, "skills"),
      commands: dirsOf(manifest.commands, dir, "commands"),
    });
  }
  return found;
}

/** What a manifest names, below the plugin's own folder. */
function dirsOf(value: unknown, dir: string, usual: string): string[] {
  const named = typeof value === "string" ? [value] : list(value).flatMap((each) => text(each) ?? []);
  const paths = named.length > 0 ? named : [usual];
  return paths.map((path) => join(dir, path)).filter((path) => path === dir || path.startsWith(dir + sep));
}

function isPlainName(name: string): boolean {
  return /^[\w.-]+$/.test(name) && name !== "." && name !== "..";
}

/** The fields of a file's head, and what stands behind it. Values are plain, quoted, or blocks of indented lines. */
export function frontmatter(head: string): { fields: Map<string, string>; body: string } {
  const fields = new Map<string, string>();
  const lines = head.replace(/^\uFEFF/, "").split(/\r?\n/);
  if (lines[0]?.trimEnd() !== "---") return { fields, body: lines.join("\n") };
  let i = 1;
  for (; i < lines.length && lines[i]?.trimEnd() !== "---"; i++) {
    const match = /^([A-Za-z][\w-]*):(?:\s+(.*))?$/.exec(lines[i] ?? "");
    if (!match?.[1]) continue;
    let value = (match[2] ?? "").trim();
    if (/^[|>][+-]?\d*$/.test(value) || value === "") {
      const block: string[] = [];
      while (/^(?:\s+|$)/.test(lines[i + 1] ?? "x") && i + 1 < lines.length)
        block.push((lines[++i] ?? "").trim());
      value = block.join(value.startsWith("|") ? "\n" : " ").trim();
    } else if (/^"(?:[^"\\]|\\.)*"$/.test(value)) {
      value = unquoted(value);
    } else if (/^'.*'$/.test(value)) {
      value = value.slice(1, -1).replaceAll("''", "'");
    } else {
      value = value.replace(/\s+#.*$/, "");
    }
    if (!fields.has(match[1])) fields.set(match[1], value);
  }
  return { fields, body: lines.slice(i + 1).join("\n") };
}

function unquoted(value: string): string {
  try {
    return str(JSON.parse(value)) ?? "";
  } catch {
    return value.slice(1, -1);
  }
}

function firstLine(body: string): string {
  const line = body.split("\n").find((each) => each.trim() !== "") ?? "";
  return line.replace(/^#+\s*/, "").trim();
}

function shortened(words: string): string {
  return [...words.slice(0, 2 * MAX_DESCRIPTION)].slice(0, MAX_DESCRIPTION).join("");
}

async function namesIn(dir: string): Promise<Dirent[]> {
  try {
    return (await readdir(dir, { withFileTypes: true })).slice(0, MAX_ENTRIES);
  } catch {
    return [];
  }
}

/** The beginning of a regular file; undefined where there is none. */
async function headOf(path: string, bytes = HEAD_BYTES): Promise<string | undefined> {
  try {
    // A pipe opens only with its other end, and for good holds whoever waits for that.
    const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      if (!(await file.stat()).isFile()) return undefined;
      const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, 0);
      return buffer.toString("utf8", 0, bytesRead);
    } finally {
      await file.close();
    }
  } catch {
    return undefined;
  }
}

async function json(path: string): Promise<Obj> {
  const head = await headOf(path, MAX_MANIFEST_BYTES);
  try {
    const value: unknown = JSON.parse((head ?? "{}").replace(/^\uFEFF/, ""));
    return isObj(value) ? value : {};
  } catch {
    return {};
  }
}
