/** The one table: complete in each language, and nobody speaks beside it. */
import { expect, test } from "bun:test";
import { readSources } from "../../scripts/architecture.ts";
import { COMMANDS } from "../../src/cli/commands.ts";
import { usage } from "../../src/cli/usage.ts";
import { EN } from "../../src/locale/en.ts";
import { inOneLine, listOf, phrase, type SentenceKey, said, t } from "../../src/locale/index.ts";
import { zh } from "../../src/locale/zh.ts";

const ZH = zh();
const KEYS = Object.keys(EN) as SentenceKey[];
const placeholders = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!).toSorted();
const quoted = (text: string) => [...text.matchAll(/`([^`]*)`/g)].map((match) => match[1]!).toSorted();

/** Names, and words that are typed as they stand. */
const ALIKE: ReadonlySet<string> = new Set([
  "quota.glm",
  "quota.opencode",
  "quota.ollama",
  "error.cursorExpired",
  "slash.quota.hint",
]);

test("D3 every sentence is in every language, with the same values and the same quoted words", () => {
  expect(Object.keys(ZH).toSorted()).toEqual(KEYS.toSorted());
  for (const key of KEYS) {
    expect([key, placeholders(ZH[key])]).toEqual([key, placeholders(EN[key])]);
    // Values in quotes may stand in another order, a word for a person inside of them is translated.
    const words = (text: string) => quoted(text).map((each) => each.replace(/<[^>]*>/g, "<>"));
    expect([key, words(ZH[key])]).toEqual([key, words(EN[key])]);
    expect([key, ZH[key].trim()]).toEqual([key, ZH[key]]);
    expect([key, ZH[key] === ""]).toEqual([key, false]);
    expect([key, ZH[key].replace(/\{\w+\}/g, "")]).toEqual([key, expect.not.stringMatching(/[{}]/)]);
    expect([key, ZH[key] === EN[key]]).toEqual([key, ALIKE.has(key)]);
  }
});

test("D3 the Chinese is Chinese: Simplified, with its own marks", () => {
  for (const key of KEYS) {
    if (ALIKE.has(key)) continue;
    const own = ZH[key].replace(/\{\w+\}/g, "").replace(/`[^`]*`/g, "");
    // All of it may be names and values.
    if (/\p{L} \p{L}/u.test(EN[key].replace(/\{\w+\}/g, "")))
      expect([key, own]).toEqual([key, expect.stringMatching(/\p{Script=Han}/u)]);
    expect([key, own]).toEqual([
      key,
      expect.not.stringMatching(/\p{Script=Han}[,;:!?.]|[,;:!?]\p{Script=Han}/u),
    ]);
    // Characters that have a simpler form.
    expect([key, own]).toEqual([
      key,
      expect.not.stringMatching(/[會話為這個們來時說對應設請開關無與產業東義發]/u),
    ]);
  }
});

test("D3 variables, files and flags stand in a translation as they are", () => {
  const names = (text: string) =>
    [...text.matchAll(/--[a-z][\w-]*|[A-Z][A-Z0-9]*_[A-Z0-9_]+|~\/[\w./-]+\w|\bZCode\b/g)].map(
      ([name]) => name,
    );
  for (const key of KEYS) {
    const [english, chinese] = [names(EN[key]), names(ZH[key])].map((each) => [...new Set(each)].toSorted());
    expect([key, chinese]).toEqual([key, english!]);
  }
});

test("D3 lists, sentences in a row and values in a sentence are in the language around them", () => {
  const files = listOf(["a", phrase("looked.path", {}), 7]);
  expect(said(files, "en")).toBe("a, zcode on PATH, 7");
  expect(said(files, "zh")).toBe("a、PATH 中的 zcode、7");
  expect(said(listOf([]), "zh")).toBe("");
  expect(t("error.badConfig", { name: "X", problem: phrase("problem.noJson", {}) }, "zh")).toBe(
    "设置 X 有误：它不是 JSON。",
  );
  expect(inOneLine(["One", "", "Two."], "en")).toBe("One. Two.");
  expect(inOneLine(["一", "二。", "三"], "zh")).toBe("一。二。三。");
  expect(inOneLine(["失败：provider said so.", "再试。"], "zh")).toBe("失败：provider said so. 再试。");
  expect(inOneLine([], "zh")).toBe("");
});

test("D3 every flag of every command is explained from the table, in each language", async () => {
  for (const name of ["stdio", "login", "doctor", "sim", "quota"]) {
    const command = await COMMANDS[name]!.load();
    for (const language of ["en", "zh"] as const) {
      const help = usage(command, language);
      for (const [flag, { type, description }] of Object.entries(command.flags)) {
        expect(help).toContain(
          type === "positional" ? t(description as "flag.help", {}, language) : `--${flag}`,
        );
        expect(help).toContain(t(description as "flag.help", {}, language));
      }
      expect(/\p{Script=Han}/u.test(help)).toBe(language === "zh");
    }
  }
});

/**
 * What is in no table: the simulated app-server is another program, the README's rows are English, and so is what is said
 * to the model or to a shell.
 */
const APART =
  /^(?:sim\/|locale\/|config\/(?:settings|variables|rows)\.ts$|translate\/(?:wording|blocks)\.ts$|platform\/windowTitle\.ts$)/;
/** Calls whose words are for whoever looks after the program, or for another program. */
const LOGS =
  /(?:\blog\.(?:write|once)|\bonce|\breply\.error|\bwithDeadline|new (?:Error|SyntaxError|TypeError)|\bsuper|\brun|\bquery|\bprepare|\bonBadLine|\bRpcError|\bonFrame)\(/;
/** What looks like words and is none for a person, and what the comments of `locale/index.ts` leave English. */
const KNOWN = new Set([
  // Kinds of frames for the black box.
  "client in",
  "client out",
  "answer session/prompt",
  // The protocol's own words, and ZCode's, which are looked for.
  '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}',
  "Internal error",
  "prompt is running",
  "Mozilla/5.0 (X11; Linux x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
  // Stands among the output of another program.
  "(a line that is too long to be shown)",
  "Network connection failed",
  "Provider Registry 中不存在",
  // Codes of ours for what the system has no code for; `errors/` says them.
  "not a regular file",
  "unknown reason",
  // Kinds of lines, of places and of programs, said by the log or by a sentence of their own.
  "not JSON",
  "an array",
  "neither a request nor an answer",
  "an answer to nothing",
  "longer than any frame",
  "one that failed (…)",
  "nothing that is a version",
  "desktop app",
  "Application Support",
  "it is a session that is another conversation's",
  // Words of the command line.
  "zcode-acp doctor",
  "zcode-acp quota",
  "zcode-acp sim",
  "glm, go, ollama",
  "auto, sim",
]);

/** Literals of two words and more that no log line holds, as `path: words`. */
function strayWords(files: ReadonlyMap<string, string>): string[] {
  const found: string[] = [];
  for (const [path, whole] of files) {
    if (APART.test(path)) continue;
    const text = whole.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
    const lines = text.split("\n");
    for (const [at, line] of lines.entries()) {
      for (const [literal, quote = ""] of line.matchAll(/(["'`])(?:\\.|(?!\1)[^\\])*\1/g)) {
        const words = literal.slice(1, -1).replace(/\$\{[^}]*\}/g, "…");
        if (!/\p{L}{2,}[,:]? \p{L}{2,}/u.test(words) || KNOWN.has(words)) continue;
        // Codes.
        if (
          `${line.slice(line.indexOf(literal) + literal.length)}\n${lines[at + 1]?.trim()}`
            .trim()
            .startsWith(".split(")
        )
          continue;
        // The call may have begun some lines above.
        const before = lines.slice(Math.max(0, at - 4), at + 1).join("\n");
        if (LOGS.test(before) || (quote === "`" && /[{}();]\s*$|^\s*[)};]/.test(words))) continue;
        found.push(`${path}: ${words}`);
      }
    }
  }
  return found;
}

/** One word is enough in a position that a person reads. */
const SPOKEN =
  /\b(?:title|description|hint|label|detail|mend|expects|problem|sentence|failure)\s*[:=]\s*(["'`])([^"'`]*)\1/g;

function spokenWords(files: ReadonlyMap<string, string>): string[] {
  return [...files].flatMap(([path, text]) =>
    APART.test(path)
      ? []
      : [...text.matchAll(SPOKEN)].flatMap(([, , words = ""]) =>
          /^[A-Z]|\p{L} \p{L}/u.test(words) ? `${path}: ${words}` : [],
        ),
  );
}

/** Names: this agent's, and those of a plan's windows, which are the same everywhere. */
const NAMES = /: (?:ZCode|Week|Month|MCP)$/;

test("D3 no words for people stand in the code beside the table", () => {
  const files = readSources();
  expect(strayWords(files)).toEqual([]);
  expect(spokenWords(files).filter((each) => !NAMES.test(each))).toEqual([]);
  const planted = new Map([
    ["agent/x.ts", 'const a = "Please wait here";\nconst b = { title: "Reading" };\n'],
  ]);
  expect(strayWords(planted)).toEqual(["agent/x.ts: Please wait here"]);
  expect(spokenWords(planted)).toEqual(["agent/x.ts: Reading"]);
});
