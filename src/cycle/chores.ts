import { setImmediate } from 'node:timers/promises';
import { readImagesNearLimit } from '../catalogue/vanished-images.ts';
import { judgeNotices } from '../push/announcement-trust.ts';
import { healGaps, updateCoverage } from '../push/coverage.ts';
import { surveyDemand } from '../schedule/call-value.ts';
import { allProducts, assignCategories } from '../schedule/categories.ts';
import { replan, replanRest } from '../schedule/replan-products.ts';
import type { Sync } from '../schedule/sync.ts';

/** The number of products between two turns of the event loop. It is small because all of their dates are priced. */
const fewProducts = 10;

/**
 * Corrects the stored dates of products that turned out to be in another time zone: prices them, and divides them at
 * their times.
 */
export async function repriceDates({ mirror, clock }: Sync, signal: AbortSignal) {
  const by = () => ({ sent_at: clock.now(), reason: 'requested' }) as const;
  while (!signal.aborted && mirror.catalogue.pricing.next(fewProducts, by())) await setImmediate();
}

/** The number of products handled between two turns of the event loop. */
const slice = 200;

/**
 * Housekeeping beside the reads: maintains the schedule, images near their limit, the price of a call, and coverage.
 * Run once a minute. Parts that run less often decide by stored instants.
 */
export async function runChores(sync: Sync, signal: AbortSignal): Promise<void> {
  readImagesNearLimit(sync);
  judgeNotices(sync);
  sync.evidence.look();
  await updateCoverage(sync, signal);
  await replanRest(sync, signal);
  healGaps(sync);
  await repriceDates(sync, signal);
  await surveyDemand(sync, signal);
}

/** Assigns products to categories from scratch, since sales and experiences may have changed them. Run every hour. */
export async function reassignCategories(sync: Sync, signal: AbortSignal): Promise<void> {
  const { mirror, policy } = sync;
  if (policy.categories.length === 0) return;
  let after = allProducts.after;
  for (;;) {
    const ids = mirror.catalogue.products.idsAfter({ product_id: after, limit: slice });
    const last = ids.at(-1);
    if (last === undefined || signal.aborted) return;
    mirror.transaction(() => replan(sync, assignCategories(sync, { after, limit: slice })));
    after = last;
    await setImmediate();
  }
}
