/** Secrets in a text that is about to be shown or kept are replaced by stars. */

const MASK = "***";

/** Names after which a value is a secret, in JSON, in a query, in a header or in an environment. */
const NAMED =
  /((?:api[-_]?key|auth[-_]?token|access[-_]?token|refresh[-_]?token|secret|password|passwd|authorization|token)["']?\s*[:=]\s*["']?)((?:bearer\s+|basic\s+)?[^\s"'&,;}]+)/gi;
const BEARER = /\b(bearer\s+)[^\s"',;]+/gi;
/** `scheme://user:password@host`. */
const USERINFO = /(:\/\/[^\s/:@]*:)[^\s/@]+(@)/g;
/** Shapes of well-known keys: `sk-…`, JSON web tokens, and a hex id with a secret after the dot. */
const SHAPES = /\b(?:sk-[\w-]{12,}|eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]+)?|[0-9a-f]{32}\.[\w-]{8,})/gi;

/** `text` with everything that looks like a key, token or password masked. */
export function maskSecrets(text: string): string {
  return text
    .replace(NAMED, `$1${MASK}`)
    .replace(BEARER, `$1${MASK}`)
    .replace(USERINFO, `$1${MASK}$2`)
    .replace(SHAPES, MASK);
}
