import type { StoredClaim } from '../../mirror/evidence.ts';
import type { Ports } from '../records/context.ts';
import { datesOf } from '../records/window-dates.ts';

/** Shows what a claim is about as stale from now on. */
export function markStale(
  { mirror, clock, policy }: Pick<Ports, 'mirror' | 'clock' | 'policy'>,
  { resource, product_id, edition, part }: StoredClaim,
): void {
  const now = clock.now();
  if (resource !== 'availability') {
    mirror.evidence.markHeld({ resource, product_id, edition }, now);
    return;
  }
  const product = mirror.products.find(product_id);
  const window = product === null ? null : datesOf(policy.of(product.category), product, part, now);
  if (window !== null) mirror.evidence.markDatesHeld({ product_id, edition, from: window.from, to: window.to }, now);
}
