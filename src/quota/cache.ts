/**
 * What providers said last, on disk: so that ten processes that want to know at once ask once. One file a provider, with
 * payload and time and no credential; a lock keeps others waiting while one asks.
 */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { isPhrase } from "../locale/index.ts";
import { writeAtomic } from "../platform/atomic.ts";
import type { Clock } from "../platform/clock.ts";
import { readRegular } from "../platform/files.ts";
import { withLock } from "../platform/lock.ts";
import { errorName, type Log } from "../platform/log.ts";
import { ASKING_MS, FAILURE_FRESH_MS, FRESH_MS } from "./limits.ts";
import { Sections } from "./schema.ts";
import type { Answer, ProviderName } from "./types.ts";

/** An answer, and when it was given; epoch ms. */
export interface Dated<Name extends ProviderName = ProviderName> {
  readonly at: number;
  readonly answer: Answer<Name>;
}

const VERSION = 1;

const Entry = z.looseObject({
  v: z.number(),
  at: z.number(),
  /** Stands for whose numbers they are: another account's are nobody's business. */
  of: z.string(),
  section: z.unknown(),
  reason: z
    .looseObject({ key: z.string(), params: z.record(z.string(), z.union([z.string(), z.number()])) })
    .optional(),
});

/** How long an answer counts, in ms. */
export interface Freshness {
  readonly successMs: number;
  readonly failureMs: number;
}

export const FRESHNESS: Freshness = { successMs: FRESH_MS, failureMs: FAILURE_FRESH_MS };

/** True while `dated` need not be asked again. A time to come is a clock that was set back. */
export function isFresh({ at, answer }: Dated, now: number, { successMs, failureMs }: Freshness): boolean {
  const age = now - at;
  return age >= 0 && age < (answer.section.kind === "success" ? successMs : failureMs);
}

export class QuotaCache {
  /** @param dir where the files lie; made where it is not there. */
  constructor(
    private readonly dir: string,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  /** The last answer that was kept for this account, however old. */
  get<Name extends ProviderName>(name: Name, of: string): Dated<Name> | undefined {
    const entry = this.read(name);
    return entry && entry.v === VERSION && entry.of === of ? datedOf(name, entry) : undefined;
  }

  /**
   * The kept answer where it is fresh, else a new one: asked for by one process while the others wait for it.
   * @param of stands for the account that is asked about.
   */
  async through<Name extends ProviderName>(
    name: Name,
    of: string,
    freshness: Freshness,
    ask: () => Promise<Answer<Name>>,
  ): Promise<Dated<Name>> {
    const fresh = () => {
      const kept = this.get(name, of);
      return kept && isFresh(kept, this.clock.now(), freshness) ? kept : undefined;
    };
    const kept = fresh();
    if (kept) return kept;
    let asked: Dated<Name> | undefined;
    const once = async () => {
      const meanwhile = fresh();
      if (meanwhile) return meanwhile;
      const answer = await ask();
      asked = { at: this.clock.now(), answer };
      await this.put(name, of, asked);
      return asked;
    };
    try {
      mkdirSync(this.dir, { recursive: true, mode: 0o700 });
      return await withLock(`${this.path(name)}.lock`, this.clock, once, ASKING_MS);
    } catch (error) {
      // A disk that takes nothing keeps nobody from knowing; only those who ask cannot join.
      this.log.once("quota-cache", "warn", `usage cannot be kept on disk: ${errorName(error)}`);
      return asked ?? { answer: await ask(), at: this.clock.now() };
    }
  }

  private async put(name: ProviderName, of: string, { at, answer }: Dated): Promise<void> {
    const before = this.read(name);
    // A newer release's file is its own.
    if (before && before.v > VERSION) return;
    const entry = { ...before, v: VERSION, at, of, section: answer.section, reason: answer.reason };
    await writeAtomic(this.path(name), `${JSON.stringify(entry)}\n`, 0o600);
  }

  private read(name: ProviderName): z.infer<typeof Entry> | undefined {
    try {
      return Entry.safeParse(JSON.parse(readRegular(this.path(name)))).data;
    } catch {
      // Not there, or half of something: asking anew is all that is needed.
      return undefined;
    }
  }

  private path(name: ProviderName): string {
    return join(this.dir, `quota-${name}.json`);
  }
}

function datedOf<Name extends ProviderName>(
  name: Name,
  entry: z.infer<typeof Entry>,
): Dated<Name> | undefined {
  const section = Sections[name].safeParse(entry.section);
  if (!section.success) return undefined;
  const { at, reason } = entry;
  return {
    at,
    answer: { section: section.data as Answer<Name>["section"], ...(isPhrase(reason) ? { reason } : {}) },
  };
}
