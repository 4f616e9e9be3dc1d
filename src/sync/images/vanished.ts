import type { ProductEntry } from '../../domain/catalogue/product.ts';
import type { DueReason } from '../../domain/schedule/record.ts';
import type { Ports } from '../records/context.ts';
import { askOwnReads, walkAgain, walkedAt } from '../records/deciding-reads.ts';

type ImagePorts = Pick<Ports, 'mirror' | 'clock' | 'log'>;

/** So many products of one page must lose all their images at once before that is taken for a lost entitlement. */
const massLoss = 5;

const dayMs = 86_400_000;

/**
 * The entries of a page of the primary list. An account without image entitlement answers with empty arrays: where every
 * product of a page has lost its images, that is no statement about any image, but a condition that is stored until
 * images are met again (reliability.md 3.1, Images). Inside the caller's transaction.
 */
export function holdVanishedImages(
  { mirror, clock, log }: ImagePorts,
  entries: readonly ProductEntry[],
  started_at: number,
): readonly ProductEntry[] {
  const some = entries.some(({ images }) => images === null || images.length > 0);
  if (some || entries.length < massLoss) return entries;
  if (mirror.products.countImages(entries.map(({ product_id }) => product_id)) < massLoss) return entries;
  const products = entries.length;
  const alarm = { kind: 'images-vanished', at: clock.now(), started_at, products } as const;
  if (mirror.alarms.add(alarm) === 'new')
    log.error(
      { products },
      'a list page shows no images for any of its products: the known ones are kept until they expire',
    );
  return entries.map((entry) => ({ ...entry, images: null }));
}

/** The same for a product's own read: while images have vanished from the list, one without any says nothing about them. */
export function holdOwnImages(ports: Pick<Ports, 'mirror'>, entry: ProductEntry): ProductEntry {
  return entry.images?.length === 0 && areVanished(ports) ? { ...entry, images: null } : entry;
}

/** Whether images have vanished from the list, and have not come back. */
function areVanished({ mirror }: Pick<Ports, 'mirror'>): boolean {
  return mirror.alarms.all().some(({ kind }) => kind === 'images-vanished');
}

/**
 * Makes the read due that brings images: the products' own, or the list where products have none; while images have
 * vanished from everything, a read of its own would bring none either. Returns how many reads that brings forward.
 * Inside the caller's transaction.
 */
export function askForImages(
  ports: Pick<Ports, 'mirror' | 'clock' | 'policy'>,
  product_ids: readonly number[],
  reason: DueReason,
): number {
  const brought = areVanished(ports) ? null : askOwnReads(ports, product_ids, reason);
  if (brought !== null) return brought;
  const now = ports.clock.now();
  // The list is not walked twice a day for images that it lacks.
  return now - (walkedAt(ports) ?? 0) > dayMs ? walkAgain(ports, now, reason) : 0;
}
