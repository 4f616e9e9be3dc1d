import type { SaleStatus } from '../catalogue/product.rules.ts';
import { type ChangeType, changeTypes } from './subscription.rules.ts';

/*
 * Measures how reliable notifications are: the share of the changes found by our reads that were
 * announced, of those that a subscription should have announced. These are pure functions of counts.
 */

/**
 * Numbers of announceable and announced changes, as counts of a Beta belief. Each 14 later changes halve the weight of
 * one.
 */
export interface Trust {
  readonly announced: number;
  readonly announceable: number;
}

const keeps = 0.95;
/** Prior: until anything is known, a subscription is expected to announce most changes. */
const prior = { announced: 4, missed: 1 };
/**
 * Trust ends when the probability that enough is announced falls below `distrust`, and returns when it reaches
 * `trusts`.
 */
const [distrust, trusts] = [0.35, 0.5];
/** Fewer changes than this prove nothing. */
const least = 3;
/**
 * Bounds of the needed share. A subscription that announces less than half is broken, even if less is needed. More than
 * nine tenths cannot be measured.
 */
const [leastNeeded, mostNeeded] = [0.5, 0.9];

/** Returns the counts after one more change that should have been announced. */
export function afterChange({ announced, announceable }: Trust, was: 'announced' | 'missed'): Trust {
  return { announced: announced * keeps + (was === 'announced' ? 1 : 0), announceable: announceable * keeps + 1 };
}

/**
 * Returns the share of changes that must be announced so that reading less often leaves no more of them unseen: changes
 * that are not announced wait for the longer cadence.
 */
export function neededShare(cadences: readonly { readonly own: number; readonly covered: number }[]): number {
  const needed = cadences.map(({ own, covered }) => 1 - own / Math.max(own, covered));
  return Math.min(mostNeeded, Math.max(leastNeeded, ...needed));
}

/** Returns whether covered products may be read less often. `trusted`: whether they were until now. */
export function isTrusted({ announced, announceable }: Trust, needed: number, trusted: boolean): boolean {
  if (announceable < least) return trusted;
  const belief = [announced + prior.announced, announceable - announced + prior.missed] as const;
  return chanceAbove(needed, ...belief) >= (trusted ? distrust : trusts);
}

/** Returns the probability that a Beta-distributed share is above a bound, by the midpoint rule. */
function chanceAbove(bound: number, a: number, b: number): number {
  const steps = 400;
  let [above, all] = [0, 0];
  for (let step = 0; step < steps; step += 1) {
    const share = (step + 0.5) / steps;
    const density = share ** (a - 1) * (1 - share) ** (b - 1);
    all += density;
    if (share > bound) above += density;
  }
  return above / all;
}

/** Fields that the specification names as announced (§2, §6). A change of another field proves nothing. */
const announcedFields = new Set([
  'description',
  'whats_included',
  'tag_ids',
  'exhibitions',
  'starting_time',
  'languages',
]);

/**
 * Changes found by a read: the sale status before (null: this is the first read) and now, and the fields that differ.
 */
interface FoundChange {
  readonly was: SaleStatus | null;
  readonly is: SaleStatus;
  readonly fields: readonly string[];
}

/** Decides for each change type whether it should have announced a found change. */
const announces: Readonly<Record<ChangeType, (found: FoundChange) => boolean>> = {
  checkout_disabled: (found) => saleWentTo('disabled', found),
  checkout_enabled: (found) => saleWentTo('enabled', found),
  product_details_update: ({ fields }) => fields.some((field) => announcedFields.has(field)),
};

function saleWentTo(status: SaleStatus, { was, is }: FoundChange): boolean {
  return is === status && was !== null && was !== is && was !== 'unknown';
}

/** Returns the change types that a subscription should announce for a change that a read found. */
export function announceable(was: SaleStatus | null, is: SaleStatus, fields: readonly string[]): readonly ChangeType[] {
  return changeTypes.filter((type) => announces[type]({ was, is, fields }));
}

/** A found change, and the notification expected about it. Instants in epoch milliseconds. */
export interface Expectation {
  /** Earliest instant of the change: the answer of the last read without it was at least as new as this. */
  readonly since_at: number;
  readonly found_at: number;
}

/**
 * Returns when every notification about it must have arrived: the service holds a notification, then retries for a
 * while.
 */
export function judgedAt({ found_at }: Expectation, { hold, retries }: { hold: number; retries: number }): number {
  return found_at + hold + retries;
}
