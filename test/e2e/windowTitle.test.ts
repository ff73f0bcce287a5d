/** The title of a terminal client's window, which that client leaves to its agent. */

import { expect, test } from "bun:test";
import { join } from "node:path";
import { plainTitle } from "../../src/platform/windowTitle.ts";
import { BINARY } from "../support/agent.ts";
import { needs } from "../support/needs.ts";
import { PlainClient } from "../support/plainClient.ts";
import { until } from "../support/processes.ts";
import { tempDir } from "../support/temp.ts";
import { Tmux } from "../support/tmux.ts";

/**
 * A bridge that a terminal's shell started, over two pipes.
 * @param behind what follows the command.
 */
function bridgeIn(tmux: Tmux, behind = ""): PlainClient {
  const dir = tempDir("pipes");
  const [to, from] = [join(dir, "to"), join(dir, "from")];
  Bun.spawnSync(["mkfifo", to, from]);
  tmux.type(`'${BINARY}' stdio --backend sim <'${to}' >'${from}'${behind || "; echo ended $?"}`);
  const writer = Bun.spawn(["sh", "-c", `cat >'${to}'`], { stdin: "pipe" });
  const reader = Bun.spawn(["cat", from], { stdout: "pipe" });
  const client = new PlainClient((line) => {
    writer.stdin.write(`${line}\n`);
    writer.stdin.flush();
  });
  void (async () => {
    let rest = "";
    const decoder = new TextDecoder();
    for await (const chunk of reader.stdout) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) client.receive(line);
    }
    client.end();
  })();
  ends.set(client, () => writer.stdin.end());
  return client;
}
const ends = new Map<PlainClient, () => void>();

const initialize = (client: PlainClient, name: string) =>
  client.request("initialize", {
    protocolVersion: 1,
    clientInfo: { name, version: "1" },
    clientCapabilities: {},
  });

test.skipIf(!needs("tmux"))(
  "P33 R8 the window of a terminal client is called what its conversation is, after a prompt and after a load, and nobody else's is",
  async () => {
    const home = tempDir("home");
    const tmux = new Tmux({ HOME: home, PATH: process.env.PATH ?? "" }, 80, 24);
    const title = () => tmux.run(["display", "-p", "#{pane_title}"]).trim();
    const called = (name: string) => until(`the window is called ${name}`, 10_000, () => title() === name);
    try {
      const before = title();
      const editor = bridgeIn(tmux);
      await initialize(editor, "zed");
      const other = await editor.newSession(home);
      await editor.prompt(other, "not in this window");
      ends.get(editor)?.();
      await tmux.shows("ended 0");
      expect(title()).toBe(before);

      tmux.run(["send-keys", "clear", "Enter"]);
      const client = bridgeIn(tmux);
      await initialize(client, "martty");
      const id = await client.newSession(home);
      // The simulator makes a title of its own of the words; the codes in them are gone before that.
      await client.prompt(id, "echo Mend\u0007 the\u001b]0;evil\u0007 login\nand more");
      await called("Echo Mend  the ]0 evil  login");
      const second = await client.newSession(home);
      await client.prompt(second, "Something else");
      await called("Something else");
      await client.request("session/load", { sessionId: id, cwd: home, mcpServers: [] });
      await called("Echo Mend  the ]0 evil  login");
      ends.get(client)?.();
      await tmux.shows("ended 0");
    } finally {
      tmux.end();
    }
  },
  40_000,
);

test.skipIf(!needs("tmux"))(
  "P33 a bridge in the background names its window too, where the terminal stops who writes from there",
  async () => {
    const home = tempDir("home");
    const tmux = new Tmux({ HOME: home, PATH: process.env.PATH ?? "" }, 80, 24);
    let client: PlainClient | undefined;
    try {
      tmux.type("set -m; stty tostop");
      client = bridgeIn(tmux, " &");
      await initialize(client, "martty");
      await client.prompt(await client.newSession(home), "Behind the scenes");
      await until("the window is called so", 10_000, () =>
        tmux.run(["display", "-p", "#{pane_title}"]).includes("Behind the scenes"),
      );
    } finally {
      if (client) ends.get(client)?.();
      tmux.end();
    }
  },
  30_000,
);

test("P33 what would steer a terminal stays out of a title, and characters stay whole", () => {
  expect(plainTitle("a\u0000b\u001b[2Jc\u009bd\u2028e\n")).toBe("a b [2Jc d e");
  expect(plainTitle("safe\u202Eexe\ud800")).toBe("safeexe");
  expect([...plainTitle("名".repeat(100))]).toHaveLength(80);
  expect(plainTitle("🙂".repeat(100))).toBe("🙂".repeat(80));
});
