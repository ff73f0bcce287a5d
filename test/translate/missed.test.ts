/** Whatever a session's events had told when they broke off, its history adds the rest: all of it, once, in order. */

import { expect, test } from "bun:test";
import type { Obj } from "../../src/platform/json.ts";
import {
  cutOpenCards,
  newTranslateState,
  type TranslateState,
  translateEvent,
} from "../../src/translate/events.ts";
import { lastMessageId, missedUpdates } from "../../src/translate/missed.ts";
import type { Update } from "../../src/translate/updates.ts";
import { eachSeed, type Random, someText, someValue, WRONG_VALUES } from "../support/random.ts";

type Step =
  | {
      readonly kind: "started";
      readonly messageId: string;
      readonly notification: boolean;
      readonly words: string;
    }
  | { readonly kind: "event"; readonly type: string; readonly payload: Obj }
  | { readonly kind: "over" };

interface Told {
  readonly steps: Step[];
  readonly history: Obj[];
}

/** A conversation as its events tell it, and as it is stored when all of it has happened. */
function conversation(random: Random): Told {
  const steps: Step[] = [];
  const history: Obj[] = [];
  let ids = 0;
  for (let turn = 0; turn < random.int(1, 3); turn++) {
    const notification = random.chance(0.25);
    const asked = `u${++ids}`;
    const words = `asked ${ids}`;
    steps.push({ kind: "started", messageId: asked, notification, words });
    history.push({
      info: {
        messageId: asked,
        role: "user",
        ...(notification ? { semantics: { transcriptVisibility: "hidden" } } : {}),
      },
      parts: [{ type: "text", text: words }],
    });
    for (let message = 0; message < random.int(0, 3); message++) {
      const id = `m${++ids}`;
      const parts: Obj[] = [];
      for (let i = 0; i < random.int(1, 4); i++) {
        const what = random.pick(["text", "reasoning", "tool"]);
        if (what === "tool") parts.push(tool(steps, `c${++ids}`, id));
        else parts.push({ type: what, text: said(random, steps, what, id, `${++ids}`) });
      }
      history.push({ info: { messageId: id, role: "assistant" }, parts });
    }
    steps.push({ kind: "over" });
  }
  return { steps, history };
}

function said(random: Random, steps: Step[], what: string, id: string, mark: string): string {
  const pieces = random.times(random.int(1, 3), (i) => `<${mark}.${i}>${someText(random, 3)}`);
  for (const delta of pieces) {
    const kind = what === "text" ? "text_delta" : "reasoning_delta";
    steps.push({ kind: "event", type: "model.streaming", payload: { kind, assistantMessageId: id, delta } });
  }
  return pieces.join("");
}

function tool(steps: Step[], callId: string, id: string): Obj {
  const input = { file_path: "/w/a.ts" };
  const output = `out of ${callId}`;
  const event = (type: string, payload: Obj) => steps.push({ kind: "event", type, payload });
  event("model.streaming", {
    kind: "tool_call",
    toolCallId: callId,
    toolName: "Read",
    input,
    assistantMessageId: id,
  });
  event("tool.updated", { kind: "scheduled", toolCallId: callId, toolName: "Read", input });
  event("tool.updated", { kind: "started", toolCallId: callId });
  event("tool.updated", { kind: "result", toolCallId: callId, result: { success: true, content: output } });
  return { type: "tool", callId, tool: "Read", state: { status: "completed", input, output } };
}

/** Plays steps as the bridge does; the person's own words are on their client's screen already. */
function play(state: TranslateState, steps: readonly Step[], see: (update: Update) => void): void {
  for (const step of steps) {
    if (step.kind === "started") {
      state.shown.turnStarted(step.messageId, step.notification);
    } else if (step.kind === "over") {
      for (const update of translateEvent(state, "turn.completed", {})) see(update);
    } else {
      for (const update of translateEvent(state, step.type, step.payload)) see(update);
    }
  }
}

class Screen {
  readonly texts = { agent: "", thought: "", user: "" };
  readonly opened: string[] = [];
  readonly status = new Map<string, string>();
  readonly order: string[] = [];

  readonly see = (update: Update): void => {
    if (update.kind === "text") {
      this.texts[update.role] += update.text;
      for (const mark of update.text.match(/<\d+\.\d+>/g) ?? []) this.order.push(mark);
    } else if (update.kind === "tool") {
      if (update.change === "opened") this.opened.push(update.card.id);
      // A call that was seen to end is not told again.
      expect(this.status.get(update.card.id)).not.toBe("completed");
      this.status.set(update.card.id, update.card.status);
    }
  };
}

const CWD = "/w";

test("B5 P6 P7 whatever the events had told when the session went, its history adds the rest, once and in order", () => {
  eachSeed(400, (random) => {
    const { steps, history } = conversation(random);
    const whole = new Screen();
    play(newTranslateState(CWD, "en"), steps, whole.see);

    const screen = new Screen();
    const state = newTranslateState(CWD, "en");
    let told = 0;
    // It goes several times, also without having said anything in between.
    for (let time = 0; time < random.int(1, 3); time++) {
      const cut = random.int(told, steps.length);
      play(state, steps.slice(told, cut), screen.see);
      told = cut;
      for (const update of cutOpenCards(state)) screen.see(update);
      // What is stored by then: all that was told, and perhaps more.
      const least = storedAt(steps, history, cut);
      const stored = history.slice(0, random.int(least, history.length));
      for (const update of missedUpdates(state, stored)) screen.see(update);
      state.shown.reset(lastMessageId(stored));
      // A turn that was cut off goes on no more: the next begins with the next message of a person or of the agent.
      told = Math.max(told, stepOf(steps, history, stored.length));
      if (stored.length < history.length && history[stored.length]!.info !== undefined) {
        const next = history[stored.length] as { info: { role: string } };
        if (next.info.role !== "user") break;
      }
    }
    for (const role of ["agent", "thought"] as const)
      expect(whole.texts[role].startsWith(screen.texts[role])).toBe(true);
    // A person's own words come back only where no event and no prompt of ours told of them.
    for (const id of screen.opened) expect(screen.opened.filter((other) => other === id)).toEqual([id]);
    expect(screen.order).toEqual(whole.order.slice(0, screen.order.length));
    for (const status of screen.status.values()) expect(["completed", "failed"]).toContain(status);
  });
});

test("B5 P6 P7 with the whole history stored nothing is missing after it, wherever the events broke off", () => {
  eachSeed(400, (random) => {
    const { steps, history } = conversation(random);
    const whole = new Screen();
    play(newTranslateState(CWD, "en"), steps, whole.see);
    for (let cut = 0; cut <= steps.length; cut += random.int(1, 3)) {
      const screen = new Screen();
      const state = newTranslateState(CWD, "en");
      play(state, steps.slice(0, cut), screen.see);
      for (const update of cutOpenCards(state)) screen.see(update);
      for (const update of missedUpdates(state, history)) screen.see(update);
      state.shown.reset(lastMessageId(history));
      // Questions of turns that no event told of were asked elsewhere.
      const unheard = steps
        .slice(cut)
        .flatMap((step) => (step.kind === "started" && !step.notification ? [step.words] : []));
      expect(screen.texts).toEqual({ ...whole.texts, user: unheard.join("") });
      expect(screen.order).toEqual(whole.order);
      expect(screen.opened.toSorted()).toEqual(whole.opened.toSorted());
      expect([...screen.status.values()].filter((status) => status !== "completed")).toEqual([]);
      // Once more there is nothing left to tell.
      expect([...missedUpdates(state, history)]).toEqual([]);
    }
  });
});

test("B8 B5 what a silent turn has said and was not heard is told from what was, also where it is long or was cut in a character", () => {
  const rest = (pieces: readonly string[], whole: string) => {
    const state = newTranslateState(CWD, "en");
    state.shown.turnStarted("u1", false);
    for (const delta of pieces)
      translateEvent(state, "model.streaming", { kind: "text_delta", assistantMessageId: "m1", delta });
    const history = [
      { info: { messageId: "m1", role: "assistant" }, parts: [{ type: "text", text: whole }] },
    ];
    return [...missedUpdates(state, history)].map((update) =>
      update.kind === "text" ? update.text : update.kind,
    );
  };
  const long = "x".repeat(100_000);
  expect(rest(["ab", "c"], "abcd")).toEqual(["d"]);
  expect(rest([], "abc")).toEqual(["abc"]);
  expect(rest(["abc"], "abc")).toEqual([]);
  expect(rest([long], `${long}rest`)).toEqual(["rest"]);
  expect(rest(["a\ud83d", "\ude42"], "a🙂b")).toEqual(["b"]);
});

test("B5 B15 histories of any shape are caught up on without an error", () => {
  eachSeed(300, (random) => {
    const { steps, history } = conversation(random);
    const state = newTranslateState(CWD, "en");
    play(state, steps.slice(0, random.int(0, steps.length)), () => {});
    cutOpenCards(state);
    const broken = history.flatMap((message): unknown[] => {
      if (random.chance(0.2)) return [random.pick(WRONG_VALUES)];
      if (random.chance(0.2)) return [message, message];
      if (random.chance(0.2)) return [{ ...message, info: someValue(random) }];
      if (random.chance(0.2))
        return [{ ...message, parts: [someValue(random), ...(message.parts as unknown[])] }];
      return [message];
    });
    for (const update of missedUpdates(state, broken)) expect(update.kind).toBeString();
    expect(() => lastMessageId(broken)).not.toThrow();
  });
});

test("B5 B15 what is caught up on brings no plumbing, and no card is left open or loses the end that is stored", () => {
  const state = newTranslateState(CWD, "en");
  state.shown.turnStarted("u1", false);
  const head = { toolCallId: "c1", toolName: "Read" };
  translateEvent(state, "tool.updated", { kind: "scheduled", ...head, input: { file_path: "/w/a.ts" } });
  const call = (callId: string, status: string) => ({
    type: "tool",
    callId,
    tool: "Read",
    state: { status, input: { file_path: "/w/a.ts" }, output: "lines" },
  });
  const hidden = { semantics: { transcriptVisibility: "hidden" } };
  const text = (words: string) => [{ type: "text", text: words }];
  const history = [
    { info: { messageId: "u1", role: "user" }, parts: text("go") },
    { info: { messageId: "m1", role: "assistant" }, parts: [call("c1", "completed"), call("c2", "running")] },
    { info: { messageId: "h1", role: "user", ...hidden }, parts: text("secret") },
    { info: { messageId: "h2", role: "assistant", ...hidden }, parts: text("secret") },
    { info: { messageId: "h3", role: "assistant", summary: { title: "so far" } }, parts: text("secret") },
    { info: { messageId: "m2", role: "assistant" }, parts: text("Done.") },
  ];
  const screen = new Screen();
  for (const update of missedUpdates(state, history)) screen.see(update);
  expect(screen.texts).toEqual({ agent: "Done.", thought: "", user: "" });
  expect([...screen.status]).toEqual([
    ["c1", "completed"],
    ["c2", "failed"],
  ]);
});

/** How many messages are stored, at least, when these steps have happened. */
function storedAt(steps: readonly Step[], history: readonly Obj[], cut: number): number {
  const named = new Set<unknown>();
  for (const step of steps.slice(0, cut)) {
    if (step.kind === "started") named.add(step.messageId);
    else if (step.kind === "event") named.add(step.payload.assistantMessageId);
  }
  return history.findLastIndex((message) => named.has((message.info as Obj).messageId)) + 1;
}

/** The step with which the message at `place` begins. */
function stepOf(steps: readonly Step[], history: readonly Obj[], place: number): number {
  if (place >= history.length) return steps.length;
  const id = (history[place]!.info as Obj).messageId;
  const found = steps.findIndex(
    (step) =>
      (step.kind === "started" && step.messageId === id) ||
      (step.kind === "event" && step.payload.assistantMessageId === id),
  );
  return found < 0 ? steps.length : found;
}
