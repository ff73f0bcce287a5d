/** The command line that editors use, read by hand: the parser of commands costs milliseconds of every window's start. */
import { isatty } from "node:tty";

export interface StdioArguments {
  readonly backend?: "auto" | "sim";
}

/**
 * The flags of `stdio` when `argv` is exactly that, or nothing at all with a pipe on stdin; undefined when the
 * whole command line has to be looked at.
 */
export function stdioArguments(
  argv: readonly string[],
  terminal: () => boolean = () => isatty(0),
): StdioArguments | undefined {
  if (argv.length === 0) return terminal() ? undefined : {};
  if (argv[0] !== "stdio") return undefined;
  if (argv.length === 1) return {};
  const backend =
    argv.length === 3 && argv[1] === "--backend"
      ? argv[2]
      : argv.length === 2 && argv[1]?.startsWith("--backend=")
        ? argv[1].slice("--backend=".length)
        : undefined;
  return backend === "sim" || backend === "auto" ? { backend } : undefined;
}
