/**
 * Stored conversations of both eras in, ACP updates out, by every way in which a client can ask for them. `expected/` has
 * what two clients must be sent; `ZCODE_ACP_UPDATE_TRANSCRIPTS=1` writes it anew, to be reviewed as a diff.
 */

import { describe, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Json } from "../support/plainClient.ts";
import {
  type Batch,
  type History,
  load,
  type Message,
  NEW,
  OLD,
  PART_TYPES,
  pages,
  SESSION,
  serve,
  TOOL_STATES,
} from "./histories.ts";

const update = process.env.ZCODE_ACP_UPDATE_TRANSCRIPTS === "1";

async function isExpected(name: string, batches: readonly Batch[]): Promise<void> {
  const lines = batches.flatMap(({ updates, meta }) => [...updates, { replayMeta: { ...meta, cursor: "" } }]);
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  const path = join(import.meta.dir, "expected", `${name}.jsonl`);
  if (update) writeFileSync(path, text);
  else if (!existsSync(path)) throw new Error(`${path} is missing: run with ZCODE_ACP_UPDATE_TRANSCRIPTS=1`);
  expect(text).toBe(await Bun.file(path).text());
}

const typesOf = (messages: readonly Message[], of: (part: Json) => unknown) =>
  [...new Set(messages.flatMap(({ parts }) => parts.map(of)))].filter((type) => type !== undefined).sort();

/** Plan and use are of now, and no part of what was said. */
const saidIn = (batches: readonly Batch[]) =>
  batches.flatMap(({ updates }) =>
    updates.filter(({ sessionUpdate }) => sessionUpdate !== "plan" && sessionUpdate !== "usage_update"),
  );

test("B15 the histories that are loaded here have parts of every type, and calls in every state", () => {
  for (const messages of [NEW.snapshot, NEW.stored, OLD.snapshot, OLD.stored]) {
    const types = typesOf(messages, ({ type }) => (type === "subagent" ? "subtask" : type));
    expect(types).toEqual([...PART_TYPES]);
    expect(typesOf(messages, ({ state }) => (state as Json | undefined)?.status)).toEqual([...TOOL_STATES]);
  }
  const ids = NEW.stored.map(({ info }) => info.id);
  expect(new Set(ids).size).toBeLessThan(ids.length);
  expect(NEW.stored.some(({ info }) => info.summary !== undefined)).toBe(true);
  const old = JSON.stringify(OLD.stored);
  expect(old).toMatch(/"callID".*"callId"|"callId".*"callID"/);
  expect(old).not.toMatch(/"(?:semantics|synthetic|summary)"/);
  expect(OLD.stored.flatMap(({ parts }) => parts.filter(({ type }) => type === "reasoning"))).toEqual(
    expect.arrayContaining([expect.objectContaining({ content: "Read first, then edit." })]),
  );
});

describe("loads", () => {
  const eras: readonly (readonly [string, History])[] = [
    ["15-history.store", NEW],
    ["15-history.0.16.5", OLD],
  ];
  for (const [name, history] of eras)
    for (const style of ["fenced", "terminal"] as const)
      test(`B15 R42 R44 ${name} becomes what is expected for a ${style} client: brought by a resume, read again, and by pages`, async () => {
        const { clients, end } = await serve(() => history);
        const client = clients[style];
        const cold = await load(client, SESSION);
        const warm = await load(client, SESSION);
        await isExpected(`${name}.${style}`, [warm]);
        // A snapshot has the bytes of an image, which the store keeps apart.
        const bare = ([batch]: readonly [Batch]) =>
          saidIn([batch]).filter(
            ({ content }) =>
              (content as Json)?.type !== "image" && (content as Json)?.text !== "[screen.png]",
          );
        expect(bare([cold])).toEqual(bare([warm]));
        for (const limit of [1, 2, 5, 100]) {
          const all = await pages(client, SESSION, limit);
          if (limit === 2) await isExpected(`${name}.pages.${style}`, all);
          expect(saidIn([...all].reverse())).toEqual(saidIn([warm]));
          expect(all[0]!.meta.totalMessages).toBe(warm.meta.totalMessages);
          // What is told of now comes with the tail alone.
          expect(saidIn(all.slice(1))).toEqual(all.slice(1).flatMap(({ updates }) => updates));
        }
        await end();
      });
});
