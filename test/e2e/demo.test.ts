import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { PermissionOption } from "@agentclientprotocol/sdk/unstable";
import { readReply } from "../../scripts/demo/answers.ts";
import { until } from "../support/processes.ts";
import { tempDir } from "../support/temp.ts";

const DEMO = join(import.meta.dir, "..", "..", "scripts", "demo.ts");
/** What the newest question looks like when it waits. */
const QUESTION = /allowed by itself in 2 s: $/;

async function unattended(env: Record<string, string> = {}) {
  const home = tempDir("home");
  const demo = Bun.spawn([process.execPath, DEMO], {
    env: { ...process.env, HOME: home, NO_COLOR: "1", ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([
    new Response(demo.stdout).text(),
    new Response(demo.stderr).text(),
    demo.exited,
  ]);
  return { out, err, code, home };
}

/** The demo in a terminal, whose keys are the test's. */
function attended() {
  const temp = tempDir("tmp");
  let out = "";
  const demo = Bun.spawn([process.execPath, DEMO], {
    env: { ...process.env, HOME: tempDir("home"), TMPDIR: temp, NO_COLOR: "1", CI: "" },
    terminal: {
      cols: 120,
      rows: 40,
      data(_terminal, bytes) {
        out += new TextDecoder().decode(bytes);
      },
    },
  });
  let seen = 0;
  return {
    demo,
    temp,
    text: () => out.replaceAll("\r\n", "\n"),
    type: (keys: string) => demo.terminal?.write(keys),
    /** Resolves at a question that was not waited for before. */
    async question() {
      await until("a question", 20_000, () => QUESTION.test(out.slice(seen)));
      seen = out.length;
    },
  };
}

describe("D1 the demo", () => {
  test("D1 shows one of everything, ends with 0, and leaves nothing in HOME", async () => {
    const { out, err, code, home } = await unattended();
    expect([err, code]).toEqual(["", 0]);
    for (const part of [
      "thinking",
      "lint: fine",
      '+ export const greeting = "Hello, editor!"',
      "wants to run",
      "allowed by itself in 2 s",
      "nobody answered",
      "to-do",
      "tokens in",
    ])
      expect(out).toContain(part);
    // The words that are really sent.
    expect(out).toContain("bash sh check.sh;");
    expect(out.split("Run the tests").length - 1).toBe(2);
    expect(readdirSync(home)).toEqual([]);
  }, 90_000);

  test("D1 fails when something is missing", async () => {
    const { err, code } = await unattended({ ZCODE_ACP_DEMO_PROMPT: "think a thought; text words; todo" });
    expect(code).toBe(1);
    expect(err).toBe("Not shown: a command's live output, diff, permission.\n");
  }, 90_000);

  test.skipIf(process.platform === "win32")(
    "D1 a person who says no is believed, asked again where unclear, and waited for no longer than said",
    async () => {
      const person = attended();
      await person.question();
      person.type("perhaps\r");
      await person.question();
      expect(person.text()).toContain('"perhaps" is no answer here.');
      person.type("nx\x7fo\r");
      await person.question();
      expect(await person.demo.exited).toBe(0);
      const text = person.text();
      expect(text).toContain("→ Deny\n");
      expect(text).toContain("– not done: you said no");
      expect(text).not.toContain("+ export");
      expect(text).toContain("Not shown, because you said no: diff.");
      // The second question was left alone.
      expect(text).toContain("(nobody answered)");
      expect(text).toContain("lint: fine");
      expect(readdirSync(person.temp)).toEqual([]);
    },
    90_000,
  );

  test.skipIf(process.platform === "win32")(
    "D1 Ctrl-C ends it at once and leaves no folder behind",
    async () => {
      const person = attended();
      await person.question();
      expect(readdirSync(person.temp).length).toBe(1);
      person.type("\x03");
      expect(await person.demo.exited).toBe(130);
      expect(readdirSync(person.temp)).toEqual([]);
    },
    90_000,
  );
});

test("D1 an answer is a number, a yes, a no, a bare Enter, or none", () => {
  const option = (optionId: string, kind: PermissionOption["kind"]): PermissionOption => ({
    optionId,
    kind,
    name: optionId,
  });
  const options = [
    option("always", "allow_always"),
    option("once", "allow_once"),
    option("no", "reject_once"),
  ];
  const chosen = (typed: string) => {
    const reply = readReply(typed, options);
    return reply === "again" ? "again" : reply?.optionId;
  };
  for (const typed of ["", " ", "y", "Y", "yes", "allow", "2"])
    expect([typed, chosen(typed)]).toEqual([typed, "once"]);
  for (const typed of ["n", "N", "no", " No ", "deny", "3"])
    expect([typed, chosen(typed)]).toEqual([typed, "no"]);
  for (const typed of ["0", "4", "-1", "1.5", "x", "never", "nein"])
    expect([typed, chosen(typed)]).toEqual([typed, "again"]);
  expect(chosen("1")).toBe("always");
  expect(readReply("y", [])).toBeUndefined();
});
