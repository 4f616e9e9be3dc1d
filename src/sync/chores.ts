import { setImmediate } from 'node:timers/promises';
import { readImagesNearLimit, updateImageAlarm } from './images/confirm.ts';
import { updateClosureAlarms } from './notifications/apply.ts';
import { healGaps, updateCoverage } from './notifications/coverage.ts';
import { judgeNotices } from './notifications/trust.ts';
import { allProducts, assignCategories, replan } from './records/categories.ts';
import type { Ports } from './records/context.ts';
import { updateContradictionAlarm, updateOtherDatesAlarm } from './records/doubted-answers.ts';
import { divideNearDates } from './records/near-dates.ts';
import { findPrice } from './records/pricing.ts';

/** So many products are looked at between two turns of the event loop. */
const slice = 200;

/**
 * What keeps the schedule honest and is nobody's read: images that come near their limit, the price of a call,
 * categories. Run once a minute; what is needed less often knows it by stored instants.
 */
export async function runChores(ports: Ports, signal: AbortSignal): Promise<void> {
  updateClosureAlarms(ports);
  readImagesNearLimit(ports);
  updateImageAlarm(ports);
  updateContradictionAlarm(ports);
  updateOtherDatesAlarm(ports);
  judgeNotices(ports);
  await updateCoverage(ports, signal);
  healGaps(ports);
  await divideNearDates(ports, signal);
  await findPrice(ports, signal);
}

/** Hourly: what a product sold, and which experience it belongs to, may have moved it to another category. */
export async function reassignCategories(ports: Ports, signal: AbortSignal): Promise<void> {
  const { mirror, policy } = ports;
  if (policy.categories.length === 0) return;
  let after = allProducts.after;
  for (;;) {
    const ids = mirror.products.idsAfter(after, slice);
    const last = ids.at(-1);
    if (last === undefined || signal.aborted) return;
    mirror.transaction(() => replan(ports, assignCategories(ports, { after, limit: slice })));
    after = last;
    await setImmediate();
  }
}
