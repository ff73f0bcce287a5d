import { describe, expect, test } from "bun:test";
import { RequestError } from "@agentclientprotocol/sdk/unstable";
import { failureError, requestError } from "../../src/agent/failures.ts";
import { RpcError } from "../../src/backend/rpc.ts";
import { errors } from "../../src/errors/index.ts";
import { turnFailure } from "../../src/translate/failure.ts";
import { WRONG_VALUES } from "../support/random.ts";

const failed = (error: unknown) => failureError(turnFailure(error), "en");

describe("sign-in", () => {
  test.each([
    { code: "provider_not_configured", message: "x" },
    { message: "x", attribution: { reason: "auth_failed" } },
    { message: "x", attribution: { statusCode: 401 } },
    { message: "x", attribution: { providerErrorCode: 1006, statusCode: 400 } },
    { code: "model_request_auth_missing", message: "x" },
    { message: "Model provider is missing an API key" },
    { message: "x", cause: { code: "auth_failed", message: "y" } },
  ])("A11 a turn that failed for %j carries the protocol's own code", (error) => {
    expect(failed(error)).toMatchObject({ code: -32000, data: { code: "ZACP-301" } });
    expect(requestError(errors.nothingSignedIn(["a"]), "en").code).toBe(-32000);
  });

  test("A11 other failures do not", () => {
    for (const error of [{ code: "1113", message: "x" }, { code: 429, message: "x" }, { message: "x" }])
      expect(failed(error).code).toBe(-32603);
  });
});

describe("every failure", () => {
  test("D4 has a code, a sentence that ends and a hint, each kind its own", () => {
    const codes = new Set<string>();
    for (const kind of [
      "auth",
      "captcha",
      "quota",
      "rate",
      "overloaded",
      "network",
      "context",
      "model",
      "other",
    ] as const) {
      for (const message of ["words", "words.", "中文。", "what?", ""]) {
        const error = failureError({ kind, message }, "en");
        const data = error.data as { code: string; details: string };
        codes.add(data.code);
        expect(error.message).toContain(message);
        expect(error.message).not.toContain("..");
        expect(data.details).toBe(error.message);
        expect(error.message).not.toContain("{");
      }
    }
    expect(codes.size).toBe(9);
  });

  test("params, what is not there and what is ours have their codes", () => {
    expect(requestError(errors.badPath("x"), "en").code).toBe(-32602);
    expect(requestError(errors.sessionUnknown("x"), "en").code).toBe(-32002);
    expect(requestError(errors.queueFull(), "en").code).toBe(-32603);
    const own = new RequestError(-32601, "no");
    expect(requestError(own, "en")).toBe(own);
  });

  test("D4 P32 a conversation that stayed busy is told as that, in either era's words", () => {
    for (const [code, words] of [
      [-32010, "A prompt is already running for this session"],
      [1308, "prompt is running"],
    ] as const)
      expect(requestError(new RpcError("session/send", code, words, undefined), "en").data).toMatchObject({
        code: "ZACP-205",
      });
  });

  test("D4 an error of the backend is read like a failed turn", () => {
    expect(
      requestError(new RpcError("session/send", -32603, "x", { name: "ModelProtocolError" }), "en").data,
    ).toMatchObject({
      code: "ZACP-317",
    });
    expect(
      requestError(new RpcError("session/send", 1308, "plan limit", undefined), "en").data,
    ).toMatchObject({
      code: "ZACP-312",
    });
    expect(
      requestError(new RpcError("session/send", -32004, "Session not found: s", undefined), "en").data,
    ).toMatchObject({
      code: "ZACP-319",
    });
  });

  test("D4 D8 anything thrown becomes an error without its words", () => {
    for (const thrown of [...WRONG_VALUES, new Error("holds a prompt"), new TypeError("code"), Symbol("x")]) {
      const error = requestError(thrown, "en");
      expect(error.code).toBe(-32603);
      expect(error.message).not.toContain("prompt");
      expect(JSON.stringify(error.data)).not.toContain("holds");
    }
  });

  test("D8 a key in a provider's words is masked", () => {
    for (const secret of ["sk-abcdefghijklmnop", "0123456789abcdef0123456789abcdef.abcdefghij"]) {
      for (const error of [
        failed({ message: `bad key ${secret}` }),
        failed({ code: 401, message: `api_key=${secret}` }),
        requestError(new RpcError("session/send", -32603, `bad ${secret}`, undefined), "en"),
      ]) {
        expect(error.message).not.toContain(secret);
        expect(JSON.stringify(error.data)).not.toContain(secret);
      }
    }
  });
});
