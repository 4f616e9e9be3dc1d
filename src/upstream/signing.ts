import { CompactSign } from 'jose';
import { type Entropy, type Instant, newId } from '../clock.ts';
import type { SigningKey } from '../domain/push/signing-key.ts';

/** How subscription requests are sent (`signing`); `jwt` needs a key. */
export type Signing =
  | { readonly body: 'json' }
  | { readonly body: 'jwt'; readonly algorithm: 'RS256'; readonly key: SigningKey; readonly claims: boolean };

/** The body of a request, and what it is. */
export interface SignedBody {
  readonly type: string;
  readonly text: string;
}

/** A token is valid from a little before now, for clocks that are not ours, until long enough for one call. */
const claimsMs = { since: -5000, until: 120_000 };

/**
 * Returns the body that says `payload`: a compact JWT whose payload is the object itself, or plain JSON. No
 * claims are added unless they are switched on: then `iat`, `exp` and a random `jti`, by a clock that shows `now`.
 */
export async function signedBody(
  signing: Signing,
  payload: object,
  { now, entropy }: { readonly now: Instant; readonly entropy: Entropy },
): Promise<SignedBody> {
  if (signing.body === 'json') return { type: 'application/json', text: JSON.stringify(payload) };
  const said = signing.claims ? { ...payload, ...claimsAt(now), jti: newId(entropy) } : payload;
  const token = new CompactSign(Buffer.from(JSON.stringify(said)));
  token.setProtectedHeader({ alg: signing.algorithm, typ: 'JWT' });
  // The media type of a token (RFC 7519 section 10.3.1); which one the service asks for is not known (service-facts.md §8).
  return { type: 'application/jwt', text: await token.sign(signing.key.private_key) };
}

function claimsAt(now: Instant): { iat: number; exp: number } {
  const seconds = (ms: number) => Math.floor((now + ms) / 1000);
  return { iat: seconds(claimsMs.since), exp: seconds(claimsMs.until) };
}
