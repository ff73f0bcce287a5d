/**
 * A prompt that is tried again says again what it has said: what was shown already is not shown twice. As long as a
 * further try repeats the text of the one before, nothing of it goes out; where it says something else, all of it does.
 */

/** Above this many characters a text is not compared any more. */
const COMPARED_CHARS = 64 * 1024;

export class Repeats {
  private said = "";
  private before: string | undefined;

  /** A prompt is sent; `again` where it is a further try. */
  begin(again: boolean): void {
    // A try that ended within what the one before had said leaves that as what is shown.
    const shown = this.before ?? this.said;
    this.before = again && shown !== "" && shown.length <= COMPARED_CHARS ? shown : undefined;
    this.said = "";
  }

  /** What the present try has said, as far as it is compared. */
  get shown(): string {
    return this.said;
  }

  /** @returns what of the next piece of text is to be shown. */
  filter(piece: string): string {
    const { before } = this;
    if (before === undefined) {
      if (this.said.length <= COMPARED_CHARS) this.said += piece;
      return piece;
    }
    this.said += piece;
    if (before.startsWith(this.said)) return "";
    this.before = undefined;
    return this.said.startsWith(before) ? this.said.slice(before.length) : this.said;
  }
}
