/** Tools of the machine that a test cannot do without. `.ci/run` installs each one that is asked for here. */

/**
 * Whether `tool` is on PATH. Use as `test.skipIf(!needs("tmux"))`.
 * @throws under `CI=true` when it is missing: a run that skips what it should prove is no run.
 */
export function needs(tool: string): boolean {
  if (Bun.which(tool) !== null) return true;
  if (process.env.CI === "true")
    throw new Error(`${tool} is missing on this machine; .ci/run should have installed it`);
  console.log(`skipped: ${tool} is not on this machine`);
  return false;
}
