/** What the commands that look at this machine share: paths, configuration, credentials, and the backend found. */
import { type Located, locateBackend, type VersionOf } from "../backend/locate.ts";
import { versionReader } from "../backend/version.ts";
import { type Config, type Flags, loadConfig } from "../config/index.ts";
import { type Clock, systemClock } from "../platform/clock.ts";
import { type Paths, resolvePaths } from "../platform/paths.ts";
import { createGuard } from "../platform/process.ts";
import { type Credentials, readCredentials } from "../store/providers.ts";
import { startFolders } from "./folders.ts";
import { programWords } from "./program.ts";

export type Env = Readonly<Record<string, string | undefined>>;

export interface Surroundings {
  readonly env: Env;
  readonly clock: Clock;
  readonly versionOf: VersionOf;
  readonly paths: Paths;
  readonly config: Config;
  readonly credentials: Credentials;
  locate(): Promise<Located>;
}

/** @param flags what the command line says, which counts before all else. */
export function lookAround(env: Env, platform: string, flags: Flags = {}): Surroundings {
  const clock = systemClock();
  const paths = resolvePaths(env, platform);
  const config = loadConfig(env, paths, flags);
  const credentials = readCredentials(paths.zcodeHome);
  const versionOf = versionReader(createGuard(clock), startFolders(paths.home), env);
  return {
    env,
    clock,
    versionOf,
    paths,
    config,
    credentials,
    locate: () =>
      locateBackend({
        env,
        home: paths.home,
        zcodeHome: paths.zcodeHome,
        platform,
        bin: config.bin,
        node: config.node,
        provider: config.provider,
        keepHappyEyeballs: config.keepHappyEyeballs,
        backend: config.backend,
        simArgs: config.simArgs,
        self: programWords(),
        credentials,
        versionOf,
      }),
  };
}
