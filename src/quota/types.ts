/**
 * Plan usage as it is told to clients: one section a provider, always present, its failure being a kind of section. The
 * shape is the public one of `GET /api/quota` and `account/usage_stats`; percentages are 0 to 100, times epoch ms.
 */

import type { Phrase } from "../locale/index.ts";

export interface GlmItem {
  /** `token_5h`, `token_week`, `mcp`, or the provider's own name of a window that is not known. */
  readonly key: string;
  readonly label: string;
  readonly usedPercent: number;
  readonly usedCount?: number;
  readonly totalCount?: number;
  readonly nextResetTime?: number;
  readonly detail?: readonly { readonly modelCode: string; readonly usage: number }[];
}

export interface Window {
  readonly key: string;
  readonly label: string;
  readonly usagePercent: number;
  readonly resetsAt?: number;
}

export type GlmSection =
  | { readonly kind: "success"; readonly level?: string; readonly items: readonly GlmItem[] }
  | { readonly kind: "auth_error" | "rate_limited" | "unavailable" };

type Unreadable = { readonly kind: "not_configured" | "auth_error" | "unavailable" };

export type OpencodeSection = { readonly kind: "success"; readonly windows: readonly Window[] } | Unreadable;

export type OllamaSection =
  | {
      readonly kind: "success";
      readonly windows: readonly Window[];
      /** Money spent in `range`, where the plan's credit is not known. */
      readonly spend?: { readonly usd: number; readonly range: string };
    }
  | Unreadable;

export interface Usage {
  readonly glm: GlmSection;
  readonly opencode: OpencodeSection;
  readonly ollama: OllamaSection;
}

export type ProviderName = keyof Usage;

export const PROVIDERS: readonly ProviderName[] = ["glm", "opencode", "ollama"];

const WORDS: Readonly<Record<string, ProviderName>> = {
  glm: "glm",
  go: "opencode",
  opencode: "opencode",
  ollama: "ollama",
};

/** The provider that a person means by a word. */
export function providerNamed(word: string): ProviderName | undefined {
  return Object.hasOwn(WORDS, word) ? WORDS[word] : undefined;
}

/** What asking one provider came to. */
export interface Answer<Name extends ProviderName = ProviderName> {
  readonly section: Usage[Name];
  /** Why it is not a success, for a person who wants to know; never with a credential in it. */
  readonly reason?: Phrase;
  /** The person has set nothing up for it. */
  readonly unset?: true;
}
