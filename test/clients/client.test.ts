/** What a client's own words make of it. */

import { expect, test } from "bun:test";
import { Client } from "../../src/clients/client.ts";

test.each([
  ["zed", true],
  ["Zed", true],
  ["Zed Preview", true],
  ["zed-editor", true],
  ["martty", false],
  ["JetBrains.IntelliJ IDEA", false],
  ["Zedd", false],
  ["organized", false],
  ["not zed", false],
  ["", false],
  [undefined, false],
  [7, false],
])("R41 skills carry their sign for a client that is called %p: %p", (name, signed) => {
  const client = new Client({ send: () => {}, room: () => undefined, request: async () => ({}) });
  client.introduce(name === undefined ? {} : { clientInfo: { name, version: "1" } });
  expect(client.signsSkills).toBe(signed);
});
