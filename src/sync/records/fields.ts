import { shareOf, usualNow, watchedFields } from '../../domain/conditions/fields.ts';
import { venueToday } from '../../domain/time/venue.ts';
import type { Ports } from './context.ts';

const everyMs = 10 * 60_000;
/** So many show what share of all carries a field. */
const sampled = 300;

/** Notes what share of the products carries what the service usually sends. Run once a minute, and looks now and then. */
export function lookAtFields({ mirror, clock }: Pick<Ports, 'mirror' | 'clock'>): void {
  const now = clock.now();
  const before = new Map(mirror.fields.all().map((each) => [each.field, each]));
  const last = Math.max(0, ...[...before.values()].map(({ looked_at }) => looked_at));
  if (last <= now && now - last < everyMs) return;
  const carried = mirror.fields.carried(sampled, venueToday(null, now).latest);
  const found = watchedFields.flatMap((field) => {
    const share = shareOf(carried.map((each) => each[field]));
    if (share === null) return [];
    const known = before.get(field);
    const usual = usualNow(known?.usual ?? null, share, now - (known?.looked_at ?? now));
    return [{ field, usual, share, looked_at: now }];
  });
  if (found.length > 0) mirror.transaction(() => found.map(mirror.fields.note));
}
