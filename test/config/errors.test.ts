import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type ErrorName, errors, ProductError, TABLE } from "../../src/errors/index.ts";
import { EN } from "../../src/locale/en.ts";
import { phrase, type SentenceKey, sentence, t } from "../../src/locale/index.ts";

const names = Object.keys(TABLE) as ErrorName[];
const placeholders = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);

describe("errors", () => {
  test("D4 every code is unique, and each has a sentence and a hint", () => {
    const codes = names.map((name) => TABLE[name].code);
    expect(new Set(codes).size).toBe(codes.length);
    for (const name of names) {
      expect(TABLE[name].code).toMatch(/^ZACP-\d{3}$/);
      const texts: Readonly<Record<string, string>> = EN;
      expect(texts[TABLE[name].key]?.length).toBeGreaterThan(10);
      expect(texts[`${TABLE[name].key}.hint`]?.length).toBeGreaterThan(10);
    }
  });

  test("D4 every code stands in the list that people look it up in, under its name", () => {
    const list = readFileSync(join(import.meta.dir, "../../src/errors/README.md"), "utf8");
    for (const name of names)
      expect(list).toMatch(new RegExp(`^\\| ${TABLE[name].code} +\\| ${name} +\\| .+\\|$`, "m"));
    expect(list.match(/^\| ZACP-/gm)?.length).toBe(names.length);
  });

  test("D4 every sentence of an error belongs to one", () => {
    const used = new Set<string>(names.flatMap((name) => [TABLE[name].key, `${TABLE[name].key}.hint`]));
    const unused = Object.keys(EN).filter((key) => key.startsWith("error.") && !used.has(key));
    expect(unused).toEqual([]);
  });

  test("D4 every constructor fills its texts", () => {
    const made: ProductError[] = [
      errors.backendNotFound(["zcode on PATH", "/opt/zcode"]),
      errors.backendTooOld("0.14.7", "0.14.8"),
      errors.backendFailed("/bin/zcode", "exit 3"),
      errors.backendDied("last words"),
      errors.backendDied(""),
      errors.backendSilent("session/create"),
      errors.backendRefused("x"),
      errors.backendAnswered("session/create", phrase("reason.noSessionId", {})),
      errors.bridgeClosing(),
      errors.unsupported("session/goal"),
      errors.sessionUnknown("x"),
      errors.sessionBusy(),
      errors.queueFull(),
      errors.badPath("here"),
      errors.badOption("mode", "fast"),
      errors.notSignedIn("401"),
      errors.nothingSignedIn(["a", "b"]),
      errors.promptFailed("captcha", "m"),
      errors.promptFailed("quota", "m"),
      errors.promptFailed("rate", "m"),
      errors.promptFailed("overloaded", "m"),
      errors.promptFailed("network", "m"),
      errors.promptFailed("context", "m"),
      errors.promptFailed("model", "m"),
      errors.promptFailed("other", "m"),
      errors.badConfig(
        "ZCODE_BIN",
        phrase("problem.value", { value: "`7`", expects: phrase("expects.path", {}) }),
      ),
      errors.badConfigFile("/x", phrase("problem.noJson", {})),
      errors.badFlagValue(
        "zcode-acp stdio",
        "--backend",
        "x",
        phrase("expects.oneOf", { list: "auto, sim" }),
      ),
      errors.notBuilt("hub"),
      errors.unknownCommand("hubb", "hub"),
      errors.unknownCommand("xyzzy", undefined),
      errors.unknownFlag("zcode-acp", "--hlep", "--help"),
      errors.unexpectedWord("zcode-acp doctor", "extra", undefined),
      errors.missingFlagValue("zcode-acp doctor", "--of", phrase("expects.pid", {})),
      errors.badRecording("/x", phrase("problem.noFrames", {})),
      errors.notWritable("/x"),
      errors.backendMute("/bin/zcode"),
      errors.taskUnknown("exec_1"),
      errors.badCursor("x"),
      errors.notDeleted("/one/sessions.json"),
      errors.cursorExpired(),
      errors.notAttached("s1"),
      errors.sessionSetAside("s"),
      errors.loginFailed("ENOENT"),
      errors.flagsTogether("zcode-acp quota", "--line, --json"),
      errors.flagNeeds("zcode-acp quota", "--interval", "--watch"),
      errors.outputFailed("ENOSPC"),
      errors.internal("TypeError"),
    ];
    for (const error of made) {
      expect(error).toBeInstanceOf(ProductError);
      expect(placeholders(error.sentence + error.hint)).toEqual([]);
      expect(error.message).toBe(error.sentence);
      expect(error.hint).toBe(error.hint.trim());
      for (const value of Object.values(error.data)) expect(["string", "number"]).toContain(typeof value);
    }
    expect(new Set(made.map((error) => error.which)).size).toBe(names.length);
    expect(errors.backendNotFound(["zcode on PATH", "/opt/zcode"]).sentence).toContain(
      "zcode on PATH, /opt/zcode",
    );
  });

  test("D4 D8 secrets are masked in sentence, message and data", () => {
    const error = errors.notSignedIn('{"apiKey":"very-secret-1"} Bearer abc.def');
    expect(JSON.stringify([error.sentence, error.message, error.data])).not.toMatch(/very-secret|abc\.def/);
    const nested = errors.badConfig("x", phrase("problem.value", { value: "Bearer abc.def", expects: "" }));
    expect(JSON.stringify([nested, nested.sentence, nested.data])).not.toContain("abc.def");
  });
});

describe("locale", () => {
  test("fills in values, whatever they hold, and leaves what it was not given", () => {
    expect(t("error.backendTooOld", { found: "$&{needed}", needed: "2" }, "en")).toBe(
      "ZCode $&{needed} is too old; 2 or newer is needed.",
    );
    expect(sentence("error.backendTooOld", { found: "1" }, "en")).toContain("{needed}");
    expect(sentence("error.sessionUnknown", Object.create({ id: "inherited" }), "en")).toContain("{id}");
  });

  test("D3 no sentence is empty, and none holds half a placeholder", () => {
    for (const key of Object.keys(EN) as SentenceKey[]) {
      expect(EN[key].trimEnd()).toBe(EN[key]);
      expect(EN[key].replace(/\{\w+\}/g, "")).not.toMatch(/[{}]/);
      expect(EN[key]).not.toBe("");
    }
  });
});
