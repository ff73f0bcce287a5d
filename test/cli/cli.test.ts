/** The built file, as a person or an editor starts it, in an empty home. */
import { beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { tempDir } from "../support/temp.ts";

const FILE = join(import.meta.dir, "../../dist/zcode-acp");

beforeAll(() => {
  if (!existsSync(FILE))
    throw new Error("dist/zcode-acp is not built; `npm test` and `npm run build` do that");
});

interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

interface Machine {
  readonly home: string;
  run(args: string[], env?: Record<string, string>, stdin?: string): Promise<Outcome>;
  /** Writes a file below the home directory. */
  put(path: string, text: string, mode?: number): string;
}

function machine(): Machine {
  const home = tempDir("cli");
  return {
    home,
    put(path, text, mode = 0o644) {
      const full = join(home, path);
      mkdirSync(dirname(full), { recursive: true });
      writeFileSync(full, text);
      chmodSync(full, mode);
      return full;
    },
    async run(args, env = {}, stdin = "") {
      const child = Bun.spawn([FILE, ...args], {
        cwd: home,
        env: { HOME: home, PATH: "/usr/bin:/bin", NO_COLOR: "1", ...env },
        stdin: new Blob([stdin]),
        stdout: "pipe",
        stderr: "pipe",
      });
      const [out, err] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
      ]);
      return { code: await child.exited, out, err };
    },
  };
}

/** A ZCode that prints `version`, and whose sign-in prints its words and ends with 7. */
const fakeZCode = (version: string) => `#!/bin/sh
case $1 in
  --version) echo "zcode ${version}";;
  login) echo "signing in: $*"; exit 7;;
  *) exit 9;;
esac
`;

describe("version and help", () => {
  test("the version, for people and for programs", async () => {
    const { run } = machine();
    const plain = await run(["--version"]);
    expect(plain.out).toMatch(/^zcode-acp \d+\.\d+\.\d+ \((?:[0-9a-f]+\+?|unknown)\)\n$/);
    expect([plain.code, plain.err]).toEqual([0, ""]);
    const json = JSON.parse((await run(["--version", "--json"])).out);
    expect(Object.keys(json)).toEqual(["name", "version", "commit", "platform", "arch", "bun"]);
    expect(plain.out).toContain(json.version);
  });

  test("help lists every command, and each command that exists explains itself", async () => {
    const { run } = machine();
    const all = await run(["--help"]);
    expect(all.code).toBe(0);
    for (const name of ["stdio", "serve", "hub", "quota", "chat", "sim", "doctor", "login"]) {
      expect(all.out).toMatch(new RegExp(`^ {2}${name} `, "m"));
    }
    // Each line begins alike, and what is not there yet stands below what is.
    const lines = all.out.split("\n\n")[2]!.split("\n");
    for (const line of lines) expect(line).toMatch(/^ {2}[a-z]+ +[A-Z]/);
    const later = lines.map((line) => line.includes("Not in this release yet"));
    expect(later.indexOf(true)).toBeGreaterThan(later.lastIndexOf(false));
    for (const name of ["stdio", "sim", "doctor", "login", "quota"]) {
      const { code, out } = await run([name, "--help"]);
      expect([name, code]).toEqual([name, 0]);
      expect(out).toContain(
        `Usage: zcode-acp ${name} ${name === "quota" ? "[glm|go|ollama] " : ""}[flags]\n`,
      );
      expect(out).not.toMatch(/ $/m);
      // No colours into a pipe.
      expect(out).not.toMatch(/\u001b/);
    }
    for (const name of ["stdio", "login", "doctor"])
      expect((await run([name, "--help"])).out).toContain("--backend auto|sim");
    expect((await run(["doctor", "--help"])).out).toContain("--json");
    expect((await run(["help", "doctor"])).out).toBe((await run(["doctor", "-h"])).out);
    expect((await run(["--help", "--help"])).out).toBe(all.out);
  });

  test("it leaves nothing in the home", async () => {
    const { run, home } = machine();
    await run(["--version"]);
    await run(["--help"]);
    await run(["doctor"]);
    expect(readdirSync(home)).toEqual([]);
  });
});

describe("what does not exist", () => {
  test("is refused with the nearest that does, and 2", async () => {
    const { run } = machine();
    for (const [args, nearest, code] of [
      [["dcotor"], "doctor", "ZACP-403"],
      [["STDIO"], "stdio", "ZACP-403"],
      [["version"], "Did you mean `--version`?", "ZACP-403"],
      [["help", "dcotor"], "doctor", "ZACP-403"],
      [["xyzzy"], "There is no command `xyzzy`. [ZACP-403]\n  `zcode-acp --help`", "ZACP-403"],
      [["constructor"], "There is no command `constructor`. [ZACP-403]\n  `zcode-acp --help`", "ZACP-403"],
      [["help", "nosuch"], "There is no command `nosuch`. [ZACP-403]\n  `zcode-acp --help`", "ZACP-403"],
      [["--help", "--bogus"], "`zcode-acp` has no flag `--bogus`.", "ZACP-404"],
      [["stdio", "--help", "--bogus"], "`zcode-acp stdio` has no flag `--bogus`.", "ZACP-404"],
      [["help", "doctor", "extra"], "`zcode-acp doctor` takes no more words", "ZACP-408"],
      [["doctor", "extra"], "`zcode-acp doctor` takes no more words, and `extra` is one.", "ZACP-408"],
      [["doctor", "json"], "Did you mean `--json`?", "ZACP-408"],
      [["--backend"], "`--backend` needs a value: one of auto, sim.", "ZACP-409"],
      [["--backend", "simm", "doctor"], "one of auto, sim", "ZACP-406"],
      [["sim", "--backend", "sim"], "`zcode-acp sim` has no flag", "ZACP-404"],
      [["--hlep"], "--help", "ZACP-404"],
      [["--version", "--jsn"], "--json", "ZACP-404"],
      [["stdio", "--bakend", "sim"], "--backend", "ZACP-404"],
      [["stdio", "--bakend=sim"], "--backend", "ZACP-404"],
      [["doctor", "--jsno"], "--json", "ZACP-404"],
      [["sim", "--reoder"], "--reorder", "ZACP-404"],
      [["stdio", "--backend", "simm"], "one of auto, sim", "ZACP-406"],
      [["stdio", "--backend"], "`--backend` needs a value: one of auto, sim.", "ZACP-409"],
      [["sim", "--era", "9"], "it wants one of 0.16.9, 3.12, 0.16.5, 0.15.", "ZACP-406"],
      [["sim", "--seed", "abc"], "`--seed` does not take `abc`: it wants a number.", "ZACP-406"],
      [["sim", "--slow", "session/send:x"], "session/send:2", "ZACP-406"],
      [["sim", "--script", "/nope"], "it cannot be read (ENOENT)", "ZACP-410"],
      [["doctor", "--of", "abc"], "`--of` does not take `abc`: it wants a process id.", "ZACP-406"],
      [
        ["quota", "gml"],
        "`zcode-acp quota` does not take `gml`: it wants one of glm, go, ollama.",
        "ZACP-406",
      ],
    ] as const) {
      const outcome = await run([...args]);
      expect([args, outcome.code, outcome.out]).toEqual([args, 2, ""]);
      expect(outcome.err).toContain(nearest);
      expect(outcome.err).toContain(code);
    }
  });

  test("D4 a recording that is none, and a store that cannot be one, are no faults of the program", async () => {
    const { run, put } = machine();
    const empty = await run(["sim", "--script", put("empty.jsonl", "\n")]);
    expect([empty.code, empty.out]).toEqual([2, ""]);
    expect(empty.err).toContain("ZACP-410");
    const file = await run(["sim", "--store", put("file", "")]);
    expect([file.code, file.out]).toEqual([1, ""]);
    expect(file.err).toContain("ZACP-411");
  });

  test("commands of later releases say so, and 1", async () => {
    const { run } = machine();
    for (const name of ["serve", "hub", "chat"]) {
      const outcome = await run([name, "--port", "1"]);
      expect([outcome.code, outcome.out]).toEqual([1, ""]);
      expect(outcome.err).toContain("not in this release yet");
    }
  });
});

describe("stdio", () => {
  test("A9 is what runs without a command and with a pipe on stdin, with the same answers", async () => {
    const { run } = machine();
    const initialize = {
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: 1, clientCapabilities: {} },
    };
    const line = `${JSON.stringify(initialize)}\n`;
    const outcomes = await Promise.all([
      run([], {}, line),
      run(["stdio"], {}, line),
      run(["stdio", "--backend", "sim"], {}, line),
      run(["stdio", "--backend=sim"], {}, line),
      run(["--backend", "sim"], {}, line),
      run(["--backend=sim", "stdio"], {}, line),
    ]);
    for (const { code, out, err } of outcomes) {
      expect([code, err]).toEqual([0, ""]);
      expect(JSON.parse(out.trim())).toMatchObject({ id: 1, result: { protocolVersion: 1 } });
    }
  });
});

/** The file itself is the fault; no variable is needed. */
const planted = (_path: string): Record<string, string> => ({});

describe("doctor", () => {
  test("D5 names what is missing and its mend, and exits with 1", async () => {
    const { run } = machine();
    const text = await run(["doctor"]);
    expect([text.code, text.err]).toEqual([1, ""]);
    expect(text.out).toContain("ZCODE_BIN");
    // A symbol and a sentence with its code, the mend below it, and nothing else.
    for (const line of text.out.trimEnd().split("\n")) expect(line).toMatch(/^([✔ℹ✖] | {2})\S.*\S$/);
    expect(text.out).toMatch(/^✖ ZCode was not found\. .* \[ZACP-101\]\n {2}Install ZCode/m);
    expect(text.out).toContain("`--backend sim`");
    expect(text.out).toContain("[ZACP-302]\n  Sign in with `zcode-acp login`");
    expect(text.out).not.toContain("zcode-acp doctor");
    const json = await run(["doctor", "--json"]);
    const report = JSON.parse(json.out);
    expect(json.code).toBe(1);
    expect(Object.keys(report)).toEqual(["v", "ok", "version", "commit", "checks"]);
    expect(report).toMatchObject({ v: 1, ok: false });
    const problems = report.checks.filter((check: { status: string }) => check.status === "problem");
    expect(problems.map((check: { id: string }) => check.id)).toEqual(["backend", "credentials"]);
    for (const problem of problems) expect(problem.mend.length).toBeGreaterThan(10);
  });

  test.skipIf(process.platform === "win32")("D5 prints the same lines into a terminal", async () => {
    const { run, home } = machine();
    const piped = (await run(["doctor"])).out;
    let shown = "";
    const child = Bun.spawn([FILE, "doctor"], {
      env: { HOME: home, PATH: "/usr/bin:/bin", TERM: "xterm" },
      terminal: {
        cols: 60,
        rows: 24,
        data(_terminal, bytes) {
          shown += new TextDecoder().decode(bytes);
        },
      },
    });
    await child.exited;
    expect(Bun.stripANSI(shown).replaceAll("\r\n", "\n")).toBe(piped);
  });

  test("D5 is content with a machine that has everything, and with the simulator", async () => {
    const { run, put } = machine();
    const bin = put("bin/zcode", fakeZCode("0.16.9"), 0o755);
    put(
      ".zcode/v2/config.json",
      JSON.stringify({ provider: { mine: { options: { apiKey: "HUSH-1" }, models: {} } } }),
    );
    for (const env of [
      { ZCODE_BIN: bin },
      { PATH: `${dirname(bin)}:/usr/bin:/bin` },
      { ZCODE_ACP_BACKEND: "sim" },
    ]) {
      const { code, out, err } = await run(["doctor", "--json"], env);
      expect([code, err, JSON.parse(out).ok]).toEqual([0, "", true]);
      expect(out).not.toContain("HUSH-1");
    }
    expect((await run(["doctor", "--backend", "sim"])).code).toBe(0);
    expect((await run(["--backend", "sim", "doctor"])).code).toBe(0);
    expect((await run(["doctor", "--backend", "auto"], { ZCODE_ACP_BACKEND: "sim" })).code).toBe(1);
    expect((await run(["doctor"], { ZCODE_BIN: bin })).out).toContain("0.16.9");
  });

  test("D5 finds each planted fault", async () => {
    const faults: [string, string, (m: Machine) => Record<string, string>][] = [
      ["backend", "ZACP-102", (m) => ({ ZCODE_BIN: m.put("zcode", fakeZCode("0.14.7"), 0o755) })],
      ["backend", "ZACP-101", () => ({ ZCODE_BIN: "/nowhere/zcode" })],
      ["config", "ZACP-401", () => ({ ZCODE_ACP_BACKEND: "fast" })],
      ["config", "ZACP-405", (m) => planted(m.put(".config/zcode-acp/config.json", "{"))],
      ["credentials", "ZACP-302", (m) => planted(m.put(".zcode/v2/config.json", "[]"))],
      ["backend", "ZACP-109", (m) => ({ ZCODE_BIN: m.put("zcode", "#!/bin/sh\nexit 1\n", 0o755) })],
      ["state", "ZACP-411", (m) => ({ XDG_STATE_HOME: m.put("file", "") })],
    ];
    for (const [id, code, plant] of faults) {
      const here = machine();
      const outcome = await here.run(["doctor", "--json"], plant(here));
      const found = JSON.parse(outcome.out).checks.filter(
        (check: { id: string; status: string; code?: string }) =>
          check.id === id && check.status === "problem" && String(check.code) === code,
      );
      expect([id, code, outcome.code, found.length]).toEqual([id, code, 1, 1]);
      expect(found[0].mend.length).toBeGreaterThan(10);
    }
  });
});

describe("login", () => {
  test("runs ZCode's own sign-in here and passes its exit code on, also as `stdio login`", async () => {
    const { run, put } = machine();
    const bin = put("zcode", fakeZCode("0.16.9"), 0o755);
    for (const words of [["login"], ["stdio", "login"], ["stdio", "--backend", "auto", "login"]]) {
      const { code, out } = await run(words, { ZCODE_BIN: bin });
      expect([code, out]).toEqual([7, "signing in: login\n"]);
    }
  });

  test("without ZCode says how to sign in, and 1", async () => {
    const { run } = machine();
    const { code, out, err } = await run(["login"]);
    expect([code, out !== ""]).toEqual([1, true]);
    expect(err).toContain("ZACP-101");
  });

  test("with the simulator there is nothing to do", async () => {
    const { run } = machine();
    expect((await run(["login"], { ZCODE_ACP_BACKEND: "sim" })).code).toBe(0);
    expect((await run(["login", "--backend", "sim"])).code).toBe(0);
    expect((await run(["stdio", "--backend", "sim", "login"])).code).toBe(0);
  });
});
