/** One request to the model: headers, the request's own events, the stream, the tools. */
import { TOOL_COUNT } from "./limits.ts";
import { AssistantMessage } from "./messages.ts";
import {
  type Failure,
  type ModelStep,
  type StepOutcome,
  type StepStream,
  Stopped,
  TurnFailed,
} from "./model.ts";
import { contextWindowOf, selectionOf } from "./snapshot.ts";
import { Stream } from "./stream.ts";
import { runTools } from "./tools.ts";
import type { Turn } from "./turn.ts";
import { addUsage, isObj, type Obj, type Usage } from "./types.ts";

/** Milliseconds that the backend waits before it asks the provider again. */
const RETRY_MS = 1000;
const MAX_ATTEMPTS = 11;

export async function runStep(turn: Turn, step: ModelStep, querySource = "main_turn"): Promise<StepOutcome> {
  const { live } = turn;
  const { world, data } = live;
  const { pace } = world.settings;
  await turn.wait(pace);
  const model = data.model!;
  const assistant = new AssistantMessage(live, turn.id, turn.messageId);
  const stream = new Stream(turn, assistant, querySource);
  await step.before?.(stream);
  turn.assistant = assistant;
  const { modern } = world.era;
  turn.iteration++;
  if (modern) {
    turn.event("session.updated", {
      messageCount: 2 * turn.iteration,
      providerId: model.providerId,
      modelId: model.modelId,
      toolCount: TOOL_COUNT,
      iteration: turn.iteration,
    });
  }
  const key = await askForHeaders(turn, turn.id);
  const request = (attempt: number, requestId: string): Obj => ({
    requestId,
    providerId: model.providerId,
    modelId: model.modelId,
    transport: "sse",
    attempt,
    maxAttempts: MAX_ATTEMPTS,
    querySource,
  });
  const tell = (type: string, more: Obj) => {
    if (!modern) return;
    const at = new Date(world.clock.now()).toISOString();
    turn.event("session.updated", { type, timestamp: at, traceId: data.traceId, ...more });
  };
  let requestId = world.ids.request();
  let attempt = 1;
  tell("model_request_started", request(attempt, requestId));
  const own = world.registry.find(turn.live.data.model!)?.provider.key;
  const fail = step.fail ?? wrongKey(turn, key ?? own);
  if (fail) {
    for (; attempt <= fail.times; attempt++) {
      const { failure } = fail;
      const { reason, statusCode } = failure.attribution ?? { reason: "unknown" };
      const last = attempt === fail.times && !fail.recovers;
      await turn.wait(pace);
      const facts = { reason, message: failure.message, ...(statusCode ? { statusCode } : {}) };
      tell("model_request_failed", {
        ...request(attempt, requestId),
        durationMs: 300,
        ...facts,
        retryable: !last,
      });
      if (last) throw new TurnFailed(failure);
      tell("model_retry_scheduled", {
        ...request(attempt, requestId),
        nextAttempt: attempt + 1,
        delayMs: RETRY_MS,
        ...facts,
        _meta: {
          zcode: {
            apiRetry: {
              kind: "api_retry",
              attempt,
              maxRetries: MAX_ATTEMPTS - 1,
              retryDelayMs: RETRY_MS,
              errorStatus: statusCode ?? null,
              error: reason,
            },
          },
        },
      });
      await turn.wait(RETRY_MS);
      requestId = world.ids.request();
      tell("model_request_started", request(attempt + 1, requestId));
    }
  }

  if (querySource === "main_turn") assistant.keep();
  await step.stream?.(stream);
  const tools = step.tools ?? [];
  const calls = tools.map((plan) => ({ plan, callId: plan.callId ?? world.ids.call() }));
  if (modern) for (const { plan, callId } of calls) await stream.toolCall(callId, plan.name, plan.input);
  stream.flush();
  turn.check();
  const usage = usageOf(turn, step, stream.chars);
  const finishReason = tools.length > 0 ? "tool-calls" : "stop";
  const finish = () => {
    turn.requests++;
    addUsage(turn.usage, usage);
    data.contextUsed = usage.totalTokens;
    assistant.finish(finishReason, usage);
    turn.response = stream.said;
    const contextWindow = contextWindowOf(live);
    if (!modern) {
      if (tools.length > 0) return;
      turn.event("model.response", { content: stream.said, usage, contextWindow, stopReason: finishReason });
      turn.event("session.updated", { usage, contextWindow });
      return;
    }
    tell("model_request_completed", {
      ...request(attempt, requestId),
      durationMs: 900,
      finishReason,
      usage,
    });
    turn.event("session.updated", {
      content: stream.said,
      contextWindow,
      querySource,
      stopReason: finishReason,
      usage,
      toolCallCount: tools.length,
      contextUsageBreakdown: [
        { source: "system_prompt", chars: 9000 },
        { source: "messages", chars: stream.chars },
      ],
      ...(tools.length === 0 && turn.fileChanges ? { fileChanges: turn.fileChanges } : {}),
    });
  };
  // Tools that only look run while the model still speaks.
  const early = tools.length > 0 && tools.every((plan) => plan.parallel && !plan.ask);
  if (!early) {
    await turn.wait(pace);
    finish();
  }
  const outcome: StepOutcome = { tools: tools.length > 0 ? await runTools(turn, assistant, calls) : [] };
  if (early) {
    await turn.wait(pace);
    finish();
  }
  turn.assistant = undefined;
  return outcome;
}

/** `usage N` sets the total; else it follows from what was said. */
function usageOf(turn: Turn, step: ModelStep, chars: number): Usage {
  const given = step.usage ?? {};
  const outputTokens = given.outputTokens ?? 4 + Math.ceil(chars / 4);
  const before = turn.live.data.contextUsed;
  const inputTokens = given.inputTokens ?? Math.max(900, before + 40);
  const usage: Usage = {
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    cacheReadTokens: given.cacheReadTokens ?? (before > 0 ? Math.min(before, inputTokens) : 0),
    cacheWriteTokens: given.cacheWriteTokens ?? 0,
    reasoningTokens: given.reasoningTokens ?? 0,
  };
  return usage;
}

/**
 * Before each request of an account provider the client gives the headers, or refuses them with a sentence that
 * becomes the turn's.
 * @returns the key, for a provider that has one.
 * @throws TurnFailed
 */
export async function askForHeaders(turn: Turn, turnId: string | undefined): Promise<string | undefined> {
  const { live } = turn;
  const { world, data } = live;
  const model = data.model!;
  const account = world.registry.find(model)?.provider.account;
  if (!account) return undefined;
  const requestId = `${live.id}:provider-runtime-headers:${world.ids.uuid()}`;
  const answer = await world.interactions.ask(
    "interaction/requestProviderRuntimeHeaders",
    {
      requestId,
      sessionId: live.id,
      ...(turnId ? { turnId } : {}),
      workspace: { ...data.workspace },
      modelSelection: selectionOf(model),
      providerId: model.providerId,
      accountAccess: { type: "zhipu-account", ...account },
      reason: "model-request",
    },
    { timeoutS: 180, ...(turnId ? { signal: turn.signal } : {}), trace: { traceId: data.traceId } },
  );
  const refuse = (message: string): Failure => ({ type: "UNKNOWN_ERROR", code: "-32031", message });
  if (answer.kind === "cancelled") {
    world.out.notify("interaction/providerRuntimeHeadersCancelled", {
      requestId,
      sessionId: live.id,
      workspace: { ...data.workspace },
    });
    throw new Stopped();
  }
  if (answer.kind === "timeout") throw new TurnFailed(refuse("The request for headers was not answered."));
  if (answer.kind === "error") throw new TurnFailed(refuse(answer.message));
  const result = answer.result;
  const strict =
    isObj(result) &&
    typeof result.headersApplied === "boolean" &&
    Object.keys(result).every((key) => ["headersApplied", "requestAuth", "errorMessage"].includes(key));
  if (!strict) throw new TurnFailed(refuse("The answer for headers is malformed."));
  if (!result.headersApplied) {
    throw new TurnFailed(refuse(String(result.errorMessage ?? "Headers were not applied.")));
  }
  const auth = isObj(result.requestAuth) ? result.requestAuth : {};
  return typeof auth.apiKey === "string" ? auth.apiKey : "";
}

/** A provider that got another key than the one it knows answers 401. */
function wrongKey(turn: Turn, key: string | undefined): ModelStep["fail"] {
  const { expectKey } = turn.live.world.settings;
  if (key === undefined || expectKey === undefined || key === expectKey) return undefined;
  const { providerId, modelId } = turn.live.data.model!;
  return {
    times: 1,
    recovers: false,
    failure: {
      type: "UNKNOWN_ERROR",
      code: "provider_not_configured",
      message: "The provider refuses this key.",
      underlyingErrorMessage: "invalid key",
      attribution: {
        source: "provider",
        reason: "auth_failed",
        errorPhase: "response",
        exceptionKind: "api_call",
        providerId,
        modelId,
        providerKind: "openai-compatible",
        transport: "sse",
        statusCode: 401,
        retryable: false,
      },
    },
  };
}

export type { StepStream };
