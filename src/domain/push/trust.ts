import type { SaleStatus } from '../catalogue/product.ts';
import type { ChangeType } from './subscription.ts';

/*
 * Push is measured (design 4.7): of the changes that our reads find, how many did a subscription announce that should
 * have? Pure functions of counts.
 */

/** What was announceable and what was announced, each halved in its weight by the fourteen that came after it. */
export interface Trust {
  readonly announced: number;
  readonly announceable: number;
}

const keeps = 0.95;
/** Below this it is trusted no more, above that again. */
const [distrust, trust] = [0.7, 0.85];
/** Fewer than this say nothing. */
const least = 3;

/** One more change that should have been announced, and was or was not. */
export function afterChange({ announced, announceable }: Trust, was: 'announced' | 'missed'): Trust {
  return { announced: announced * keeps + (was === 'announced' ? 1 : 0), announceable: announceable * keeps + 1 };
}

/** Whether what it covers may be read less often; `trusted`: whether it was until now. */
export function isTrusted({ announced, announceable }: Trust, trusted: boolean): boolean {
  if (announceable < least) return trusted;
  return announced / announceable >= (trusted ? distrust : trust);
}

/** Fields that the specification names as announced (§2, §6): a change of another one proves nothing. */
const announcedFields = new Set([
  'description',
  'whats_included',
  'tag_ids',
  'exhibitions',
  'starting_time',
  'languages',
]);

/** What a subscription should announce of a change that a read found. */
export function announceable(was: SaleStatus | null, is: SaleStatus, fields: readonly string[]): readonly ChangeType[] {
  const sale = was !== null && was !== is && was !== 'unknown';
  return [
    ...(sale && is === 'disabled' ? (['checkout_disabled'] as const) : []),
    ...(sale && is === 'enabled' ? (['checkout_enabled'] as const) : []),
    ...(fields.some((field) => announcedFields.has(field)) ? (['product_details_update'] as const) : []),
  ];
}

/** A change that was found, and the notification about it. Instants in epoch milliseconds. */
export interface Expectation {
  /** The last read that did not show it. */
  readonly since_at: number;
  readonly found_at: number;
}

/** When every notification of it has had its time: it is held, and then tried again for a while. */
export function judgedAt({ found_at }: Expectation, { hold, retries }: { hold: number; retries: number }): number {
  return found_at + hold + retries;
}
