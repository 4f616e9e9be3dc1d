import type { Instant } from '../../clock.ts';
import type { ProductEntry } from '../../domain/catalogue/product.ts';
import type { Sync } from './context.ts';

/** Numbers of facts that a read had to leave out: images with unsafe URLs, negative prices; and addresses that end too soon. */
export interface RefusedFacts {
  readonly images: number;
  readonly prices: number;
  readonly expiring?: number;
}

/** Milliseconds without a refused price after which prices count as usable again. */
const forgottenMs = 24 * 3_600_000;
const operationOf = { images: 'image-urls', prices: 'prices', expiring: 'image-expiry' } as const;
const logMessages = {
  images: 'images are not published: their URLs are not on public hosts',
  prices: 'negative prices are rejected: what they belong to is not sold',
  expiring: 'addresses of images end before the next read: show stored image files instead',
} as const;

/** Returns the facts left out of each product, without products that are complete. `next_at`: their next read. */
export function refusedOf(
  entries: readonly Pick<ProductEntry, 'product_id' | 'refused' | 'images_expire_at'>[],
  next_at: number,
) {
  return entries.flatMap(({ product_id, refused, images_expire_at = Number.POSITIVE_INFINITY }) => {
    const expiring = images_expire_at < next_at ? 1 : 0;
    if (refused === undefined && expiring === 0) return [];
    return [{ product_id, refused: { ...(refused ?? { images: 0, prices: 0 }), expiring } }];
  });
}

/**
 * Records the facts that a read left out of each product. Products that one walk meets from `started_at` on are counted
 * together. Called inside the transaction that stores the read.
 */
export function noteRefused(
  { mirror, clock, log }: Sync,
  found: readonly { readonly product_id: number; readonly refused: RefusedFacts }[],
  started_at: Instant,
): void {
  for (const kind of ['images', 'prices', 'expiring'] as const) {
    const met = found.filter(({ refused }) => (refused[kind] ?? 0) > 0);
    const [first] = met;
    if (first === undefined) continue;
    const failed = { at: clock.now(), started_at, affected: met.length };
    if (mirror.status.outcomes.failedFurther(operationOf[kind], failed) === 'new')
      log.warn({ product_id: first.product_id, products: met.length }, logMessages[kind]);
  }
}

/**
 * Records that facts were not refused again: in the walk that has just ended, and for prices also in the reads of the
 * last day. Called at the end of a walk over the list.
 */
export function endRefused({ mirror, clock }: Sync, started_at: Instant): void {
  for (const { operation, noticed_at } of mirror.status.outcomes.all()) {
    if (noticed_at === null) continue;
    const isOfImages = operation === 'image-urls' || operation === 'image-expiry';
    if (isOfImages && noticed_at < started_at) mirror.status.outcomes.worked(operation, clock.now());
    if (operation === 'prices' && noticed_at < started_at - forgottenMs)
      mirror.status.outcomes.worked(operation, clock.now());
  }
}
