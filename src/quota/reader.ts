/** Usage of every provider, asked for at the same time: none waits for another, and none hides another. */

import type { Web } from "./ask.ts";
import type { QuotaCache } from "./cache.ts";
import { askGlm, type GlmSource, missingGlm } from "./glm.ts";
import { type Dated, FRESHNESS, type Freshness, isFresh } from "./kept.ts";
import { askOllama, missingOllama, type OllamaSource } from "./ollama.ts";
import { askOpencode, missingOpencode, type OpencodeSource } from "./opencode.ts";
import { type Answer, PROVIDERS, type ProviderName, type Usage } from "./types.ts";

export interface Sources {
  readonly glm: GlmSource;
  readonly opencode: OpencodeSource;
  readonly ollama: OllamaSource;
}

export type Report = { readonly [Name in ProviderName]: Dated<Name> };

export interface ReaderDeps {
  readonly web: Web;
  /** Read at each question: signing in elsewhere must be enough. */
  sources(): Sources;
  /** Stands for whose usage it is. */
  account(name: ProviderName): string;
  /** Undefined where nothing is to be kept on disk. */
  readonly cache: QuotaCache | undefined;
  readonly freshness?: Freshness;
}

export class QuotaReader {
  private readonly memory = new Map<ProviderName, { of: string; dated: Dated }>();
  private readonly asking = new Map<string, Promise<Dated>>();

  constructor(private readonly deps: ReaderDeps) {}

  /**
   * @param names the providers that are wanted.
   * @param onAnswer told each answer as it comes.
   */
  async read(
    names: readonly ProviderName[] = PROVIDERS,
    onAnswer: (name: ProviderName, dated: Dated) => void = () => {},
  ): Promise<Partial<Report>> {
    // Before the keys: of one that changes meanwhile, what comes of it is kept for nobody.
    const accounts = names.map((name) => this.deps.account(name));
    const sources = this.deps.sources();
    const all = names.map(async (name, at) => {
      const dated = await this.one(name, sources, accounts[at]!);
      onAnswer(name, dated);
      return [name, dated] as const;
    });
    return Object.fromEntries(await Promise.all(all)) as Partial<Report>;
  }

  /** Everybody's usage in the public shape. */
  async usage(): Promise<Usage> {
    return usageOf((await this.read()) as Report);
  }

  private one(name: ProviderName, sources: Sources, of: string): Promise<Dated> {
    const local = withoutAsking(name, sources);
    const now = this.deps.web.clock.now();
    if (local) return Promise.resolve({ at: now, answer: local });
    const freshness = this.deps.freshness ?? FRESHNESS;
    const known = this.memory.get(name);
    if (known?.of === of && isFresh(known.dated, now, freshness)) return Promise.resolve(known.dated);
    const key = `${name} ${of}`;
    let asking = this.asking.get(key);
    if (!asking) {
      const ask = () => questions[name](this.deps.web, sources);
      const answered = this.deps.cache
        ? this.deps.cache.through<ProviderName>(name, of, freshness, ask)
        : ask().then((answer) => ({ at: this.deps.web.clock.now(), answer }));
      asking = answered
        .then((dated) => {
          this.memory.set(name, { of, dated });
          return dated;
        })
        .finally(() => this.asking.delete(key));
      this.asking.set(key, asking);
    }
    return asking;
  }
}

export function usageOf({ glm, opencode, ollama }: Report): Usage {
  return { glm: glm.answer.section, opencode: opencode.answer.section, ollama: ollama.answer.section };
}

const questions: { readonly [Name in ProviderName]: (web: Web, sources: Sources) => Promise<Answer<Name>> } =
  {
    glm: (web, { glm }) => askGlm(web, glm),
    opencode: (web, { opencode }) => askOpencode(web, opencode),
    ollama: (web, { ollama }) => askOllama(web, ollama),
  };

/** What is known without a request: nobody is signed in. Such an answer is not kept, since it costs nothing. */
function withoutAsking(name: ProviderName, sources: Sources): Answer | undefined {
  switch (name) {
    case "glm":
      return missingGlm(sources.glm);
    case "opencode":
      return missingOpencode(sources.opencode);
    case "ollama":
      return missingOllama(sources.ollama);
  }
}
