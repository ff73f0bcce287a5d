import { describe, expect, test } from "bun:test";
import type { TurnFailure } from "../../src/translate/failure.ts";
import { MAX_WAITING } from "../../src/turn/limits.ts";
import { type Effect, type Input, newTurnState, reduce, type TurnStarted } from "../../src/turn/machine.ts";

/** Feeds inputs to a fresh machine and answers every effect, in order, in a short form. */
function drive(...inputs: Input[]): string[] {
  let state = newTurnState("t");
  const said: string[] = [];
  for (const input of inputs) {
    const step = reduce(state, input);
    state = step.state;
    said.push(...step.effects.map(short));
  }
  return said;
}

function short(effect: Effect): string {
  switch (effect.type) {
    case "send":
      return `send ${effect.key} ${effect.inputId}`;
    case "stop":
      return `stop ${effect.foregroundExecutionId ?? "-"}`;
    case "settle": {
      const { outcome } = effect;
      return `settle ${effect.key} ${outcome.kind === "ended" ? outcome.stopReason : outcome.kind}`;
    }
    case "timer":
      return `timer ${effect.name}`;
    case "clearTimer":
      return "";
    case "running":
      return effect.running ? "running" : "idle";
    case "notice":
      return `notice ${effect.notice.kind}`;
    case "abandon":
      return "abandon";
    case "reset":
      return "reset";
  }
}

/** Without timers, which most rules do not speak of. */
function rules(...inputs: Input[]): string[] {
  return drive(...inputs).filter((line) => line !== "" && !line.startsWith("timer"));
}

const prompt = (key: number): Input => ({ type: "prompt", key });
const accepted = (key: number): Input => ({ type: "accepted", key });
const lockTaken: Input = { type: "lockTaken" };
const lockFree: Input = { type: "lockFree", failed: false };
const lockFailed: Input = { type: "lockFree", failed: true };
const started = (turnId: string, more: Partial<TurnStarted> = {}): Input => ({
  type: "started",
  turn: {
    turnId,
    inputId: undefined,
    foregroundExecutionId: `fg_${turnId}`,
    notification: false,
    own: false,
    ...more,
  },
});
const completed = (turnId: string | undefined, resultType = "success"): Input => ({
  type: "turnEnded",
  turnId,
  end: { kind: "completed", resultType, usage: undefined },
});
const failed = (turnId: string | undefined): Input => ({
  type: "turnEnded",
  turnId,
  end: { kind: "failed", failure: { kind: "other", message: "no" } },
});

describe("one prompt", () => {
  test("M4 P6 is sent with an id of ours and settles on its own turn's end", () => {
    expect(
      rules(prompt(1), lockTaken, accepted(1), started("a", { inputId: "t-1" }), completed("a"), lockFree),
    ).toEqual(["running", "send 1 t-1", "idle", "settle 1 end_turn"]);
  });

  test("P9 a second end, or a turn.terminal after it, settles nothing more", () => {
    const run = rules(
      prompt(1),
      lockTaken,
      accepted(1),
      started("a"),
      completed("a"),
      completed("a"),
      failed("a"),
      lockFree,
    );
    expect(run.filter((line) => line.startsWith("settle"))).toEqual(["settle 1 end_turn"]);
  });

  test("P9 a turn.terminal alone settles the turn that nothing else did", () => {
    expect(rules(prompt(1), accepted(1), started("a"), completed("a", "cancelled"))).toContain(
      "settle 1 cancelled",
    );
  });

  test.each([
    ["success", "end_turn"],
    ["end_turn", "end_turn"],
    ["cancelled", "cancelled"],
    ["error_max_turns", "max_turn_requests"],
    ["error_max_tool_calls", "max_turn_requests"],
    ["error_max_budget", "max_turn_requests"],
    ["error_during_execution", "failed"],
  ])("P8 resultType %s ends as %s", (resultType, outcome) => {
    expect(rules(prompt(1), accepted(1), started("a"), completed("a", resultType))).toContain(
      `settle 1 ${outcome}`,
    );
  });

  test("P9 turn.failed without a turn id ends the prompt that holds the lock", () => {
    expect(rules(prompt(1), lockTaken, accepted(1), failed(undefined), lockFailed)).toContain(
      "settle 1 failed",
    );
  });

  test("B22 a bare prompt_failed ends it too", () => {
    expect(rules(prompt(1), lockTaken, accepted(1), lockFailed)).toContain("settle 1 failed");
  });

  test("B22 where a build sends no sign of the lock, a quiet second after the turn's end frees it", () => {
    const before: Input[] = [prompt(1), accepted(1), started("a"), completed("a"), prompt(2)];
    expect(rules(...before)).not.toContain("send 2 t-2");
    expect(rules(...before, { type: "timer", name: "quiet" })).toContain("send 2 t-2");
  });

  test("P9 an input folded into a running turn ends with that turn", () => {
    expect(
      rules(prompt(1), accepted(1), { type: "steered", inputId: "t-1", targetTurnId: "n" }, completed("n")),
    ).toContain("settle 1 end_turn");
  });
});

describe("turns that no prompt asked for", () => {
  test("P28 M4 a notification turn ends no prompt, and a prompt waits for it without stopping it", () => {
    const run = rules(started("n", { notification: true, own: true }), prompt(1), completed("n"));
    expect(run).toEqual(["running", "notice waiting", "send 1 t-1"]);
  });

  test("M4 a late end of a cancelled turn settles nothing newer", () => {
    const run = rules(
      prompt(1),
      lockTaken,
      accepted(1),
      started("a"),
      { type: "cancel" },
      prompt(2),
      lockFailed,
      lockTaken,
      accepted(2),
      started("b"),
      completed("a", "cancelled"),
      completed("b"),
    );
    expect(run.filter((line) => line.startsWith("settle"))).toEqual([
      "settle 1 cancelled",
      "settle 2 end_turn",
    ]);
  });

  test("P28 B6 a cancelled prompt that the backend holds behind a notification turn is stopped behind it, and ends it neither", () => {
    const escalation: Input = { type: "timer", name: "stop" };
    const run = rules(
      prompt(1),
      started("n", { notification: true, own: true }),
      accepted(1),
      { type: "cancel" },
      escalation,
      completed("n"),
      started("a", { inputId: "t-1" }),
      completed("a", "cancelled"),
      lockFailed,
      prompt(2),
    );
    expect(run.filter((line) => /stop|reset|send|settle/.test(line))).toEqual([
      "send 1 t-1",
      "settle 1 cancelled",
      "stop fg_a",
      "send 2 t-2",
    ]);
  });

  test("B8 P28 a notification turn that is silent for good is given up like any other, also behind a cancel", () => {
    const notification = started("n", { notification: true, own: true });
    const escalation: Input = { type: "timer", name: "stop" };
    const silent: Input = { type: "silent" };
    for (const before of [[], [prompt(1), accepted(1), { type: "cancel" }] satisfies Input[]]) {
      const run = rules(notification, ...before, silent, silent, escalation);
      expect(run.filter((line) => /stop|reset/.test(line))).toEqual(["stop fg_n", "reset"]);
    }
  });

  test("M4 another client's turn of another input is not the prompt's", () => {
    const run = rules(
      prompt(1),
      started("x", { inputId: "other" }),
      completed("x"),
      accepted(1),
      started("a", { inputId: "t-1" }),
    );
    expect(run.some((line) => line.startsWith("settle"))).toBe(false);
  });
});

describe("queue", () => {
  test("B16 B22 an arriving prompt stops the running one; the next is sent when the lock is free, not at turn.completed", () => {
    const start: Input[] = [prompt(1), lockTaken, accepted(1), started("a"), prompt(2)];
    expect(rules(...start)).toEqual(["running", "send 1 t-1", "settle 1 cancelled", "abandon", "stop fg_a"]);
    expect(rules(...start, completed("a", "cancelled"))).not.toContain("send 2 t-2");
    expect(rules(...start, completed("a", "cancelled"), lockFailed)).toContain("send 2 t-2");
  });

  test("B16 thirty prompts: one is stopped, the waiting ones are kept and run in order", () => {
    const inputs: Input[] = [prompt(1), lockTaken, accepted(1), started("t1")];
    for (let key = 2; key <= 30; key++) inputs.push(prompt(key));
    inputs.push(completed("t1", "cancelled"), lockFailed);
    for (let key = 2; key <= 30; key++)
      inputs.push(lockTaken, accepted(key), started(`t${key}`), completed(`t${key}`), lockFree);
    const run = rules(...inputs);
    expect(run.filter((line) => line.startsWith("send"))).toEqual(
      Array.from({ length: 30 }, (_, i) => `send ${i + 1} t-${i + 1}`),
    );
    expect(run.filter((line) => line.includes("cancelled"))).toEqual(["settle 1 cancelled"]);
    expect(run.filter((line) => line.includes("end_turn"))).toHaveLength(29);
  });

  test("B16 more than the bound is refused, the others stay", () => {
    const inputs: Input[] = [prompt(0), lockTaken, accepted(0), started("a")];
    for (let key = 1; key <= MAX_WAITING + 1; key++) inputs.push(prompt(key));
    expect(rules(...inputs).filter((line) => line.includes("queue-full"))).toEqual([
      `settle ${MAX_WAITING + 1} queue-full`,
    ]);
  });
});

describe("stop", () => {
  test("A5 cancel settles the running and all waiting prompts at once", () => {
    const run = rules(prompt(1), lockTaken, accepted(1), started("a"), prompt(2), prompt(3), {
      type: "cancel",
    });
    expect(run.filter((line) => line.includes("cancelled"))).toEqual([
      "settle 1 cancelled",
      "settle 2 cancelled",
      "settle 3 cancelled",
    ]);
  });

  test("A5 cancelling one waiting prompt stops nothing", () => {
    const run = rules(prompt(1), lockTaken, accepted(1), started("a"), prompt(2), prompt(3), {
      type: "cancel",
      key: 3,
    });
    expect(run.filter((line) => line.startsWith("stop"))).toHaveLength(1);
    expect(run.at(-1)).toBe("settle 3 cancelled");
  });

  test("B6 a stop before the turn holds the lock is kept and sent then", () => {
    const before: Input[] = [prompt(1), { type: "cancel" }];
    expect(rules(...before)).toEqual(["running", "send 1 t-1", "idle", "settle 1 cancelled", "abandon"]);
    expect(rules(...before, lockTaken)).toContain("stop -");
    expect(rules(...before, lockTaken, started("a"))).toContain("stop fg_a");
    expect(rules(...before, { type: "accepted", key: 1 })).toContain("stop -");
  });

  test("B6 a cancelled send that was refused leaves nothing to stop and frees the queue", () => {
    const run = rules(
      prompt(1),
      { type: "cancel" },
      { type: "refused", key: 1, busy: false, error: new Error("x") },
      prompt(2),
    );
    expect(run.at(-1)).toBe("send 2 t-2");
    expect(run.some((line) => line.startsWith("stop"))).toBe(false);
  });

  test("B6 a turn that does not stop is ended by closing its session, as the last resort", () => {
    const run = drive(prompt(1), lockTaken, accepted(1), started("a"), { type: "cancel" }, prompt(2), {
      type: "timer",
      name: "stop",
    });
    expect(run).toContain("reset");
    expect(run.at(-1)).toBe("send 2 t-2");
  });
});

describe("passing failures", () => {
  const fails = (turnId: string, kind: TurnFailure["kind"] = "network"): Input => ({
    type: "turnEnded",
    turnId,
    end: { kind: "failed", failure: { kind, message: "no" } },
  });
  const retry: Input = { type: "timer", name: "retry" };
  const first: Input[] = [prompt(1), lockTaken, accepted(1), started("t0"), fails("t0"), lockFailed];

  test("B9 are tried again with an id of their own, after the time and when the lock is free", () => {
    expect(rules(...first, retry)).toEqual(["running", "send 1 t-1", "notice retry", "send 1 t-1.1"]);
    // The time is over before the lock is free.
    const early = rules(...first.slice(0, -1), retry);
    expect(early).not.toContain("send 1 t-1.1");
    expect(rules(...first.slice(0, -1), retry, lockFailed)).toContain("send 1 t-1.1");
  });

  test("B9 five times with 1, 2, 4, 4 and 4 s between, then the failure is the answer", () => {
    const inputs: Input[] = [prompt(1)];
    for (let i = 0; i < 6; i++)
      inputs.push(lockTaken, accepted(1), started(`t${i}`), fails(`t${i}`), lockFailed, retry);
    let state = newTurnState("t");
    const waits: number[] = [];
    const said: string[] = [];
    for (const input of inputs) {
      const step = reduce(state, input);
      state = step.state;
      said.push(...step.effects.map(short));
      for (const effect of step.effects)
        if (effect.type === "timer" && effect.name === "retry") waits.push(effect.ms);
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 4_000, 4_000]);
    expect(said.filter((line) => line.startsWith("send"))).toHaveLength(6);
    expect(said.filter((line) => line.startsWith("settle"))).toEqual(["settle 1 failed"]);
  });

  test.each(["auth", "quota", "context", "captcha", "model", "other"] as const)(
    "B9 a failure of kind %s is not tried again",
    (kind) => {
      const run = rules(
        prompt(1),
        lockTaken,
        accepted(1),
        started("t0"),
        fails("t0", kind),
        lockFailed,
        retry,
      );
      expect(run.filter((line) => line.startsWith("send"))).toHaveLength(1);
      expect(run).toContain("settle 1 failed");
    },
  );

  test("B9 A5 a cancel or a new prompt between two tries ends them, with nothing to stop", () => {
    expect(rules(...first, { type: "cancel" }, retry)).toEqual([
      "running",
      "send 1 t-1",
      "notice retry",
      "idle",
      "settle 1 cancelled",
    ]);
    expect(rules(...first, prompt(2), retry).slice(-2)).toEqual(["settle 1 cancelled", "send 2 t-2"]);
  });

  test("B9 B6 a further try that is cancelled on its way and then refused leaves nothing to stop, like a first one", () => {
    const refused: Input = { type: "refused", key: 1, busy: true, error: new Error("busy") };
    const run = rules(...first, lockFree, retry, { type: "cancel" }, refused, prompt(2));
    expect(run.slice(-5)).toEqual(["idle", "settle 1 cancelled", "abandon", "running", "send 2 t-2"]);
  });
});

describe("what a person is told", () => {
  test("B7 an input that was folded into a running turn is told of, and ends with it", () => {
    const run = rules(
      prompt(1),
      accepted(1),
      { type: "steered", inputId: "t-1", targetTurnId: "n" },
      completed("n"),
    );
    expect(run).toContain("notice steered");
  });

  test("B7 M4 an input of somebody else's that was folded into a turn makes that turn nobody's of ours", () => {
    const theirs: Input = { type: "steered", inputId: "their-1", targetTurnId: "n" };
    const nameless: Input = { type: "steered", inputId: undefined, targetTurnId: "n" };
    for (const steered of [theirs, nameless]) {
      const notification = started("n", { notification: true, own: true });
      const run = rules(prompt(1), accepted(1), notification, steered, completed("n"));
      expect(run).toEqual(["running", "send 1 t-1"]);
    }
  });

  test("B16 a goal's turn is stopped by a prompt like any other, and one line says that the goal is paused", () => {
    const run = rules(
      started("g", { own: true, goal: true }),
      lockTaken,
      prompt(1),
      completed("g", "cancelled"),
      lockFailed,
    );
    expect(run.filter((line) => line !== "idle" && line !== "running")).toEqual([
      "notice goalPaused",
      "abandon",
      "stop fg_g",
      "send 1 t-1",
    ]);
  });

  test("B16 prompts that wait for a whole turn of another one are told so, in one line", () => {
    const running = [prompt(1), lockTaken, accepted(1), started("a")];
    const lines = (...inputs: Input[]) => rules(...running, ...inputs).filter((line) => /notice/.test(line));
    expect(lines(prompt(2))).toEqual([]);
    expect(lines(prompt(2), prompt(3), prompt(4))).toEqual(["notice waiting"]);
  });

  test("P28 several prompts behind one notification turn are one line", () => {
    const run = rules(started("n", { notification: true, own: true }), prompt(1), prompt(2), prompt(3));
    expect(run.filter((line) => line === "notice waiting")).toHaveLength(1);
  });
});

describe("busy and loss", () => {
  const busy = (key: number): Input => ({ type: "refused", key, busy: true, error: new Error("busy") });
  const retry: Input = { type: "timer", name: "busy" };

  test("P32 a busy answer is retried until the budget is used up", () => {
    const inputs: Input[] = [prompt(1)];
    for (let i = 0; i < 120; i++) inputs.push(busy(1), retry);
    expect(rules(...inputs).filter((line) => line.startsWith("send"))).toHaveLength(121);
    expect(rules(...inputs, busy(1))).toContain("settle 1 lost");
  });

  test("P32 the time that busy answers take counts, what came before the first one does not", () => {
    const slow = (took: number): Input => ({ type: "refused", key: 1, busy: true, error: new Error(), took });
    const inputs: Input[] = [prompt(1), slow(60_000), retry];
    for (let i = 0; i < 11; i++) inputs.push(slow(2_250), retry);
    expect(rules(...inputs)).not.toContain("settle 1 lost");
    expect(rules(...inputs).filter((line) => line.startsWith("notice"))).toEqual(["notice waiting"]);
    expect(rules(...inputs, slow(0), retry, slow(0))).not.toContain("settle 1 lost");
    expect(rules(...inputs, slow(2_250), retry, slow(0))).toContain("settle 1 lost");
  });

  test("P32 B16 who waits for a busy conversation for more than a moment is told so, in one line", () => {
    const inputs: Input[] = [prompt(1)];
    const lines = () => rules(...inputs).filter((line) => line.startsWith("notice"));
    for (let i = 0; i < 7; i++) inputs.push(busy(1), retry);
    expect(lines()).toEqual([]);
    for (let i = 0; i < 100; i++) inputs.push(busy(1), retry);
    expect(lines()).toEqual(["notice waiting"]);
  });

  test("P32 B16 a prompt whose wait was told is not told again when it turns out to wait for something else", () => {
    const inputs: Input[] = [
      started("n", { notification: true, own: false }),
      prompt(1),
      completed("n"),
      lockFree,
    ];
    for (let i = 0; i < 20; i++) inputs.push(busy(1), retry);
    expect(rules(...inputs).filter((line) => line.startsWith("notice"))).toEqual(["notice waiting"]);
  });

  test("B16 B22 who waits for a turn that does not stop is told so after a moment, once; who waits no more is not", () => {
    const told: Input = { type: "timer", name: "told" };
    const before = [prompt(1), accepted(1), lockTaken, started("a"), prompt(2)];
    const lines = (...after: Input[]) =>
      rules(...before, ...after).filter((line) => line.startsWith("notice"));
    expect(lines()).toEqual([]);
    expect(lines(told, told)).toEqual(["notice waiting"]);
    expect(lines(completed("a", "cancelled"), lockFree, told)).toEqual([]);
    expect(lines({ type: "cancel" }, told)).toEqual([]);
  });

  test("P32 B16 a refusal that comes as the end of a turn which never was is a busy answer", () => {
    const word = (turnId?: string): Input => ({
      type: "turnEnded",
      turnId,
      end: { kind: "failed", failure: { kind: "other", message: "prompt is running" } },
      busy: new Error("busy"),
    });
    // Before its send is answered, behind it, and while a notification turn runs; with or without a turn's name.
    for (const before of [
      [prompt(1)],
      [prompt(1), accepted(1)],
      [prompt(1), started("n", { notification: true })],
    ])
      for (const turnId of [undefined, "never"]) {
        const run = rules(...before, word(turnId), lockFailed, accepted(1), retry, accepted(1), lockTaken);
        expect(run.filter((line) => line.startsWith("send"))).toHaveLength(2);
        expect(run.filter((line) => line.startsWith("settle"))).toEqual([]);
      }
    const long: Input[] = [prompt(1)];
    for (let i = 0; i < 200; i++) long.push(word(), retry);
    expect(rules(...long)).toContain("settle 1 lost");
    // A turn that did begin has failed, whatever the words.
    expect(rules(prompt(1), accepted(1), started("t"), word("t"), lockFailed)).toContain("settle 1 failed");
  });

  test("P32 B7 the time that a notification turn took is not taken from the time behind it", () => {
    const inputs: Input[] = [prompt(1), started("n", { notification: true, own: true })];
    for (let i = 0; i < 200; i++) inputs.push(busy(1), retry);
    expect(rules(...inputs, completed("n"), busy(1), retry, accepted(1))).not.toContain("settle 1 lost");
  });

  test("A5 P32 B7 a cancel between two busy tries has nothing to stop, and holds up nothing", () => {
    const notification = started("n", { notification: true, own: true });
    const escalation: Input = { type: "timer", name: "stop" };
    for (const met of [[], [notification]]) {
      const run = rules(prompt(1), ...met, busy(1), { type: "cancel" }, escalation);
      expect(run.filter((line) => /stop|reset|settle/.test(line))).toEqual(["settle 1 cancelled"]);
    }
    expect(rules(prompt(1), busy(1), { type: "cancel" }, prompt(2))).toContain("send 2 t-2");
  });

  test("B16 a prompt that met a goal's turn on its way stops it, and runs then", () => {
    const goal = started("g", { own: true, goal: true });
    const run = rules(prompt(1), lockTaken, goal, busy(1), completed("g", "cancelled"), lockFailed);
    expect(run.filter((line) => /notice|stop|send|settle/.test(line))).toEqual([
      "send 1 t-1",
      "notice goalPaused",
      "stop fg_g",
      "send 1 t-1",
    ]);
  });

  test("B10 what a crash cut is answered, what waited goes on", () => {
    const run = rules(prompt(1), lockTaken, accepted(1), started("a"), prompt(2), {
      type: "lost",
      error: new Error("died"),
    });
    expect(run.filter((line) => line.startsWith("settle") || line.startsWith("send"))).toEqual([
      "send 1 t-1",
      "settle 1 cancelled",
      "send 2 t-2",
    ]);
    expect(rules(prompt(1), accepted(1), { type: "lost", error: new Error("died") })).toContain(
      "settle 1 lost",
    );
  });
});

describe("a compaction", () => {
  const compact: Input = { type: "compact" };
  const answered: Input = { type: "compactAnswered" };
  const compactStarted: Input = { type: "lockTaken", compaction: true };
  const cancel: Input = { type: "cancel" };

  test("B22 is waited for: prompts behind it are told once, never stop it, and run in order", () => {
    const run = rules(compact, compactStarted, started("c", { own: true }), answered, prompt(1), prompt(2));
    expect(run).toEqual(["running", "notice waiting"]);
    const rest = [completed("c"), lockFree, accepted(1), started("a"), completed("a"), lockFree];
    expect(
      rules(compact, compactStarted, started("c"), prompt(1), prompt(2), ...rest).filter((line) =>
        /send|stop|settle/.test(line),
      ),
    ).toEqual(["send 1 t-1", "settle 1 end_turn", "send 2 t-2"]);
  });

  test("B22 a prompt that met it on its way goes back to the head of the queue", () => {
    const busy: Input = { type: "refused", key: 1, busy: true, error: new Error("busy") };
    const run = rules(prompt(1), compactStarted, started("c", { own: true }), busy, completed("c"), lockFree);
    expect(run.filter((line) => !/running|idle/.test(line))).toEqual(["send 1 t-1", "send 1 t-1"]);
  });

  test("B6 a cancel ends the prompts that wait and leaves it alone", () => {
    const run = rules(compact, compactStarted, started("c"), prompt(1), cancel, completed("c"), lockFree);
    expect(run.filter((line) => /send|stop|settle|reset/.test(line))).toEqual(["settle 1 cancelled"]);
  });

  test("B22 one that was refused, or was answered without having begun, holds up nothing", () => {
    expect(rules(compact, prompt(1), answered)).toContain("send 1 t-1");
    expect(rules(compact, prompt(1), { type: "lost", error: new Error("x") })).toContain("send 1 t-1");
    // One that has begun is not over with the answer to the request.
    expect(rules(compact, compactStarted, prompt(1), answered)).not.toContain("send 1 t-1");
    expect(rules(compact, compactStarted, prompt(1), answered, lockFree)).toContain("send 1 t-1");
  });

  test("B22 is not asked for while anything runs or waits", () => {
    expect(rules(prompt(1), compact, lockTaken, accepted(1), started("a"), prompt(2))).toContain("stop fg_a");
  });
});

describe("ends that come early, late or again", () => {
  test("P9 P28 the last word of a turn that is over sets no time to the next prompt, and a nameless end under a notification turn ends none", () => {
    const next = [prompt(2), accepted(2)];
    for (const before of [
      [prompt(1), accepted(1), started("a"), completed("a"), lockFree, ...next],
      [prompt(1), accepted(1), started("a"), lockFree, ...next],
      [prompt(1), accepted(1), started("a"), { type: "gone" } as const, ...next],
    ]) {
      const late = drive(...before, completed("a")).slice(drive(...before).length);
      expect(late).toEqual([]);
    }
    const notification = started("n", { notification: true, own: true });
    expect(rules(prompt(1), accepted(1), notification, completed(undefined))).toEqual([
      "running",
      "send 1 t-1",
    ]);
  });

  test("P9 the end of an earlier turn, told again later, settles nothing", () => {
    const run = rules(
      prompt(1),
      accepted(1),
      started("a"),
      completed("a"),
      lockFree,
      started("n", { notification: true }),
      completed("n"),
      prompt(2),
      accepted(2),
      completed("a"),
      completed("n"),
    );
    expect(run.filter((line) => line.startsWith("settle"))).toEqual(["settle 1 end_turn"]);
  });

  test("P9 B22 an end before the answer to the send is waited for a moment, and is the end where nothing begins", () => {
    const quiet: Input = { type: "timer", name: "quiet" };
    expect(rules(prompt(1), lockFree, accepted(1))).not.toContain("settle 1 end_turn");
    expect(rules(prompt(1), lockFree, accepted(1), quiet)).toContain("settle 1 end_turn");
    expect(rules(prompt(1), lockFailed, accepted(1), quiet)).toContain("settle 1 failed");
    expect(rules(prompt(1), completed("x"), accepted(1), quiet)).toContain("settle 1 end_turn");
    // It was a late word of an earlier turn: ours begins, and ends by itself.
    expect(drive(prompt(1), lockFree, accepted(1), started("a"))).not.toContain("settle 1 end_turn");
    expect(rules(prompt(1), lockFree, accepted(1), started("a"), completed("a"))).toContain(
      "settle 1 end_turn",
    );
  });

  test("P9 M4 an end of a turn that nobody knows, before the prompt's own began, is waited for, and is all it said where nothing begins", () => {
    const quiet: Input = { type: "timer", name: "quiet" };
    const begun = [prompt(1), accepted(1)];
    expect(rules(...begun, completed("x"))).not.toContain("settle 1 end_turn");
    expect(drive(...begun, completed("x"))).toContain("timer quiet");
    expect(rules(...begun, completed("x"), quiet)).toContain("settle 1 end_turn");
    expect(rules(...begun, completed("x", "error_max_turns"), quiet)).toContain("settle 1 max_turn_requests");
    expect(rules(...begun, completed("x", "error_max_turns"), lockFree)).toContain(
      "settle 1 max_turn_requests",
    );
    expect(rules(...begun, completed("x"), lockFailed)).toContain("settle 1 failed");
    // What begins then is not over yet, and ends in its own way.
    for (const beginning of [[started("a")], [lockTaken, started("a")]]) {
      const run = rules(...begun, completed("x", "error_max_turns"), ...beginning);
      expect(run.join()).not.toContain("settle");
      expect(rules(...begun, completed("x", "error_max_turns"), ...beginning, completed("a"))).toContain(
        "settle 1 end_turn",
      );
    }
    // Nor does a turn of the backend's own in between take the wait away.
    const between = started("n", { notification: true, own: true });
    const run = drive(...begun, completed("x"), between, completed("n"));
    expect(run.at(-1)).toBe("timer quiet");
  });

  test("P9 M4 what such an end said is forgotten where the prompt's own beginning is told, and at each further try", () => {
    const quiet = "timer quiet";
    const odd = completed("x", "error_max_turns");
    const begun = [prompt(1), accepted(1), odd];
    // The lock was taken for the prompt, whose turn says no word more.
    expect(rules(...begun, lockTaken, lockFree)).toContain("settle 1 end_turn");
    // Nor does the turn that has begun end in another's words, where only the lock tells of its end.
    expect(rules(...begun, started("a"), lockFree)).toContain("settle 1 end_turn");
    // A compaction is no beginning of the prompt's.
    expect(rules(...begun, { type: "lockTaken", compaction: true }, lockFree)).toContain(
      "settle 1 max_turn_requests",
    );
    // A try that failed for a passing reason, a busy answer: the next one begins anew.
    const passing: Input = {
      type: "turnEnded",
      turnId: "y",
      end: { kind: "failed", failure: { kind: "network", message: "no" } },
    };
    const again: Input = { type: "timer", name: "retry" };
    const busyTime: Input = { type: "timer", name: "busy" };
    const busyWord: Input = {
      type: "turnEnded",
      turnId: undefined,
      end: { kind: "failed", failure: { kind: "other", message: "prompt is running" } },
      busy: new Error("busy"),
    };
    const busy: Input = { type: "refused", key: 1, busy: true, error: new Error("busy") };
    for (const before of [
      [prompt(1), accepted(1), passing, lockFailed, again],
      [...begun, started("a"), { ...passing, turnId: "a" }, lockFailed, again],
      [...begun, busyWord, busyTime],
      [prompt(1), busy, odd, busyTime],
    ]) {
      const next = drive(...before, accepted(1)).slice(drive(...before).length);
      expect(next).not.toContain(quiet);
      expect(rules(...before, accepted(1), lockFree).at(-1)).toBe("settle 1 end_turn");
    }
  });

  test("P9 B22 an end that failed keeps its own words when the lock says the same, and a beginning has five seconds", () => {
    let state = newTurnState("t");
    const effects: Effect[] = [];
    for (const input of [prompt(1), accepted(1), failed("x"), lockFailed]) {
      const step = reduce(state, input);
      state = step.state;
      effects.push(...step.effects);
    }
    expect(effects).toContainEqual({ type: "timer", name: "quiet", ms: 5_000 });
    const failure = { kind: "other", message: "no" } as const;
    expect(effects).toContainEqual({ type: "settle", key: 1, outcome: { kind: "failed", failure } });
  });

  test("P9 B22 what such an end said is kept where the lock's word comes before the answer to the send, and a lock's later word counts", () => {
    const quiet: Input = { type: "timer", name: "quiet" };
    const odd = completed("x", "error_max_turns");
    expect(rules(prompt(1), odd, lockFree, accepted(1), quiet)).toContain("settle 1 max_turn_requests");
    expect(rules(prompt(1), odd, lockFailed, accepted(1), quiet)).toContain("settle 1 failed");
    // The lock of the turn before was let go late; the prompt's own turn ends well.
    expect(rules(prompt(1), lockFailed, accepted(1), lockFree)).toContain("settle 1 end_turn");
    expect(rules(prompt(1), lockFailed, accepted(1), started("a"), lockFree)).toContain("settle 1 end_turn");
  });

  test("P9 B22 the time of such an end does not run on under the turn that begins, whether or not the lock is told", () => {
    const armed = (...inputs: Input[]) => {
      let state = newTurnState("t");
      const timers = new Set<string>();
      for (const input of inputs) {
        const step = reduce(state, input);
        state = step.state;
        for (const effect of step.effects) {
          if (effect.type === "timer") timers.add(effect.name);
          if (effect.type === "clearTimer") timers.delete(effect.name);
        }
      }
      return timers.has("quiet");
    };
    const begun = [prompt(1), accepted(1), completed("x")];
    expect(armed(...begun)).toBe(true);
    expect(armed(...begun, started("a"))).toBe(false);
    expect(armed(...begun, lockTaken)).toBe(false);
    // Nor does that of an earlier turn under a send.
    const own = started("g", { own: true });
    expect(armed(own, completed("g"))).toBe(true);
    expect(armed(own, completed("g"), prompt(1))).toBe(false);
    const passing = { kind: "failed", failure: { kind: "network", message: "no" } } as const;
    const failing: Input[] = [
      prompt(1),
      started("a", { inputId: "t-1" }),
      { type: "turnEnded", turnId: "a", end: passing },
    ];
    expect(armed(...failing)).toBe(true);
    expect(armed(...failing, { type: "timer", name: "retry" })).toBe(false);
  });

  test("P9 P28 while its send is not answered, or another turn runs, no time is set to a prompt whose end seems to have come", () => {
    expect(drive(prompt(1), completed("x"))).not.toContain("timer quiet");
    const notification = started("n", { notification: true, own: true });
    expect(drive(prompt(1), accepted(1), notification, completed("x"))).not.toContain("timer quiet");
  });

  test("B22 a lock that is free before the send was answered ends the turn that had begun", () => {
    expect(rules(prompt(1), started("a", { inputId: "t-1" }), lockFree, accepted(1), prompt(2))).toEqual([
      "running",
      "send 1 t-1",
      "idle",
      "settle 1 end_turn",
      "running",
      "send 2 t-2",
    ]);
  });
});

describe("what cannot be stopped", () => {
  const refused = (key: number): Input => ({ type: "refused", key, busy: true, error: new Error("busy") });
  const cancel: Input = { type: "cancel" };
  const lastResort: Input = { type: "timer", name: "stop" };
  const notification = started("n", { notification: true, own: true });

  test("P28 A5 a prompt that is cancelled between two busy answers has nothing to stop, and holds up nothing", () => {
    for (const running of [[], [notification]]) {
      const run = drive(prompt(1), ...running, refused(1), cancel, lastResort, completed("n"), prompt(2));
      expect(run.filter((line) => /stop|reset|settle/.test(line))).toEqual(["settle 1 cancelled"]);
      expect(run.at(-1)).toBe("send 2 t-2");
    }
  });

  test("P28 A5 nor has one whose busy answer comes after its cancel, behind a notification turn", () => {
    const run = rules(prompt(1), notification, cancel, refused(1), lastResort, completed("n"), prompt(2));
    expect(run.filter((line) => /stop|reset/.test(line))).toEqual([]);
    expect(run.at(-1)).toBe("send 2 t-2");
  });

  test("P28 B6 B8 the last resort waits for a notification turn, unless that one is silent for too long", () => {
    const before: Input[] = [prompt(1), lockTaken, accepted(1), notification, cancel, lastResort];
    expect(rules(...before)).not.toContain("reset");
    expect(drive(...before).at(-1)).toBe("timer stop");
    expect(rules(...before, { type: "silent" }, lastResort)).toContain("reset");
    expect(rules(notification, { type: "silent" }, lastResort)).toContain("reset");
  });
});

describe("a session that was dropped", () => {
  test("B5 P9 what ran in it has ended, and the next prompt goes out; what is on its way to it goes on", () => {
    const ran = rules(prompt(1), lockTaken, accepted(1), started("a"), { type: "gone" }, prompt(2));
    expect(ran).toContain("settle 1 end_turn");
    expect(ran.at(-1)).toBe("send 2 t-2");
    expect(rules(prompt(1), { type: "gone" })).toEqual(["running", "send 1 t-1"]);
    expect(rules(notificationTurn, { type: "gone" }, prompt(1)).at(-1)).toBe("send 1 t-1");
  });

  const notificationTurn = started("n", { notification: true, own: true });
});

describe("a lock that nothing of ours holds", () => {
  for (const compaction of [false, true]) {
    test(`B22 ${compaction ? "for a compaction" : "for a turn"} that never shows is not waited for without end`, () => {
      const before: Input[] = [{ type: "lockTaken", compaction }, prompt(1)];
      expect(drive(...before)).toContain("timer lock");
      expect(rules(...before)).not.toContain("send 1 t-1");
      expect(rules(...before, { type: "timer", name: "lock" }).at(-1)).toBe("send 1 t-1");
    });
  }

  test("B22 a turn that shows is waited for as long as it runs", () => {
    const run = rules({ type: "lockTaken" }, started("g", { own: true }), { type: "timer", name: "lock" });
    expect(run).toEqual(["running"]);
  });
});
