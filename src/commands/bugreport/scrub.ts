/** Returns the text without what must not leave the machine. */
export type Scrub = (text: string) => string;

const hidden = '[hidden]';

/** Patterns of text that looks like a secret of anyone: an old key, a proxy's password, the address of a callback. */
const suspicious: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z0-9 ]+-----[\s\S]*?(-----END [A-Z0-9 ]+-----|$)/g, hidden],
  [/\beyJ[\w-]+\.[\w-]+(\.[\w-]*)?/g, hidden],
  // The user and password of a URL, and a query parameter that is named like a secret.
  [/([a-z][a-z0-9+.-]*:\/\/)[^\s/@"']+@/gi, `$1${hidden}@`],
  [/([?&][\w-]*(?:key|token|secret|password|passwd|signature|sig|auth)[\w-]*=)[^&\s"'\\]+/gi, `$1${hidden}`],
  [/\b(bearer|token|basic)\s+[^\s"',;\\]{6,}/gi, `$1 ${hidden}`],
  [/\b((?:proxy-)?authorization|cookie|set-cookie|x-api-key)(\\?["']?\s*[:=]\s*\\?["']?)[^"'\n\\]+/gi, `$1$2${hidden}`],
];

/** Letters and digits without end: tokens are made like this, and a longest word or name is shorter. */
const longRuns = /[\w-]{40,}/g;

/** The least that is looked for: a shorter key would be found in every other word. */
const leastSecret = 6;

/**
 * Hides each of `secrets`, also where it is written in base64, hex or for a URL, and then whatever looks like one. The
 * archive is put together from facts that hold none: this is the net below them.
 */
export function scrubbing(secrets: readonly string[]): Scrub {
  const written = secrets
    .flatMap((secret) => [secret, ...secret.split('\n')])
    .map((secret) => secret.trim())
    .filter((secret) => secret.length >= leastSecret)
    .flatMap(spellings)
    // The longest first: it may hold a shorter one.
    .sort((a, b) => b.length - a.length);
  return (text) => {
    let clean = text;
    for (const each of written) clean = clean.replaceAll(each, hidden);
    for (const [pattern, instead] of suspicious) clean = clean.replace(pattern, instead);
    return clean.replace(longRuns, (run) => (/\d/.test(run) && /[A-Za-z]/.test(run) ? hidden : run));
  };
}

function spellings(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    bytes.toString('hex'),
  ];
}
