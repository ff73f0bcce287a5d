/** What stands in the place of a field, by kind, to see that nothing is lost but the field. */
export const WRONG: readonly (readonly [name: string, value: unknown])[] = [
  ["absent", undefined],
  ["null", null],
  ["a number", -1],
  ["a text", "wrong"],
  ["an empty text", ""],
  ["an array", [null, 1, "x", {}]],
  ["an object", { a: { b: [1] } }],
];
