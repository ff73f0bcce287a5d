import { describe, expect, test } from "bun:test";
import type { Obj } from "../../src/platform/json.ts";
import { replay as replayItems, transcript } from "../../src/translate/transcript.ts";
import type { Update } from "../../src/translate/updates.ts";
import { eachSeed, type Random, someText, someValue, WRONG_VALUES } from "../support/random.ts";
import { Watcher } from "./watch.ts";

const CWD = "/home/ana/shop";

/** Updates as a client gets them: a card as it was at each. */
function replay(messages: readonly unknown[]): { updates: Update[]; watcher: Watcher } {
  const updates: Update[] = [];
  const watcher = new Watcher();
  for (const update of replayItems(transcript(messages), CWD, "en")) {
    watcher.take([update]);
    updates.push(structuredClone(update));
  }
  return { updates, watcher };
}

const said = (role: string, words: string, more: Obj = {}) => ({
  info: { id: `m_${words.slice(0, 20)}`, role, ...more },
  parts: [{ type: "text", text: words }],
});

const user = (...texts: string[]) => ({
  info: { id: "u", role: "user" },
  parts: texts.map((text) => ({ type: "text", text })),
});

const person = (message: Obj) => replay([message]).watcher.text("user");

/** The same conversation in the store's spelling and in the snapshots'. */
function spelled(store: boolean): unknown[] {
  const info = (id: string, role: string) => (store ? { id, sessionID: "s", role } : { messageId: id, role });
  const part = (id: string, more: Obj) => (store ? { id, messageID: "m", ...more } : { partId: id, ...more });
  const call = (id: string) => (store ? { callID: id } : { callId: id });
  const time = store ? { time: { start: 1, end: 2 } } : { startedAt: 1, completedAt: 2 };
  const tool = (id: string, name: string, state: Obj) =>
    part(`p_${id}`, { type: "tool", ...call(id), tool: name, state: { ...state, ...time } });
  return [
    { info: info("m1", "user"), parts: [part("p1", { type: "text", text: "Fix it" })] },
    {
      info: info("m2", "assistant"),
      parts: [
        part("p2", { type: "step-start" }),
        part("p3", { type: "reasoning", text: "Hm" }),
        part("p4", { type: "text", text: "Looking" }),
        tool("c1", "Bash", { status: "completed", input: { command: "ls" }, output: "a\nb", title: "ls" }),
        tool("c2", "Bash", { status: "completed", input: { command: "no" }, output: "Exit code 2\nno such" }),
        tool("c3", "Read", { status: "error", input: { file_path: "x" }, error: "gone" }),
        tool("c4", "Edit", {
          status: "completed",
          input: { file_path: "a.ts", old_string: "x", new_string: "y" },
          output: "ok",
          metadata: {
            display: { kind: "file_diff", filePath: "a.ts", structuredPatch: [{ lines: ["-x", "+y"] }] },
          },
        }),
        tool("c5", "TodoWrite", { status: "completed", input: { todos: [{ content: "t" }] }, output: "ok" }),
        tool("c6", "Grep", { status: "running", input: { pattern: "x" } }),
        part("p9", { type: "step-finish" }),
        part("p10", { type: store ? "subtask" : "subagent", prompt: "p" }),
      ],
    },
  ];
}

describe("spellings", () => {
  test("B15 the store's and the snapshots' ids give the same updates", () => {
    const store = replay(spelled(true));
    const snapshot = replay(spelled(false));
    expect(store.updates).toEqual(snapshot.updates);
    expect(store.watcher.log).toEqual([
      "user Fix it",
      "thought Hm",
      "agent Looking",
      "opened c1 pending",
      "output c1",
      "closed c1 completed",
      "opened c2 pending",
      "output c2",
      "closed c2 failed",
      "opened c3 pending",
      "closed c3 failed",
      "opened c4 pending",
      "closed c4 completed",
      "opened c5 pending",
      "closed c5 completed",
      "opened c6 pending",
      "closed c6 failed",
    ]);
  });

  test("B15 older builds' thoughts, and an exit code in the metadata", () => {
    const { watcher } = replay([
      {
        info: { id: "m", role: "assistant" },
        parts: [
          { type: "reasoning", content: "Old thought" },
          {
            type: "tool",
            id: "c",
            tool: "Bash",
            state: { status: "completed", output: "x", metadata: { exitCode: 7 } },
          },
        ],
      },
    ]);
    expect(watcher.text("thought")).toBe("Old thought");
    expect(watcher.cards.get("c")?.card).toMatchObject({ exitCode: 7, status: "failed" });
  });

  test("P29 a command that was moved to the background is not left open by a replay", () => {
    for (const metadata of [
      {},
      { perf: { detail: { command: { status: "backgrounded" } } } },
      { perf: { detail: { command: { status: "odd" } } } },
    ]) {
      const { watcher } = replay([
        {
          info: { id: "m", role: "assistant" },
          parts: [
            {
              type: "tool",
              callID: "c",
              tool: "Bash",
              state: {
                status: "completed",
                input: { command: "npm start", run_in_background: true },
                output: "Command running in background with ID: exec_1",
                metadata,
              },
            },
          ],
        },
      ]);
      expect(watcher.open).toEqual([]);
      expect(watcher.cards.get("c")?.status).toBe("completed");
    }
  });
});

describe("duplicates", () => {
  test("B15 the latest content of an id counts, at the place of the first", () => {
    const { watcher } = replay([
      { info: { id: "a", role: "user" }, parts: [{ type: "text", text: "one (old)" }] },
      { info: { id: "b", role: "assistant" }, parts: [{ type: "text", text: "two" }] },
      { info: { id: "a", role: "user" }, parts: [{ type: "text", text: "one" }] },
      { info: { messageId: "b", role: "assistant" }, parts: [{ type: "text", text: "two!" }] },
      { info: { role: "assistant" }, parts: [{ type: "text", text: "no id" }] },
      { info: { role: "assistant" }, parts: [{ type: "text", text: "no id" }] },
    ]);
    expect(watcher.log).toEqual(["user one", "agent two!", "agent no id", "agent no id"]);
  });

  test("B15 any history with repeats reads as if each had come once", () => {
    eachSeed(500, (random) => {
      const ids = random.times(random.int(1, 6), (i) => `m${i}`);
      const last = new Map<string, string>();
      const order: string[] = [];
      const messages = random.times(random.int(1, 20), (n) => {
        const id = random.pick(ids);
        if (!order.includes(id)) order.push(id);
        last.set(id, `text ${n}`);
        const info = random.chance(0.5) ? { id } : { messageId: id };
        return { info: { ...info, role: "assistant" }, parts: [{ type: "text", text: `text ${n}` }] };
      });
      expect(replay(messages).watcher.log).toEqual(order.map((id) => `agent ${last.get(id)}`));
    });
  });

  test("B15 a call id that stands in two messages is drawn as one card", () => {
    const tool = (id: string) => ({
      info: { id, role: "assistant" },
      parts: [{ type: "tool", callID: "c", tool: "Read", state: { status: "completed", output: "x" } }],
    });
    const { watcher } = replay([tool("a"), tool("b")]);
    expect(watcher.log).toEqual(["opened c pending", "closed c completed"]);
  });
});

describe("plumbing", () => {
  test("B15 hidden messages are left out", () => {
    expect(
      replay([
        said("user", "shown", { semantics: { kind: "user_prompt", transcriptVisibility: "visible" } }),
        said("user", "hidden", { semantics: { kind: "todo_reminder", transcriptVisibility: "hidden" } }),
        said("assistant", "hidden too", { semantics: { transcriptVisibility: "hidden" } }),
        said("user", "model only", { visibility: "model-only" }),
      ]).watcher.log,
    ).toEqual(["user shown"]);
  });

  test("B15 reminders are taken out of a person's words, and nothing else is", () => {
    const reminder = "<system-reminder>\nSecret <b>notes</b>\n</system-reminder>";
    expect(person(user(`Fix it\n\n${reminder}`))).toBe("Fix it");
    expect(person(user(`${reminder}\n\nFix it`))).toBe("Fix it");
    expect(person(user(`Before\n${reminder}\nafter`))).toBe("Before\nafter");
    expect(person(user(`${reminder}${reminder}`))).toBe("");
    expect(person(user(`one ${reminder} two ${reminder}`))).toBe(`one ${reminder} two`);
    expect(person(user(reminder, "words", reminder))).toBe("words");
  });

  test("B15 other plumbing in a person's place is left out too", () => {
    for (const plumbing of [
      "<task-notification>\n<task-id>agent_1</task-id>\n<status>completed</status>\n</task-notification>",
      "This session is being continued from a previous conversation that ran out of context. The conversation is summarized below:\nAna asked for…",
      'Called the Read tool with the following input: {"file_path": "a.ts"}',
    ])
      expect(person(user(plumbing))).toBe("");
    expect(person(user("Go on\n\n<task-notification>\nx\n</task-notification>"))).toBe("Go on");
  });

  test("B15 look-alikes stay: words about reminders, an open tag, code", () => {
    for (const words of [
      "What is a <system-reminder>?",
      "Remove </system-reminder> from the file",
      "system-reminder blocks are odd",
      "The docs say: This session is being continued from a previous conversation",
      "<system-reminders>not ours</system-reminders>",
      "What does a <task-notification> look like?",
      "Why does `<task-notification>x</task-notification>` come?",
      "I called the Read tool with the following input",
    ])
      expect(person(user(words))).toBe(words);
  });

  test("B15 parts that the runtime made for a person are left out", () => {
    expect(
      person({
        info: { role: "user" },
        parts: [
          { type: "text", text: "x", synthetic: true },
          { type: "text", text: "y" },
        ],
      }),
    ).toBe("y");
  });

  test("B15 a person's own words survive any arrangement of reminders", () => {
    eachSeed(1_000, (random) => {
      const words: string[] = [];
      let text = "";
      for (let n = 0; n < random.int(1, 6); n++) {
        if (random.chance(0.5))
          text += `\n<system-reminder>${someText(random).replaceAll("<", "")}</system-reminder>\n`;
        const word = `word${n}`;
        words.push(word);
        text += word + random.pick(["\n", " ", "\n\n"]);
      }
      expect(person(user(text)).split(/\s+/)).toEqual(words);
    });
  });
});

describe("anything at all", () => {
  const ROLES = ["user", "assistant", "system", 5, null];
  const TYPES = [
    "text",
    "reasoning",
    "file",
    "tool",
    "step-start",
    "patch",
    "compaction",
    "timeline",
    "subtask",
    "x",
    7,
  ];

  function somePart(random: Random): unknown {
    if (random.chance(0.1)) return someValue(random);
    const state = random.chance(0.2)
      ? someValue(random)
      : {
          status: random.pick(["pending", "running", "completed", "error", "odd", someValue(random)]),
          input: random.chance(0.5) ? { command: "x", todos: [], file_path: "a" } : someValue(random),
          output: random.chance(0.5) ? someText(random) : someValue(random),
          error: someValue(random),
          metadata: random.chance(0.5)
            ? { perf: someValue(random), display: someValue(random), exitCode: someValue(random) }
            : someValue(random),
        };
    return {
      type: random.pick(TYPES),
      [random.pick(["id", "partId"])]: random.pick(["p1", "p2", 3, null]),
      [random.pick(["callID", "callId"])]: random.pick(["c1", "c2", "c3", 4, ""]),
      tool: random.pick(["Bash", "Edit", "Agent", "TodoWrite", "ApplyPatch", "Read", "odd", 3]),
      text: random.chance(0.7) ? someText(random) : someValue(random),
      content: someValue(random),
      state,
    };
  }

  test("B15 histories of nonsense never throw and never break a card", () => {
    eachSeed(2_000, (random) => {
      const messages = random.times(random.int(0, 6), () => {
        if (random.chance(0.1)) return someValue(random);
        return {
          info: random.chance(0.1)
            ? someValue(random)
            : {
                [random.pick(["id", "messageId"])]: random.pick(["m1", "m2", 3]),
                role: random.pick(ROLES),
                semantics: someValue(random),
              },
          parts: random.chance(0.1)
            ? someValue(random)
            : random.times(random.int(0, 5), () => somePart(random)),
        };
      });
      expect(replay(messages).watcher.open).toEqual([]);
    });
  });

  test("B15 each field of a real history wrong once", () => {
    const whole = spelled(true) as { info: Obj; parts: Obj[] }[];
    const whats = (target: Obj) => Object.keys(target);
    for (const [m, message] of whole.entries()) {
      for (const wrong of WRONG_VALUES) {
        for (const key of whats(message.info)) {
          const copy = structuredClone(whole);
          (copy[m]!.info as Record<string, unknown>)[key] = wrong;
          replay(copy);
        }
        for (const [p, part] of message.parts.entries()) {
          for (const key of whats(part)) {
            const copy = structuredClone(whole);
            (copy[m]!.parts[p] as Record<string, unknown>)[key] = wrong;
            replay(copy);
          }
          for (const key of whats((part.state ?? {}) as Obj)) {
            const copy = structuredClone(whole);
            (copy[m]!.parts[p]!.state as Record<string, unknown>)[key] = wrong;
            replay(copy);
          }
        }
      }
    }
  });
});

test("B9 a prompt whose tries left no answer stands once, one that was answered each time it was said", () => {
  const again = { info: { id: "u1", role: "user" }, parts: [{ type: "text", text: "do it" }] };
  const as = (id: string) => ({ ...again, info: { ...again.info, id } });
  expect(replay([as("u1"), as("u2"), as("u3"), said("assistant", "done")]).watcher.text("user")).toBe(
    "do it",
  );
  const twice = replay([as("u1"), said("assistant", "done"), as("u2"), said("assistant", "once more")]);
  expect(twice.updates.filter((update) => update.kind === "text" && update.role === "user")).toHaveLength(2);
});

test("B9 a prompt that was stored again behind a passing failure stands once, with what its tries said; behind any other end twice", () => {
  const ask = (id: string) => ({ info: { id, role: "user" }, parts: [{ type: "text", text: "do it" }] });
  const half = (error: Obj | undefined) => ({
    info: { id: "m1", role: "assistant", ...(error ? { error } : {}) },
    parts: [{ type: "text", text: "Half" }],
  });
  const whole = { info: { id: "m2", role: "assistant" }, parts: [{ type: "text", text: "Half and whole." }] };
  for (const [error, times] of [
    [{ name: "ProviderError", data: { code: "model_rate_limited", message: "slow down" } }, 1],
    [{ name: "ProviderError", data: { code: "provider_not_configured", message: "no key" } }, 2],
    [undefined, 2],
  ] as const) {
    const { watcher } = replay([ask("u1"), half(error), ask("u2"), whole]);
    expect(watcher.text("user")).toBe("do it".repeat(times));
    expect(watcher.text("agent")).toBe(times === 1 ? "Half and whole." : "HalfHalf and whole.");
  }
});

test("B15 R42 the same words with other files, or said once more behind something that shows, are a prompt of their own", () => {
  const image = (url: string, hash?: string) => ({
    type: "file",
    mime: "image/png",
    filename: "screen.png",
    url,
    ...(hash === undefined ? {} : { metadata: { sha256: hash } }),
  });
  const ask = (id: string, ...files: unknown[]) => ({
    info: { id, role: "user" },
    parts: [{ type: "text", text: "look" }, ...files],
  });
  const note = (kind: string, text: string) => ({
    info: { id: "n", role: "user", semantics: { kind, transcriptVisibility: "hidden" } },
    parts: [{ type: "text", text }],
  });
  const passing = {
    info: { id: "p", role: "assistant", error: { name: "E", data: { code: "model_rate_limited" } } },
    parts: [],
  };
  const shownOf = (...messages: unknown[]) =>
    replay(messages).updates.flatMap((update) =>
      update.kind === "file" ? [update.file.url] : update.kind === "text" ? [update.text] : [update.kind],
    );
  const one = image("data:image/png;base64,AAAA");
  const other = image("data:image/png;base64,BBBB");
  const twice = (...between: unknown[]) => shownOf(ask("u1", one), ...between, ask("u2", one));
  const alone = ["look", one.url];
  // A try: nothing between them, or what shows nothing.
  expect(twice()).toEqual(alone);
  expect(twice(passing)).toEqual(alone);
  expect(twice(note("todo_reminder", "Keep the list current."))).toEqual(alone);
  expect(twice(passing, note("system_reminder", "Be kind."), passing)).toEqual(alone);
  expect(shownOf(ask("u1", image("x://1", "abc")), ask("u2", image("x://2", "abc")))).toEqual([
    "look",
    "x://1",
  ]);
  const imageAlone = (id: string) => ({ info: { id, role: "user" }, parts: [one] });
  expect(shownOf(imageAlone("u1"), passing, imageAlone("u2"))).toEqual([one.url]);
  // Said again.
  expect(shownOf(ask("u1", one), ask("u2", other))).toEqual([...alone, "look", other.url]);
  expect(shownOf(ask("u1", one), ask("u2"))).toEqual([...alone, "look"]);
  expect(shownOf(ask("u1"), ask("u2", one))).toEqual(["look", ...alone]);
  expect(shownOf(ask("u1", image("x://1", "abc")), ask("u2", image("x://2", "def")))).toHaveLength(4);
  expect(shownOf(ask("u1", image("x://1")), ask("u2", image("x://2")))).toHaveLength(4);
  const told = note("background_notification", "<task-notification>x</task-notification>");
  expect(twice(told)).toEqual([...alone, "fold", ...alone]);
  expect(twice(told, passing)).toEqual([...alone, "fold", ...alone]);
  expect(twice(note("compact_summary", "So far."))).toEqual([...alone, "fold", ...alone]);
  expect(twice({ info: { id: "f", role: "user" }, parts: [other] })).toEqual([...alone, other.url, ...alone]);
  expect(twice(said("assistant", "seen"))).toEqual([...alone, "seen", ...alone]);
  expect(twice({ info: { role: "assistant", summary: { title: "t" } }, parts: [] })).toHaveLength(5);
});

test("B9 R42 what stands folded in a prompt that is tried again is shown once", () => {
  const text = 'See @a.ts\n\nCalled the Read tool with the following input: {"file_path":"a.ts"}';
  const ask = (id: string, words = text) => ({
    info: { id, role: "user" },
    parts: [{ type: "text", text: words }],
  });
  expect(replay([ask("u1"), ask("u2")]).updates.map(({ kind }) => kind)).toEqual(["text", "fold"]);
  expect(transcript([ask("u1"), ask("u2")]).map(({ shows, starts }) => [shows, starts])).toEqual([
    [true, true],
    [false, false],
  ]);
  expect(replay([ask("u1"), ask("u2", `${text}\nmore of it`)]).updates).toHaveLength(3);
});

test("R42 a replay brings no plan of its history", () => {
  const todo = (id: string, content: string) => ({
    type: "tool",
    callID: id,
    tool: "TodoWrite",
    state: { status: "completed", input: { todos: [{ content }] }, output: "ok" },
  });
  const { updates, watcher } = replay([
    said("user", "plan it"),
    { info: { id: "a", role: "assistant" }, parts: [todo("c1", "one"), todo("c2", "two")] },
  ]);
  expect(updates.filter(({ kind }) => kind === "plan")).toEqual([]);
  expect(watcher.log).toEqual([
    "user plan it",
    "opened c1 pending",
    "closed c1 completed",
    "opened c2 pending",
    "closed c2 completed",
  ]);
});

test("B15 whatever a build calls a call's id and wherever it keeps what came of it, the card shows it", () => {
  const card = (part: Obj) => {
    const message = {
      info: { id: "m", role: "assistant" },
      parts: [{ type: "tool", tool: "Bash", ...part }],
    };
    return [...replay([message]).watcher.cards].map(([id, { card }]) => [id, card] as const);
  };
  const done = { status: "completed", input: { command: "ls" }, output: "a" };
  for (const [ids, id] of [
    [{ callID: "c", callId: "d", partId: "p", id: "i" }, "c"],
    [{ callId: "d", partId: "p", id: "i" }, "d"],
    [{ partId: "p", id: "i" }, "p"],
    [{ id: "i" }, "i"],
  ] as const)
    expect(card({ ...ids, state: done }).map(([each]) => each)).toEqual([id]);
  const metadata = { exitCode: 7 };
  for (const part of [
    { metadata, state: done },
    { state: { ...done, metadata } },
    { state: { ...done, perf: metadata } },
    { state: { ...done, metadata: { perf: metadata } } },
  ])
    expect(card({ id: "c", ...part })).toMatchObject([["c", { exitCode: 7, status: "failed" }]]);
  for (const status of ["failed", "timed_out", "cancelled"]) {
    const perf = { detail: { command: { status } } };
    expect(card({ id: "c", state: { ...done, perf } })).toMatchObject([["c", { status: "failed" }]]);
  }
  for (const state of [
    { status: "error", error: "gone" },
    { status: "error", output: "gone" },
  ])
    expect(card({ id: "c", tool: "Read", state })).toMatchObject([
      ["c", { status: "failed", failure: "gone" }],
    ]);
});

test("R43 B15 a message counts where it shows something: a thought in either spelling does, a call without a tool does not", () => {
  const shows = (part: Obj) => transcript([{ info: { role: "assistant" }, parts: [part] }])[0]?.shows;
  expect(shows({ type: "reasoning", text: "Hm" })).toBe(true);
  expect(shows({ type: "reasoning", content: "Hm" })).toBe(true);
  expect(shows({ type: "reasoning" })).toBe(false);
  expect(shows({ type: "tool", callID: "c", tool: "Read" })).toBe(true);
  expect(shows({ type: "tool", callID: "c" })).toBe(false);
  expect(shows({ type: "text", text: "" })).toBe(false);
});

test("B9 R42 what a try has said is no reason to leave it out of the answer to another prompt", () => {
  const ask = (id: string, text: string) => ({ info: { id, role: "user" }, parts: [{ type: "text", text }] });
  const error = { name: "E", data: { code: "model_rate_limited", message: "slow down" } };
  const half = { info: { id: "a1", role: "assistant", error }, parts: [{ type: "text", text: "Half" }] };
  expect(
    replay([
      ask("u1", "do it"),
      half,
      ask("u2", "do it"),
      ask("u3", "or that"),
      said("assistant", "Half of it"),
    ]).watcher.log,
  ).toEqual(["user do it", "agent Half", "user or that", "agent Half of it"]);
});

test("R42 R43 B9 where a turn begins among the newest messages is told by what stands between, and by what is known of those before", () => {
  const ask = (text: string) => ({ info: { role: "user" }, parts: [{ type: "text", text }] });
  const reply = (info: Obj = {}) => ({
    info: { role: "assistant", ...info },
    parts: [{ type: "text", text: "x" }],
  });
  const hidden = reply({ semantics: { transcriptVisibility: "hidden" } });
  const summary = reply({ semantics: { kind: "compact_summary", transcriptVisibility: "hidden" } });
  const failed = reply({ error: { name: "E", data: { code: "model_rate_limited", message: "slow down" } } });
  const call = (file: string) =>
    ask(`See\n\nCalled the Read tool with the following input: {"file_path":"${file}"}`);
  const tried = { last: undefined, open: false };
  const begins = (messages: readonly unknown[], offset: number, at = Number.POSITIVE_INFINITY) =>
    transcript(messages, offset, { has: () => false, at, tried }).flatMap(({ info, starts }) =>
      info.role === "user" ? [starts] : [],
    );
  // With some before: the first prompt may be a further try, unless something answered what came before it.
  expect(begins([ask("a"), ask("b")], 5)).toEqual([false, true]);
  expect(begins([reply(), ask("a")], 5)).toEqual([true]);
  expect(begins([failed, ask("a")], 5)).toEqual([false]);
  expect(begins([hidden, ask("a")], 5)).toEqual([false]);
  expect(begins([summary, ask("a")], 5)).toEqual([true]);
  expect(begins([hidden, ask("a")], 5, 6)).toEqual([true]);
  // With none before.
  expect(begins([ask("a"), failed, hidden, ask("a")], 0)).toEqual([true, false]);
  expect(begins([ask("a"), failed, summary, ask("a")], 0)).toEqual([true, true]);
  expect(begins([call("a.ts"), call("a.ts"), call("b.ts")], 0)).toEqual([true, false, true]);
});
