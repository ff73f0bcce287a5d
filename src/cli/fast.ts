/** The command line that editors use, read by hand: the parser of commands costs milliseconds of every window's start. */
export interface StdioArguments {
  readonly backend?: "auto" | "sim";
}

/**
 * The flags of `stdio` when `argv` is exactly that, or only its flags, or nothing at all, with a pipe on stdin;
 * undefined when the whole command line has to be looked at.
 */
export function stdioArguments(
  argv: readonly string[],
  terminal: () => boolean = onTerminal,
): StdioArguments | undefined {
  const named = argv[0] === "stdio";
  const flags = backendOnly(named ? argv.slice(1) : argv);
  return flags && (named || !terminal()) ? flags : undefined;
}

/** The words of `quota --line`, which a shell runs at every prompt: nothing, or the provider that is named. */
export function lineArguments(
  argv: readonly string[],
): { readonly provider: string | undefined } | undefined {
  if (argv[0] !== "quota") return undefined;
  let asked = false;
  let provider: string | undefined;
  for (let at = 1; at < argv.length; at++) {
    const word = argv[at];
    if (word === "--line") asked = true;
    else if (provider === undefined) provider = word;
    else return undefined;
  }
  if (!asked || (provider !== undefined && !/^[a-z]+$/.test(provider))) return undefined;
  return { provider };
}

/** Loaded where it is asked for: with it comes much that no window needs. */
function onTerminal(): boolean {
  return process.getBuiltinModule("node:tty").isatty(0);
}

function backendOnly(words: readonly string[]): StdioArguments | undefined {
  if (words.length === 0) return {};
  const backend =
    words.length === 2 && words[0] === "--backend"
      ? words[1]
      : words.length === 1 && words[0]?.startsWith("--backend=")
        ? words[0].slice("--backend=".length)
        : undefined;
  return backend === "sim" || backend === "auto" ? { backend } : undefined;
}
