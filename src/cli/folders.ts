/** Where programs that we start may run: our own folder, which may be gone by then, the person's home, or the root. */
export function startFolders(home: string): string[] {
  try {
    return [process.cwd(), home, "/"];
  } catch {
    return [home, "/"];
  }
}
