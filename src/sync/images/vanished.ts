import type { Instant } from '../../clock.ts';
import type { ProductEntry } from '../../domain/catalogue/product.ts';
import { failureOf } from '../../domain/conditions/outcome.ts';
import type { DueReason } from '../../domain/schedule/record.ts';
import type { Sync } from '../records/context.ts';
import { askOwnReads, walkAgain, walkedAt } from '../records/deciding-reads.ts';

/** The number of products of one page that must lose all their images at once to count as a lost entitlement. */
const massLoss = 5;

const dayMs = 86_400_000;

/**
 * Returns the entries of a page of the primary list, without their images if these have vanished. The service sends
 * empty arrays to an account without image entitlement. So if every product of a page has lost its images, the page
 * says nothing about any image. The condition is stored until images appear again.
 */
export function holdVanishedImages(
  { mirror, clock, log }: Sync,
  entries: readonly ProductEntry[],
  started_at: Instant,
): readonly ProductEntry[] {
  const some = entries.some(({ images, images_hidden = 0 }) => images === null || images.length + images_hidden > 0);
  if (some || entries.length < massLoss) return entries;
  if (mirror.catalogue.products.countImages(entries.map(({ product_id }) => product_id)) < massLoss) return entries;
  const products = entries.length;
  const failed = { at: clock.now(), started_at, affected: products };
  if (mirror.status.outcomes.failedFurther('image-list', failed) === 'new')
    log.error(
      { products },
      'a list page shows no images for any of its products: the known ones are kept until they expire',
    );
  return entries.map((entry) => ({ ...entry, images: null }));
}

/**
 * Does the same for a product's own read: while images have vanished from the list, a read without images says nothing
 * about them.
 */
export function holdOwnImages(sync: Sync, entry: ProductEntry): ProductEntry {
  const isEmpty = entry.images?.length === 0 && !entry.images_hidden;
  return isEmpty && areVanished(sync) ? { ...entry, images: null } : entry;
}

/** Returns whether images have vanished from the list and have not come back. */
function areVanished({ mirror }: Sync): boolean {
  return failureOf(mirror.status.outcomes.all(), 'image-list') !== null;
}

/**
 * Makes the reads due that bring images: the products' own reads. Makes the list due instead if products have none, or
 * while images have vanished from the list, since own reads would bring none either. Returns the number of reads
 * brought forward.
 */
export function askForImages(sync: Sync, product_ids: readonly number[], reason: DueReason): number {
  const brought = areVanished(sync) ? null : askOwnReads(sync, product_ids, reason);
  if (brought !== null) return brought;
  const now = sync.clock.now();
  // The list is walked at most once a day for images that it lacks.
  return now - (walkedAt(sync) ?? 0) > dayMs ? walkAgain(sync, now, reason) : 0;
}
