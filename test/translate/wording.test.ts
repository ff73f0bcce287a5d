/** What leaves for a person's words, and that it can be taken back. */

import { expect, test } from "bun:test";
import { personSaid } from "../../src/translate/plumbing.ts";
import { replay, transcript } from "../../src/translate/transcript.ts";
import { plainWords, skillWords, typedTitle, typedWords } from "../../src/translate/wording.ts";
import { eachSeed } from "../support/random.ts";

const PIECES = ["/", "$", "tdd", " ", "\n", "\n\n", "\u200b", "fix it", "名前", "/Users/me", "{x}", '"'];

test("R40 R41 whatever was typed comes back from what left for it", () => {
  eachSeed(300, (random) => {
    const typed = random.times(random.int(1, 8), () => random.pick(PIECES)).join("");
    expect(typedWords(plainWords(typed))).toBe(typed);
    expect(typedWords(skillWords(random.pick(["tdd", "plugin:名"]), typed))).toBe(typed);
  });
  // Words about such words, as somebody may paste them.
  const pasted = `/tdd what does this mean: ${skillWords("tdd", "/tdd fix it")}`;
  expect(typedWords(skillWords("tdd", pasted))).toBe(pasted);
  for (const words of ["", "text", "a\u200bb", "a\n\n\u200bb"]) expect(typedWords(words)).toBe(words);
});

const words = (parts: { type: string; text: string }[]) => personSaid({}, parts).words;

test("R40 R41 a replay, and a title of first words, show what was typed", () => {
  const stored = skillWords("tdd", "/tdd fix the login");
  const reminder = "<system-reminder>be kind</system-reminder>";
  expect(words([{ type: "text", text: `${stored}\n\n${reminder}` }])).toBe("/tdd fix the login");
  expect(words([{ type: "text", text: plainWords("/Users/me is there") }])).toBe("/Users/me is there");
  const message = { info: { messageId: "m1", role: "user" }, parts: [{ type: "text", text: stored }] };
  expect([...replay(transcript([message]), "/one", "en")]).toEqual([
    { kind: "text", role: "user", messageId: "m1", text: "/tdd fix the login" },
  ]);
  const joined = stored.replace(/\s+/g, " ");
  expect(typedTitle(joined)).toBe("/tdd fix the login");
  expect(typedTitle(`${joined.slice(0, 57)}...`)).toBe("/tdd fix the login");
  expect(typedTitle(plainWords("/Users/me"))).toBe("/Users/me");
  expect(typedTitle("An ordinary title")).toBe("An ordinary title");
});
