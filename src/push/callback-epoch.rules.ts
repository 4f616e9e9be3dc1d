/*
 * Callback addresses. Each epoch has its own token, and only epochs are stored. `subscriptionStep` rotates them.
 */

/**
 * Owner of the callback address that the service calls: ours of some epoch, ours under another public address, or an
 * unknown one.
 */
export type AddressOwner = 'ours' | 'moved' | 'foreign';

/**
 * State of a callback address by its token: our newest; an older one of ours, still accepted (`grace`) or not
 * (`dropped`); our newest under another public address; or an unknown one.
 */
export type AddressStanding = 'current' | 'grace' | 'dropped' | 'moved' | 'foreign';

/** An epoch of a callback address, as stored (receiver/addresses.store.ts). */
export interface EpochState {
  readonly epoch: number;
  readonly begun_at: number;
  /** Instant from which the service is known to have it; null: not yet. */
  readonly announced_at: number | null;
  /** Instant until which it is accepted; null: without end. */
  readonly until: number | null;
}

export function newestOf(epochs: readonly EpochState[]): EpochState | null {
  return epochs.toSorted((one, other) => other.epoch - one.epoch)[0] ?? null;
}

/**
 * Returns the state of the address that the service calls; null if the address is not known. `epochs` are all stored
 * ones of this subscription.
 */
export function standingOf(
  { address, epoch }: { readonly address: AddressOwner | null; readonly epoch: number | null },
  epochs: readonly EpochState[],
  now: number,
): AddressStanding | null {
  if (address !== 'ours') return address;
  const own = epochs.find((each) => each.epoch === epoch);
  if (own === undefined) return 'dropped';
  if (own.epoch === newestOf(epochs)?.epoch) return 'current';
  return own.until === null || own.until > now ? 'grace' : 'dropped';
}

/** Milliseconds after a call to an old address for which it counts as used. */
const usedMs = 24 * 3_600_000;

/** Returns whether an old address was called lately. `noticed_at`: the last call. */
export function isOldAddressUsed({ noticed_at }: { readonly noticed_at: number | null }, now: number): boolean {
  return noticed_at !== null && Math.abs(now - noticed_at) <= usedMs;
}
