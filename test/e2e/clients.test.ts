/** Other people's clients over the built binary: the SDK's, acpx, and the ACP registry's check. */

import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as acp from "@agentclientprotocol/sdk/unstable";
import { BINARY, launch } from "../support/agent.ts";
import { tempDir } from "../support/temp.ts";

const ROOT = join(import.meta.dir, "..", "..");

test("A15 the SDK's own client holds a conversation: every frame passes its schema", async () => {
  const workspace = tempDir("work");
  writeFileSync(join(workspace, "a.ts"), "let a;\n");
  const child = Bun.spawn([BINARY, "stdio", "--backend", "sim"], {
    cwd: workspace,
    env: { PATH: process.env.PATH ?? "", HOME: tempDir("home") },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
  const input = new WritableStream<Uint8Array>({
    write: async (chunk) => {
      child.stdin.write(chunk);
      await child.stdin.flush();
    },
  });
  const kinds = new Set<string>();
  const asked: acp.RequestPermissionRequest[] = [];
  const result = await acp
    .client({ name: "test" })
    .onNotification("session/update", ({ params }) => {
      kinds.add(params.update.sessionUpdate);
    })
    .onRequest("session/request_permission", ({ params }) => {
      asked.push(params);
      return { outcome: { outcome: "selected", optionId: params.options[0]?.optionId ?? "" } };
    })
    .connectWith(acp.ndJsonStream(input, child.stdout), async (agent) => {
      await agent.request("initialize", { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
      const { sessionId, configOptions, modes } = await agent.request("session/new", {
        cwd: workspace,
        mcpServers: [],
      });
      expect(configOptions?.[0]).toMatchObject({ id: "mode", type: "select" });
      expect(modes?.currentModeId).toBe("build");
      const ended = await agent.request("session/prompt", {
        sessionId,
        prompt: [{ type: "text", text: "think; text Hello; bash echo hi; edit a.ts; todo; agent" }],
      });
      const { sessions } = await agent.request("session/list", { cwd: workspace });
      expect(sessions).toHaveLength(1);
      await agent.request("session/close", { sessionId });
      return ended;
    });
  child.stdin.end();
  expect(await child.exited).toBe(0);
  expect(result.stopReason).toBe("end_turn");
  expect(result.usage?.totalTokens).toBeGreaterThan(0);
  expect(asked.length).toBeGreaterThanOrEqual(2);
  for (const kind of [
    "agent_thought_chunk",
    "agent_message_chunk",
    "tool_call",
    "tool_call_update",
    "plan",
    "usage_update",
    "config_option_update",
  ]) {
    expect(kinds).toContain(kind);
  }
});

test("A15 acpx runs a prompt, allowed and denied, over the built file", async () => {
  const acpx = async (...words: string[]) => {
    const workspace = tempDir("work");
    const child = Bun.spawn(
      [
        "node",
        join(ROOT, "node_modules", ".bin", "acpx"),
        "--agent",
        `${BINARY} stdio --backend sim`,
        ...words,
      ],
      {
        cwd: workspace,
        env: { PATH: process.env.PATH ?? "", HOME: tempDir("home"), NO_COLOR: "1" },
        stdin: "ignore",
        stdout: "pipe",
        stderr: "pipe",
      },
    );
    const [stdout, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
    return { stdout, code, workspace };
  };
  const allowed = await acpx(
    "--approve-all",
    "exec",
    "think; bash echo made > made.txt && echo acpx works; text Bye now",
  );
  expect(allowed.code).toBe(0);
  expect(allowed.stdout).toContain("acpx works");
  expect(allowed.stdout).toContain("Bye now");
  expect(allowed.stdout).toContain("[done] end_turn");
  expect(readFileSync(join(allowed.workspace, "made.txt"), "utf8")).toBe("made\n");
  const denied = await acpx("--deny-all", "exec", "bash touch made.txt");
  expect(existsSync(join(denied.workspace, "made.txt"))).toBe(false);
}, 60_000);

test("A1 A15 the registry's check: with an empty HOME the first line answers initialize and lists an agent sign-in", async () => {
  const home = tempDir("home");
  const child = Bun.spawn([BINARY, "stdio"], {
    cwd: home,
    env: { PATH: "/usr/bin:/bin", HOME: home, TERM: "dumb" },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
  child.stdin.write(
    `${JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: 1,
        clientInfo: { name: "ACP Registry Validator", version: "1.0.0" },
        clientCapabilities: {
          fs: { readTextFile: true, writeTextFile: true },
          terminal: true,
          _meta: { terminal_output: true, "terminal-auth": true },
        },
      },
    })}\n`,
  );
  child.stdin.end();
  const stdout = await new Response(child.stdout).text();
  expect(await child.exited).toBe(0);
  const first = JSON.parse(stdout.split("\n")[0] ?? "") as {
    id: number;
    result: { authMethods: { id: string; type?: string }[] };
  };
  expect(first.id).toBe(1);
  expect(
    first.result.authMethods.filter((method) => method.type === undefined || method.type === "agent"),
  ).toHaveLength(1);
  expect(stdout.trim().split("\n")).toHaveLength(1);
});

test("A1 a client with terminal sign-in is offered one as well, by the words that follow the configured ones", async () => {
  const agent = launch();
  const result = await agent.client.initialize({ auth: { terminal: true } });
  expect(result.authMethods).toEqual([
    expect.objectContaining({ id: "zcode-credentials" }),
    expect.objectContaining({ type: "terminal", args: ["login"] }),
  ]);
  await agent.close();
});

test("A9 nothing but ACP on stdout: debug output, noise of the backend and broken frames go elsewhere", async () => {
  const agent = launch({ sim: "--noise", env: { ZCODE_ACP_DEBUG: "1" } });
  const session = await agent.start();
  agent.write('this is not json\n[1]\nnull\n\r\n{"jsonrpc":"2.0","id":{},"method":"x"}\n');
  agent.write('{"jsonrpc":"2.0","id":77,"result":{}}\n');
  expect((await agent.client.prompt(session, "garbage; stderr noise; text fine")).stopReason).toBe(
    "end_turn",
  );
  expect(agent.client.text()).toContain("fine");
  await agent.close();
  expect(agent.strays).toEqual([]);
});

test("A9 a client's frames: 8 MB prompt, split bytes, CRLF, a BOM, no newline at the end", async () => {
  const agent = launch();
  const session = await agent.start();
  const big = "中".repeat(2_700_000);
  const result = await agent.client.prompt(session, `text ${big}`);
  expect(result.stopReason).toBe("end_turn");
  const line = JSON.stringify({
    jsonrpc: "2.0",
    id: 900,
    method: "session/prompt",
    params: { sessionId: session, prompt: [{ type: "text", text: "text 🙂 split" }] },
  });
  for (const byte of new TextEncoder().encode(`\uFEFF${line}\r\n`)) agent.write(new Uint8Array([byte]));
  await agent.client.frame((frame) => frame.id === 900);
  expect(agent.client.text()).toContain("🙂 split");
  agent.write(line.replace("900", "901").replace("split", "last"));
  agent.endInput();
  expect(await agent.exited).toBe(0);
}, 60_000);

test("A10 M2 content blocks reach the send in its own shapes: text, file URIs, embedded text, images, links", async () => {
  const record = tempDir("record");
  const agent = launch({ env: { ZCODE_ACP_RECORD: record } });
  const session = await agent.start();
  const file = join(agent.workspace, "a b 中.ts");
  writeFileSync(file, "let a;\n");
  await agent.client.request("session/prompt", {
    sessionId: session,
    prompt: [
      { type: "text", text: "text look at" },
      { type: "resource_link", uri: `file://${encodeURI(file)}`, name: "a b.ts" },
      { type: "resource", resource: { uri: "file:///C:/x/y.txt", text: "inside", mimeType: "text/plain" } },
      { type: "image", data: "aGk=", mimeType: "image/png" },
      { type: "resource_link", uri: "https://example.test/page", name: "a page" },
    ],
  });
  await agent.close();
  const sent = recorded(record).find(
    (entry) => (entry.frame as { method?: string }).method === "session/send",
  );
  const params = (sent!.frame as { params: { content: string; attachments: unknown[] } }).params;
  expect(params.content).toContain(`@${file}`);
  expect(params.content).toContain("@C:/x/y.txt");
  expect(params.content).toContain("[a page](https://example.test/page)");
  expect(params.attachments).toEqual([
    expect.objectContaining({ kind: "file", localPath: file }),
    expect.objectContaining({ kind: "file", filename: "y.txt", textContent: "inside" }),
    { kind: "image", mimeType: "image/png", dataBase64: "aGk=" },
  ]);
});

function recorded(dir: string): { dir: string; frame: unknown }[] {
  return [...new Bun.Glob("*.jsonl").scanSync(dir)].flatMap((name) =>
    readFileSync(join(dir, name), "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as { dir: string; frame: unknown }),
  );
}
