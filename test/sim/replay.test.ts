/**
 * The recorded streams, played against the simulator: their `in` side is sent, stored history and the model's
 * part come from the same file, and what comes out must have the same kinds, keys and order.
 */
import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Obj } from "../../src/sim/types.ts";
import { Comparison, isNoise, nameOf } from "./compare.ts";
import { inProcess, tempDir } from "./driver.ts";
import { ManualClock, settle } from "./manualClock.ts";
import { type Entry, FRAMES, providersOf, readRecording, recordedModel, storeOf } from "./recording.ts";

/** No wait of a stream is longer; what takes longer has been forgotten. */
const LONGEST_WAIT = 20_000;

/**
 * The older streams are guessed from end to end: of them the frames of these kinds are not compared, since the
 * streams disagree with each other on them.
 */
const OLD_UNSURE = /^event (model\.response|session\.updated|turn\.terminal)|^v4\/telemetry/;

/** Answers that the streams' README calls guessed: compared by their place only. */
const UNSURE: Record<string, string[]> = {
  // A prefix of the history while it is being restored.
  "15-history.jsonl": ["result 3"],
};

function titleOf(entries: Entry[]): string {
  for (const { frame } of entries) {
    const params = frame.params as Obj | undefined;
    if (params?.type === "session.titleUpdated" && (params.payload as Obj).source === "generated") {
      return String((params.payload as Obj).title);
    }
  }
  return "";
}

/** @returns every difference, in the order of the stream. */
async function replay(name: string): Promise<string[]> {
  using dir = tempDir();
  const home = "/home/ana/shop";
  const entries = readRecording(name).map(
    (entry): Entry => ({
      ...entry,
      frame: JSON.parse(JSON.stringify(entry.frame).replaceAll(home, dir.path)) as Obj,
    }),
  );
  const skill = join(dir.path, ".zcode/skills/stocktake");
  mkdirSync(skill, { recursive: true });
  writeFileSync(join(skill, "SKILL.md"), "---\nname: stocktake\ndescription: Count the goods\n---\n");
  const old = name.includes("0.16.5");
  const clock = new ManualClock();
  const pushes = entries.some(({ frame }) => frame.method === "workspace/updateProviderRegistry");
  const sim = inProcess(
    { era: old ? "0.16.5" : "0.16.9", pace: 5 },
    {
      clock,
      parts: {
        store: storeOf(entries),
        think: recordedModel(entries),
        makeTitle: () => titleOf(entries),
        pickModel: false,
        todoDelay: 0,
        quietStart: entries[0]!.frame.method !== "startup/storageState",
        ...(pushes ? {} : { providers: providersOf(entries) }),
      },
    },
  );
  sim.answer = () => undefined;
  const unsure = (frame: Obj) => isNoise(frame) || (old && OLD_UNSURE.test(nameOf(frame)));
  let at = 0;
  const next = async (): Promise<Obj | undefined> => {
    for (;;) {
      while (at < sim.frames.length && unsure(sim.frames[at]!)) at++;
      if (at < sim.frames.length) return sim.frames[at++];
      await settle();
      if (at < sim.frames.length) continue;
      if (!clock.step(LONGEST_WAIT)) return undefined;
      await settle();
    }
  };
  const comparison = new Comparison(old);
  for (const { dir, frame } of entries) {
    if (dir === "in") {
      sim.write(comparison.translate(JSON.stringify(frame)));
      await settle();
      continue;
    }
    if (unsure(frame)) continue;
    const actual = await next();
    const wanted = nameOf(frame);
    if (!actual || nameOf(actual) !== wanted) {
      comparison.differences.push(
        `order: wanted ${wanted}, got ${actual ? nameOf(actual) : "nothing"} ${JSON.stringify(actual)?.slice(0, 200)}`,
      );
      break;
    }
    if (!UNSURE[name]?.includes(wanted)) comparison.frame(frame, actual, wanted);
  }
  await settle();
  while (at < sim.frames.length && unsure(sim.frames[at]!)) at++;
  if (comparison.differences.length === 0 && at < sim.frames.length) {
    comparison.differences.push(`order: nothing wanted, got ${nameOf(sim.frames[at]!)}`);
  }
  await sim.close();
  return [...new Set(comparison.differences)];
}

for (const name of readdirSync(FRAMES)
  .filter((name) => name.endsWith(".jsonl"))
  .sort()) {
  test(`P1 frames: ${name} comes out as it was recorded`, async () => {
    expect(await replay(name)).toEqual([]);
  });
}
