/** What a person may answer to the form of an MCP server. */

import { expect, test } from "bun:test";
import { fieldsOf, wordsOf } from "../../src/interact/fields.ts";
import type { Json } from "../support/plainClient.ts";

/** What is answered to one field. */
const given = (field: Json, value: unknown) => wordsOf(fieldsOf({ properties: { f: field } })[0]!, value);

const COLOURS = { type: "string", enum: ["red", "blue"], enumNames: ["Red", "Blue"] };
const SIZES = { type: "string", oneOf: [{ const: "s", title: "Small" }, { const: "l" }] };
const TAGS = { type: "array", items: { anyOf: [{ const: "x,y" }, { const: "z" }] } };

test("B18 what a server offers is answered, and nothing else is", () => {
  const right: [Json, unknown, string | string[]][] = [
    [COLOURS, "red", "red"],
    [SIZES, "l", "l"],
    [TAGS, ["z"], "z"],
    [TAGS, ["x,y", "z"], ["x,y", "z"]],
    [TAGS, [], ""],
    [{ type: "array", items: { type: "string", enum: ["a", "b"] } }, ["a", "b"], "a, b"],
    [{ type: "integer", enum: [1, 2] }, 2, "2"],
    [{ type: "boolean" }, false, "false"],
    [{ type: "boolean" }, "true", "true"],
    [{ type: "number" }, 1.5, "1.5"],
    [{ type: "integer" }, "12", "12"],
    [{ type: "string" }, "", ""],
    [{}, "anything", "anything"],
  ];
  for (const [field, value, words] of right) expect(given(field, value)).toEqual(words);
  const wrong: [Json, unknown][] = [
    [COLOURS, "purple"],
    [COLOURS, "Red"],
    [COLOURS, ["red"]],
    [SIZES, "m"],
    [TAGS, "z"],
    [TAGS, ["z", "q"]],
    [TAGS, ["z", 1]],
    [{ type: "boolean" }, "yes"],
    [{ type: "number" }, "many"],
    [{ type: "number" }, true],
    [{ type: "integer" }, 1.5],
    [{ type: "integer" }, "  "],
    [{ type: "string" }, 5],
    [{ type: "string" }, { a: 1 }],
    [{ type: "object" }, "{}"],
    [{ type: "number" }, Number.NaN],
  ];
  for (const [field, value] of wrong) expect(given(field, value)).toBe("wrong");
});

test("B18 a field that was left alone is no answer, however a client says so", () => {
  for (const field of [COLOURS, SIZES, { type: "boolean" }, { type: "integer" }])
    for (const value of [undefined, null, ""]) expect(given(field, value)).toBeUndefined();
});

test("B18 what is required and no field of the form is not asked for", () => {
  const fields = fieldsOf({ properties: { a: {}, b: 5, c: {} }, required: ["a", "b", "ghost", 7] });
  expect(fields.map(({ key, required }) => [key, required])).toEqual([
    ["a", true],
    ["c", false],
  ]);
  for (const schema of [{}, { properties: [1] }, { properties: null, required: "a" }])
    expect(fieldsOf(schema)).toEqual([]);
});
