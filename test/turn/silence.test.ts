import { describe, expect, test } from "bun:test";
import { FROZEN_MS, LOOK_MS, PROGRESS_MS } from "../../src/turn/limits.ts";
import { answered, heard, look, newSilence, progressDue } from "../../src/turn/silence.ts";

const nothing = { openTool: false, openQuestion: false };

describe("B8 a silent turn", () => {
  test("B8 is not looked at before it has been silent for a look's time", () => {
    expect(look(newSilence(0), LOOK_MS - 1, nothing).result).toBe("quiet");
    expect(look(heard(1_000), LOOK_MS, nothing).result).toBe("quiet");
    expect(look(newSilence(0), LOOK_MS, nothing).result).toBe("ask");
  });

  test("B8 lives without limit while a tool or a question is open, and nobody is asked", () => {
    let silence = newSilence(0);
    for (let now = LOOK_MS; now < 100 * FROZEN_MS; now += FROZEN_MS / 4) {
      const found = look(silence, now, { openTool: now % 2 === 0, openQuestion: now % 2 !== 0 });
      expect(found.result).toBe("alive");
      silence = found.silence;
    }
  });

  test("B8 lives while its numbers move, and the time of standing still counts from the last move", () => {
    let silence = newSilence(0);
    for (let i = 1; i <= 200; i++) {
      const step = answered(silence, i * LOOK_MS, `[${i}]`);
      expect(step.result).toBe("alive");
      silence = step.silence;
    }
    const start = 201 * LOOK_MS;
    const first = answered(silence, start, "[200]");
    expect(first.result).toBe("frozen");
    expect(answered(first.silence, start + FROZEN_MS - 1, "[200]").result).toBe("frozen");
    expect(answered(first.silence, start + FROZEN_MS, "[200]").result).toBe("end");
    const moved = answered(first.silence, start + FROZEN_MS, "[201]");
    expect(moved.result).toBe("alive");
    expect(answered(moved.silence, start + FROZEN_MS + LOOK_MS, "[201]").result).toBe("frozen");
  });

  test("B8 a backend that does not answer a look proves no life, and ends no turn earlier", () => {
    const first = answered(newSilence(0), LOOK_MS, undefined);
    expect(first.result).toBe("frozen");
    expect(answered(first.silence, FROZEN_MS, undefined).result).toBe("frozen");
    expect(answered(first.silence, LOOK_MS + FROZEN_MS, undefined).result).toBe("end");
  });

  test("B8 an open tool between two looks starts the time anew", () => {
    const frozen = answered(newSilence(0), LOOK_MS, undefined).silence;
    const { silence } = look(frozen, FROZEN_MS, { openTool: true, openQuestion: false });
    expect(answered(silence, LOOK_MS + FROZEN_MS, undefined).result).toBe("frozen");
  });

  test("B8 shows a sign of life at least once a minute", () => {
    let silence = newSilence(0);
    const told: number[] = [];
    for (let now = LOOK_MS; now <= 10 * 60_000; now += LOOK_MS) {
      const step = progressDue(silence, now);
      silence = step.silence;
      if (step.due) told.push(now);
    }
    expect(told[0]).toBe(PROGRESS_MS);
    for (let i = 1; i < told.length; i++) expect(told[i]! - told[i - 1]!).toBeLessThanOrEqual(60_000);
  });
});
