/**
 * What the runtime writes between a person's words, told from what a person quotes or asks about. No mark says which is
 * which, so the place decides: the runtime's stands on lines of its own, outside of fenced code. Every look costs one way
 * through the text, whatever is in it.
 */

import { isObj } from "../platform/json.ts";

/** A stretch of a text, its end not included. */
interface Stretch {
  readonly from: number;
  readonly to: number;
}

/**
 * Words without the `<tag>…</tag>` blocks that begin a line and end one.
 * @param atEnd whether one at the very end goes too, whatever it begins behind and whatever was left open before it.
 * @param took is told each.
 */
export function withoutBlocks(
  text: string,
  tag: string,
  atEnd: boolean,
  took: (block: string) => void = () => {},
): string {
  const blocks = text.includes(`</${tag}>`) ? joined(text, blocksOf(text, tag)) : [];
  const gone = blocks.length === 0 ? [] : removable(text, blocks, atEnd);
  if (gone.length === 0) return text;
  const pieces: string[] = [];
  let at = 0;
  for (const { from, to } of gone) {
    keep(pieces, text.slice(at, from).trimEnd(), at);
    took(text.slice(from, to));
    at = to;
  }
  keep(pieces, text.slice(at), at);
  return pieces.join("\n");
}

/** Blank lines go where a block has left them; how far the words are indented stays. */
function keep(pieces: string[], piece: string, at: number): void {
  const blank = piece.length - piece.trimStart().length;
  if (blank === piece.length) return;
  pieces.push(at === 0 ? piece : piece.slice(piece.lastIndexOf("\n", blank - 1) + 1));
}

/** Pairs of tags. Of several that open, the one counts that looks most like the runtime's, then the nearest. */
function blocksOf(text: string, tag: string): Stretch[] {
  const blocks: Stretch[] = [];
  let open: { readonly at: number; readonly likeness: number } | undefined;
  // A tag in backticks by itself is only named.
  for (const match of text.matchAll(new RegExp(`\`</?${tag}>\`|<(/?)${tag}>`, "g"))) {
    const [whole, slash] = match;
    const at = match.index;
    const end = at + whole.length;
    if (slash === undefined) continue;
    if (slash === "") {
      const likeness = Number(startsLine(text, at)) + Number(/[\r\n]/.test(text[end] ?? ""));
      if (!open || likeness >= open.likeness) open = { at, likeness };
    } else if (open) {
      // Inside of one that begins on a line of its own, a tag in the middle of a line is only named.
      if (open.likeness === 2 && !endsLine(text, end)) continue;
      blocks.push({ from: open.at, to: end });
      open = undefined;
    }
  }
  return blocks;
}

/** Blocks that stand on one line are one. */
function joined(text: string, blocks: readonly Stretch[]): Stretch[] {
  const runs: Stretch[] = [];
  for (const block of blocks) {
    const last = runs.at(-1);
    if (last && /^[ \t]*$/.test(text.slice(last.to, block.from)))
      runs[runs.length - 1] = { from: last.from, to: block.to };
    else runs.push(block);
  }
  return runs;
}

function removable(text: string, blocks: readonly Stretch[], atEnd: boolean): Stretch[] {
  const alone = blocks.map(({ from, to }) => startsLine(text, from) && endsLine(text, to));
  // Where the runtime's own begin, at the end of the text.
  let tail = blocks.length;
  for (let end = text.trimEnd().length; atEnd && tail > 0; ) {
    const { from, to } = blocks[tail - 1]!;
    if (to !== end || !(alone[tail - 1] || tail === blocks.length)) break;
    tail--;
    const before = blocks[tail - 1]?.to ?? 0;
    end = before + text.slice(before, from).trimEnd().length;
  }
  const fences = fenceLines(text);
  let fence: Fence | undefined;
  let next = 0;
  return blocks.filter(({ from, to }, place) => {
    for (; next < fences.length && fences[next]!.at < from; next++) fence = through(fence, fences[next]!);
    if (place < tail && (fence || !alone[place])) return false;
    // What is fenced inside of it is no part of the words.
    while (next < fences.length && fences[next]!.at < to) next++;
    return true;
  });
}

function startsLine(text: string, at: number): boolean {
  return at === 0 || text[at - 1] === "\n";
}

function endsLine(text: string, at: number): boolean {
  const rest = /[ \t\r]*(?:\n|$)/y;
  rest.lastIndex = at;
  return rest.test(text);
}

interface Fence {
  readonly at: number;
  readonly mark: string;
  /** What stands behind the mark; a fence that closes has nothing there. */
  readonly rest: string;
}

function fenceLines(text: string): Fence[] {
  return [...text.matchAll(/^ {0,3}(`{3,}|~{3,})([^\n]*)$/gm)].map((match) => ({
    at: match.index,
    mark: match[1] ?? "",
    rest: match[2] ?? "",
  }));
}

/** The fence that is open behind this line. */
function through(open: Fence | undefined, line: Fence): Fence | undefined {
  if (open) return line.mark.startsWith(open.mark) && line.rest.trim() === "" ? undefined : open;
  return line.mark.startsWith("`") && line.rest.includes("`") ? undefined : line;
}

const CALLED = /^Called the (\S{1,200}) tool with the following input:\s*(?=\{)/gm;
const BEHIND = /\s*(?:$|Called the |Result(?: of calling the (\S{1,200}) tool)?:)/y;

/**
 * Where rewritten tool calls begin that go on to the end of the text: as a paragraph of its own, each call with its input
 * and with nothing behind that but its result. -1 where there are none.
 */
export function callsBegin(text: string): number {
  const calls = [...text.matchAll(CALLED)].filter(({ index }) => startsParagraph(text, index));
  const fences = calls.length === 0 ? [] : fenceLines(text);
  let fence: Fence | undefined;
  let next = 0;
  let seen = 0;
  let whole = true;
  for (const call of calls) {
    const { index: at } = call;
    for (; next < fences.length && fences[next]!.at < at; next++) fence = through(fence, fences[next]!);
    if (fence || at < seen) continue;
    const input = at + call[0].length;
    const end = whole ? objectEnd(text, input) : lineEnd(text, input);
    if (end === undefined) {
      // It was cut: then the result alone shows that it is one. Others are not looked through to the end again.
      if (text.includes(`\nResult of calling the ${call[1]} tool:`, input)) return at;
      whole = false;
      continue;
    }
    seen = end;
    BEHIND.lastIndex = end;
    const behind = BEHIND.exec(text);
    if (behind && (behind[1] === call[1] || isInput(text.slice(input, end)))) return at;
  }
  return -1;
}

function startsParagraph(text: string, at: number): boolean {
  if (at === 0) return true;
  let before = at - 1;
  while (before > 0 && /[ \t\r]/.test(text[before - 1]!)) before--;
  return before === 0 || text[before - 1] === "\n";
}

/** The end of what begins with a brace; undefined where that is never closed. */
function objectEnd(text: string, from: number): number | undefined {
  let depth = 0;
  let quoted = false;
  for (let at = from; at < text.length; at++) {
    const sign = text[at];
    if (quoted) {
      if (sign === "\\") at++;
      else if (sign === '"') quoted = false;
    } else if (sign === '"') quoted = true;
    else if (sign === "{") depth++;
    else if (sign === "}" && --depth === 0) return at + 1;
  }
  return undefined;
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end;
}

function isInput(json: string): boolean {
  try {
    return isObj(JSON.parse(json));
  } catch {
    return false;
  }
}
