/**
 * Backend frames in, ACP frames out. `../frames/` holds recordings, `expected/` what two clients must be sent for
 * them. `ZCODE_ACP_UPDATE_TRANSCRIPTS=1 npm test` writes the expectations anew; review them as a diff.
 */

import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { play } from "./player.ts";

const here = import.meta.dir;
const frames = join(here, "..", "frames");
const update = process.env.ZCODE_ACP_UPDATE_TRANSCRIPTS === "1";

/** All recordings but the one that only asks for catalogues, which holds no conversation. */
const CONVERSATIONS = readdirSync(frames)
  .filter((name) => name.endsWith(".jsonl") && !name.startsWith("17-"))
  .sort();

describe("transcripts", () => {
  for (const name of CONVERSATIONS) {
    test(`P6 P7 P8 P9 P10 A3 A4 A6 B1 M2 recording ${name} becomes what is expected`, async () => {
      const transcript = await play(join(frames, name));
      for (const style of ["fenced", "terminal"] as const) {
        const text = transcript[style].map((frame) => JSON.stringify(frame)).join("\n");
        const path = join(here, "expected", name.replace(/\.jsonl$/, `.${style}.jsonl`));
        if (update || !existsSync(path)) {
          if (!update) throw new Error(`${path} is missing: run with ZCODE_ACP_UPDATE_TRANSCRIPTS=1`);
          mkdirSync(join(here, "expected"), { recursive: true });
          writeFileSync(path, `${text}\n`);
        }
        expect(`${text}\n`).toBe(await Bun.file(path).text());
      }
    });
  }
});
