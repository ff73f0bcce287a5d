/**
 * The params of every method, as schemas. The builds of today refuse a key that they do not know; the older
 * ones let it pass, so each schema is built for an era.
 */
import { z } from "zod";
import type { Era } from "./era.ts";
import { BAD_PARAMS, RpcError } from "./wire.ts";

export const MODES = ["plan", "build", "edit", "yolo", "guarded", "auto"] as const;
const GOAL_ACTIONS = ["show", "set", "replace", "pause", "resume", "clear"] as const;

type Shape = Record<string, z.ZodType>;

/** method → schema, for one era. */
export function paramSchemas(era: Era): Map<string, z.ZodType> {
  const object = (shape: Shape): z.ZodType => (era.modern ? z.strictObject(shape) : z.looseObject(shape));
  const text = z.string().min(1);
  const int = z.number().int();
  const bool = z.boolean();
  const workspace = object({
    workspacePath: text,
    workspaceKey: text,
    workspaceIdentity: text.optional(),
    remoteSessionId: text.optional(),
  });
  const selection = object({
    providerId: text,
    modelId: text,
    options: object({ reasoningLevel: text.optional() }).optional(),
  });
  const pair = object({ name: z.string(), value: z.string() });
  const shared: Shape = {
    isolation: z.enum(["session", "workspace"]).optional(),
    protocolVersion: z.enum(["legacy", "auto", "2026-07-28"]).optional(),
    timeoutMs: int.positive().optional(),
  };
  const mcpServer = z.union([
    z.strictObject({ name: text, command: text, args: z.array(z.string()), env: z.array(pair), ...shared }),
    z.strictObject({
      name: text,
      type: z.enum(["http", "sse"]),
      url: text,
      headers: z.array(pair),
      oauth: z.looseObject({}).optional(),
      ...shared,
    }),
  ]);
  const tools: Shape = {
    toolAllowlist: z.array(z.string()).optional(),
    toolDenylist: z.array(z.string()).optional(),
  };
  const mcpServers = z.array(mcpServer).optional();
  const sessionId = text;
  // Beside the selection the older builds took a whole provider.
  const runtimeModel: Shape = era.modern
    ? {}
    : {
        runtimeModel: z
          .looseObject({
            revision: text,
            generatedAt: int,
            model: z.looseObject({ providerId: text, modelId: text }),
            provider: z.looseObject({
              providerId: text,
              kind: text,
              apiFormat: text,
              baseURL: text,
              models: z.array(z.looseObject({ modelId: text })).min(1),
              apiKey: z.strictObject({ source: z.literal("inline"), value: text }).optional(),
            }),
          })
          .optional(),
      };
  const attachment = z.looseObject({ kind: z.string() });
  const one = (more: Shape = {}) => object({ sessionId, ...more });
  const inWorkspace = (more: Shape = {}) => object({ workspace, ...more });

  const methods = new Map<string, z.ZodType>([
    [
      "session/create",
      object({
        workspace,
        mode: z.enum(MODES).optional(),
        model: selection.optional(),
        thoughtLevel: text.optional(),
        mcpServers,
        persistence: z.enum(["immediate", "deferred"]).optional(),
        titleGenerationEnabled: bool.optional(),
        dynamicWorkflowMode: z.string().optional(),
        sessionId: text.optional(),
        importedHistory: z.array(z.looseObject({})).optional(),
        ...tools,
        ...runtimeModel,
      }),
    ],
    [
      "session/resume",
      one({
        workspace: workspace.optional(),
        thoughtLevel: text.optional(),
        mcpServers,
        dynamicWorkflowMode: z.string().optional(),
        ...tools,
        ...runtimeModel,
      }),
    ],
    [
      "session/list",
      object({
        workspace: workspace.optional(),
        sessionIds: z.array(text).min(1).max(64).optional(),
        includeArchived: bool.optional(),
        limit: int.positive().optional(),
      }),
    ],
    [
      "session/read",
      one({
        messageLimit: int.min(0).optional(),
        afterSeq: int.min(0).optional(),
        contentProfile: z.enum(["full", "index"]).optional(),
        deliveryKind: text.optional(),
      }),
    ],
    ["session/messages", one({ afterMessageId: text.optional(), limit: int.positive().optional() })],
    ["session/events", one({ afterSeq: int.min(0).optional(), limit: int.positive().optional() })],
    [
      "session/subscribe",
      one({
        deliveryKind: era.name === "0.15" ? text.optional() : text,
        afterSeq: int.min(0).optional(),
        includeSnapshot: bool.optional(),
      }),
    ],
    [
      "session/send",
      one({
        content: z.string(),
        attachments: z.array(attachment).optional(),
        inputId: text.optional(),
        queryId: text.optional(),
        modelSelection: selection.optional(),
        modelExecution: z.looseObject({}).optional(),
        browserAmbientContext: z.looseObject({}).optional(),
        botDeliveryTarget: z.looseObject({}).optional(),
        toolDenylist: z.array(z.string()).optional(),
        expectedRevision: int.optional(),
        expectedProviderRevision: z.string().optional(),
        ...runtimeModel,
      }),
    ],
    ["session/stop", one()],
    ["session/close", one({ expectedPersistence: z.string().optional() })],
    [
      "session/fork",
      one({
        target: z
          .union([
            z.strictObject({ kind: z.literal("latestCheckpoint") }),
            z.strictObject({ kind: z.literal("turn"), turnIndex: int.min(0) }),
            z.strictObject({ kind: z.literal("message"), messageId: text }),
            z.strictObject({ kind: z.literal("checkpoint"), checkpointId: text }),
          ])
          .optional(),
      }),
    ],
    ["session/compact", one({ instructions: z.string().optional() })],
    ["session/goal", one({ action: z.enum(GOAL_ACTIONS), objective: text.optional() })],
    ["session/setMode", one({ mode: z.enum(MODES) })],
    [
      "session/setThoughtLevel",
      one({ thoughtLevel: text.optional(), persistAsWorkspaceLastUsed: bool.optional() }),
    ],
    [
      "session/setModel",
      era.modelAsString
        ? one({ modelId: text, providerId: text.optional(), ...runtimeModel })
        : one({ model: selection, persistAsWorkspaceLastUsed: bool.optional(), ...runtimeModel }),
    ],
    ["session/cancelBackgroundTask", one({ taskId: text })],
    ["session/usage", one()],
    ["session/subagents", one({ endedCursor: text.optional(), endedLimit: int.min(1).max(100).optional() })],
    ["session/debug", one()],
    ["mcp/list", inWorkspace({ mcpServers, mode: z.enum(["connect", "status"]).optional() })],
    ["skills/referenceCatalog", inWorkspace({ sessionId: text.optional() })],
    ["workspace/readPresentation", inWorkspace()],
    // A malformed command is answered by a result, so the envelope is looked at by its own handler.
    ["v4/command", z.unknown()],
  ]);
  if (era.modern) {
    methods.set("runtime/capabilities", z.strictObject({}));
    methods.set(
      "workspace/updateInteractionPreferences",
      inWorkspace({ preferences: z.strictObject({ askUserQuestionAutoResolutionEnabled: bool }) }),
    );
    methods.set(
      "provider/updateAccountConfig",
      z.strictObject({
        revision: text,
        basedOnZCodeBuiltinRevision: text,
        providers: z.record(
          z.string(),
          z.strictObject({
            builtinModelIds: z.array(text).optional(),
            access: z.strictObject({ type: z.literal("zhipu-account"), entitled: bool }),
          }),
        ),
        states: z.record(
          z.string(),
          z
            .strictObject({
              availability: z.enum(["available", "pending", "unavailable", "unknown"]),
              entitled: bool,
              current: bool.optional(),
              unavailableReason: z.string().optional(),
              connectionKey: z.string().optional(),
              effectiveAt: z.union([z.string(), z.number()]).optional(),
            })
            .refine((state) => !state.entitled || typeof state.current === "boolean", {
              message: "an entitled provider needs current",
              path: ["current"],
            }),
        ),
      }),
    );
  } else {
    const model = z.strictObject({
      modelId: text,
      label: text.optional(),
      contextWindow: int.positive().optional(),
      maxOutputTokens: int.positive().optional(),
      reasoning: z
        .strictObject({
          enabled: z.literal(true),
          levels: z.array(z.strictObject({ value: text, label: text })).min(1),
          defaultLevel: text.optional(),
        })
        .optional(),
    });
    // One provider that is not like this spoils the whole list.
    const provider = z
      .strictObject({
        providerId: text,
        kind: text.optional(),
        apiFormat: z.enum(["anthropic-messages", "openai-chat-completions"]).optional(),
        baseURL: text.optional(),
        label: text.optional(),
        apiKey: z.strictObject({ source: z.literal("inline"), value: text }).optional(),
        apiKeyRequired: bool.optional(),
        headers: z.record(z.string(), z.string()).optional(),
        providerOptions: z.looseObject({}).optional(),
        source: text.optional(),
        models: z.array(model).min(1),
      })
      .refine((each) => each.apiKey !== undefined || each.apiKeyRequired === false, {
        message: "a provider needs a key",
        path: ["apiKey"],
      });
    methods.set(
      "workspace/updateProviderRegistry",
      inWorkspace({
        registry: z.strictObject({ revision: text, generatedAt: int, providers: z.array(provider) }),
        includeWorkspaceState: bool.optional(),
      }),
    );
    if (era.name === "0.15") {
      methods.set("session/steer", one({ content: z.string() }));
      methods.set("session/rewind", one());
    }
  }
  return methods;
}

/** Checks params; a refusal names the paths. The value that comes back is the one that was given. */
export function checkParams(schema: z.ZodType, params: unknown): unknown {
  const parsed = schema.safeParse(params ?? {});
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => ({
    ...issue,
    path: issue.path.map((key) => (typeof key === "symbol" ? String(key) : key)),
  }));
  const lines = issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
  throw new RpcError(BAD_PARAMS, `Invalid params — ${lines.join("; ")}`, { name: "ZodError", issues });
}
