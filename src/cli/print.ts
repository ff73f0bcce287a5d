/** Output of the commands that a person runs. */
import type { ProductError } from "../errors/index.ts";
import type { Language } from "../locale/index.ts";

export async function print(text: string): Promise<void> {
  await Bun.stdout.write(text);
}

/** Code, sentence and hint on stderr. */
export async function printError(error: ProductError, language: Language): Promise<void> {
  const { sentence, hint } = error.inLanguage(language);
  await Bun.stderr.write(`zcode-acp: ${sentence} [${error.code}]\n${hint ? `  ${hint}\n` : ""}`);
}
