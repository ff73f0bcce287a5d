/** The SDK's own client, in the roles of the clients that people run: every frame that it gets and sends passes its schema. */

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as acp from "@agentclientprotocol/sdk/unstable";
import { BINARY, within } from "../support/agent.ts";
import { tempDir } from "../support/temp.ts";

type Agent = Parameters<Parameters<ReturnType<typeof acp.client>["connectWith"]>[1]>[0];

interface Role {
  readonly clientInfo?: acp.Implementation;
  readonly capabilities?: acp.ClientCapabilities;
  permission?(
    params: acp.RequestPermissionRequest,
    signal: AbortSignal,
  ): Promise<acp.RequestPermissionResponse> | acp.RequestPermissionResponse;
  form?(params: acp.CreateElicitationRequest): acp.CreateElicitationResponse;
  /** What leaves for one line of the client; the line itself where it is not given. */
  sends?(line: string): string[];
}

/** What the form of the simulated questions is like. */
interface Form {
  readonly properties: {
    readonly q_0: { readonly oneOf: readonly { readonly const: string }[] };
    readonly q_1: { readonly items: { readonly anyOf: readonly { readonly const: string }[] } };
  };
}

interface Seen {
  readonly updates: acp.SessionNotification["update"][];
  readonly permissions: acp.RequestPermissionRequest[];
  readonly forms: acp.CreateElicitationRequest[];
  text(): string;
}

/** Plays one client over the built file, in a conversation of its own. */
async function play(
  role: Role,
  run: (agent: Agent, sessionId: string, seen: Seen) => Promise<void>,
): Promise<Seen> {
  const workspace = tempDir("work");
  writeFileSync(join(workspace, "a.ts"), "let a;\n");
  const child = Bun.spawn([BINARY, "stdio", "--backend", "sim"], {
    cwd: workspace,
    env: { PATH: process.env.PATH ?? "", HOME: tempDir("home") },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
  const decoder = new TextDecoder();
  let rest = "";
  const input = new WritableStream<Uint8Array>({
    write: async (chunk) => {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines)
        for (const each of role.sends?.(line) ?? [line]) child.stdin.write(`${each}\n`);
      await child.stdin.flush();
    },
  });
  const seen = { updates: [], permissions: [], forms: [] } as unknown as {
    updates: Seen["updates"];
    permissions: acp.RequestPermissionRequest[];
    forms: acp.CreateElicitationRequest[];
  };
  const text = () =>
    seen.updates
      .map((update) =>
        update.sessionUpdate === "agent_message_chunk" && update.content.type === "text"
          ? update.content.text
          : "",
      )
      .join("");
  const app = acp.client({ name: "test" }).onNotification("session/update", ({ params }) => {
    seen.updates.push(params.update);
  });
  if (role.permission)
    app.onRequest("session/request_permission", ({ params, signal }) => {
      seen.permissions.push(params);
      return role.permission!(params, signal);
    });
  if (role.form)
    app.onRequest("elicitation/create", ({ params }) => {
      seen.forms.push(params);
      return role.form!(params);
    });
  const all = Object.assign(seen, { text });
  await within(
    app.connectWith(acp.ndJsonStream(input, child.stdout), async (agent) => {
      await agent.request("initialize", {
        protocolVersion: acp.PROTOCOL_VERSION,
        clientCapabilities: role.capabilities ?? {},
        ...(role.clientInfo ? { clientInfo: role.clientInfo } : {}),
      });
      const { sessionId } = await agent.request("session/new", { cwd: workspace, mcpServers: [] });
      await run(agent, sessionId, all);
    }),
    30_000,
    "the conversation",
  );
  child.stdin.end();
  expect(await child.exited).toBe(0);
  return all;
}

const prompt = (agent: Agent, sessionId: string, words: string) =>
  agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text: words }] });

const chosen = (params: acp.RequestPermissionRequest, kind: string): acp.RequestPermissionResponse => ({
  outcome: {
    outcome: "selected",
    optionId: (params.options.find((option) => option.kind === kind) ?? params.options[0]!).optionId,
  },
});

const allow = (params: acp.RequestPermissionRequest) => chosen(params, "allow_once");

test("A15 P12 P15 P17 P11 P14 A6 A7 in the role of Zed: forms, terminals, defaults set right behind session/new", async () => {
  const seen = await play(
    {
      clientInfo: { name: "zed", title: "stable", version: "1" },
      capabilities: {
        fs: { readTextFile: true, writeTextFile: true },
        terminal: true,
        elicitation: { form: {} },
        _meta: { terminal_output: true, "terminal-auth": true },
      },
      permission: allow,
      form: (params) => {
        const { q_0: first, q_1: second } = (params as unknown as { requestedSchema: Form }).requestedSchema
          .properties;
        return {
          action: "accept",
          content: { q_0: first.oneOf[0]!.const, q_1: [second.items.anyOf[0]!.const] },
        };
      },
    },
    async (agent, sessionId) => {
      await agent.request("session/set_config_option", { sessionId, configId: "mode", value: "edit" });
      const set = await agent.request("session/set_config_option", {
        sessionId,
        configId: "model",
        value: "sim\\sim-small",
      });
      expect(
        set.configOptions.map((option) => [
          option.id,
          "currentValue" in option ? option.currentValue : undefined,
        ]),
      ).toContainEqual(["model", "sim\\sim-small"]);
      for (const words of ["bash echo hi", "question; text thank you", "plan Do it; text on it"])
        expect((await prompt(agent, sessionId, words)).stopReason).toBe("end_turn");
    },
  );
  expect(seen.forms).toHaveLength(1);
  expect(seen.text()).toContain("thank you");
  expect(seen.text()).toContain("on it");
  const metas = seen.updates.flatMap((update) => ("_meta" in update ? Object.keys(update._meta ?? {}) : []));
  for (const key of ["terminal_info", "terminal_output", "terminal_exit"]) expect(metas).toContain(key);
  // The plan can be read in the question itself.
  expect(JSON.stringify(seen.permissions.at(-1))).toContain("Do it");
});

test("A15 P12 P15 A8 in the role of a client without elicitation: one question after the other, and it is asked nothing else", async () => {
  const seen = await play(
    { clientInfo: { name: "CodeCompanion.nvim", version: "1" }, permission: allow },
    async (agent, sessionId) => {
      expect((await prompt(agent, sessionId, "question; mcp; text thank you")).stopReason).toBe("end_turn");
    },
  );
  expect(seen.forms).toEqual([]);
  expect(seen.permissions.length).toBeGreaterThan(2);
  expect(seen.text()).toContain("thank you");
});

test("A15 A4 B1 P19 in the role of one that answers late, twice, wrongly, with an error, or never: each is what it is, and the next prompt works", async () => {
  // Late.
  let turn = await play(
    {
      permission: async (params) => {
        await Bun.sleep(1_500);
        return allow(params);
      },
    },
    async (agent, sessionId) => {
      expect((await prompt(agent, sessionId, "bash echo late; text done")).stopReason).toBe("end_turn");
    },
  );
  expect(turn.text()).toContain("done");
  // Twice, the second time with something else.
  turn = await play(
    {
      permission: allow,
      sends: (line) => {
        const frame = JSON.parse(line);
        if (frame.result?.outcome === undefined) return [line];
        return [line, JSON.stringify({ ...frame, result: { outcome: { outcome: "cancelled" } } }), line];
      },
    },
    async (agent, sessionId) => {
      for (let n = 0; n < 3; n++)
        expect((await prompt(agent, sessionId, `bash echo ${n}; text done${n}`)).stopReason).toBe("end_turn");
    },
  );
  expect(turn.text()).toContain("done2");
  expect(turn.permissions).toHaveLength(3);
  // Wrongly, with an error, never: nobody has decided, so the turn waits until the person cancels it.
  const undecided: Role["permission"][] = [
    () => ({ outcome: { outcome: "selected", optionId: "nothing that was offered" } }),
    () => {
      throw new Error("the dialog is broken");
    },
    (_, signal) =>
      new Promise((resolve) =>
        signal.addEventListener("abort", () => resolve({ outcome: { outcome: "cancelled" } })),
      ),
  ];
  for (const permission of undecided) {
    let broken = true;
    turn = await play(
      { permission: (params, signal) => (broken ? permission!(params, signal) : allow(params)) },
      async (agent, sessionId, seen) => {
        const waiting = prompt(agent, sessionId, "bash touch made.txt; text never");
        while (seen.permissions.length === 0) await Bun.sleep(5);
        await Bun.sleep(100);
        await agent.notify("session/cancel", { sessionId });
        expect((await waiting).stopReason).toBe("cancelled");
        broken = false;
        expect((await prompt(agent, sessionId, "bash echo ok; text works")).stopReason).toBe("end_turn");
      },
    );
    expect(turn.text()).not.toContain("never");
    expect(turn.text()).toContain("works");
  }
}, 60_000);
