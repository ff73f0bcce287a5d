/**
 * Skills and commands that a person may name in a prompt: the backend's own lists, and the disk's where a build has
 * none. One list a workspace, read again now and then.
 */

import type { Backend } from "../backend/backend.ts";
import { RpcError } from "../backend/rpc.ts";
import { ProductError } from "../errors/index.ts";
import type { Clock } from "../platform/clock.ts";
import { bool, type Obj, obj, str, text } from "../platform/json.ts";
import { errorName, type Log } from "../platform/log.ts";
import type { Offer } from "../store/catalogue.ts";
import { plainWords, skillWords, startsUnseen } from "../translate/wording.ts";
import {
  CATALOGUE_AGE_MS,
  CATALOGUE_DEADLINE_MS,
  MAX_DESCRIPTION,
  MAX_OFFERS,
  MAX_WORKSPACES,
} from "./limits.ts";

export interface CatalogueDeps {
  readonly backend: Backend;
  readonly clock: Clock;
  readonly log: Log;
  /** What lies on the disk for a workspace. */
  readonly onDisk: (cwd: string) => Promise<readonly Offer[]>;
}

interface Known {
  readonly offers: readonly Offer[];
  /** Monotonic milliseconds. */
  readonly at: number;
}

/** Names of the agent's own command line: as a prompt's first word they mean nothing, or what a method is for. */
const RESERVED = new Set([
  ..."help compact init expert effort variant dwf fork locale language mcp plugins plugin mode model new".split(
    " ",
  ),
  ..."clear resume continue rewind skill goal target workflow plan compress exit quit".split(" "),
]);

const NAME = /^[^\s/\\\p{Cc}]{1,100}$/u;

export class Catalogue {
  private readonly known = new Map<string, Known>();
  private readonly reading = new Map<string, Promise<readonly Offer[]>>();

  /** @param changed a workspace's list is not what it was. */
  constructor(
    private readonly deps: CatalogueDeps,
    private readonly changed: (cwd: string) => void,
  ) {}

  /** What was read last; nothing where that has not come yet. */
  last(cwd: string): readonly Offer[] {
    return this.known.get(cwd)?.offers ?? [];
  }

  /** The list as it is now, or was a moment ago. Concurrent callers share one reading. Never throws. */
  async read(cwd: string): Promise<readonly Offer[]> {
    const known = this.known.get(cwd);
    if (known && this.deps.clock.mono() - known.at < CATALOGUE_AGE_MS) return known.offers;
    let reading = this.reading.get(cwd);
    if (!reading) {
      reading = this.readAnew(cwd).finally(() => this.reading.delete(cwd));
      this.reading.set(cwd, reading);
    }
    return reading;
  }

  /** What the backend is sent for a person's words: the usual ones as they are, at once. */
  wording(cwd: string, typed: string): string | Promise<string> {
    const match = /^\s*(\/\$?|\$)(\S*)\s*([\s\S]*)$/.exec(typed);
    if (!match) return startsUnseen(typed) ? plainWords(typed) : typed;
    const [, sign = "", name = "", rest = ""] = match;
    return this.read(cwd).then((offers) => {
      const named = (kind: Offer["kind"], wanted: string) =>
        offers.find((offer) => offer.kind === kind && offer.name.toLowerCase() === wanted.toLowerCase());
      // The backend expands these itself.
      if (sign === "/" && (name.toLowerCase() === "init" || named("command", name))) return typed;
      if (sign === "/" && name.toLowerCase() === "skill") {
        const [wanted = ""] = rest.split(/\s/, 1);
        const skill = named("skill", wanted.replace(/^\$/, ""));
        if (skill) return skillWords(skill.name, typed);
      }
      const skill = named("skill", name);
      if (skill) return skillWords(skill.name, typed);
      return sign === "$" ? typed : plainWords(typed);
    });
  }

  private async readAnew(cwd: string): Promise<readonly Offer[]> {
    const before = this.last(cwd);
    let offers: readonly Offer[];
    try {
      offers = await this.ask(cwd);
    } catch (error) {
      // Without a backend nothing of it would work; what was known may come back with it.
      this.deps.log.once("catalogue", "info", `skills and commands could not be read: ${errorName(error)}`);
      return before;
    }
    this.known.delete(cwd);
    this.known.set(cwd, { offers, at: this.deps.clock.mono() });
    for (const old of [...this.known.keys()].slice(0, -MAX_WORKSPACES)) this.known.delete(old);
    if (JSON.stringify(offers) !== JSON.stringify(before)) this.changed(cwd);
    return offers;
  }

  /** @throws where there is no backend. */
  private async ask(cwd: string): Promise<readonly Offer[]> {
    const workspace = { workspacePath: cwd, workspaceKey: cwd };
    const [skills, commands] = await Promise.all([
      this.listed("skills/referenceCatalog", workspace, ({ skills }) => skills, skillOffer),
      this.listed("workspace/readPresentation", workspace, (answer) => answer.slashCommands, commandOffer),
    ]);
    const disk = skills && commands ? [] : await this.deps.onDisk(cwd);
    const lacking = (kind: Offer["kind"]) => disk.filter((offer) => offer.kind === kind);
    const all = [
      ...(commands ?? lacking("command").filter(({ name }) => !RESERVED.has(name))),
      ...(skills ?? lacking("skill")),
    ];
    const names = new Set<string>();
    return all
      .filter(({ kind, name }) => !names.has(`${kind} ${name}`) && names.add(`${kind} ${name}`))
      .slice(0, MAX_OFFERS)
      .map(({ kind, name, description, hint }) => ({
        kind,
        name,
        description: inOneLine(description),
        hint: text(inOneLine(hint)),
      }));
  }

  /** One of the backend's lists; undefined where this build has none. */
  private async listed(
    method: string,
    workspace: Obj,
    entries: (answer: Obj) => unknown,
    offer: (entry: Obj) => Offer[],
  ): Promise<Offer[] | undefined> {
    try {
      const answer = await this.deps.backend.call(method, { workspace }, [], {
        deadlineMs: CATALOGUE_DEADLINE_MS,
      });
      const found = entries(obj(answer));
      return Array.isArray(found) ? found.flatMap((entry) => offer(obj(entry))) : undefined;
    } catch (error) {
      const silent = error instanceof ProductError && error.which === "backendSilent";
      if (error instanceof RpcError || silent) return undefined;
      throw error;
    }
  }
}

function skillOffer(entry: Obj): Offer[] {
  const name = text(entry.name);
  if (name === undefined || !NAME.test(name) || bool(entry.enabled) === false) return [];
  return [{ kind: "skill", name, description: str(entry.description) ?? "", hint: undefined }];
}

/** Built-in ones are offered by names of ours, or by none. */
function commandOffer(entry: Obj): Offer[] {
  const name = text(entry.name)?.replace(/^\//, "");
  if (name === undefined || !NAME.test(name)) return [];
  if (entry.source === "builtin" || RESERVED.has(name.toLowerCase())) return [];
  return [
    {
      kind: "command",
      name,
      description: str(entry.description) ?? "",
      hint: text(str(entry.inputHint)?.replace(/^\/\S+\s*/, "")),
    },
  ];
}

/** What a list has room for. */
function inOneLine(value: unknown): string {
  const words = (str(value) ?? "").slice(0, 2 * MAX_DESCRIPTION).replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");
  return [...words.trim()].slice(0, MAX_DESCRIPTION).join("");
}
