import type { Instant } from '../../clock.ts';
import type { AddressOwner } from '../../domain/push/callback-epoch.ts';
import type { KnownAddresses } from '../../inbox/addresses.ts';

/**
 * Returns the address for the service to call. It is sent to the service only, and never appears in a log, an error or
 * a file.
 */
export function callbackUrl(public_url: string, token: string): string {
  return `${public_url.replace(/\/+$/, '')}/${token}`;
}

/**
 * Returns the owner of the address that the service has, found by its token; unknown if the address is missing or
 * masked.
 */
export function ownerOf(
  callback_url: string | null,
  {
    addresses,
    public_url,
    subscription_id,
    now,
  }: {
    addresses: KnownAddresses;
    public_url: string;
    subscription_id: string;
    now: Instant;
  },
): { readonly address: AddressOwner | null; readonly epoch: number | null } {
  if (callback_url === null || /[*…]/.test(callback_url)) return { address: null, epoch: null };
  const token =
    callback_url
      .replace(/[?#].*$/, '')
      .replace(/\/+$/, '')
      .split('/')
      .at(-1) ?? '';
  const known = addresses.recognise(token, now);
  if (known === null) return { address: 'foreign', epoch: null };
  const same =
    known.subscription_id === subscription_id && asOne(callbackUrl(public_url, token)) === asOne(callback_url);
  return { address: same ? 'ours' : 'moved', epoch: known.epoch };
}

/** Normalises an address, so that two spellings of it are equal. */
function asOne(url: string): string {
  return (URL.parse(url)?.href ?? url).replace(/\/+$/, '');
}
