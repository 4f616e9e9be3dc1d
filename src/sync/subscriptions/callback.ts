import type { AddressOwner, EpochState } from '../../domain/push/callback-epoch.ts';

/** The callback addresses, as subscriptions need them (inbox/addresses.ts has all of them). */
export interface OwnAddresses {
  token(subscription_id: string, epoch: number): string;
  states(): readonly (EpochState & { readonly subscription_id: string })[];
  /** The newest epoch, announced or not; makes the first one. */
  current(subscription_id: string, now: number): number;
  /** A new epoch: accepted from now on, not announced yet. */
  begin(subscription_id: string, now: number): number;
  /** The service has it: older ones are accepted for the grace only. */
  announced(subscription_id: string, epoch: number, now: number, grace_ms: number): void;
  recognise(token: string, now: number): { readonly subscription_id: string; readonly epoch: number } | null;
  /** Since the last start. */
  masterChanged(): boolean;
}

/** The address that the service is to call. It goes to the service and nowhere else: not into a log, an error or a file. */
export function callbackUrl(public_url: string, token: string): string {
  return `${public_url.replace(/\/+$/, '')}/${token}`;
}

/** Whose address the service has, judged by its token. Not said, or shown in part only: not known. */
export function ownerOf(
  callback_url: string | null,
  {
    addresses,
    public_url,
    subscription_id,
    now,
  }: {
    addresses: Pick<OwnAddresses, 'recognise'>;
    public_url: string;
    subscription_id: string;
    now: number;
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

/** Two ways to write one address are equal. */
function asOne(url: string): string {
  return (URL.parse(url)?.href ?? url).replace(/\/+$/, '');
}
