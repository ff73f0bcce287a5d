/** Secrets in a text that is about to be shown or kept are replaced by stars. */

const MASK = "***";

/**
 * Where a key may begin: not inside of a word, but right behind an escaped line break, an escaped byte of a URL or a
 * colour of a terminal, all of which end in letters.
 */
const START = /(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2})|(?<=\u001B\[[\d;]{0,12}m))/.source;
/** Keys are made of these; what joins them counts only between two of them, so that a sentence keeps its full stop. */
const BODY = /[\w-]{8,}(?:[.+/=~]+[\w-]+)*/.source;

/** Beginnings of keys that no other word has. */
const PLAIN = [
  "(?:sk|rk|pk)_(?:live|test)_",
  "A(?:KIA|SIA|BIA|CCA)",
  "gl(?:pat|dt|rt|soat|ptt|cbt|ft|imt|agent|oas|ffct)-",
  "gh[pousr]_",
  "github_pat_",
  "xox[a-z]-",
  "xapp-",
  "xai-",
  "AIza",
  "ya29\\.",
  "GOCSPX-",
  "pypi-A",
  "eyJ",
].join("|");
/** Names of programs and settings begin like these as well, but are short or have neither capitals nor digits. */
const ALIKE = "hf_|gsk_|npm_|r8_";
const ALIKE_BODY = "(?:(?=[a-z]*[A-Z0-9])[A-Za-z0-9]{8,}|[A-Za-z0-9]{20,})";
/** A folder may be called `sk-…`, in lower case. */
const SK = "sk-(?:(?<!/sk-)|(?=[a-z_-]*[A-Z0-9]))";
/** An id of 32 hexadecimal digits and a secret behind the full stop. */
const HEX_ID = "[0-9a-fA-F]{32}\\.";

const SHAPES = new RegExp(`${START}(?:(?:${PLAIN}|${SK}|${HEX_ID})${BODY}|(?:${ALIKE})${ALIKE_BODY})`, "g");
/** A key that the text ends in may be cut short, and shows less of itself than the shapes ask for. */
const CUT = new RegExp(`${START}(?:${PLAIN}|${ALIKE}|sk-|${HEX_ID})[\\w-]+$`);

/** Names after which a value is a secret. */
const NAMES = [
  "(?:api|access|private|secret|signing|encryption|account|subscription)[-_ ]?key",
  "token",
  "secret",
  "password",
  "passwd",
  "passphrase",
  "credentials?",
  "authorization",
].join("|");
/** Colours, quotes as they are or escaped for JSON or a URL, and what stands between a name and its value. */
const COLOURS = "(?:\\u001B\\[[\\d;]*m)*";
const QUOTE = "(?:\\\\*[\"'`]|%2[27])";
const IS = `${COLOURS}${QUOTE}?${COLOURS}\\s*(?:[:=]|%3[AD])\\s*${COLOURS}`;
const SCHEME = "(?:(?:bearer|basic|digest|token|apikey)(?:\\s+|%20|\\+))?";
/** Up to the same quote again, or to the end of a line that was cut. */
const QUOTED = "(\\\\*)([\"'`])(?:(?!(?<!\\\\)\\2\\3)[^\\n])+";
const BARE = `${SCHEME}[^\\s"'\`&,;}\\\\]+`;

const NAMED = new RegExp(`((?:${NAMES})${IS})(?:${QUOTED}|(%2[27])?${BARE})`, "gi");
/** Names of variables are in capitals; in lower case `_key` is the name of a column. */
const VARIABLE = new RegExp(`([A-Z0-9]_KEY${IS})(?:${QUOTED}|${BARE})`, "g");
const FLAG = new RegExp(
  `((?<![\\w-])--[\\w-]{0,40}?(?:key|token|secret|password)\\s+)(?:${QUOTED}|(?!--)\\S+)`,
  "gi",
);
const QUERY = /([?&](?:key|sig)=|\bsignature=)[^\s"'&]+/gi;
/** Several values in one line. */
const COOKIE = new RegExp(`(cookie${IS})(?:${QUOTED}|[^\\n"'\\\\]+)`, "gi");
const BEARER = /\b(bearer(?:\s+|%20|\+))[^\s"'`,;\\]+/gi;
/** `scheme://user:password@host`; what has a number in that place is a host with its port. */
const USERINFO = /(:\/\/[^\s/:@"']*:)(?!\d{1,5}(?:[/?#\s]|$))[^\s"']{1,512}(@)/g;
const CUT_USERINFO = /(:\/\/[^\s/:@"']*:)(?!\d{1,5}(?:[/?#]|$))[^\s"'@]{1,512}$/;
/** The head stays, so that the rest is known for what it is when it comes later. */
const PEM = /(-----BEGIN [A-Z ]*PRIVATE KEY-----)[\s\S]*?(?=-----END|$)/g;

/** `text` with everything that looks like a key, token or password masked. What is masked stays as it is. */
export function maskSecrets(text: string): string {
  return text
    .replace(PEM, `$1${MASK}`)
    .replace(NAMED, `$1$2$3$4${MASK}`)
    .replace(VARIABLE, `$1$2$3${MASK}`)
    .replace(FLAG, `$1$2$3${MASK}`)
    .replace(COOKIE, `$1$2$3${MASK}`)
    .replace(QUERY, `$1${MASK}`)
    .replace(BEARER, `$1${MASK}`)
    .replace(USERINFO, `$1${MASK}$2`)
    .replace(SHAPES, MASK);
}

/** The first `chars` of a text, masked. A word that the cut goes through is left out: it may be half of a key. */
export function maskedHead(text: string, chars: number): string {
  if (text.length <= chars) return maskSecrets(text);
  const head = maskSecrets(text.slice(0, chars).replace(/\S+$/, ""));
  return head.trim() === "" ? lengthOf(text) : `${head.trimEnd()}…`;
}

/** The last characters of a stream, masked before they are cut: a key without its beginning is not known for one. */
export class MaskedTail {
  private kept = "";
  /** In a line that is too long to be told from one long key. */
  private passing = false;

  constructor(private readonly chars: number) {}

  get text(): string {
    return maskSecrets(this.kept).replace(CUT, MASK).replace(CUT_USERINFO, `$1${MASK}`).slice(-this.chars);
  }

  push(text: string): void {
    let more = text;
    if (this.passing) {
      const end = more.indexOf("\n");
      if (end < 0) return;
      this.passing = false;
      more = more.slice(end);
    }
    this.kept += more;
    if (this.kept.length <= KEPT_TIMES * this.chars) return;
    // The line that is still being written waits for its end, since half of a key is not masked as a whole.
    const end = this.kept.lastIndexOf("\n") + 1;
    const whole = maskSecrets(this.kept.slice(0, end)).slice(-this.chars);
    const open = this.kept.slice(end);
    this.passing = open.length > (KEPT_TIMES - 2) * this.chars;
    this.kept = whole + (this.passing ? "(a line that is too long to be shown)" : open);
  }
}

/** So many times the length that is shown is held, so that most writes only add to it. */
const KEPT_TIMES = 4;

const NAME = /^(?:(?:answer )?[\w./:$-]{1,80}|\(\d+ characters\))?$/;

/** What stands for a text that is not to be shown. */
export function lengthOf(text: string): string {
  return `(${text.length} characters)`;
}

/** A method, type or id from elsewhere, where it looks like one; else only its length, since it may be anything. */
export function safeName(name: string): string {
  return NAME.test(name) && maskSecrets(name) === name ? name : lengthOf(name);
}
