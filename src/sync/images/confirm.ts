import { instant } from '../../clock.ts';
import { imagePressAfterMs } from '../../domain/catalogue/image.ts';
import type { Sync } from '../records/context.ts';
import { askForImages } from './vanished.ts';

/** The most products made due at a time: as many as one minute of reads can handle. */
const imagesAtATime = 500;

/** Makes products' own reads due for images near their limit: from the tenth day on, ahead of the sweeps. */
export function readImagesNearLimit(sync: Sync): void {
  const { mirror, clock, log } = sync;
  const now = clock.now();
  const late = mirror.catalogue.products.imagesVerifiedBefore(instant(now - imagePressAfterMs), imagesAtATime);
  if (late.length === 0) return;
  const brought = mirror.transaction(() => askForImages(sync, late, 'image-limit'));
  if (brought > 0)
    log.warn({ products: brought }, 'images not confirmed for ten days: reading their products ahead of the sweeps');
}
