/**
 * What a stream is measured against: every line is parsed, serialised again and written, joined by the block that it
 * came in. Nothing is translated and nothing is kept. The argument is the program that it stands before.
 */
export {};

const child = Bun.spawn([process.argv[2] ?? "", "app-server", "--stdio"], {
  stdin: "pipe",
  stdout: "pipe",
  stderr: "inherit",
});

async function relay(
  from: ReadableStream<Uint8Array>,
  to: { write(text: string): unknown; flush(): unknown },
): Promise<void> {
  const decoder = new TextDecoder();
  let rest: Uint8Array = new Uint8Array(0);
  for await (const chunk of from) {
    const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
    const last = bytes.lastIndexOf(10);
    rest = bytes.slice(last + 1);
    if (last < 0) continue;
    let joined = "";
    for (const line of decoder.decode(bytes.subarray(0, last)).split("\n"))
      joined += `${JSON.stringify(JSON.parse(line))}\n`;
    await to.write(joined);
    await to.flush();
  }
}

void relay(child.stdout, Bun.stdout.writer());
await relay(Bun.stdin.stream(), child.stdin);
child.stdin.end();
await child.exited;
process.exit(0);
