/**
 * Bytes to lines. Blocks of whole lines are decoded in one go; the parts of a long line are kept as bytes and
 * joined once, because a growing string is quadratic. A line never breaks inside a character, since only
 * whole lines are decoded.
 */

/** Above this many bytes without a newline the line is dropped; the wire's largest honest frames are below 64 MB. */
export const MAX_LINE_BYTES = 512 * 1024 * 1024;

const NEWLINE = 10;
const BRACE = 123;
const END_BRACE = 125;
const BOM = "\uFEFF";

export class LineSplitter {
  private parts: Uint8Array[] = [];
  private held = 0;
  private skipping = false;
  private readonly decoder = new TextDecoder("utf-8", { ignoreBOM: true });

  /**
   * @param onTooLong told once per line that was dropped for its length, with the bytes seen when it was.
   * @param maxBytes the longest line kept, in bytes.
   */
  constructor(
    private readonly onTooLong: (bytes: number) => void = () => {},
    private readonly maxBytes: number = MAX_LINE_BYTES,
  ) {}

  /** The lines that `chunk` completes, without line ends; blank ones are left out. */
  push(chunk: Uint8Array): string[] {
    const last = chunk.lastIndexOf(NEWLINE);
    if (last < 0) {
      this.hold(chunk);
      return [];
    }
    const rest = chunk.subarray(last + 1);
    let head = chunk.subarray(0, last);
    if (this.skipping) {
      this.skipping = false;
      const end = head.indexOf(NEWLINE);
      head = end < 0 ? head.subarray(0, 0) : head.subarray(end + 1);
    }
    const lines = this.decode(head);
    if (rest.length > 0) this.hold(rest);
    return lines;
  }

  /** What stands after the last newline when the stream has ended, as the last line. */
  end(): string[] {
    if (this.skipping) {
      this.skipping = false;
      return [];
    }
    return this.decode(new Uint8Array(0));
  }

  private hold(part: Uint8Array): void {
    if (this.skipping) return;
    // A chunk may be a view on a buffer that its source uses again.
    this.parts.push(part.slice());
    this.held += part.length;
    if (this.held > this.maxBytes) {
      this.onTooLong(this.held);
      this.parts = [];
      this.held = 0;
      this.skipping = true;
    }
  }

  private decode(head: Uint8Array): string[] {
    if (this.parts.length === 0) return this.split(head);
    // Only the line that was begun before is copied together.
    const end = head.indexOf(NEWLINE);
    this.parts.push(end < 0 ? head : head.subarray(0, end));
    const first = this.split(Buffer.concat(this.parts));
    this.parts = [];
    this.held = 0;
    if (end < 0) return first;
    const lines = this.split(head.subarray(end + 1));
    if (first.length > 0) lines.unshift(first[0]!);
    return lines;
  }

  /** Whole lines. */
  private split(bytes: Uint8Array): string[] {
    if (bytes.length === 0) return [];
    const text = this.decoder.decode(bytes);
    // One line at a time is the usual case of a client that waits for its answers.
    if (
      text.charCodeAt(0) === BRACE &&
      text.charCodeAt(text.length - 1) === END_BRACE &&
      !text.includes("\n")
    ) {
      return [text];
    }
    const lines = text.split("\n");
    let kept = 0;
    for (let i = 0; i < lines.length; i++) {
      let line = lines[i]!;
      if (line.charCodeAt(0) === BRACE && line.charCodeAt(line.length - 1) === END_BRACE) {
        lines[kept++] = line;
        continue;
      }
      if (line.startsWith(BOM)) line = line.slice(1);
      if (line.endsWith("\r")) line = line.slice(0, -1);
      if (line !== "" && (line.charCodeAt(0) > 32 || line.trim() !== "")) lines[kept++] = line;
    }
    lines.length = kept;
    return lines;
  }
}
