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
  { word: "text", usage: "text [WORDS]", help: "words of the reply" },
  { word: "bash", usage: "bash CMD", help: "asks, then runs CMD in the workspace", needs: true },
  { word: "read", usage: "read FILE", help: "reads a file", needs: true },
  { word: "edit", usage: "edit FILE", help: "asks, then changes the last line of a file", needs: true },
  { word: "write", usage: "write FILE [TEXT]", help: "asks, then writes a file", needs: true },
  { word: "grep", usage: "grep PATTERN", help: "searches the workspace", needs: true },
  { word: "patch", usage: "patch FILE", help: "asks, then ApplyPatch adds a file", needs: true },
  { word: "tool", usage: "tool NAME [JSON]", help: "calls a tool that does not exist", needs: true },
  { word: "ask", usage: "ask", help: "a permission request that no mode and no rule answers", bare: true },
  {
    word: "question",
    usage: "question",
    help: "AskUserQuestion: two questions, one with several answers",
    bare: true,
  },
  { word: "plan", usage: "plan [TEXT]", help: "ExitPlanMode asks for approval of a plan" },
  { word: "mode", usage: "mode plan", help: "EnterPlanMode: the model turns plan mode on", fits: /^plan$/ },
  { word: "todo", usage: "todo", help: "three TodoWrite calls, until all is done", bare: true },
  {
    word: "agent",
    usage: "agent [WORDS]",
    help: "a sub-agent that the turn waits for, with tools of its own",
  },
  {
    word: "agent-background",
    usage: "agent-background [WORDS]",
    help: "a sub-agent that goes on after the turn",
  },
  {
    word: "background",
    usage: "background CMD",
    help: "runs CMD in the background; a turn tells of its end",
    needs: true,
  },
  {
    word: "mcp",
    usage: "mcp [empty]",
    help: "an MCP tool whose server asks for details, or just asks",
    fits: /^(empty)?$/,
  },
  { word: "cron", usage: "cron", help: "a tool that asks the client for automation", bare: true },
  { word: "browser", usage: "browser", help: "a tool that asks the client for its browsers", bare: true },
  {
    word: "fail",
    usage: "fail KIND [N]",
    help: "the model fails in this and the next N-1 turns",
    fits: /^(network|rate|overload|server|auth|quota|context|captcha|config)(\s+\d+)?$/,
  },
  { word: "hiccup", usage: "hiccup", help: "the model fails once and recovers by itself", bare: true },
  {
    word: "silence",
    usage: "silence S [frozen]",
    help: "S seconds of nothing; frozen: no number moves",
    fits: /^\d+(\.\d+)?( frozen)?$/,
  },
  { word: "sleep", usage: "sleep S", help: "S seconds of nothing while the model speaks", fits: NUMBER },
  {
    word: "burst",
    usage: "burst N [/S]",
    help: "N pieces of text at once, or S in a second",
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
    help: "leaves a child in the process group that nobody ends",
    needs: true,
  },
  { word: "spawn-setsid", usage: "spawn-setsid CMD", help: "the same, outside the group", needs: true },
  { word: "stderr", usage: "stderr [TEXT]", help: "a line on stderr" },
  {
    word: "garbage",
    usage: "garbage",
    help: "lines that are no frames, and an event of an unknown type",
    bare: true,
  },
  { word: "huge", usage: "huge N", help: "one piece of text of N MB", fits: NUMBER },
  { word: "crash", usage: "crash", help: "the process ends with code 1", bare: true },
  { word: "hang", usage: "hang", help: "the process stays and says nothing more", bare: true },
];

/** The table of words as text, one a line. */
export function wordsHelp(): string {
  const width = Math.max(...WORDS.map((word) => word.usage.length));
  return WORDS.map((word) => `  ${word.usage.padEnd(width)}  ${word.help}`).join("\n");
}
