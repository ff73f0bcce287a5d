/** `zcode-acp login`, and `stdio login` for editors: ZCode's own sign-in, in this terminal. */
import { defineCommand } from "citty";
import type { Flags } from "../config/index.ts";
import { errors } from "../errors/index.ts";
import { t } from "../locale/index.ts";
import { BACKEND, backendOf } from "./flags.ts";
import { print, printError } from "./print.ts";
import { lookAround } from "./surroundings.ts";

/** What a shell answers for a program that a signal ended. */
const SIGNAL_EXIT = 128;

export default defineCommand({
  args: BACKEND,
  async run({ args }) {
    process.exit(await login(backendOf(args)));
  },
});

/** @returns the exit code: the sign-in's own, or 1 where there is none to run. */
async function login(flags: Flags): Promise<number> {
  const { config, locate } = lookAround(process.env, process.platform, flags);
  const { launch, looked } = await locate();
  if (!launch) {
    await printError(errors.backendNotFound(looked), config.language);
    await print(`${t("login.other", {}, config.language)}\n`);
    return 1;
  }
  if (launch.source === "simulator") {
    await print(`${t("login.simulator", {}, config.language)}\n`);
    return 0;
  }
  // The words that start the app-server, less the two that make it one.
  const argv = [...launch.argv.slice(0, -2), "login"];
  // Ctrl-C is for the sign-in, which decides what it means.
  process.on("SIGINT", () => {});
  try {
    const child = Bun.spawn(argv, { stdio: ["inherit", "inherit", "inherit"], env: { ...launch.env } });
    await child.exited;
    return child.exitCode ?? SIGNAL_EXIT;
  } catch (error) {
    await printError(
      errors.loginFailed(error instanceof Error ? error.message : String(error)),
      config.language,
    );
    return 1;
  }
}
