import { expect, test } from "bun:test";
import { Conversation } from "../../src/session/conversation.ts";
import { Registry } from "../../src/session/registry.ts";

const make = (id: string) => new Conversation(id, "/w", [], "acp", "en");

test("M1 a record is owned from its entry to its end, or until another one has its id", () => {
  const registry = new Registry();
  const one = make("one");
  expect(registry.owns(one)).toBe(false);
  registry.add(one);
  registry.alias(one, "other");
  expect(registry.owns(one)).toBe(true);
  const again = make("one");
  registry.add(again);
  expect([registry.owns(one), registry.owns(again)]).toEqual([false, true]);
  registry.remove(one);
  expect(registry.owns(again)).toBe(true);
  expect(registry.find("one")).toBe(again);
  registry.remove(again);
  expect(registry.owns(again)).toBe(false);
  expect(registry.all()).toEqual([]);
});

test("M1 M9 an id of one record that becomes another's own takes nothing from the first but that id", () => {
  const registry = new Registry();
  const one = make("one");
  const two = make("two");
  registry.add(one);
  registry.alias(one, "two");
  registry.add(two);
  expect([registry.owns(one), registry.owns(two)]).toEqual([true, true]);
  registry.alias(one, "two");
  expect([registry.owns(one), registry.owns(two)]).toEqual([true, false]);
  registry.clear();
  expect([registry.owns(one), registry.owns(two)]).toEqual([false, false]);
});
