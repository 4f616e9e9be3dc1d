import { dayMs, type Instant, instant } from '../kernel/clock.ts';
import { failureOf } from '../says/conditions/outcome.rules.ts';
import { askOwnReads, walkAgain, walkedAt } from '../schedule/deciding-reads.ts';
import type { DueReason } from '../schedule/record.rules.ts';
import type { Sync } from '../schedule/sync.ts';
import { type Examples, endsTooSoon, exampleOf, remarked } from '../service/shapes.rules.ts';
import { imagePressAfterMs } from './image.rules.ts';
import type { ProductEntry } from './product.rules.ts';

/** The number of products of one page that must lose all their images at once to count as a lost entitlement. */
const massLoss = 5;

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

/** The most products made due at a time: as many as one minute of reads can handle. */
const imagesAtATime = 500;

/** Makes products' own reads due for images near their limit: from the tenth day on, ahead of the sweeps. */
export function readImagesNearLimit(sync: Sync): void {
  const { mirror, clock, log } = sync;
  const now = clock.now();
  const late = mirror.catalogue.products.imagesVerifiedBefore({
    at: instant(now - imagePressAfterMs),
    limit: imagesAtATime,
  });
  if (late.length === 0) return;
  const brought = mirror.transaction(() => askForImages(sync, late, 'image-limit'));
  if (brought > 0)
    log.warn({ products: brought }, 'images not confirmed for ten days: reading their products ahead of the sweeps');
}

const name = remarked('images[]', endsTooSoon);

/**
 * Returns the noted members of an entry. Addresses that end before `next_at`, when the next read brings new ones, are noted
 * as well. Drops that note of the product's other reads, if this one has images: its addresses are shown from now on.
 */
export function unreadWithExpiry(
  { mirror }: Sync,
  { product_id, images, images_expire_at, unread }: ProductEntry,
  next_at: number,
): Examples | undefined {
  const noted = mirror.evidence.unread;
  if (images !== null) for (const row of noted.ofProduct({ product_id })) if (row.member === name) noted.drop(row);
  if (images_expire_at === undefined || images_expire_at >= next_at) return unread;
  return new Map([...(unread ?? []), [name, { example: exampleOf(images_expire_at), isAll: false }]]);
}
