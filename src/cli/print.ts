/** Output of the commands that a person runs. */
import type { ProductError } from "../errors/index.ts";
import type { Language } from "../locale/index.ts";

export async function print(text: string): Promise<void> {
  try {
    await Bun.stdout.write(text);
  } catch (error) {
    // Nobody reads any more, `head` say: that is no fault, and there is nobody to tell.
    if ((error as { code?: unknown }).code === "EPIPE") process.exit(0);
    throw error;
  }
}

/** Code, sentence and hint on stderr. */
export async function printError(error: ProductError, language: Language): Promise<void> {
  const { sentence, hint } = error.inLanguage(language);
  await Bun.stderr.write(`zcode-acp: ${sentence} [${error.code}]\n${hint ? `  ${hint}\n` : ""}`);
}
