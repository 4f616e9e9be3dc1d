import type { ProductEntry } from '../../domain/catalogue/product.ts';
import { endsTooSoon } from '../../domain/service/shapes.ts';
import { type Examples, exampleOf, remarked } from '../../domain/service/unread.ts';
import type { Sync } from '../records/context.ts';

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
  if (images !== null) for (const row of noted.ofProduct(product_id)) if (row.member === name) noted.drop(row);
  if (images_expire_at === undefined || images_expire_at >= next_at) return unread;
  return new Map([...(unread ?? []), [name, { example: exampleOf(images_expire_at), isAll: false }]]);
}
