/** Output of the commands that a person runs. */
import type { ProductError } from "../errors/index.ts";
import type { Language } from "../locale/index.ts";

export async function print(text: string): Promise<void> {
  try {
    await Bun.stdout.write(text);
  } catch (error) {
    // Nobody reads any more, `head` say: that is no fault, and there is nobody to tell.
    const { code } = error as { code?: unknown };
    if (code === "EPIPE") process.exit(0);
    if (typeof code !== "string" || !/^E[A-Z0-9]+$/.test(code)) throw error;
    // A full disk, say: nothing that has gone wrong here.
    const { errors } = await import("../errors/index.ts");
    throw errors.outputFailed(code);
  }
}

/** Code, sentence and hint on stderr. */
export async function printError(error: ProductError, language: Language): Promise<void> {
  const { sentence, hint } = error.inLanguage(language);
  await Bun.stderr.write(`zcode-acp: ${sentence} [${error.code}]\n${hint ? `  ${hint}\n` : ""}`);
}
