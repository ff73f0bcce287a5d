/**
 * A prompt that is tried again says again what it has said: what was shown already is not shown twice. As long as a
 * further try repeats the text of the one before, nothing of it goes out; where it says something else, all of it does.
 */

/** Above this many characters a text is not compared any more. */
const COMPARED_CHARS = 64 * 1024;
/** Room for so many is made with the first piece. */
const FIRST_CHARS = 512;
const NOTHING = new Uint16Array(0);

/**
 * The text is copied, character by character: a string that was added to piece by piece keeps every piece, ten times
 * the memory of its text, and with many conversations at once the collector is busy with little else.
 */
export class Repeats {
  private before: string | undefined;
  /** How much the present try has said, whether it is kept or not. */
  private length = 0;
  /** What it has said, as far as it is compared. */
  private said = NOTHING;

  /** A prompt is sent; `again` where it is a further try. */
  begin(again: boolean): void {
    // A try that ended within what the one before had said leaves that as what is shown.
    const shown = this.before ?? (this.length <= COMPARED_CHARS ? this.kept() : "");
    this.forget();
    if (again && shown !== "") this.before = shown;
  }

  /** Nothing runs any more: there is nothing to be tried again, and an idle conversation holds no text. */
  forget(): void {
    this.before = undefined;
    this.length = 0;
    this.said = NOTHING;
  }

  /** @returns what of the next piece of text is to be shown. */
  filter(piece: string): string {
    const { before, length: from } = this;
    this.keep(piece, from);
    if (before === undefined) return piece;
    // All that was said until now begins `before`, so the piece alone is compared, from there on.
    if (before.startsWith(piece, from)) return "";
    this.before = undefined;
    const left = before.slice(from);
    return piece.startsWith(left) ? piece.slice(left.length) : before.slice(0, from) + piece;
  }

  private keep(piece: string, from: number): void {
    this.length = from + piece.length;
    if (from >= COMPARED_CHARS) return;
    const end = Math.min(this.length, COMPARED_CHARS);
    let { said } = this;
    if (end > said.length) {
      said = new Uint16Array(Math.max(end, Math.min(said.length * 2, COMPARED_CHARS), FIRST_CHARS));
      said.set(this.said);
      this.said = said;
    }
    for (let at = from; at < end; at++) said[at] = piece.charCodeAt(at - from);
  }

  private kept(): string {
    const chars = Math.min(this.length, COMPARED_CHARS);
    // Unlike a decoder this leaves halves of characters as they are.
    return Buffer.from(this.said.buffer, 0, chars * 2).toString("utf16le");
  }
}
