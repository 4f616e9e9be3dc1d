import { soldBy } from '../domain/category.ts';
import { daysBetween } from '../domain/dates.ts';
import { productKinds } from '../domain/record-kinds.ts';
import { venueToday } from '../domain/venue.ts';
import { CataloguedError, exitCodes } from '../errors.ts';
import type { Ports } from './ports.ts';

/** What a storefront tells of an order: no personal data. */
export interface OrderReport {
  readonly product_id: number;
  /** The venue's date that was ordered. */
  readonly date: string;
  readonly quantity: number;
  /** Failed: the service refused it, with its own code where it gave one. */
  readonly outcome: 'confirmed' | 'failed';
  readonly code: string | null;
}

/**
 * Availability is checked again after an order (specification §1 rule 5): the window of its date is due at once. A sale
 * counts for the product's weight and for top sellers. Returns how many records are due.
 */
export function reportOrder({ mirror, clock, policy, log }: Omit<Ports, 'upstream'>, order: OrderReport): number {
  const { product_id, date, quantity, outcome, code } = order;
  const known = mirror.products.find(product_id);
  if (known === null) {
    throw new CataloguedError('unknown-product', `product ${product_id} is not in the mirror`, {
      exitCode: exitCodes.usage,
      hint: 'check the number, or read the list again for new products: catalogued resync --products',
    });
  }
  const now = clock.now();
  const { extent } = policy.of(known.category);
  const { earliest, latest } = venueToday(known.timezone, now);
  const [first, last] = [daysBetween(latest, date), daysBetween(earliest, date)];
  const parts = extent.windows
    .filter(({ first_day, last_day }) => first_day <= last && last_day >= first)
    .map(({ part }) => part);
  const kinds = productKinds(extent).filter(
    ({ resource, part }) => resource === 'availability' && parts.includes(part),
  );
  if (kinds.length === 0) {
    throw new CataloguedError('outside-horizon', `${date} is past, or beyond the dates that are mirrored`, {
      exitCode: exitCodes.usage,
      hint: 'name a date from today on, within cadence.availability.horizon',
    });
  }
  if (outcome === 'failed') log.warn({ product_id, date, code }, 'an order failed: its dates are read again');
  return mirror.transaction(() => {
    if (outcome === 'confirmed')
      mirror.categories.countSale(product_id, soldBy(now, known.sold, known.sold_at) + quantity, now);
    return mirror.records.bringForward({ kinds, product_ids: [product_id] }, now, 'order-recheck');
  });
}
