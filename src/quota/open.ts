/** The reader of usage over this machine's settings and files: one for each process that wants to know. */

import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Paths } from "../platform/paths.ts";
import type { Web } from "./ask.ts";
import { QuotaCache } from "./cache.ts";
import { accountStamps } from "./kept.ts";
import { QuotaReader } from "./reader.ts";
import { quotaSources, type SourceSettings } from "./sources.ts";
import { togetherStamp } from "./stored.ts";
import type { ProviderName } from "./types.ts";

export interface QuotaDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly paths: Pick<Paths, "home" | "zcodeHome" | "stateDir" | "configFile">;
  readonly config: Pick<SourceSettings, "provider" | "quota">;
}

export function openQuota({ clock, log, env, paths, config }: QuotaDeps): {
  reader: QuotaReader;
  web: Web;
  account(name: ProviderName): string;
  noteRefreshed(): Promise<void>;
} {
  const web: Web = { clock, fetch: (url, init) => fetch(url, init) };
  const settings = { ...config, home: paths.home, zcodeHome: paths.zcodeHome };
  const cache = new QuotaCache(paths.stateDir, clock, log);
  const files = { env, ...paths };
  const account = (name: ProviderName) => accountStamps(files)[name];
  const reader = new QuotaReader({ web, sources: () => quotaSources(settings), account, cache });
  return {
    web,
    reader,
    account,
    noteRefreshed: () => cache.noteRefreshed(togetherStamp(accountStamps(files))),
  };
}
