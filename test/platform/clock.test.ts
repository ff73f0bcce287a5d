import { expect, test } from "bun:test";
import {
  awakeClock,
  type Clock,
  DeadlineError,
  scaledClock,
  sleep,
  systemClock,
  withDeadline,
} from "../../src/platform/clock.ts";

/** Time that moves when the test says so. */
class ManualClock implements Clock {
  time = 1_000;
  private timers: { at: number; run: () => void; every: number | undefined }[] = [];

  now(): number {
    return this.time;
  }

  mono(): number {
    return this.time;
  }

  after(ms: number, run: () => void) {
    return this.add(ms, run, undefined);
  }

  every(ms: number, run: () => void) {
    return this.add(ms, run, ms);
  }

  get pending(): number {
    return this.timers.length;
  }

  advance(ms: number): void {
    const end = this.time + ms;
    for (;;) {
      const next = this.timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.time = Math.max(this.time, next.at);
      if (next.every === undefined) this.timers = this.timers.filter((timer) => timer !== next);
      else next.at += next.every;
      next.run();
    }
    this.time = end;
  }

  private add(ms: number, run: () => void, every: number | undefined) {
    const timer = { at: this.time + ms, run, every };
    this.timers.push(timer);
    return {
      cancel: () => {
        this.timers = this.timers.filter((other) => other !== timer);
      },
    };
  }
}

test("a scaled clock shortens waits and hurries monotonic time; wall time stays true", () => {
  const base = new ManualClock();
  const fast = scaledClock(base, 60);
  const fired: number[] = [];
  fast.after(60_000, () => fired.push(base.time));
  const timer = fast.every(6_000, () => fired.push(-base.time));
  const before = fast.mono();
  base.advance(1_000);
  expect(fast.mono() - before).toBe(60_000);
  expect(fast.now()).toBe(2_000);
  expect(fired.filter((at) => at > 0)).toEqual([2_000]);
  expect(fired.filter((at) => at < 0)).toHaveLength(10);
  timer.cancel();
  base.advance(1_000);
  expect(fired).toHaveLength(11);
});

test("a factor that is none is the base clock itself", () => {
  const base = new ManualClock();
  for (const factor of [1, 0, -3, Number.NaN]) expect(scaledClock(base, factor)).toBe(base);
});

test("sleep ends by time or at once by its signal, and leaves no timer behind", async () => {
  const clock = new ManualClock();
  const slept = sleep(clock, 500);
  clock.advance(500);
  expect(await slept).toBe(true);
  const stop = new AbortController();
  const cut = sleep(clock, 500, stop.signal);
  stop.abort();
  expect(await cut).toBe(false);
  expect(await sleep(clock, 500, stop.signal)).toBe(false);
  expect(clock.pending).toBe(0);
});

test("a deadline lets the work through, or rejects with what took too long", async () => {
  const clock = new ManualClock();
  expect(await withDeadline(clock, 100, "reading", Promise.resolve(7))).toBe(7);
  await expect(withDeadline(clock, 100, "reading", Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(clock.pending).toBe(0);
  const late = withDeadline(clock, 100, "reading", new Promise(() => {}));
  clock.advance(100);
  const error = await late.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(DeadlineError);
  expect(error).toMatchObject({ what: "reading", ms: 100 });
});

test("the system's clock runs forward and forgets what is cancelled", async () => {
  const clock = systemClock();
  const before = clock.mono();
  const never = clock.after(0, () => {
    throw new Error("cancelled timers do not run");
  });
  never.cancel();
  await new Promise<void>((resolve) => clock.after(1, resolve));
  await new Promise<void>((resolve) => {
    const timer = clock.every(1, () => {
      timer.cancel();
      resolve();
    });
  });
  expect(clock.mono()).toBeGreaterThan(before);
  expect(Math.abs(clock.now() - Date.now())).toBeLessThan(10_000);
});

test("D9 what waits when the machine falls asleep waits on for what was left, and time asleep is no time", () => {
  for (const gap of [41_000, 60_000, 8 * 3_600_000]) {
    for (const slept of [500, 4_000, 9_999, 10_001, 25_000]) {
      const base = new ManualClock();
      const clock = awakeClock(base);
      const began = clock.mono();
      const ran: string[] = [];
      clock.after(15_000, () => ran.push("look"));
      clock.after(30_000, () => ran.push("busy"));
      clock.after(600_000, () => ran.push("silence"));
      base.advance(slept);
      const before = [...ran];
      // Nothing runs meanwhile; then everything that is overdue comes at once.
      base.time += gap;
      base.advance(0);
      expect(ran).toEqual(before);
      let woken = 0;
      const until = (ms: number) => {
        base.advance(ms - woken);
        woken = ms;
      };
      until(Math.max(0, 15_000 - slept - 1));
      expect(ran).toEqual(before);
      until(25_001);
      expect(ran).toContain("look");
      until(40_001);
      expect(ran).toEqual(["look", "busy"]);
      until(600_000 - slept - 1);
      expect(ran).toHaveLength(2);
      until(610_001);
      expect(ran).toEqual(["look", "busy", "silence"]);
      // Only the last look before the sleep bounds what is known of its length.
      const passed = clock.mono() - began;
      const real = base.mono() - 1_000 - gap;
      expect(Math.abs(passed - real)).toBeLessThanOrEqual(10_000);
    }
  }
});

test("D9 B8 where something is looked at again and again, a sleep is left out of the time that it sees", () => {
  const base = new ManualClock();
  const clock = awakeClock(base);
  const began = clock.mono();
  const seen: number[] = [];
  const timer = clock.every(15_000, () => seen.push(clock.mono() - began));
  base.advance(20_000);
  base.time += 3_600_000;
  base.advance(0);
  base.advance(30_000);
  timer.cancel();
  timer.cancel();
  expect(seen.length).toBeGreaterThan(2);
  expect(seen.at(-1)).toBeLessThan(60_000);
  expect(base.pending).toBe(0);
});

test("D9 an awake clock is exact without a sleep, whatever waits, and leaves nothing behind", () => {
  const base = new ManualClock();
  const clock = awakeClock(base);
  const ran: number[] = [];
  for (const ms of [1, 9_999, 10_000, 10_001, 39_000, 120_000])
    clock.after(ms, () => ran.push(base.time - 1_000));
  const never = clock.after(200_000, () => ran.push(-1));
  base.advance(150_000);
  expect(ran).toEqual([1, 9_999, 10_000, 10_001, 39_000, 120_000]);
  never.cancel();
  never.cancel();
  expect(base.pending).toBe(0);
  // With nobody waiting nobody looks, and the time since is not taken for a sleep.
  base.advance(3_600_000);
  expect(clock.mono()).toBe(base.mono());
  clock.after(5_000, () => ran.push(0));
  base.advance(5_000);
  expect(ran.at(-1)).toBe(0);
  expect(base.pending).toBe(0);
});
