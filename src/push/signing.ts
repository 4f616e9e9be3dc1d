import { CompactSign } from 'jose';
import { type Entropy, type Instant, newId } from '../kernel/clock.ts';
import type { AdapterRequest } from '../service/adapter.rules.ts';
import type { SigningKey } from './signing-key.rules.ts';

/** Format of subscription requests (`signing`). `jwt` needs a key. */
export type Signing =
  | { readonly body: 'json' }
  | { readonly body: 'jwt'; readonly key: SigningKey; readonly claims: boolean };

/** A token is valid from a little before now, for clocks that are not ours, until long enough for one call. */
const claimsMs = { since: -5000, until: 120_000 };

/**
 * Returns a compact JWT whose payload is the object itself. No claims are added unless they are switched on: then `iat`,
 * `exp` and a random `jti`, by a clock that shows `now`.
 */
export async function signedToken(
  signing: Extract<Signing, { body: 'jwt' }>,
  { payload, algorithm = 'RS256' }: NonNullable<AdapterRequest['sign']>,
  { now, entropy }: { readonly now: Instant; readonly entropy: Entropy },
): Promise<string> {
  const said = signing.claims ? { ...payload, ...claimsAt(now), jti: newId(entropy) } : payload;
  const token = new CompactSign(Buffer.from(JSON.stringify(said)));
  token.setProtectedHeader({ alg: algorithm, typ: 'JWT' });
  return await token.sign(signing.key.private_key);
}

function claimsAt(now: Instant): { iat: number; exp: number } {
  const seconds = (ms: number) => Math.floor((now + ms) / 1000);
  return { iat: seconds(claimsMs.since), exp: seconds(claimsMs.until) };
}
