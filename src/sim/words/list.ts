/** The words that a prompt may consist of. What each does is said by the command that shows them. */
export interface Word {
  word: string;
  usage: string;
  /** It means nothing without something after it. */
  needs?: boolean;
  /** Anything after it makes the prompt a plain one. */
  bare?: boolean;
  /** What may stand after it. */
  fits?: RegExp;
}

const NUMBER = /^\d+(\.\d+)?$/;

export const WORDS: readonly Word[] = [
  { word: "think", usage: "think [WORDS]" },
  {
    word: "text",
    usage: "text [WORDS]",
  },
  { word: "model", usage: "model", bare: true },
  {
    word: "bash",
    usage: "bash CMD",
    needs: true,
  },
  {
    word: "read",
    usage: "read FILE",
    needs: true,
  },
  {
    word: "edit",
    usage: "edit FILE",
    needs: true,
  },
  {
    word: "write",
    usage: "write FILE [TEXT]",
    needs: true,
  },
  {
    word: "grep",
    usage: "grep PATTERN",
    needs: true,
  },
  { word: "patch", usage: "patch FILE", needs: true },
  { word: "tool", usage: "tool NAME [JSON]", needs: true },
  {
    word: "ask",
    usage: "ask",
    bare: true,
  },
  {
    word: "question",
    usage: "question",
    bare: true,
  },
  {
    word: "plan",
    usage: "plan [TEXT]",
  },
  { word: "mode", usage: "mode plan", fits: /^plan$/ },
  {
    word: "todo",
    usage: "todo",
    bare: true,
  },
  {
    word: "agent",
    usage: "agent [WORDS]",
  },
  {
    word: "agent-background",
    usage: "agent-background [WORDS]",
  },
  {
    word: "background",
    usage: "background CMD",
    needs: true,
  },
  {
    word: "mcp",
    usage: "mcp [empty]",
    fits: /^(empty)?$/,
  },
  { word: "cron", usage: "cron", bare: true },
  { word: "browser", usage: "browser", bare: true },
  {
    word: "fail",
    usage: "fail KIND [N]",
    fits: /^(network|rate|overload|server|auth|quota|context|captcha|config)(\s+\d+)?$/,
  },
  { word: "hiccup", usage: "hiccup", bare: true },
  {
    word: "silence",
    usage: "silence S [frozen]",
    fits: /^\d+(\.\d+)?( frozen)?$/,
  },
  {
    word: "sleep",
    usage: "sleep S",
    fits: NUMBER,
  },
  {
    word: "burst",
    usage: "burst N [/R]",
    fits: /^\d+(\s*\/\s*\d+)?$/,
  },
  { word: "usage", usage: "usage N", fits: /^\d+$/ },
  { word: "title", usage: "title TEXT", needs: true },
  {
    word: "compact",
    usage: "compact",
    bare: true,
  },
  { word: "goal", usage: "goal TEXT", needs: true },
  { word: "header", usage: "header", bare: true },
  {
    word: "spawn",
    usage: "spawn CMD",
    needs: true,
  },
  { word: "spawn-setsid", usage: "spawn-setsid CMD", needs: true },
  { word: "stderr", usage: "stderr [TEXT]" },
  {
    word: "garbage",
    usage: "garbage",
    bare: true,
  },
  { word: "huge", usage: "huge N", fits: NUMBER },
  { word: "crash", usage: "crash", bare: true },
  { word: "hang", usage: "hang", bare: true },
];

/** The table of words as text, one a line. @param help what each does. */
export function wordsHelp(help: (word: string) => string): string {
  const width = Math.max(...WORDS.map(({ usage }) => usage.length));
  return WORDS.map(({ word, usage }) => `  ${usage.padEnd(width)}  ${help(word)}`).join("\n");
}

/** The same as Markdown, for the README of this room. */
export function wordsTable(help: (word: string) => string): string {
  const rows = WORDS.map(({ word, usage }) => `| \`${usage}\` | ${help(word)} |`);
  return ["| word | what happens |", "| --- | --- |", ...rows].join("\n");
}
