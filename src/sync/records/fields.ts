import { setImmediate } from 'node:timers/promises';
import { shareOf, usualNow, watchedFields } from '../../domain/conditions/fields.ts';
import { venueToday } from '../../domain/time/venue.ts';
import type { Carried } from '../../mirror/status/fields.ts';
import type { Ports } from './context.ts';

const everyMs = 10 * 60_000;
/** So many show what share of all carries a field. */
const sampled = 300;
/** Products that are gone through between two turns of the event loop: a few milliseconds. */
const slice = 20_000;

/** Notes what share of the products carries what the service usually sends. Run once a minute, and looks now and then. */
export async function lookAtFields({ mirror, clock }: Pick<Ports, 'mirror' | 'clock'>): Promise<void> {
  const now = clock.now();
  const before = new Map(mirror.fields.all().map((each) => [each.field, each]));
  const last = Math.max(0, ...[...before.values()].map(({ looked_at }) => looked_at));
  if (last <= now && now - last < everyMs) return;
  const carried = await carriedBySome(mirror, venueToday(null, now).latest);
  const found = watchedFields.flatMap((field) => {
    const share = shareOf(carried.map((each) => each[field]));
    if (share === null) return [];
    const known = before.get(field);
    const usual = usualNow(known?.usual ?? null, share, now - (known?.looked_at ?? now));
    return [{ field, usual, share, looked_at: now }];
  });
  if (found.length > 0) mirror.transaction(() => found.map(mirror.fields.note));
}

/** Returns what some hundred products carry, drawn from all. */
async function carriedBySome({ fields }: Pick<Ports['mirror'], 'fields'>, today: string): Promise<Carried[]> {
  const slices: { after: number; last: number }[] = [];
  let products = 0;
  for (let after = -1; ; ) {
    const { last, seen } = fields.countAfter(after, slice);
    if (last === null) break;
    slices.push({ after, last });
    products += seen;
    after = last;
    await setImmediate();
  }
  const carried: Carried[] = [];
  for (const among of slices) {
    carried.push(...fields.carried(sampled / Math.max(sampled, products), among, today));
    await setImmediate();
  }
  return carried;
}
