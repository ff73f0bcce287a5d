/** Whose usage is asked for: keys from the environment, the configuration, and the files of ZCode and of others. */

import { join } from "node:path";
import type { Config } from "../config/index.ts";
import { readRegular } from "../platform/files.ts";
import { type Obj, obj, text } from "../platform/json.ts";
import { readCredentials, selectedProvider } from "../store/providers.ts";
import type { Sources } from "./reader.ts";

export interface SourceSettings extends Pick<Config, "provider" | "quota"> {
  readonly home: string;
  readonly zcodeHome: string;
}

/** Read anew at each call: signing in elsewhere must be enough. */
export function quotaSources({ home, zcodeHome, provider, quota }: SourceSettings): Sources {
  const file = quota.opencodeWorkspace && quota.opencodeCookie ? {} : opencodeFile(home);
  return {
    glm: { provider: selectedProvider(readCredentials(zcodeHome), provider), origin: quota.glmOrigin },
    opencode: {
      workspaceId: quota.opencodeWorkspace ?? text(file.workspaceId),
      authCookie: quota.opencodeCookie ?? text(file.authCookie),
      origin: quota.opencodeOrigin,
    },
    ollama: { apiKey: quota.ollamaApiKey, origin: quota.ollamaOrigin },
  };
}

/** The file of another program that knows the same account; without a usable one there is none. */
function opencodeFile(home: string): Obj {
  try {
    return obj(
      JSON.parse(readRegular(join(home, ".pi", "agent", "opencode-go.json")).replace(/^\uFEFF/, "")),
    );
  } catch {
    return {};
  }
}
