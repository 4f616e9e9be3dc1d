import type { SaleStatus } from '../catalogue/product.ts';
import { type ChangeType, changeTypes } from './subscription.ts';

/*
 * Measures push (design 4.7): how many of the changes that our reads find did a subscription announce that should have?
 * Pure functions of counts.
 */

/** Announceable and announced changes; fourteen later ones halve the weight of each. */
export interface Trust {
  readonly announced: number;
  readonly announceable: number;
}

const keeps = 0.95;
/** Below the first share trust ends; above the second it returns. */
const [distrust, trust] = [0.7, 0.85];
/** Fewer changes than this prove nothing. */
const least = 3;

/** Returns the trust after one more change that should have been announced. */
export function afterChange({ announced, announceable }: Trust, was: 'announced' | 'missed'): Trust {
  return { announced: announced * keeps + (was === 'announced' ? 1 : 0), announceable: announceable * keeps + 1 };
}

/** Tells whether covered products may be read less often; `trusted`: whether they were until now. */
export function isTrusted({ announced, announceable }: Trust, trusted: boolean): boolean {
  if (announceable < least) return trusted;
  return announced / announceable >= (trusted ? distrust : trust);
}

/** The fields that the specification names as announced (§2, §6): a change of another field proves nothing. */
const announcedFields = new Set([
  'description',
  'whats_included',
  'tag_ids',
  'exhibitions',
  'starting_time',
  'languages',
]);

/** What a read found: the sale status before (null: it was the first read) and now, and the fields that differ. */
interface FoundChange {
  readonly was: SaleStatus | null;
  readonly is: SaleStatus;
  readonly fields: readonly string[];
}

/** Which found changes each change type should have announced. */
const announces: Readonly<Record<ChangeType, (found: FoundChange) => boolean>> = {
  checkout_disabled: (found) => saleWentTo('disabled', found),
  checkout_enabled: (found) => saleWentTo('enabled', found),
  product_details_update: ({ fields }) => fields.some((field) => announcedFields.has(field)),
};

function saleWentTo(status: SaleStatus, { was, is }: FoundChange): boolean {
  return is === status && was !== null && was !== is && was !== 'unknown';
}

/** Returns what a subscription should announce about a change that a read found. */
export function announceable(was: SaleStatus | null, is: SaleStatus, fields: readonly string[]): readonly ChangeType[] {
  return changeTypes.filter((type) => announces[type]({ was, is, fields }));
}

/** A found change, and the notification expected about it. Instants in epoch milliseconds. */
export interface Expectation {
  /** The last read that did not show it. */
  readonly since_at: number;
  readonly found_at: number;
}

/** Returns when every notification about it must have arrived: the service holds it, then retries for a while. */
export function judgedAt({ found_at }: Expectation, { hold, retries }: { hold: number; retries: number }): number {
  return found_at + hold + retries;
}
