/** The words that a prompt may consist of; also what `sim --help` and the README show. */
export interface Word {
  word: string;
  usage: string;
  help: string;
  /** It means nothing without something after it. */
  needs?: boolean;
  /** Anything after it makes the prompt a plain one. */
  bare?: boolean;
  /** What may stand after it. */
  fits?: RegExp;
}

const NUMBER = /^\d+(\.\d+)?$/;

export const WORDS: readonly Word[] = [
  { word: "think", usage: "think [WORDS]", help: "a stream of reasoning" },
  {
    word: "text",
    usage: "text [WORDS]",
    help: "words of the reply; without any, a prompt of words ends with `Done: …`",
  },
  {
    word: "bash",
    usage: "bash CMD",
    help: "asks, then runs CMD with /bin/sh in the workspace; long output goes to a file",
    needs: true,
  },
  {
    word: "read",
    usage: "read FILE",
    help: "reads a file while the model still speaks, and asks nothing",
    needs: true,
  },
  {
    word: "edit",
    usage: "edit FILE",
    help: "asks, then puts a line behind the last one of a file; a checkpoint follows",
    needs: true,
  },
  {
    word: "write",
    usage: "write FILE [TEXT]",
    help: "asks, then writes a file; a new one has no diff",
    needs: true,
  },
  {
    word: "grep",
    usage: "grep PATTERN",
    help: "searches the workspace while the model still speaks, and asks nothing",
    needs: true,
  },
  { word: "patch", usage: "patch FILE", help: "asks, then ApplyPatch adds a file", needs: true },
  { word: "tool", usage: "tool NAME [JSON]", help: "calls a tool that does not exist", needs: true },
  {
    word: "ask",
    usage: "ask",
    help: 'a permission request that no mode and no rule answers, without "always"',
    bare: true,
  },
  {
    word: "question",
    usage: "question",
    help: "AskUserQuestion: two questions, the second with several answers",
    bare: true,
  },
  {
    word: "plan",
    usage: "plan [TEXT]",
    help: "ExitPlanMode: `approve` approves, other words go to the model, a decline ends the turn",
  },
  { word: "mode", usage: "mode plan", help: "EnterPlanMode: the model turns plan mode on", fits: /^plan$/ },
  {
    word: "todo",
    usage: "todo",
    help: "three TodoWrite calls, until all is done; the list in the session follows shortly after",
    bare: true,
  },
  {
    word: "agent",
    usage: "agent [WORDS]",
    help: "a sub-agent that the turn waits for; it greps, and runs `ls`, which asks in its parent's name",
  },
  {
    word: "agent-background",
    usage: "agent-background [WORDS]",
    help: "the same, after the turn; a turn of its own tells of the end",
  },
  {
    word: "background",
    usage: "background CMD",
    help: "Bash with run_in_background; a turn tells of its end",
    needs: true,
  },
  {
    word: "mcp",
    usage: "mcp [empty]",
    help: "an MCP tool whose server asks for details while it runs, or asks without fields",
    fits: /^(empty)?$/,
  },
  { word: "cron", usage: "cron", help: "a tool that asks the client for automation", bare: true },
  { word: "browser", usage: "browser", help: "a tool that asks the client for its browsers", bare: true },
  {
    word: "fail",
    usage: "fail KIND [N]",
    help: "the model fails in this and the next N-1 turns: network, rate, overload, server, auth, quota, context, captcha, or config, before there is a turn",
    fits: /^(network|rate|overload|server|auth|quota|context|captcha|config)(\s+\d+)?$/,
  },
  { word: "hiccup", usage: "hiccup", help: "the model fails once and recovers by itself", bare: true },
  {
    word: "silence",
    usage: "silence S [frozen]",
    help: "S seconds of nothing; the numbers of the projection move each second unless frozen",
    fits: /^\d+(\.\d+)?( frozen)?$/,
  },
  {
    word: "sleep",
    usage: "sleep S",
    help: "S seconds of nothing while the model speaks; no number moves",
    fits: NUMBER,
  },
  {
    word: "burst",
    usage: "burst N [/R]",
    help: "N pieces of text as fast as they are read, or R of them in a second",
    fits: /^\d+(\s*\/\s*\d+)?$/,
  },
  { word: "usage", usage: "usage N", help: "the context holds N tokens from here on", fits: /^\d+$/ },
  { word: "title", usage: "title TEXT", help: "the model gives the conversation a title", needs: true },
  {
    word: "compact",
    usage: "compact",
    help: "compaction before the next request, as when the context is full",
    bare: true,
  },
  { word: "goal", usage: "goal TEXT", help: "sets a goal; only shown, nothing follows it", needs: true },
  { word: "header", usage: "header", help: "asks for headers of an official MCP server", bare: true },
  {
    word: "spawn",
    usage: "spawn CMD",
    help: "leaves a child in the process group that the simulator never ends",
    needs: true,
  },
  { word: "spawn-setsid", usage: "spawn-setsid CMD", help: "the same, outside the group", needs: true },
  { word: "stderr", usage: "stderr [TEXT]", help: "a line on stderr" },
  {
    word: "garbage",
    usage: "garbage",
    help: "lines that are no frames, values that are no objects, events that nobody knows",
    bare: true,
  },
  { word: "huge", usage: "huge N", help: "one piece of text of N MB", fits: NUMBER },
  { word: "crash", usage: "crash", help: "the process ends with code 1 in mid-turn", bare: true },
  { word: "hang", usage: "hang", help: "the process stays and says nothing more", bare: true },
];

/** The table of words as text, one a line. */
export function wordsHelp(): string {
  const width = Math.max(...WORDS.map((word) => word.usage.length));
  return WORDS.map((word) => `  ${word.usage.padEnd(width)}  ${word.help}`).join("\n");
}

/** The same as Markdown, for the README of this room. */
export function wordsTable(): string {
  const rows = WORDS.map((word) => `| \`${word.usage}\` | ${word.help} |`);
  return ["| word | what happens |", "| --- | --- |", ...rows].join("\n");
}
