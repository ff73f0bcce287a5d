/** `zcode-acp quota --watch`: the card, kept up to date in place. */

import { sentence, t } from "../locale/index.ts";
import { card } from "../quota/card.ts";
import { failureLines } from "../quota/failures.ts";
import { type Dated, PASSING } from "../quota/kept.ts";
import { type Report, usageOf } from "../quota/reader.ts";
import { clockTime, fit } from "../quota/text.ts";
import { PROVIDERS, type ProviderName } from "../quota/types.ts";
import type { Asked } from "./quota.ts";
import { cardOptions, isScreen, type Tools } from "./quotaShow.ts";
import { Screen } from "./screen.ts";

export interface WatchOptions {
  readonly seconds: number;
  /** One object a line instead of the card. */
  readonly json: boolean;
}

/** Runs until this process is ended, or nobody reads any more. */
export async function watch(asked: Asked, tools: Tools, { seconds, json }: WatchOptions): Promise<void> {
  const { clock } = tools.web;
  const terminal = isScreen() && !json;
  const now = new LastGood();
  const pending = new Set(asked.names);
  const lines = () => {
    const options = cardOptions(asked, terminal, clock.now());
    const shown = now.report;
    const stale = now.stale(asked, options.now).map((line) => fit(line, options.width));
    const failed = failureLines(asked, shown).map((line) => fit(line, options.width));
    return [...card(asked.names, shown, pending, options), ...stale, ...(pending.size > 0 ? [] : failed)];
  };
  const screen = terminal ? new Screen(() => paint(), clock) : undefined;
  const paint = () =>
    screen?.draw(lines(), { columns: process.stdout.columns, rows: process.stdout.rows || 24 });
  process.stdout.on("error", () => process.exit(0));
  screen?.enter();
  paint();
  for (;;) {
    const known = await tools.hub();
    const take = (name: ProviderName, dated: Dated) => {
      pending.delete(name);
      now.take(name, dated, tools.account(name));
      paint();
    };
    if (known) for (const name of asked.names) take(name, known[name]);
    else await tools.reader.read(json ? PROVIDERS : asked.names, take);
    if (json) await say(`${JSON.stringify(usageOf((known ?? now.latest) as Report))}\n`);
    else if (!screen) await say(`${lines().join("\n")}\n\n`);
    // What is left of a reset goes down meanwhile.
    const ticking = screen ? clock.every(1_000 * Math.min(30, seconds), paint) : undefined;
    await new Promise<void>((resolve) => clock.after(seconds * 1_000, resolve));
    ticking?.cancel();
  }
}

async function say(text: string): Promise<void> {
  await new Promise<void>((resolve, reject) =>
    process.stdout.write(text, (error) => (error ? reject(error) : resolve())),
  ).catch(() => process.exit(0));
}

/** What is shown: the last numbers of each provider, also while it cannot be asked. */
class LastGood {
  readonly report: Partial<Record<ProviderName, Dated>> & Partial<Report> = {};
  readonly latest: Partial<Record<ProviderName, Dated>> = {};
  /** Since when a provider has given no numbers; epoch ms. */
  private readonly since = new Map<ProviderName, number>();
  private readonly of = new Map<ProviderName, string>();

  /** @param of stands for the account: another one's numbers are none of this one. */
  take(name: ProviderName, dated: Dated, of: string): void {
    this.latest[name] = dated;
    const before: Dated | undefined = this.of.get(name) === of ? this.report[name] : undefined;
    this.of.set(name, of);
    const passing = PASSING.has(dated.answer.section.kind);
    if (passing && before?.answer.section.kind === "success") {
      if (!this.since.has(name)) this.since.set(name, dated.at);
      return;
    }
    this.since.delete(name);
    (this.report as Partial<Record<ProviderName, Dated>>)[name] = dated;
  }

  /** A line for each provider whose numbers are old. */
  stale({ names, language }: Asked, now: number): string[] {
    return names.flatMap((name) => {
      const since = this.since.get(name);
      const shown: Dated | undefined = this.report[name];
      if (since === undefined || !shown) return [];
      const said = t(
        "quota.offline",
        { since: clockTime(since, now), time: clockTime(shown.at, now) },
        language,
      );
      return [`${sentence(`quota.${name}`, {}, language)}: ${said}`];
    });
  }
}
