import { setImmediate } from 'node:timers/promises';
import { readImagesNearLimit } from './images/confirm.ts';
import { healGaps, updateCoverage } from './notifications/coverage.ts';
import { judgeNotices } from './notifications/trust.ts';
import { surveyDemand } from './records/call-value.ts';
import { allProducts, assignCategories } from './records/categories.ts';
import type { Ports } from './records/context.ts';
import { replan, replanRest } from './records/replan.ts';
import { repriceDates } from './records/reprice-dates.ts';

/** The number of products handled between two turns of the event loop. */
const slice = 200;

/**
 * Housekeeping beside the reads: maintains the schedule, images near their limit, the price of a call, and coverage.
 * Run once a minute. Parts that run less often decide by stored instants.
 */
export async function runChores(ports: Ports, signal: AbortSignal): Promise<void> {
  readImagesNearLimit(ports);
  judgeNotices(ports);
  ports.evidence.look();
  await updateCoverage(ports, signal);
  await replanRest(ports, signal);
  healGaps(ports);
  await repriceDates(ports, signal);
  await surveyDemand(ports, signal);
}

/** Assigns products to categories from scratch, since sales and experiences may have changed them. Run every hour. */
export async function reassignCategories(ports: Ports, signal: AbortSignal): Promise<void> {
  const { mirror, policy } = ports;
  if (policy.categories.length === 0) return;
  let after = allProducts.after;
  for (;;) {
    const ids = mirror.catalogue.products.idsAfter(after, slice);
    const last = ids.at(-1);
    if (last === undefined || signal.aborted) return;
    mirror.transaction(() => replan(ports, assignCategories(ports, { after, limit: slice })));
    after = last;
    await setImmediate();
  }
}
