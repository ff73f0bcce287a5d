/** `zcode-acp quota --watch` in a real terminal, and what becomes of the terminal. */

import { afterAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { BINARY } from "../support/agent.ts";
import { needs } from "../support/needs.ts";
import { markedPids, until } from "../support/processes.ts";
import { envFor, GLM_BODY, homeWithPlan, startProviders } from "../support/providers.ts";
import { Tmux } from "../support/tmux.ts";

const providers = startProviders();
afterAll(() => providers.stop());

const RESTORED = { alternate: "0", cursor: "1" };
const TAKEN = { alternate: "1", cursor: "0" };

test.concurrent.skipIf(!needs("tmux"))(
  "Q5 the watched card stays in place, keeps the last good numbers while offline, follows the width, and gives the terminal back on every exit",
  async () => {
    const home = homeWithPlan();
    const tmux = new Tmux(envFor(providers, home), 70, 24);
    try {
      tmux.type(`echo before; '${BINARY}' quota --watch --interval 10; echo code $?`);
      await tmux.shows("Ollama Cloud");
      await tmux.shows("68%");
      expect(tmux.state()).toEqual(TAKEN);
      expect(tmux.screen()).not.toContain("before");
      expect(tmux.screen()).toStartWith("GLM Coding Plan · pro");
      // Narrower: the same numbers, drawn anew at once.
      tmux.run(["resize-window", "-x", "30", "-y", "24"]);
      // What stood beside a bar stands below it, whole.
      await until("it is drawn for 30 columns", 5_000, () =>
        /^ {4}.*in 25\d{3}d \d+h\)?$/m.test(tmux.screen()),
      );
      expect(tmux.screen()).toContain("35%");
      tmux.run(["resize-window", "-x", "70", "-y", "24"]);
      // One of them is gone: its numbers stay, and the card says since when. Another has new ones.
      providers.ollama.answer = () => new Response("", { status: 502 });
      const limits = [{ type: "TOKENS_LIMIT", number: 5, percentage: 50 }];
      providers.glm.answer = () => Response.json({ ...GLM_BODY, data: { limits } });
      await tmux.shows("no answer since", 20_000);
      await tmux.shows("50%");
      expect(tmux.screen()).toContain("68%");
      expect(tmux.screen()).not.toContain("35%");
      expect(providers.ollama.requests.filter(({ path }) => path !== "/api/me").length).toBe(2);
      tmux.run(["send-keys", "C-c"]);
      await tmux.shows("code 130");
      expect(tmux.state()).toEqual(RESTORED);
      expect(tmux.screen()).toContain("before");
      // Nothing was cleared before what replaced it was there.
      const raw = readFileSync(tmux.raw, "utf8");
      expect(raw).not.toContain("\x1b[2J");
      expect(raw.split("\x1b[?2026h").length).toBe(raw.split("\x1b[?2026l").length);
      for (const [signal, code] of [
        ["TERM", 143],
        ["HUP", 129],
        ["QUIT", 131],
      ] as const) {
        tmux.run(["send-keys", "-R"]);
        tmux.run(["clear-history"]);
        tmux.type(`'${BINARY}' quota -w; echo code $?`);
        await until("it has taken the terminal", 10_000, () => tmux.state().alternate === "1");
        await tmux.shows("OpenCode Go");
        const [pid] = (await markedPids(`HOME=${home}`)).filter((each) => commandOf(each).includes("quota"));
        process.kill(pid!, `SIG${signal}`);
        await tmux.shows(`code ${code}`);
        expect(tmux.state()).toEqual(RESTORED);
      }
      // Put aside and taken up again.
      tmux.run(["send-keys", "-R"]);
      tmux.type("set -m");
      tmux.type(`'${BINARY}' quota -w`);
      await until("it has taken the terminal", 10_000, () => tmux.state().alternate === "1");
      await tmux.shows("OpenCode Go");
      tmux.run(["send-keys", "C-z"]);
      await until("the terminal is given back", 10_000, () => tmux.state().alternate === "0");
      expect(tmux.state()).toEqual(RESTORED);
      tmux.type("fg");
      await until("it takes it again", 10_000, () => tmux.state().alternate === "1");
      await tmux.shows("OpenCode Go");
      tmux.run(["send-keys", "C-c"]);
      await until("the terminal is given back", 10_000, () => tmux.state().alternate === "0");
    } finally {
      tmux.end();
    }
  },
  90_000,
);

test.concurrent.skipIf(!needs("tmux"))(
  "Q5 a terminal that is held takes the last card once it is let go, and holds up no end",
  async () => {
    const home = homeWithPlan();
    const asked = startProviders();
    const tmux = new Tmux(envFor(asked, home), 70, 24);
    const watched = async () => {
      const pids = await markedPids(`HOME=${home}`);
      return pids.filter((each) => commandOf(each).includes("quota"));
    };
    const pictures = () => readFileSync(tmux.raw, "utf8").split("\x1b[?2026l").length;
    try {
      tmux.type(`'${BINARY}' quota -w; echo code $?`);
      await until("it has taken the terminal", 10_000, () => tmux.state().alternate === "1");
      await tmux.shows("68%");
      const [pid] = await watched();
      tmux.run(["send-keys", "C-s"]);
      tmux.run(["resize-window", "-x", "30", "-y", "24"]);
      // What it draws now is not taken; it neither waits for that nor turns round and round.
      await until("it has slept since it drew", 5_000, () => stateOf(pid!) === "S");
      const before = cpuTicks(pid!);
      await Bun.sleep(500);
      expect(cpuTicks(pid!) - before).toBeLessThan(25);
      const held = pictures();
      for (const width of ["40", "30", "45", "50", "55", "35"])
        tmux.run(["resize-window", "-x", width, "-y", "24"]);
      await Bun.sleep(200);
      expect(pictures()).toBe(held);
      tmux.run(["send-keys", "C-q"]);
      await until("the last card is drawn", 5_000, () => pictures() > held);
      await Bun.sleep(300);
      // The last one, and the one that was begun when it was held.
      expect(pictures()).toBeLessThanOrEqual(held + 2);
      await tmux.shows("OpenCode Go");
      tmux.run(["send-keys", "C-s"]);
      tmux.run(["resize-window", "-x", "60", "-y", "24"]);
      await until("it has slept since it drew", 5_000, () => stateOf(pid!) === "S");
      const started = performance.now();
      process.kill(pid!, "SIGTERM");
      await until("it is gone", 10_000, async () => (await watched()).length === 0);
      expect(performance.now() - started).toBeLessThan(5_000);
    } finally {
      tmux.end();
      asked.stop();
    }
  },
  60_000,
);

test.concurrent("Q5 watched through a pipe it says the numbers again and again, as objects a line where that is wanted, until nobody reads", async () => {
  const home = homeWithPlan();
  const own = startProviders();
  const env = envFor(own, home);
  const child = Bun.spawn([BINARY, "quota", "glm", "--watch", "--json", "--interval", "10"], {
    env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const reader = child.stdout.getReader();
  let text = "";
  while (text.split("\n").length < 3) {
    const { value, done } = await reader.read();
    if (done) break;
    text += new TextDecoder().decode(value);
    // Objects tell what is, the card what was known last.
    own.ollama.answer = () => new Response("", { status: 502 });
  }
  const [first, second] = text.split("\n");
  const well = { kind: "success" };
  expect(JSON.parse(first!)).toMatchObject({ glm: well, opencode: well, ollama: well });
  expect(JSON.parse(second!)).toMatchObject({ glm: well, opencode: well, ollama: { kind: "unavailable" } });
  await reader.cancel();
  child.kill("SIGTERM");
  await child.exited;
  expect(await new Response(child.stderr).text()).toBe("");
  await own.stop();
}, 30_000);

test.concurrent("Q5 Q1 a provider that gives nothing for a while keeps its numbers and a line that says so, and loses that line when it answers again", async () => {
  const own = startProviders();
  const well = own.ollama.answer;
  const child = Bun.spawn([BINARY, "quota", "-w", "--interval", "10"], {
    env: envFor(own, homeWithPlan()),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  // Each card is one write.
  const reader = child.stdout.getReader();
  const card = async () => new TextDecoder().decode((await reader.read()).value);
  expect(await card()).toContain("68%");
  for (const status of [502, 429]) {
    own.glm.answer = () => new Response("", { status });
    own.ollama.answer = () => new Response("", { status: 502 });
    if (status === 429) own.ollama.answer = well;
    const shown = await card();
    expect(shown).toContain("35%");
    expect(shown).toContain("68%");
    expect(shown).toContain("GLM Coding Plan: no answer since");
    expect(shown.includes("Ollama Cloud: no answer since")).toBe(status === 502);
  }
  await reader.cancel();
  child.kill("SIGTERM");
  await child.exited;
  await own.stop();
}, 40_000);

test.concurrent.skipIf(!needs("tmux"))(
  "Q4 Q1 on a terminal each section is painted as it comes, in its place, and coloured; --plain and NO_COLOR draw blocks",
  async () => {
    const own = startProviders();
    const well = own.glm.answer;
    let answer!: () => void;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    own.glm.answer = async (request) => {
      await answered;
      return well(request);
    };
    const tmux = new Tmux(envFor(own, homeWithPlan()), 70, 30);
    const drawn = () => tmux.run(["capture-pane", "-p", "-e"]);
    try {
      tmux.type(`'${BINARY}' quota; echo code $?`);
      // The slowest comes first, and hides nobody.
      await tmux.shows("68%");
      expect(tmux.screen()).not.toContain("code 0");
      const places = ["GLM Coding Plan", "OpenCode Go", "Ollama Cloud"].map((name) =>
        tmux.screen().indexOf(name),
      );
      expect(places).toEqual(places.toSorted((a, b) => a - b));
      expect(places[0]).toBeGreaterThan(0);
      answer();
      await tmux.shows("code 0");
      expect(tmux.screen()).toContain("35%");
      expect(tmux.screen().match(/GLM Coding Plan/g)).toHaveLength(1);
      expect(drawn()).toContain("\x1b[30m\x1b[42m");
      expect(drawn()).not.toMatch(/[█░]/);
      for (const words of [`'${BINARY}' quota --plain`, `NO_COLOR=1 '${BINARY}' quota`]) {
        tmux.run(["send-keys", "-R"]);
        tmux.run(["clear-history"]);
        tmux.type(`${words}; echo code $?`);
        await tmux.shows("code 0");
        expect(drawn()).toMatch(/█░/);
        expect(drawn()).toContain("35%");
        expect(drawn()).not.toContain("\x1b[");
      }
    } finally {
      tmux.end();
      await own.stop();
    }
  },
  60_000,
);

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

/** The state letter of a process, and what it has used of the processor, in hundredths of a second; Linux. */
function stat(pid: number): string[] {
  return readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
}

function stateOf(pid: number): string | undefined {
  return stat(pid)[0];
}

function cpuTicks(pid: number): number {
  return Number(stat(pid)[11]) + Number(stat(pid)[12]);
}
