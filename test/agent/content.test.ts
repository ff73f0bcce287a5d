import { describe, expect, test } from "bun:test";
import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type LeftOut, promptContent } from "../../src/agent/content.ts";
import { eachSeed, someText, someValue, WRONG_VALUES } from "../support/random.ts";
import { tempDir } from "../support/temp.ts";

const dir = tempDir("content");
const file = (name: string, bytes: number): string => {
  const path = join(dir, name);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, "");
  truncateSync(path, bytes);
  return path;
};
const uri = (path: string) => pathToFileURL(path).href;
const link = (path: string, more: object = {}) => ({
  type: "resource_link",
  uri: uri(path),
  name: "n",
  ...more,
});

describe("text", () => {
  test("A10 is sent as it is, blocks in their order", () => {
    expect(promptContent([{ type: "text", text: "  Fix\n`it` 中文 🙂 " }])).toEqual({
      content: "  Fix\n`it` 中文 🙂 ",
      attachments: [],
    });
    expect(promptContent([{ type: "text", text: "/init" }]).content).toBe("/init");
  });

  test("A10 a mention stands where the editor put it, apart from the words beside it", () => {
    const small = file("a.ts", 10);
    const words = (before: string, after: string) =>
      promptContent([{ type: "text", text: before }, link(small), { type: "text", text: after }]).content;
    expect(words("Look at ", " please")).toBe(`Look at @${small} please`);
    expect(words("Look at", "please")).toBe(`Look at @${small} please`);
    expect(words("Look at\n", "\nplease")).toBe(`Look at\n@${small}\nplease`);
    expect(words("", "")).toBe(`@${small}`);
  });
});

describe("images", () => {
  test("A10 by their bytes, else by their file", () => {
    expect(promptContent([{ type: "image", data: "QUJD", mimeType: "image/webp" }]).attachments).toEqual([
      { kind: "image", mimeType: "image/webp", dataBase64: "QUJD" },
    ]);
    const path = file("a b.png", 10);
    expect(
      promptContent([{ type: "image", data: "", mimeType: "image/png", uri: uri(path) }]).attachments,
    ).toEqual([{ kind: "image", mimeType: "image/png", localPath: path }]);
    expect(promptContent([{ type: "image", uri: "https://x/y.png" }]).attachments).toEqual([]);
  });

  test("A10 a prompt of an image alone has no words", () => {
    expect(promptContent([{ type: "image", data: "QUJD", mimeType: "image/png" }]).content).toBe("");
  });
});

describe("embedded resources", () => {
  const embedded = (resource: unknown) => promptContent([{ type: "resource", resource }]);

  test("A10 text rides along under its file's name", () => {
    expect(embedded({ uri: "file:///w/my%20notes.md", text: "# Hi", mimeType: "text/markdown" })).toEqual({
      content: "@/w/my notes.md",
      attachments: [
        { kind: "file", filename: "my notes.md", mimeType: "text/markdown", textContent: "# Hi" },
      ],
    });
    expect(embedded({ uri: "zed:///agent/rule", text: "" })).toEqual({
      content: "@zed:///agent/rule",
      attachments: [{ kind: "file", filename: "rule", textContent: "" }],
    });
  });

  test("A10 bytes ride along by what they are", () => {
    for (const [mimeType, name, kind] of [
      ["image/png", "a.bin", "image"],
      ["application/pdf", "a.bin", "pdf"],
      ["text/plain", "a.txt", "file"],
      [undefined, "a.PNG", "image"],
      [undefined, "a.pdf", "pdf"],
      [undefined, "a", "file"],
    ] as const) {
      const { attachments, content } = embedded({
        uri: `file:///w/${name}`,
        blob: "QUJD",
        ...(mimeType ? { mimeType } : {}),
      });
      expect(attachments).toEqual([
        { kind, filename: name, ...(mimeType ? { mimeType } : {}), dataBase64: "QUJD" },
      ]);
      expect(content).toBe(`@${name}`);
    }
  });

  test("A10 one without a body is named alone", () => {
    expect(embedded({ uri: "file:///w/a.ts" })).toEqual({ content: "@/w/a.ts", attachments: [] });
  });
});

describe("links", () => {
  test.each(["plain.ts", "with space.ts", "文件 🙂.ts", "100%.ts", "a#b?c.ts", "deep/er/x.ts"])(
    "A10 to a file called %p are attached by its path",
    (name) => {
      const path = file(name, 10);
      const { content, attachments } = promptContent([link(path, { mimeType: "text/x" })]);
      expect(content).toBe(`@${path}`);
      expect(attachments).toEqual([
        { kind: "file", filename: name.split("/").at(-1)!, localPath: path, mimeType: "text/x" },
      ]);
    },
  );

  test("A10 what is too large, a folder or not there is only named", () => {
    for (const path of [
      file("large.txt", 256 * 1024 + 1),
      file("large.png", 20 * 1024 * 1024 + 1),
      dir,
      join(dir, "gone.ts"),
    ])
      expect(promptContent([link(path)])).toEqual({ content: `@${path}`, attachments: [] });
  });

  test("A10 what stays behind is told, each with its reason, and what a folder is needs no word", () => {
    const left: LeftOut[] = [];
    const big = "A".repeat(28 * 1024 * 1024);
    const { content, attachments } = promptContent(
      [
        link(file("large.txt", 256 * 1024 + 1)),
        link(file("large.mp4", 30 * 1024 * 1024 + 1)),
        link(dir),
        link(join(dir, "gone.ts")),
        { type: "image", data: big, mimeType: "image/png" },
        { type: "image", uri: "https://x/y.png" },
        { type: "image", uri: uri(join(dir, "gone.png")) },
        { type: "resource", resource: { uri: "file:///w/a.bin", blob: "A".repeat(90_000) } },
        { type: "text", text: "see" },
      ],
      (each) => left.push(each),
    );
    expect(attachments).toEqual([]);
    expect(left).toEqual([
      { name: join(dir, "large.txt"), why: "large" },
      { name: join(dir, "large.mp4"), why: "large" },
      { name: join(dir, "gone.ts"), why: "unreadable" },
      { name: "image/png", why: "large" },
      { name: "https://x/y.png", why: "unreadable" },
      { name: join(dir, "gone.png"), why: "unreadable" },
      { name: "a.bin", why: "large" },
    ]);
    // Each stands in the words all the same.
    for (const { name } of left) expect(content).toContain(name);
  });

  test("A10 images and PDFs may be as large as the backend takes them, and are told by their ending too", () => {
    for (const [name, mimeType, kind] of [
      ["big.png", undefined, "image"],
      ["big.JPEG", undefined, "image"],
      ["big", "image/gif", "image"],
      ["big.pdf", undefined, "pdf"],
      ["big.MOV", undefined, "video"],
      ["edge.txt", undefined, "file"],
    ] as const) {
      const path = file(name, kind === "file" ? 256 * 1024 : 1024 * 1024);
      expect(promptContent([link(path, mimeType ? { mimeType } : {})]).attachments[0]).toMatchObject({
        kind,
        localPath: path,
      });
    }
  });

  test("A10 to anything else they stay links", () => {
    const other = (more: object) => promptContent([{ type: "resource_link", ...more }]).content;
    expect(other({ uri: "https://x/y", name: "Y" })).toBe("[Y](https://x/y)");
    expect(other({ uri: "https://x/y", name: "https://x/y" })).toBe("https://x/y");
    expect(other({ uri: "https://x/y" })).toBe("https://x/y");
    expect(other({ uri: "file:///a%zz", name: "bad" })).toBe("[bad](file:///a%zz)");
  });
});

describe("blocks that are not what they should be", () => {
  const GOOD = [
    { type: "text", text: "x" },
    { type: "image", data: "QUJD", mimeType: "image/png", uri: "file:///a.png" },
    { type: "audio", data: "QUJD", mimeType: "audio/wav" },
    { type: "resource", resource: { uri: "file:///a", text: "x", blob: "QUJD", mimeType: "text/plain" } },
    { type: "resource_link", uri: "file:///a", name: "a", mimeType: "text/plain", size: 3 },
  ];

  test("A10 each field wrong once never throws, and leaves the words beside it", () => {
    for (const block of GOOD) {
      for (const key of Object.keys(block)) {
        for (const wrong of WRONG_VALUES) {
          const { content } = promptContent([
            { type: "text", text: "before" },
            { ...block, [key]: wrong },
          ]);
          expect(content.startsWith("before")).toBe(true);
        }
      }
    }
    for (const key of ["uri", "text", "blob", "mimeType"])
      for (const wrong of WRONG_VALUES)
        promptContent([{ type: "resource", resource: { ...GOOD[3]!.resource, [key]: wrong } }]);
  });

  test("A10 prompts of nonsense are passed over", () => {
    for (const wrong of WRONG_VALUES)
      if (!Array.isArray(wrong)) expect(promptContent(wrong)).toEqual({ content: "", attachments: [] });
    eachSeed(500, (random) => {
      const blocks = random.times(random.int(0, 5), () =>
        random.chance(0.5)
          ? someValue(random)
          : {
              type: random.pick(["text", "image", "resource", "resource_link", "audio", "x"]),
              text: someText(random),
              uri: someText(random),
              resource: someValue(random),
            },
      );
      const { content, attachments } = promptContent(blocks);
      expect(typeof content).toBe("string");
      for (const attachment of attachments) expect(typeof attachment.kind).toBe("string");
    });
  });
});
