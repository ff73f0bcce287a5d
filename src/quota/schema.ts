/** The public shape of usage, for what another process wrote or answered. Fields that are not known pass. */

import { z } from "zod";
import { count, epochMs, percent } from "./values.ts";

const Time = epochMs.optional();

const Glm = z.discriminatedUnion("kind", [
  z.looseObject({
    kind: z.literal("success"),
    level: z.string().optional(),
    items: z.array(
      z.looseObject({
        key: z.string(),
        label: z.string(),
        usedPercent: percent,
        usedCount: count.optional(),
        totalCount: count.optional(),
        nextResetTime: Time,
        detail: z.array(z.looseObject({ modelCode: z.string(), usage: count })).optional(),
      }),
    ),
  }),
  z.looseObject({ kind: z.enum(["auth_error", "rate_limited", "unavailable"]) }),
]);

const Windows = z.array(
  z.looseObject({ key: z.string(), label: z.string(), usagePercent: percent, resetsAt: Time }),
);
const Unreadable = z.looseObject({ kind: z.enum(["not_configured", "auth_error", "unavailable"]) });

const Opencode = z.discriminatedUnion("kind", [
  z.looseObject({ kind: z.literal("success"), windows: Windows }),
  Unreadable,
]);

const Ollama = z.discriminatedUnion("kind", [
  z.looseObject({
    kind: z.literal("success"),
    windows: Windows,
    spend: z.looseObject({ usd: count, range: z.string() }).optional(),
  }),
  Unreadable,
]);

/** Sections by provider. */
const Sections = { glm: Glm, opencode: Opencode, ollama: Ollama };

/** A whole body of `GET /api/quota`. */
export const UsageBody = z.looseObject(Sections);
