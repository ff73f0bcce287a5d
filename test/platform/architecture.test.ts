import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { importViolations, readRooms, readSources, timeViolations } from "../../scripts/architecture.ts";

const TABLE = `
| # | rooms | a | b |
| --- | --- | --- | --- |
| 1 | \`platform/\` | x | y |
| 2 | \`locale/\` \`errors/\` | x | y |
| 4 | \`quota/\` | x | y |
| 4 | \`backend/\` | x | y |
| 13 | \`cli/\` | x | y |
| 14 | \`main.ts\` | x | y |
| – | \`sim/\` | x | y |
`;
const rooms = readRooms(TABLE);
const judge = (path: string, text: string) => importViolations(new Map([[path, text]]), rooms);

describe("imports", () => {
  test("downwards, to the left and inside are allowed", () => {
    expect(judge("backend/rpc.ts", 'import { a } from "../platform/clock.ts";')).toEqual([]);
    expect(judge("errors/index.ts", 'import type { T } from "../locale/index.ts";')).toEqual([]);
    expect(judge("backend/rpc.ts", 'import { b } from "./limits.ts"; import z from "zod";')).toEqual([]);
    expect(judge("main.ts", 'const { run } = await import("./cli/stdio.ts");')).toEqual([]);
    expect(judge("cli/sim.ts", 'const { runSim } = await import("../sim/index.ts");')).toEqual([]);
    expect(judge("sim/index.ts", 'import { a } from "../platform/clock.ts";')).toEqual([]);
  });

  test("each way of importing upwards is refused", () => {
    for (const planted of [
      'import { t } from "../errors/index.ts";',
      "import type { T } from '../errors/index.ts';",
      'export * from "../errors/index.ts";',
      'export { errors } from "../errors/index.ts";',
      'const e = await import("../errors/index.ts");',
      'import "../errors/index.ts";',
      'import {\n  errors,\n} from "../errors/index.ts";',
    ]) {
      expect(judge("platform/log.ts", planted).length).toBe(1);
      expect(judge("locale/index.ts", planted).length).toBe(1);
    }
  });

  test("strangers with one number, the simulator, and what is in no room are refused", () => {
    expect(judge("quota/glm.ts", 'import { rpc } from "../backend/rpc.ts";').length).toBe(1);
    expect(judge("sim/index.ts", 'import { rpc } from "../backend/rpc.ts";').length).toBe(1);
    expect(judge("cli/stdio.ts", 'import { runSim } from "../sim/index.ts";').length).toBe(1);
    expect(judge("cli/stdio.ts", 'import pkg from "../../package.json";').length).toBe(1);
    expect(judge("attic/old.ts", "").length).toBe(1);
    expect(judge("cli/stdio.ts", 'import { old } from "../attic/old.ts";').length).toBe(1);
  });

  test("an import in a comment is none", () => {
    expect(
      judge("platform/log.ts", '// as import "../errors/index.ts" would\n/* import "../errors/a.ts" */'),
    ).toEqual([]);
  });
});

describe("this source", () => {
  test("keeps the table of src/README.md", () => {
    const readme = readFileSync(join(import.meta.dir, "../../src/README.md"), "utf8");
    expect(readRooms(readme).size).toBeGreaterThan(20);
    expect(importViolations(readSources(), readRooms(readme))).toEqual([]);
  });

  test("reads the time from a Clock only", () => {
    expect(timeViolations(new Map([["cli/a.ts", "const now = Date.now();"]])).length).toBe(1);
    expect(timeViolations(new Map([["platform/clock.ts", "Date.now()"]]))).toEqual([]);
    expect(timeViolations(readSources())).toEqual([]);
  });
});
