import { futureToleranceMs } from '../schedule/record.ts';

/*
 * Callback addresses and their rotation (reliability.md §2.4): each epoch has a token of its own, and only epochs are stored.
 */

/** Whose callback address the service calls: ours of some epoch, ours under another public address, or nobody's we know. */
export type AddressOwner = 'ours' | 'moved' | 'foreign';

/**
 * A callback address, judged by its token: our newest, one of ours that is still accepted or no more, our newest under
 * another public address, or nobody's we know.
 */
export type AddressStanding = 'current' | 'grace' | 'dropped' | 'moved' | 'foreign';

/** An epoch of a callback address, as it is stored (inbox/addresses.ts). */
export interface EpochState {
  readonly epoch: number;
  readonly begun_at: number;
  /** When the service was known to have it; null: not yet. */
  readonly announced_at: number | null;
  /** How long it is still accepted; null: without end. */
  readonly until: number | null;
}

export function newestOf<Epoch extends Pick<EpochState, 'epoch'>>(epochs: readonly Epoch[]): Epoch | null {
  return epochs.reduce<Epoch | null>(
    (newest, each) => (newest === null || each.epoch > newest.epoch ? each : newest),
    null,
  );
}

/** How the address that the service calls stands now. `epochs`: all of this subscription that are stored. */
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

/** The next step of a rotation: `put` tells the service of `epoch`, which is accepted already. */
export type RotationStep =
  | { readonly step: 'begin' }
  | { readonly step: 'put'; readonly epoch: number }
  | { readonly step: 'rest'; readonly until: number };

/**
 * Where a rotation stands, from what is stored alone, so that a kill between any two steps is taken up again: the new
 * address is accepted (`begin`), the service is told (`put`), and once it has it the old one is accepted for the grace
 * and dropped by time alone.
 */
export function rotationStep(epochs: readonly EpochState[], rotate_every: number, now: number): RotationStep {
  const newest = newestOf(epochs);
  if (newest === null) return { step: 'begin' };
  if (newest.announced_at === null) return { step: 'put', epoch: newest.epoch };
  // An instant that has not come yet counts as absent: a machine that once lived in 2038 rotates again.
  if (newest.announced_at > now + futureToleranceMs) return { step: 'begin' };
  const until = newest.announced_at + rotate_every;
  return until <= now ? { step: 'begin' } : { step: 'rest', until };
}
