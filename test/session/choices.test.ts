/** What of a person's choices is written down, and when it is no longer. */

import { expect, test } from "bun:test";
import { systemClock } from "../../src/platform/clock.ts";
import { Choices } from "../../src/session/choices.ts";
import { Conversation } from "../../src/session/conversation.ts";
import { Remembered } from "../../src/store/remembered.ts";
import { tempDir } from "../support/temp.ts";

const MODEL = { providerId: "p", modelId: "m" };

test("P2 A7 a choice that another process restores is kept beside what is chosen then, until the backend stores them", () => {
  const remembered = new Remembered(tempDir("choices"), { write: () => {}, once: () => {} }, systemClock());
  const choices = new Choices(remembered);
  const made = () => new Conversation("c", "/w", [], "p", "en");
  choices.made(made(), { mode: "plan" });
  expect(remembered.choice("c")).toEqual({ mode: "plan" });
  const later = made();
  expect(choices.restore(later)).toEqual({ mode: "plan" });
  choices.made(later, { model: MODEL });
  expect(remembered.choice("c")).toEqual({ mode: "plan", model: MODEL });
  // Taken with a prompt: the backend's own from here on.
  later.wanted = {};
  later.prompted = true;
  choices.stored(later);
  expect(remembered.choice("c")).toBeUndefined();
  choices.made(later, { mode: "edit" });
  expect(remembered.choice("c")).toBeUndefined();
  // What waits for the next prompt would be lost with the process.
  later.wanted = { mode: "yolo" };
  choices.made(later, later.wanted);
  expect(remembered.choice("c")).toEqual({ mode: "yolo" });
});
