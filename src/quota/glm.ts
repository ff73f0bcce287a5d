/** GLM Coding Plan, from the monitor API of Z.ai or BigModel. */

import { z } from "zod";
import { phrase } from "../locale/index.ts";
import type { ProviderEntry } from "../store/providers.ts";
import { AskError, ask, jsonOf, type Reply, type Web } from "./ask.ts";
import { GLM_DEADLINE_MS } from "./limits.ts";
import { fit } from "./text.ts";
import type { Answer, GlmItem } from "./types.ts";
import { checked, count, epochMs, isBadKey, percent, share } from "./values.ts";

export interface GlmSource {
  /** The provider whose plan it is; undefined where nobody is signed in. */
  readonly provider: Pick<ProviderEntry, "id" | "apiKey" | "baseUrl"> | undefined;
  /** Scheme, host and port in place of the real ones. */
  readonly origin: string | undefined;
}

const Z_AI = "https://api.z.ai";
const BIGMODEL = "https://open.bigmodel.cn";
/** Columns of a window's name in a reason: it may be of any length. */
const NAME_CELLS = 40;

/** Some answers name each field, also one that says nothing. */
function maybe<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform((value) => value ?? undefined);
}

const Limit = z.looseObject({
  type: z.string().min(1),
  number: maybe(z.number()),
  percentage: percent.optional(),
  usage: maybe(count),
  currentValue: maybe(count),
  remaining: maybe(count),
  nextResetTime: maybe(epochMs),
  usageDetails: maybe(z.array(z.looseObject({ modelCode: z.string(), usage: count }))),
});

const Body = z.looseObject({
  success: z.boolean().optional(),
  code: z.union([z.number(), z.string()]).optional(),
  msg: z.string().nullish(),
  message: z.string().nullish(),
});

const Data = z.looseObject({
  data: z.looseObject({ level: z.string().nullish(), limits: z.array(Limit) }),
});

const RATE_LIMIT = /rate.?limit|too many requests|频率|频繁|限流|超出.*速率/i;
const AUTHORIZATION =
  /unauthori[sz]ed|authori[sz]ation|authenticat|invalid (?:api.?)?key|invalid token|token expired|身份|认证|鉴权|授权|令牌|未登录/i;

/** A provider of another make has no such plan, and its key is none of this one's business. */
function isGlm({ id, baseUrl }: { id: string; baseUrl: string | undefined }): boolean {
  return id.startsWith("builtin:") || /\b(?:z\.ai|bigmodel\.cn)\b/.test(baseUrl ?? "");
}

/** The answer where there is nothing to ask with. */
export function missingGlm({ provider }: GlmSource): Answer<"glm"> | undefined {
  if (provider?.apiKey && isGlm(provider)) {
    if (!isBadKey(provider.apiKey)) return undefined;
    return { section: { kind: "auth_error" }, reason: phrase("quota.reason.badKey", {}) };
  }
  return { section: { kind: "auth_error" }, reason: phrase("quota.reason.noPlan", {}), unset: true };
}

export async function askGlm(web: Web, source: GlmSource): Promise<Answer<"glm">> {
  const { provider } = source;
  const missing = missingGlm(source);
  if (missing || !provider) return missing ?? { section: { kind: "auth_error" } };
  const namesZai = (provider.baseUrl ?? provider.id).includes(provider.baseUrl ? "api.z.ai" : "zai");
  const origin = source.origin ?? (namesZai ? Z_AI : BIGMODEL);
  try {
    const reply = await ask(web, {
      url: `${origin}/api/monitor/usage/quota/limit`,
      headers: { authorization: `Bearer ${provider.apiKey}`, accept: "application/json" },
      deadlineMs: GLM_DEADLINE_MS,
    });
    return readGlm(reply);
  } catch (error) {
    if (!(error instanceof AskError)) throw error;
    return { section: { kind: "unavailable" }, reason: error.reason };
  }
}

/** @throws AskError where the reply cannot be understood. */
function readGlm(reply: Reply): Answer<"glm"> {
  if (reply.status === 429)
    return { section: { kind: "rate_limited" }, reason: phrase("quota.reason.status", { status: 429 }) };
  if (reply.status === 401 || reply.status === 403) {
    return {
      section: { kind: "auth_error" },
      reason: phrase("quota.reason.status", { status: reply.status }),
    };
  }
  if (reply.location) throw new AskError(phrase("quota.reason.elsewhere", {}));
  const json = jsonOf(reply);
  const body = checked(Body, json);
  if (body.success === false || reply.status >= 400) {
    const words = `${body.msg ?? ""} ${body.message ?? ""}`;
    if (RATE_LIMIT.test(words) || body.code === 429) {
      return { section: { kind: "rate_limited" }, reason: phrase("quota.reason.often", {}) };
    }
    const code = Number(body.code);
    if (body.success === false && (code === 401 || code === 1001 || AUTHORIZATION.test(words))) {
      return { section: { kind: "auth_error" }, reason: phrase("quota.reason.key", {}) };
    }
    const status = reply.status < 400 && Number.isInteger(code) ? code : reply.status;
    throw new AskError(phrase("quota.reason.status", { status }));
  }
  const { data } = checked(Data, json);
  const items = data.limits.map(itemOf);
  return { section: { kind: "success", ...(data.level ? { level: data.level } : {}), items } };
}

function itemOf(limit: z.infer<typeof Limit>): GlmItem {
  const used = usedPercent(limit);
  if (used === undefined)
    throw new AskError(phrase("quota.reason.noShare", { window: fit(nameOf(limit).label, NAME_CELLS) }));
  return {
    ...nameOf(limit),
    usedPercent: used,
    ...(limit.currentValue === undefined ? {} : { usedCount: limit.currentValue }),
    ...(limit.usage === undefined ? {} : { totalCount: limit.usage }),
    ...(limit.nextResetTime === undefined ? {} : { nextResetTime: limit.nextResetTime }),
    ...(limit.usageDetails && limit.usageDetails.length > 0
      ? { detail: limit.usageDetails.map(({ modelCode, usage }) => ({ modelCode, usage })) }
      : {}),
  };
}

/** What was counted is exact; the reported percentage is rounded. */
function usedPercent({
  remaining,
  currentValue,
  usage,
  percentage,
}: z.infer<typeof Limit>): number | undefined {
  if (currentValue !== undefined) {
    if (remaining !== undefined && remaining + currentValue > 0)
      return share(currentValue, remaining + currentValue);
    if (usage !== undefined && usage > 0) return share(currentValue, usage);
  }
  return percentage;
}

function nameOf({ type, number }: { type: string; number?: number | undefined }): {
  key: string;
  label: string;
} {
  if (type === "TOKENS_LIMIT" && number === 5) return { key: "token_5h", label: "5h" };
  if (type === "TOKENS_LIMIT" && number === 7) return { key: "token_week", label: "Week" };
  if (type === "TIME_LIMIT" || type === "MCP_LIMIT") return { key: "mcp", label: "MCP" };
  const own = number === undefined ? type : `${type} ${number}`;
  return { key: own.replaceAll(" ", "_"), label: own };
}
