/** Keys of every shape, in every dress, cut anywhere: none of them may show. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createBlackBox } from "../../src/platform/blackbox.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { LOG_LINE_CHARS } from "../../src/platform/limits.ts";
import { createLog } from "../../src/platform/log.ts";
import { MaskedTail, maskedHead, maskSecrets, safeName } from "../../src/platform/mask.ts";
import { eachSeed, type Random } from "../support/random.ts";
import { tempDir } from "../support/temp.ts";

const UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const WORD = `${UPPER}abcdefghijklmnopqrstuvwxyz`;
const HEX = "0123456789abcdef";

const some = (random: Random, alphabet: string, length: number) =>
  random.times(length, () => random.pick([...alphabet])).join("");

/** What a key begins with, and what makes its secret. */
const SHAPES: Record<string, (random: Random) => [string, string]> = {
  openai: (r) => ["sk-", some(r, WORD, 48)],
  project: (r) => ["sk-proj-", some(r, `${WORD}_-`, 60)],
  anthropic: (r) => ["sk-ant-api03-", some(r, `${WORD}_-`, 80)],
  router: (r) => ["sk-or-v1-", some(r, HEX, 64)],
  lowerCase: (r) => ["sk-", some(r, "abcdefghij", 30)],
  short: (r) => ["sk-", some(r, WORD, 12)],
  stripe: (r) => ["sk_live_", some(r, WORD, 24)],
  aws: (r) => [r.pick(["AKIA", "ASIA"]), some(r, UPPER, 16)],
  gitlab: (r) => ["glpat-", some(r, `${WORD}_-`, 20)],
  github: (r) => [r.pick(["ghp_", "gho_", "ghu_", "ghs_", "ghr_"]), some(r, WORD, 36)],
  githubPat: (r) => ["github_pat_", `${some(r, WORD, 22)}_${some(r, WORD, 59)}`],
  slack: (r) => ["xoxb-", `${some(r, "0123456789", 12)}-${some(r, "0123456789", 13)}-${some(r, WORD, 24)}`],
  google: (r) => ["AIza", some(r, `${WORD}_-`, 35)],
  huggingFace: (r) => ["hf_", some(r, WORD, 34)],
  npm: (r) => ["npm_", some(r, WORD, 36)],
  zai: (r) => [`${some(r, HEX, 32)}.`, some(r, WORD, 16)],
  jwt: (r) => ["eyJhbGciOiJIUzI1NiJ9.", `eyJ${some(r, WORD, 40)}.${some(r, `${WORD}_-`, 43)}`],
};

/** Where a key stands. */
const DRESSES: Record<string, (key: string) => string> = {
  bare: (key) => key,
  sentence: (key) => `the key ${key} was refused.`,
  quoted: (key) => `"${key}"`,
  json: (key) => `{"apiKey": "${key}", "model": "m"}`,
  jsonInJson: (key) => JSON.stringify(JSON.stringify({ options: { apiKey: key } })),
  afterEscape: (key) => `"one line\\n${key}\\nanother"`,
  variable: (key) => `ANTHROPIC_API_KEY=${key}`,
  header: (key) => `Authorization: Bearer ${key}`,
  flag: (key) => `zcode --api-key ${key} --json`,
  query: (key) => `https://example.test/v1?key=${key}&alt=sse`,
  encoded: (key) => `next=https%3A%2F%2Fx.test%3Ftoken%3D${key}`,
  inspected: (key) => `{\n  apiKey: \u001b[32m'${key}'\u001b[39m\n}`,
  coloured: (key) => `\u001b[31m${key}\u001b[39m`,
  user: (key) => `https://user:${key}@git.example.test/x.git`,
};

/** A secret that has no shape is known by the name before it alone. */
const NAMED = ["json", "jsonInJson", "variable", "header", "flag", "query", "encoded", "inspected", "user"];
const SHAPELESS: (random: Random) => [string, string] = (r) => ["", some(r, `${WORD}_-./+`, 32)];

const SHOWN = 8;

function expectHidden(secret: string, shown: string, how: string): void {
  for (let at = 0; at + SHOWN <= secret.length; at++) {
    const piece = secret.slice(at, at + SHOWN);
    if (shown.includes(piece))
      throw new Error(`${how}: "${piece}" of ${secret} shows in ${shown.slice(-300)}`);
  }
}

function eachKey(
  cases: number,
  body: (random: Random, secret: string, dressed: string, how: string) => void,
) {
  const all = [
    ...Object.entries(SHAPES).map(([name, make]) => ({ name, make, dresses: Object.keys(DRESSES) })),
    { name: "shapeless", make: SHAPELESS, dresses: NAMED },
  ];
  eachSeed(cases, (random) => {
    for (const { name, make, dresses } of all) {
      for (const dress of dresses) {
        const [prefix, secret] = make(random);
        body(random, secret, DRESSES[dress]!(prefix + secret), `${name}, ${dress}`);
      }
    }
  });
}

const LINE = "    at Object.<anonymous> (/opt/ZCode/resources/glm/zcode.cjs:12:34)\n";
const CHARS = 400;

describe("D8 no eight characters of a key's secret show", () => {
  test("D8 whole", () => {
    eachKey(20, (_, secret, dressed, how) => {
      const masked = maskSecrets(`before ${dressed} behind`);
      expectHidden(secret, masked, how);
      expect([how, masked.startsWith("before ")]).toEqual([how, true]);
      expect([how, maskSecrets(masked)]).toEqual([how, masked]);
    });
  });

  test("D8 in the tail of a stream, wherever it is cut and in whatever pieces it comes", () => {
    eachKey(2, (random, secret, dressed, how) => {
      const before = LINE.repeat(random.int(0, 40));
      for (let cut = 0; cut <= dressed.length; cut += random.int(1, 3)) {
        // The tail begins `cut` characters before the end of the key's dress.
        const behind = `\n${"y".repeat(CHARS)}`.slice(0, CHARS - cut);
        const tail = new MaskedTail(CHARS);
        const whole = before + dressed + behind;
        for (let at = 0; at < whole.length; ) {
          const size = random.int(1, 300);
          tail.push(whole.slice(at, at + size));
          at += size;
          expectHidden(secret, tail.text, how);
        }
        expectHidden(secret, maskSecrets(tail.text.split("\n").slice(-6).join("\n")), how);
        expect(tail.text.length).toBeLessThanOrEqual(CHARS);
      }
    });
  });

  test("D8 in the tail, where the stream ends in the middle of it", () => {
    eachKey(2, (_, secret, dressed, how) => {
      for (let end = 0; end <= dressed.length; end++) {
        const tail = new MaskedTail(CHARS);
        tail.push(`${LINE.repeat(30)}${dressed.slice(0, end)}`);
        expectHidden(secret, tail.text, `${how}, ${end}`);
      }
    });
  });

  test("D8 at the end of a line of the log that is cut", () => {
    const dir = tempDir("log");
    let files = 0;
    eachKey(1, (random, secret, dressed, how) => {
      const name = `l-${++files}`;
      const log = createLog({ dir, name, clock: systemClock(), env: {} });
      for (let cut = 0; cut <= dressed.length; cut += random.int(1, 9)) {
        const filler = "word ".repeat(LOG_LINE_CHARS).slice(0, LOG_LINE_CHARS - cut - 1);
        log.write("warn", `${filler} ${dressed} and more words behind it`);
        expectHidden(secret, maskedHead(`${filler} ${dressed} behind`, LOG_LINE_CHARS), how);
      }
      expectHidden(secret, readFileSync(join(dir, `${name}.log`), "utf8"), how);
    });
  });

  test("D8 a line without an end, and a private key of many lines", () => {
    const tail = new MaskedTail(CHARS);
    tail.push("first\n");
    for (let i = 0; i < 100; i++) tail.push(`sk-${i}`.padEnd(90, "x"));
    expect(tail.text).not.toContain("xxxxxxxx");
    tail.push("\nlast\n");
    expect(tail.text).toContain("first\n(a line that is too long to be shown)\nlast");
    const pem = new MaskedTail(CHARS);
    pem.push("-----BEGIN RSA PRIVATE KEY-----\n");
    for (let i = 0; i < 60; i++) {
      pem.push(`MIIEpAIBAAKCAQEA${String(i).padStart(48, "Q")}\n`);
      expect(pem.text).not.toContain("MIIEpAIB");
    }
    pem.push("-----END RSA PRIVATE KEY-----\nthe end\n");
    expect(pem.text).toContain("the end");
  });

  test("D8 passwords with spaces, quotes and signs in them", () => {
    for (const text of [
      '{"password": "correct SECRET horse"}',
      '{"password": "correct \\" SECRET horse"}',
      "password='correct SECRET horse'",
      "https://user:pa@ss@SECRET@host/path",
      "Cookie: a=b; session=SECRET",
      "set-cookie: SECRET; Path=/",
      "?X-Amz-Signature=SECRET&b=c",
      "aws_access_key=SECRET",
      "OPENAI_KEY: SECRET",
    ]) {
      expect(maskSecrets(text)).not.toContain("SECRET");
    }
  });
});

test("words, paths and hashes stay as they are", () => {
  for (const text of [
    "ENOENT: no such file or directory, open '/home/u/sk-learn-notes/task-manager/hf_cache/x.ts'",
    "commit 0123456789abcdef0123456789abcdef01234567 of main",
    "d41d8cd98f00b204e9800998ecf8427e.tar and 550e8400-e29b-41d4-a716-446655440000",
    "sess_01hzx3k5v7qj2m4n6p8r0t2w4y could not be resumed",
    "npm_config_registry npm_lifecycle_event risk-averse desk-organizer hf_hub",
    "1234 tokens used; maxTokens 4096; tokenizer: fast; monkey: yes; primary_key: id",
    "git@github.com:owner/repo.git and https://example.test:8080/a@b?c=d#e",
    "TypeError: Cannot read properties of undefined (reading 'token')",
    "PATH=/usr/bin:/bin HOME=/home/u PWD=/home/u/work",
    "the bearer of this, a secret of ours, an authorization that failed",
    LINE,
  ]) {
    const kept = text.replace("bearer of", "bearer ***");
    expect(maskSecrets(text)).toBe(text.includes("the bearer") ? kept : text);
  }
});

test("D8 masking a long text takes no time to speak of", () => {
  const pieces = [
    "token",
    "token:",
    'token:"',
    "a",
    "sk-",
    "eyJ",
    "://u:",
    "\\",
    "'",
    " ",
    "\n",
    "cookie: ",
    "%3D",
  ];
  for (const piece of [
    ...pieces,
    "-",
    "--a",
    "://",
    "A_KEY",
    "\u001b[1m",
    "0",
    "-----BEGIN PRIVATE KEY-----",
  ]) {
    const text = piece.repeat(Math.ceil(262_144 / piece.length));
    const began = performance.now();
    maskSecrets(text);
    expect([piece, performance.now() - began < 2_000]).toEqual([piece, true]);
  }
});

describe("names from elsewhere", () => {
  test("D8 are kept where they look like names, else only their length", () => {
    for (const name of [
      "session/send",
      "answer session/prompt",
      "model.streaming",
      "$/cancel_request",
      "a-1:b",
      "",
    ])
      expect(safeName(name)).toBe(name);
    for (const name of ["my words", "ünïcode", "x\ny", "sk-SECRETSECRET1", "answer my words", "x".repeat(81)])
      expect(safeName(name)).toBe(`(${name.length} characters)`);
    expect(safeName(safeName("my words"))).toBe("(8 characters)");
  });

  test("D8 the black box holds no words in a type, an id or a session", () => {
    const box = createBlackBox({ dir: tempDir("box"), name: "b", clock: systemClock() });
    for (const words of ["please delete SECRET", `sk-SECRET${"1".repeat(20)}`, `SECRET ${"x".repeat(500)}`]) {
      box.frame("in", words, 1, "", 1);
      box.frame("in", "session/event", words, "", 1);
      box.frame("in", "session/event", 1, words, 1);
    }
    box.frame("in", "answer session/send", "id-1", "sess_1", 1);
    const text = box.snapshot({});
    expect(text).not.toContain("SECRET");
    expect(JSON.parse(text).frames[2].slice(2, 5)).toEqual(["session/event", 1, "(20 characters)"]);
    expect(JSON.parse(text).frames.at(-1).slice(2, 5)).toEqual(["answer session/send", "id-1", "sess_1"]);
  });
});
