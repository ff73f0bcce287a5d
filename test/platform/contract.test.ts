import { describe, expect, test } from "bun:test";
import { judge, pointsOfTitles, readPoints } from "../../scripts/contract.ts";
import { sizes } from "../../scripts/largest.ts";

// The titles below stand in strings that are put together here, or this file would be taken for their tests.
const call = (name: string, title: string) => `${name}(${JSON.stringify(title)}, () => {});`;

describe("titles", () => {
  test("name the points that they begin with", () => {
    expect(pointsOfTitles(call("test", "P1 B12 a line"))).toEqual(["P1", "B12"]);
    expect(pointsOfTitles(call("it", "P1, B12: a line"))).toEqual(["P1", "B12"]);
    expect(pointsOfTitles(call("test", "an A4 page"))).toEqual([]);
    expect(pointsOfTitles(call('test.skipIf(!needs("tmux"))', "R18 a window"))).toEqual(["R18"]);
    expect(pointsOfTitles(call("test.each([1, 2])", "R18 %d windows"))).toEqual(["R18"]);
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the source of a test
    expect(pointsOfTitles("test(`M4 ${name} ends`, () => {});")).toEqual(["M4"]);
  });

  test("of skipped and planned tests prove nothing", () => {
    expect(pointsOfTitles(call("test.skip", "P1 a line"))).toEqual([]);
    expect(pointsOfTitles(call("test.todo", "P1 a line"))).toEqual([]);
  });
});

describe("the list", () => {
  const row = (id: string, state: string) => `| ${id} | some words | ${state} |`;

  test("gives ids and states, and says what is wrong with it", () => {
    expect(readPoints(`${row("P1", "works")}\n${row("P2", "not begun")}`)).toEqual({
      points: [
        { id: "P1", state: "works" },
        { id: "P2", state: "not begun" },
      ],
      wrong: [],
    });
    expect(readPoints(`${row("P1", "works")}\n${row("P1", "half")}\n${row("P3", "done")}`).wrong.length).toBe(
      2,
    );
  });

  test("refuses a point that works without a test, and a title without a point", () => {
    const { points } = readPoints(`${row("P1", "works")}\n${row("P2", "half")}`);
    expect(judge(points, new Map([["a", ["P1"]]]))).toEqual({ untested: [points[1]!], wrong: [] });
    expect(judge(points, new Map([["a", ["P2"]]])).wrong.length).toBe(1);
    expect(judge(points, new Map([["a", ["P1", "P9"]]])).wrong.length).toBe(1);
  });
});

test("a file above the bound is found, a table of data is not", () => {
  const long = "line\n".repeat(501);
  const found = sizes(
    new Map([
      ["a.ts", long],
      ["locale/en.ts", long],
      ["b.ts", "line\n".repeat(500)],
    ]),
  );
  expect(found.filter((file) => file.tooLong).map((file) => file.path)).toEqual(["a.ts"]);
  expect(found[2]).toEqual({ path: "b.ts", lines: 500, tooLong: false });
});
