/**
 * What providers said last, on disk: so that ten processes that want to know at once ask once. One file a provider, with
 * payload and time and no credential; a lock keeps others waiting while one asks.
 */

import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { isPhrase } from "../locale/index.ts";
import { writeAtomic } from "../platform/atomic.ts";
import type { Clock } from "../platform/clock.ts";
import { num, type Obj, obj } from "../platform/json.ts";
import { withLock } from "../platform/lock.ts";
import { errorName, type Log } from "../platform/log.ts";
import { keptFile, readKept, refreshedFile } from "./kept.ts";
import { ASKING_MS, FRESH_MS, KEPT_BYTES, LEFT_MS, LINE_AGE_MS, OTHERS } from "./limits.ts";
import {
  type Dated,
  type Freshness,
  goodBefore,
  isFresh,
  keptPath,
  refreshedPath,
  VERSION,
} from "./stored.ts";
import type { Answer, ProviderName } from "./types.ts";

/**
 * What other accounts keep in a file beside the last that asked: two terminals with a key of their own each do not push
 * each other out.
 */
function newest(
  all: Obj | undefined,
  of: string,
  oldest: number,
  timeOf: (entry: unknown) => number | undefined,
): Obj | undefined {
  const others = Object.entries(all ?? {})
    .flatMap(([account, entry]) => {
      const at = timeOf(entry);
      return account === of || at === undefined || at < oldest ? [] : [{ account, entry, at }];
    })
    .sort((a, b) => b.at - a.at)
    .slice(0, OTHERS);
  return others.length > 0
    ? Object.fromEntries(others.map(({ account, entry }) => [account, entry]))
    : undefined;
}

/** Half a file, or a lock that was taken away: the names that both have until they are done. */
const LEFT = /^quota-\w+\.json\.(?:\d+\.[0-9a-f]{8}\.tmp|lock\.\d+\.[0-9a-f-]{36})$/;

export class QuotaCache {
  /** @param dir where the files lie; made where it is not there. */
  constructor(
    private readonly dir: string,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  /** The last answer that was kept for this account, however old. */
  get<Name extends ProviderName>(name: Name, of: string): Dated<Name> | undefined {
    const kept = readKept(this.dir, name, of);
    // A reason that a newer release wrote may have no sentence here.
    if (!kept?.answer.reason || isPhrase(kept.answer.reason)) return kept;
    return { at: kept.at, answer: { section: kept.answer.section } };
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

  /** All providers were asked just now: a status bar need not have them asked again. */
  async noteRefreshed(of: string): Promise<void> {
    mkdirSync(this.dir, { recursive: true, mode: 0o700 });
    const now = this.clock.now();
    const before = refreshedFile(this.dir);
    const all = before && { ...obj(before.others), [String(before.of)]: before.at };
    const others = newest(all, of, now - FRESH_MS, num);
    const entry = { v: VERSION, at: now, of, others };
    await writeAtomic(refreshedPath(this.dir), `${JSON.stringify(entry)}\n`, 0o600, "replaced");
  }

  private async put(name: ProviderName, of: string, { at, answer }: Dated): Promise<void> {
    const before = keptFile(this.dir, name);
    // A newer release's file is its own.
    if ((num(before?.v) ?? 0) > VERSION) return;
    const good = goodBefore(before, of, answer);
    const { others: _, of: last, v: __, ...front } = before ?? {};
    const all = before && { ...obj(before.others), [String(last)]: front };
    const others = newest(all, of, at - LINE_AGE_MS, (each) => num(obj(each).at));
    const entry = { ...before, v: VERSION, at, of, section: answer.section, reason: answer.reason, good };
    const text = JSON.stringify({ ...entry, others });
    // Above that size nothing is read any more: this account's own come first.
    const kept = text.length < KEPT_BYTES / 4 ? text : JSON.stringify({ ...entry, others: undefined });
    await writeAtomic(this.path(name), `${kept}\n`, 0o600, "replaced");
    this.sweep();
  }

  /** Removes what processes that were killed while they wrote have left. */
  private sweep(): void {
    const oldest = this.clock.now() - LEFT_MS;
    for (const name of readdirSync(this.dir)) {
      if (!LEFT.test(name)) continue;
      const path = join(this.dir, name);
      try {
        if (statSync(path).mtimeMs < oldest) rmSync(path);
      } catch {
        // Another process was first, or it is none of ours.
      }
    }
  }

  private path(name: ProviderName): string {
    return keptPath(this.dir, name);
  }
}
