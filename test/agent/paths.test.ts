import { describe, expect, test } from "bun:test";
import { fileUriPath, rootPath } from "../../src/agent/paths.ts";
import { eachSeed, someText } from "../support/random.ts";

describe("file URIs", () => {
  test.each([
    ["file:///home/ana/shop", "/home/ana/shop"],
    ["file:///home/ana/my%20shop/a%23b%3Fc.ts", "/home/ana/my shop/a#b?c.ts"],
    ["file:///home/ana/%E5%95%86%E5%BA%97/%E6%96%87%20%E4%BB%B6.ts", "/home/ana/商店/文 件.ts"],
    ["file:///home/ana/商店/文 件.ts", "/home/ana/商店/文 件.ts"],
    ["file://localhost/home/ana", "/home/ana"],
    ["FILE://LOCALHOST/home/ana", "/home/ana"],
    ["file:/home/ana", "/home/ana"],
    ["file:///C:/Users/ana", "C:/Users/ana"],
    ["file:///c%3A/Users/ana%20b", "c:/Users/ana b"],
    ["file:///C:/", "C:/"],
    ["file:///home/ana/", "/home/ana/"],
    ["file:///home/ana/a.ts#L10-20", "/home/ana/a.ts"],
    ["file:///home/ana/a.ts?x=1", "/home/ana/a.ts"],
    ["file:///home/100%25/a", "/home/100%/a"],
    ["file:///", "/"],
  ])("A10 %s", (uri, path) => {
    expect(fileUriPath(uri)).toBe(path);
  });

  test.each([
    "",
    "file:",
    "file://",
    "file://server/share/a.ts",
    "file:relative/a.ts",
    "file:///home/%zz",
    "file:///home/%E5%95",
    "file:///home/a%00b",
    "http://localhost/a",
    "/home/ana",
    "zed:///agent/thread/1",
    " file:///home",
  ])("A10 %p names no local file", (uri) => {
    expect(fileUriPath(uri)).toBeUndefined();
  });

  test("A10 any path survives the way into a URI and back", () => {
    eachSeed(1_000, (random) => {
      const path = `/${someText(random).replaceAll("\0", "")}`;
      const uri = `file://${path.split("/").map(encodeURIComponent).join("/")}`;
      expect(fileUriPath(uri)).toBe(path);
    });
  });
});

describe("roots", () => {
  test.each([
    ["/home/ana/shop", "/home/ana/shop"],
    ["/home/ana/shop/", "/home/ana/shop"],
    ["/home/ana/shop///", "/home/ana/shop"],
    ["/", "/"],
    ["//", "/"],
    ["/home/ana/my shop/", "/home/ana/my shop"],
    ["/home/ana/商店/", "/home/ana/商店"],
    ["file:///home/ana/my%20shop/", "/home/ana/my shop"],
    ["file://localhost/home/ana", "/home/ana"],
    ["C:\\Users\\ana", "C:\\Users\\ana"],
    ["C:\\Users\\ana\\", "C:\\Users\\ana"],
    ["C:/Users/ana/", "C:/Users/ana"],
    ["C:\\", "C:\\"],
    ["c:/", "c:\\"],
    ["file:///C:/Users/ana/", "C:/Users/ana"],
  ])("A10 %p", (cwd, root) => {
    expect(rootPath(cwd)).toBe(root);
    expect(rootPath(root)).toBe(root);
  });

  test.each(["", ".", "shop", "./shop", "../shop", "~/shop", "C:shop", "C:", "file:///a%zz", "https://x/y"])(
    "A10 %p is no root",
    (cwd) => {
      expect(rootPath(cwd)).toBeUndefined();
    },
  );
});
