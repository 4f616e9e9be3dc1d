import type { ProductEntry } from '../../domain/catalogue/product.ts';
import type { Ports } from '../records/context.ts';

type ImagePorts = Pick<Ports, 'mirror' | 'clock' | 'log'>;

/** So many products of one page must lose all their images at once before that is taken for a lost entitlement. */
const massLoss = 5;

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
    log.error({ products }, 'every product of a list page lost its images: held until they expire');
  return entries.map((entry) => ({ ...entry, images: null }));
}

/** The same for a product's own read: while images have vanished from the list, one without any says nothing about them. */
export function holdOwnImages(ports: Pick<Ports, 'mirror'>, entry: ProductEntry): ProductEntry {
  return entry.images?.length === 0 && areVanished(ports) ? { ...entry, images: null } : entry;
}

/** Whether images have vanished from the list, and have not come back. */
export function areVanished({ mirror }: Pick<Ports, 'mirror'>): boolean {
  return mirror.alarms.all().some(({ kind }) => kind === 'images-vanished');
}
