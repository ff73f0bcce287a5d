/** How a window's title is written: by another process, one after the other, and never waited for. */

import { afterEach, expect, spyOn, test } from "bun:test";
import { type Log, silentLog } from "../../src/platform/log.ts";
import { WindowTitle } from "../../src/platform/windowTitle.ts";
import { ManualClock } from "../sim/manualClock.ts";

interface Writer {
  readonly words: readonly string[];
  readonly env: unknown;
  readonly written: string;
  killed: boolean;
  end(): void;
}

let restore = () => {};
afterEach(() => restore());

/** @param fails whether no process can be started. */
function start(fails = () => false) {
  const clock = new ManualClock();
  const writers: Writer[] = [];
  const spawn = ((words: readonly string[], options: { stdin: Uint8Array; env: unknown }) => {
    if (fails()) throw new Error("no process");
    const ended = Promise.withResolvers<number>();
    const writer: Writer = {
      words,
      env: options.env,
      written: new TextDecoder().decode(options.stdin),
      killed: false,
      end: () => ended.resolve(0),
    };
    writers.push(writer);
    const kill = () => {
      writer.killed = true;
      writer.end();
    };
    return { exited: ended.promise, kill };
  }) as unknown as typeof Bun.spawn;
  const spy = spyOn(Bun, "spawn").mockImplementation(spawn);
  restore = () => spy.mockRestore();
  const said: string[] = [];
  const log: Log = { ...silentLog(), once: (_key, _level, text) => said.push(text) };
  const window = new WindowTitle(clock, { PATH: "/bin", ZCODE: "1" }, log);
  const titles = () => writers.map(({ written }) => written.slice(4, -1));
  return { clock, window, writers, titles, said };
}

const microtasks = async (count: number) => {
  for (let i = 0; i < count; i++) await Promise.resolve();
};

test("P33 D8 a title goes through a pipe and stands in no list of processes; one that is there already is not written again", async () => {
  const { window, writers, titles } = start();
  window.set("Mend the login");
  expect(writers[0]!.written).toBe("\u001b]0;Mend the login\u0007");
  expect(writers[0]!.words.join(" ")).not.toContain("Mend");
  expect(writers[0]!.env).toEqual({ PATH: "/bin", ZCODE: "1" });
  writers[0]!.end();
  await microtasks(20);
  window.set("Mend the login");
  await microtasks(20);
  expect(titles()).toEqual(["Mend the login"]);
});

test("P33 titles that come while one is written wait for it, and only the last of them is written", async () => {
  const { window, writers, titles } = start();
  for (const title of ["one", "two", "three"]) window.set(title);
  await microtasks(20);
  expect(titles()).toEqual(["one"]);
  writers[0]!.end();
  await microtasks(20);
  expect(titles()).toEqual(["one", "three"]);
});

test("P33 no title is lost, at whatever moment of another's end it comes", async () => {
  for (let moment = 0; moment < 12; moment++) {
    const { window, writers, titles } = start();
    window.set("one");
    writers[0]!.end();
    await microtasks(moment);
    window.set("two");
    await microtasks(20);
    expect([moment, titles()]).toEqual([moment, ["one", "two"]]);
    restore();
  }
});

test("P33 a terminal that is held is left alone after two seconds, and asked again with the next title", async () => {
  const { clock, window, writers, titles } = start();
  window.set("one");
  await clock.advance(1_900);
  expect(writers[0]!.killed).toBe(false);
  await clock.advance(200);
  expect(writers[0]!.killed).toBe(true);
  await microtasks(20);
  window.set("two");
  expect(titles()).toEqual(["one", "two"]);
  writers[1]!.end();
  await microtasks(20);
  await clock.advance(10_000);
  expect(writers[1]!.killed).toBe(false);
});

test("P33 where no process can be started it is said once in the log, and the next title is tried", async () => {
  let fails = true;
  const { window, titles, said } = start(() => fails);
  window.set("one");
  await microtasks(20);
  expect(said).toHaveLength(1);
  expect(said.join()).not.toContain("one");
  fails = false;
  window.set("two");
  expect(titles()).toEqual(["two"]);
});
