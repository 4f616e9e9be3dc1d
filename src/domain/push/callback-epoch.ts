/*
 * Callback addresses and their rotation. Each epoch has its own token, and only epochs are
 * stored.
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

/** An epoch of a callback address, as stored (inbox/addresses.ts). */
export interface EpochState {
  readonly epoch: number;
  readonly begun_at: number;
  /** Instant from which the service is known to have it; null: not yet. */
  readonly announced_at: number | null;
  /** Instant until which it is accepted; null: without end. */
  readonly until: number | null;
}

export function newestOf<Epoch extends Pick<EpochState, 'epoch'>>(epochs: readonly Epoch[]): Epoch | null {
  return epochs.reduce<Epoch | null>(
    (newest, each) => (newest === null || each.epoch > newest.epoch ? each : newest),
    null,
  );
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

/** Next step of a rotation. `put` sends the service the address of `epoch`, which is already accepted. */
export type RotationStep =
  | { readonly step: 'begin' }
  | { readonly step: 'put'; readonly epoch: number }
  | { readonly step: 'rest'; readonly until: number };

/**
 * Returns the next step of a rotation from stored facts alone, so that it continues after a kill at any point. First
 * the new address is accepted (`begin`), then sent to the service (`put`). Once the service knows it, the old one is
 * accepted for the grace period, and then dropped by time alone.
 */
export function rotationStep(epochs: readonly EpochState[], rotate_every: number, now: number): RotationStep {
  const newest = newestOf(epochs);
  if (newest === null) return { step: 'begin' };
  if (newest.announced_at === null) return { step: 'put', epoch: newest.epoch };
  const until = newest.announced_at + rotate_every;
  return until <= now ? { step: 'begin' } : { step: 'rest', until };
}

/** Milliseconds after a call to an old address for which it counts as used. */
const usedMs = 24 * 3_600_000;

/** Returns whether an old address was called lately. `noticed_at`: the last call. */
export function isOldAddressUsed({ noticed_at }: { readonly noticed_at: number | null }, now: number): boolean {
  return noticed_at !== null && Math.abs(now - noticed_at) <= usedMs;
}
