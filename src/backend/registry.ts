/**
 * What builds before app 3.12 want before a person's own providers exist: the list of them, pushed for each workspace,
 * and the whole provider beside each choice of a model. Keys stand in both, so nothing here is logged but numbers.
 */

import type { Clock } from "../platform/clock.ts";
import { num, type Obj, obj } from "../platform/json.ts";
import type { Log } from "../platform/log.ts";
import type { Credentials, ModelEntry, ProviderEntry } from "../store/providers.ts";
import { PROBE_DEADLINE_MS, REVISIONS } from "./limits.ts";
import { CODE, RpcError } from "./rpc.ts";

/** The key under which a provider stands beside a choice of a model. */
export const RUNTIME_MODEL = "runtimeModel";

/** A model by its provider and its own id. */
export interface ModelPair {
  readonly providerId: string;
  readonly modelId: string;
}

/** What one process was told of the providers; it lives as long as that process. */
export class PushedProviders {
  /** False once the build said that it has no such method. */
  wanted = true;
  /** False once it spoilt a push that providers without a key were in it. */
  keyless = true;
  /** By workspace: the files' stamp, and the providers that it has. */
  readonly workspaces = new Map<string, { readonly stamp: string; readonly providers: string }>();
}

export interface OlderProvidersDeps {
  readonly clock: Clock;
  readonly log: Log;
  credentials(): Credentials;
  credentialsStamp(): string;
}

export type Request = (method: string, params: Obj, options: { deadlineMs: number }) => Promise<unknown>;

export class OlderProviders {
  private read: { stamp: string; credentials: Credentials; providers: readonly Obj[] } | undefined;
  /** By what was sent. */
  private readonly revisions = new Map<string, { readonly revision: string; readonly generatedAt: number }>();
  private revision = 0;

  constructor(private readonly deps: OlderProvidersDeps) {}

  /** True where the files changed since this workspace was told of them, or it never was. */
  due(pushed: PushedProviders, cwd: string): boolean {
    return pushed.wanted && pushed.workspaces.get(cwd)?.stamp !== this.deps.credentialsStamp();
  }

  /** Pushes the providers of the files for one workspace, where it has others. */
  async push(pushed: PushedProviders, cwd: string, request: Request): Promise<void> {
    const { stamp, providers: all } = this.current();
    const keyed = all.filter((provider) => provider.apiKey !== undefined);
    const providers = JSON.stringify(all);
    const known = pushed.workspaces.get(cwd)?.providers ?? "[]";
    pushed.workspaces.set(cwd, { stamp, providers });
    if (providers === known) return;
    const workspace = { workspacePath: cwd, workspaceKey: cwd };
    const send = async (sent: readonly Obj[]): Promise<boolean> => {
      const registry = { ...this.revised(sent), providers: sent };
      const answer = await request(
        "workspace/updateProviderRegistry",
        { workspace, registry },
        { deadlineMs: PROBE_DEADLINE_MS },
      );
      return (num(obj(answer).providerCount) ?? sent.length) >= sent.length;
    };
    try {
      if (pushed.keyless && keyed.length < all.length) {
        // Whether one that needs no key may be in it is told nowhere: one that may not spoils all others.
        try {
          if (await send(all)) return;
        } catch (error) {
          if (!(error instanceof RpcError) || error.code === CODE.methodNotFound) throw error;
        }
        pushed.keyless = false;
      }
      await send(keyed);
    } catch (error) {
      if (!(error instanceof RpcError)) {
        pushed.workspaces.delete(cwd);
        throw error;
      }
      if (error.code === CODE.methodNotFound) pushed.wanted = false;
      else
        this.deps.log.once(
          `registry:${error.code}`,
          "warn",
          `the list of providers was refused (${error.code})`,
        );
    }
  }

  /** The provider of a model as it stands beside a choice of it; undefined for plans, and for what no file names. */
  runtimeModel(model: ModelPair | undefined): Obj | undefined {
    if (model === undefined || model.providerId.startsWith("builtin:")) return undefined;
    const { credentials, providers: all } = this.current();
    const entry = credentials.providers.find(({ id, usable }) => usable && id === model.providerId);
    if (entry?.baseUrl === undefined || !entry.models.some(({ id }) => id === model.modelId))
      return undefined;
    const { providerId, kind, apiFormat, baseURL, models, apiKey } = registryProvider(entry);
    const { providerId: _, modelId } = model;
    return {
      ...this.revised(all),
      model: { providerId, modelId },
      provider: {
        providerId,
        ...(kind === undefined ? {} : { kind }),
        ...(apiFormat === undefined ? {} : { apiFormat }),
        baseURL,
        models,
        ...(apiKey === undefined ? {} : { apiKey }),
      },
    };
  }

  private current() {
    const stamp = this.deps.credentialsStamp();
    if (this.read?.stamp !== stamp) {
      const credentials = this.deps.credentials();
      this.read = { stamp, credentials, providers: registryProviders(credentials) };
    }
    return this.read;
  }

  /** A build passes over a list whose revision it has, so other providers, also other keys, have another one. */
  private revised(providers: readonly Obj[]): { revision: string; generatedAt: number } {
    const content = JSON.stringify(providers);
    let known = this.revisions.get(content);
    if (!known) {
      if (this.revisions.size >= REVISIONS) this.revisions.clear();
      known = { revision: `zcode-acp-${++this.revision}`, generatedAt: this.deps.clock.now() };
      this.revisions.set(content, known);
    }
    return known;
  }
}

/** Every provider of `v2/config.json` that can work; one that cannot would spoil the whole list. */
export function registryProviders({ providers }: Pick<Credentials, "providers">): Obj[] {
  return providers.filter(({ usable, models }) => usable && models.length > 0).map(registryProvider);
}

function registryProvider({ id, name, kind: told, apiKey, baseUrl, models }: ProviderEntry): Obj {
  const kind = told ?? kindOf(baseUrl);
  const apiFormat = formatOf(kind);
  return {
    providerId: id,
    ...(kind === undefined ? {} : { kind }),
    ...(apiFormat === undefined ? {} : { apiFormat }),
    ...(baseUrl === undefined ? {} : { baseURL: baseUrl }),
    label: name,
    ...(apiKey === undefined ? { apiKeyRequired: false } : { apiKey: { source: "inline", value: apiKey } }),
    models: models.map(registryModel),
  };
}

function registryModel({ id, contextWindow, levels, defaultLevel }: ModelEntry): Obj {
  const known = defaultLevel !== undefined && levels.includes(defaultLevel);
  return {
    modelId: id,
    label: id,
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...(levels.length === 0
      ? {}
      : {
          reasoning: {
            enabled: true,
            levels: levels.map((value) => ({ value, label: value })),
            ...(known ? { defaultLevel } : {}),
          },
        }),
  };
}

/** What a provider speaks whose entry does not say: an address often does. */
function kindOf(baseUrl: string | undefined): string | undefined {
  if (baseUrl === undefined) return undefined;
  return /anthropic/i.test(baseUrl) ? "anthropic" : "openai-compatible";
}

function formatOf(kind: string | undefined): string | undefined {
  if (kind === "anthropic") return "anthropic-messages";
  return kind === "openai" || kind === "openai-compatible" ? "openai-chat-completions" : undefined;
}

/** The same error without the key that was sent: a backend may quote what it refuses. */
export function withoutKey(error: RpcError, runtimeModel: Obj): RpcError {
  const key = obj(obj(runtimeModel.provider).apiKey).value;
  if (typeof key !== "string" || key === "") return error;
  const clean = (text: string) =>
    text.replaceAll(key, "***").replaceAll(JSON.stringify(key).slice(1, -1), "***");
  let data: unknown;
  try {
    data = error.data === undefined ? undefined : JSON.parse(clean(JSON.stringify(error.data)));
  } catch {
    data = undefined;
  }
  return new RpcError(error.method, error.code, clean(error.message), data);
}

/** The key that a build will not take, of those that may be left out. */
export function refusedKey(message: string, sent: Obj, optional: readonly string[]): string | undefined {
  const key = optional.find((name) => name in sent && message.includes(`"${name}"`));
  // What is wrong with the provider may be told by a path below its key.
  return key ?? (RUNTIME_MODEL in sent && message.includes(RUNTIME_MODEL) ? RUNTIME_MODEL : undefined);
}
