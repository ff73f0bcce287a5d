/** The least that prints a line, for `quota --line` to be measured against. */
export {};

await Bun.stdout.write("5h 35%\n");
