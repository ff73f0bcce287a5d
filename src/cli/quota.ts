/** `zcode-acp quota`: how much of each plan is used. */

import { defineCommand } from "citty";
import { errors } from "../errors/index.ts";
import { type Language, phrase } from "../locale/index.ts";
import { PROVIDERS, type ProviderName, providerNamed } from "../quota/types.ts";
import { flags } from "./flags.ts";
import { line, REFRESH } from "./quotaLine.ts";

const NAME = "zcode-acp quota";
const LEAST_INTERVAL_S = 10;
const MOST_INTERVAL_S = 86_400;

export const FLAGS = flags({
  provider: {
    type: "positional",
    required: false,
    description: "flag.quota.provider",
    valueHint: "glm|go|ollama",
  },
  json: { type: "boolean", description: "flag.quota.json" },
  line: { type: "boolean", description: "flag.quota.line" },
  plain: { type: "boolean", description: "flag.quota.plain" },
  watch: { type: "boolean", alias: ["w"], description: "flag.quota.watch" },
  interval: { type: "string", default: "60", description: "flag.quota.interval", valueHint: "SECONDS" },
  "warn-at": { type: "string", description: "flag.quota.warnAt", valueHint: "PERCENT" },
  verbose: { type: "boolean", description: "flag.quota.verbose" },
});

export interface Asked {
  readonly names: readonly ProviderName[];
  /** The provider that was asked for by name. */
  readonly named: ProviderName | undefined;
  readonly warnAt: number | undefined;
  readonly verbose: boolean;
  readonly plain: boolean;
  readonly language: Language;
}

export default defineCommand({
  args: FLAGS,
  async run({ args, rawArgs }) {
    const behind = args.provider === REFRESH;
    const named = behind || args.provider === undefined ? undefined : providerOf(args.provider);
    const wanted = {
      names: named ? [named] : PROVIDERS,
      named,
      warnAt: number("warn-at", args["warn-at"], 0, 100),
      verbose: args.verbose === true,
      plain: args.plain === true,
    };
    const seconds = number("interval", args.interval, LEAST_INTERVAL_S, MOST_INTERVAL_S) ?? LEAST_INTERVAL_S;
    const together = [args.line && "--line", args.json && "--json", args.watch && "--watch"].filter(
      (flag): flag is string => typeof flag === "string",
    );
    if (args.line && together.length > 1) throw errors.flagsTogether(NAME, together.join(", "));
    const paced = rawArgs.some((word) => word === "--interval" || word.startsWith("--interval="));
    if (paced && !args.watch) throw errors.flagNeeds(NAME, "--interval", "--watch");
    if (args.line) process.exit(await line(wanted));
    const { toolsOf, refresh, json, show } = await import("./quotaShow.ts");
    const tools = toolsOf();
    const asked: Asked = { ...wanted, language: tools.language };
    if (behind) return refresh(tools);
    if (args.watch) {
      const { watch } = await import("./quotaWatch.ts");
      return watch(asked, tools, { seconds, json: args.json === true });
    }
    process.exit(await (args.json ? json : show)(asked, tools));
  },
});

/** @throws ProductError where it names none. */
function providerOf(word: string): ProviderName {
  const name = providerNamed(word);
  if (name) return name;
  throw errors.badFlagValue(NAME, NAME, word, phrase("expects.oneOf", { list: "glm, go, ollama" }));
}

/** @throws ProductError where it is no number within the bounds. */
function number(flag: string, value: unknown, least: number, most: number): number | undefined {
  if (value === undefined) return undefined;
  const parsed = String(value).trim() === "" ? Number.NaN : Number(value);
  if (Number.isFinite(parsed) && parsed >= least && parsed <= most) return parsed;
  throw errors.badFlagValue(NAME, `--${flag}`, String(value), phrase("expects.numberFrom", { least, most }));
}
