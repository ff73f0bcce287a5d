/** Plan models of app 3.12 and newer: the account push, the key for each model request, and what is refused. */

import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Agent, installZcode, launch } from "../support/agent.ts";
import type { Json } from "../support/plainClient.ts";
import { tempDir } from "../support/temp.ts";

const KEY = "plan-key-0123456789abcdef";

const TABLE = {
  revision: 7,
  config: {
    providerConfigRules: {
      providerRules: [
        "account:bigmodel-individual-coding-plan",
        "account:bigmodel-start-plan",
        "account:zai-individual-coding-plan",
      ].map((providerId) => ({ providerId, config: { access: { type: "zhipu-account" } } })),
    },
  },
};

function home(files: Record<string, Json>): string {
  const dir = tempDir("home");
  mkdirSync(join(dir, ".zcode", "v2"), { recursive: true });
  for (const [name, value] of Object.entries(files)) {
    writeFileSync(join(dir, ".zcode", "v2", name), JSON.stringify(value));
  }
  return dir;
}

function planAgent(files: Record<string, Json>, sim = `--plan --expect-key ${KEY}`): Agent {
  const bin = installZcode(tempDir("bin"), { sim, table: TABLE });
  return launch({ args: ["stdio"], home: home(files), env: { ZCODE_BIN: bin } });
}

const individual = (key: string) => ({
  provider: { "builtin:bigmodel-coding-plan": { enabled: true, options: { apiKey: key }, models: {} } },
});

test("B19 an individual plan works: pushed before the create, the key answered for each model request", async () => {
  const agent = planAgent({ "config.json": individual(KEY) });
  const session = await agent.start();
  expect((await agent.client.prompt(session, "text With a plan")).stopReason).toBe("end_turn");
  expect((await agent.client.prompt(session, "text Again")).stopReason).toBe("end_turn");
  const options = agent.client
    .updates(session)
    .findLast((update) => update.sessionUpdate === "config_option_update");
  expect(JSON.stringify(options)).toContain("account:bigmodel-individual-coding-plan");
  await agent.close();
});

test("B19 D8 a wrong key is a sign-in error, and no key shows anywhere", async () => {
  const wrong = "wrong-key-fedcba9876543210";
  const agent = planAgent({ "config.json": individual(wrong) });
  const session = await agent.start();
  await expect(agent.client.prompt(session, "hi")).rejects.toMatchObject({ code: -32000 });
  await agent.close();
  const said = JSON.stringify(agent.client.frames) + agent.stderr + stateFiles(agent.home);
  expect(said).not.toContain(wrong);
});

test("B19 A11 after signing in elsewhere the next prompt works without a restart", async () => {
  const agent = planAgent({ "config.json": individual("old-key-00000000000000") });
  const session = await agent.start();
  await expect(agent.client.prompt(session, "hi")).rejects.toMatchObject({ code: -32000 });
  writeFileSync(join(agent.home, ".zcode", "v2", "config.json"), JSON.stringify(individual(KEY)));
  expect((await agent.client.prompt(session, "text Signed in")).stopReason).toBe("end_turn");
  await agent.close();
});

test("B19 A11 a plan that was signed in to after the start is pushed before the next prompt, which gets a model in a session that had none", async () => {
  const agent = planAgent({});
  const session = await agent.start();
  await expect(agent.client.prompt(session, "hi")).rejects.toThrow();
  writeFileSync(join(agent.home, ".zcode", "v2", "config.json"), JSON.stringify(individual(KEY)));
  expect((await agent.client.prompt(session, "text Now")).stopReason).toBe("end_turn");
  const fresh = await agent.client.newSession(agent.workspace);
  expect((await agent.client.prompt(fresh, "text Signed in")).stopReason).toBe("end_turn");
  await agent.close();
});

test("A11 a build that takes no push got its key when it was started: it is started anew once somebody has signed in, and nothing that runs is lost", async () => {
  const bin = tempDir("bin");
  const sim = installZcode(join(bin, "inner"), { sim: "--era 0.16.5" });
  const refusing = installZcode(join(bin, "refusing"), { sim: "--era 0.16.5 --refuse session/send:401" });
  // A process without the key refuses every prompt, as a provider would.
  const zcode = join(bin, "zcode");
  writeFileSync(
    zcode,
    `#!/bin/sh\nif [ "$1" = --version ]; then exec '${sim}' --version; fi\nif [ "$ANTHROPIC_API_KEY" = '${KEY}' ]; then exec '${sim}' "$@"; fi\nexec '${refusing}' "$@"\n`,
    { mode: 0o755 },
  );
  const agent = launch({ args: ["stdio"], home: home({}), env: { ZCODE_BIN: zcode } });
  const session = await agent.start();
  const refused = (await agent.client.prompt(session, "hi").catch((error: unknown) => error)) as {
    code: number;
  };
  expect(refused.code).toBe(-32000);
  // Without a change it is not started anew.
  await expect(agent.client.prompt(session, "hi")).rejects.toMatchObject({ code: -32000 });
  writeFileSync(join(agent.home, ".zcode", "v2", "config.json"), JSON.stringify(individual(KEY)));
  expect((await agent.client.prompt(session, "text Signed in")).stopReason).toBe("end_turn");
  expect(agent.client.text("agent_message_chunk", session)).toContain("Signed in");
  await agent.close();
  expect(agent.strays).toEqual([]);
});

test("B19 a start plan is refused with a reason that the person sees", async () => {
  const agent = planAgent({
    "coding-plan-cache.json": {
      entryStatus: { items: { "builtin:bigmodel-start-plan": { status: "available" } } },
    },
  });
  const session = await agent.start();
  const failure = (await agent.client.prompt(session, "hi").catch((error: unknown) => error)) as {
    message: string;
  };
  expect(failure.message).toContain("captcha");
  await agent.close();
});

test("B19 an older build takes no push and goes on", async () => {
  const bin = installZcode(tempDir("bin"), { sim: "--era 0.16.5", table: TABLE });
  const agent = launch({
    args: ["stdio"],
    home: home({ "config.json": individual(KEY) }),
    env: { ZCODE_BIN: bin },
  });
  const session = await agent.start();
  expect((await agent.client.prompt(session, "text Old")).stopReason).toBe("end_turn");
  await agent.close();
});

test("A1 authenticate succeeds with a usable provider or the simulator, else names the files it looked at", async () => {
  const signedIn = planAgent({ "config.json": individual(KEY) });
  await signedIn.client.initialize();
  expect(await signedIn.client.request("authenticate", { methodId: "zcode-credentials" })).toEqual({});
  await signedIn.close();
  const simulated = launch();
  await simulated.client.initialize();
  expect(await simulated.client.request("authenticate", { methodId: "zcode-credentials" })).toEqual({});
  await simulated.close();
  const nobody = planAgent({});
  await nobody.client.initialize();
  const failure = (await nobody.client
    .request("authenticate", { methodId: "zcode-credentials" })
    .catch((error: unknown) => error)) as { message: string };
  expect(failure).toMatchObject({ code: -32000, data: { code: "ZACP-302" } });
  expect(failure.message).toContain("config.json");
  await nobody.close();
});

function stateFiles(dir: string): string {
  const state = join(dir, ".local", "state", "zcode-acp");
  try {
    return readdirSync(state)
      .map((name) => readFileSync(join(state, name), "utf8"))
      .join("\n");
  } catch {
    return "";
  }
}
