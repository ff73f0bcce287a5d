/**
 * Every setting, once: its key in the file, its variable, its default and its row in the README all come from
 * this schema. Values may come from a variable, so each accepts its text form as well.
 */
import { z } from "zod";
import { type Phrase, phrase } from "../locale/index.ts";

export interface SettingInfo {
  readonly variable: string;
  /** Whether `config.json` may hold it. */
  readonly inFile: boolean;
  /** The key in the file, with a dot for each level; the setting's own name where none is given. */
  readonly key?: string;
  /** What a right value is, to end the sentence "… is not …". */
  readonly expects: Phrase;
  /** The default as a person reads it. */
  readonly fallback: string;
  /** The row's text; a sentence. */
  readonly about: string;
}

/** What the schema itself does not say about a setting. */
export const settingInfo = z.registry<SettingInfo>();

const text = () => z.string().trim().min(1);
/** Scheme, host and port; a path behind them is dropped. */
const origin = () =>
  z
    .url({ protocol: /^https?$/ })
    .transform((value) => new URL(value).origin)
    .optional();
const flag = () => z.union([z.boolean(), z.stringbool()]);
const words = () =>
  z.union([
    z.array(z.string()),
    z.string().transform((line) => line.split(/\s+/).filter((word) => word !== "")),
  ]);

export const settings = z.object({
  bin: text()
    .optional()
    .register(settingInfo, {
      variable: "ZCODE_BIN",
      inFile: true,
      expects: phrase("expects.path", {}),
      fallback: "`zcode` on `PATH`, then the ZCode app's own",
      about: "The ZCode command line, or its `.cjs` file, to start.",
    }),
  node: text()
    .optional()
    .register(settingInfo, {
      variable: "ZCODE_NODE",
      inFile: true,
      expects: phrase("expects.path", {}),
      fallback: "the usual places, then `PATH`",
      about: "The Node (22.5 or newer) that runs a ZCode which is a script.",
    }),
  provider: text()
    .optional()
    .register(settingInfo, {
      variable: "ZCODE_PROVIDER",
      inFile: true,
      expects: phrase("expects.provider", {}),
      fallback: "a coding plan, else the first usable one",
      about:
        "The provider, by its id in ZCode's settings, whose models come first; older ZCodes are started with it.",
    }),
  backend: z
    .enum(["auto", "sim"])
    .default("auto")
    .register(settingInfo, {
      variable: "ZCODE_ACP_BACKEND",
      inFile: true,
      expects: phrase("expects.oneOf", { list: "auto, sim" }),
      fallback: "`auto`",
      about: "`auto` finds ZCode; `sim` is the built-in simulator, which needs no account.",
    }),
  simArgs: words()
    .default([])
    .register(settingInfo, {
      variable: "ZCODE_ACP_SIM_ARGS",
      inFile: false,
      expects: phrase("expects.words", {}),
      fallback: "none",
      about: "Flags for the simulator, separated by spaces; for tests.",
    }),
  language: z
    .enum(["auto", "en", "zh"])
    .default("auto")
    .register(settingInfo, {
      variable: "ZCODE_ACP_LANG",
      inFile: true,
      expects: phrase("expects.oneOf", { list: "auto, en, zh" }),
      fallback: "`auto`",
      about:
        "The language of what you read: `en`, `zh` for Simplified Chinese, or `auto` for the ZCode app's, else the system's.",
    }),
  record: text()
    .optional()
    .register(settingInfo, {
      variable: "ZCODE_ACP_RECORD",
      inFile: true,
      expects: phrase("expects.path", {}),
      fallback: "off",
      about:
        "A folder that whole frames are recorded in, prompts and code included; said in the log at the start.",
    }),
  keepHappyEyeballs: flag()
    .default(false)
    .register(settingInfo, {
      variable: "ZCODE_KEEP_HAPPY_EYEBALLS",
      inFile: true,
      expects: phrase("expects.flag", {}),
      fallback: "`0`",
      about: "`1` leaves Node's choice between IPv4 and IPv6 alone; it gives up on slow providers too soon.",
    }),
  autoCompactThreshold: z.coerce
    .number()
    .int()
    .min(1)
    .optional()
    .register(settingInfo, {
      variable: "ZCODE_ACP_AUTO_COMPACT_THRESHOLD",
      inFile: true,
      expects: phrase("expects.tokens", {}),
      fallback: "off",
      about: "Tokens of context from which on a conversation is compacted after a turn.",
    }),
  ollamaApiKey: text()
    .optional()
    .register(settingInfo, {
      variable: "OLLAMA_API_KEY",
      inFile: true,
      key: "quota.ollamaApiKey",
      expects: phrase("expects.key", {}),
      fallback: "none",
      about: "The key of Ollama Cloud, whose use `quota` shows.",
    }),
  opencodeWorkspace: text()
    .optional()
    .register(settingInfo, {
      variable: "OPENCODE_GO_WORKSPACE_ID",
      inFile: false,
      expects: phrase("expects.workspace", {}),
      fallback: "`workspaceId` in `~/.pi/agent/opencode-go.json`",
      about: "The OpenCode Go workspace whose use `quota` shows.",
    }),
  opencodeCookie: text()
    .optional()
    .register(settingInfo, {
      variable: "OPENCODE_GO_AUTH_COOKIE",
      inFile: false,
      expects: phrase("expects.cookie", {}),
      fallback: "`authCookie` in `~/.pi/agent/opencode-go.json`",
      about: "The value of the cookie `auth` of opencode.ai.",
    }),
  glmOrigin: origin().register(settingInfo, {
    variable: "ZCODE_ACP_GLM_ORIGIN",
    inFile: false,
    expects: phrase("expects.origin", {}),
    fallback: "the provider's own",
    about: "Where GLM's usage is asked for, in place of the provider: for tests and proxies.",
  }),
  opencodeOrigin: origin().register(settingInfo, {
    variable: "ZCODE_ACP_OPENCODE_ORIGIN",
    inFile: false,
    expects: phrase("expects.origin", {}),
    fallback: "`https://opencode.ai`",
    about: "The same for OpenCode Go.",
  }),
  ollamaOrigin: origin().register(settingInfo, {
    variable: "ZCODE_ACP_OLLAMA_ORIGIN",
    inFile: false,
    expects: phrase("expects.origin", {}),
    fallback: "`https://ollama.com`",
    about: "The same for Ollama Cloud.",
  }),
  remoteToken: text()
    .optional()
    .register(settingInfo, {
      variable: "ZCODE_ACP_REMOTE_TOKEN",
      inFile: true,
      key: "remote.token",
      expects: phrase("expects.key", {}),
      fallback: "none",
      about: "The token of the hub on this machine, which `quota` asks first where it is set.",
    }),
  hubHost: text()
    .default("127.0.0.1")
    .register(settingInfo, {
      variable: "ZCODE_ACP_HUB_HOST",
      inFile: true,
      key: "remote.hubHost",
      expects: phrase("expects.host", {}),
      fallback: "`127.0.0.1`",
      about: "Where the hub listens.",
    }),
  hubPort: z.coerce
    .number()
    .int()
    .min(1)
    .max(65_535)
    .default(8377)
    .register(settingInfo, {
      variable: "ZCODE_ACP_HUB_PORT",
      inFile: true,
      key: "remote.hubPort",
      expects: phrase("expects.numberFrom", { least: 1, most: 65_535 }),
      fallback: "`8377`",
      about: "The port that the hub listens on.",
    }),
  timeScale: z.coerce
    .number()
    .min(1)
    .max(10_000)
    .default(1)
    .register(settingInfo, {
      variable: "ZCODE_ACP_INTERNAL_TIME_SCALE",
      inFile: false,
      expects: phrase("expects.numberFrom", { least: 1, most: 10_000 }),
      fallback: "`1`",
      about: "Makes the waits of rules (silence, retry, back-off) so many times shorter; for tests.",
    }),
});

export type SettingName = keyof typeof settings.shape;
