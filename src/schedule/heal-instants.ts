import type { Instant } from '../kernel/clock.ts';
import type { Mirror } from '../mirror/mirror.ts';

/**
 * Repairs instants that a wrong clock wrote into the mirror. Records with such an instant of their read count as never
 * read and are due now. Each other instant is repaired by its rule in `mirror/sql/instants.ts`. Run when the time is
 * known again, and at every start. Returns the number of rows changed, by table.
 */
export function healMirror(mirror: Mirror, now: Instant): Record<string, number> {
  return mirror.transaction(() => {
    for (const record of mirror.schedule.records.beyond(now)) {
      mirror.schedule.records.setDue(record, { at: now, reason: 'clock-set-back' });
      // The same body may then be about other dates, as with an empty answer.
      mirror.schedule.records.forgetBody(record);
    }
    const healed = mirror.healInstants(now);
    mirror.catalogue.zones.write(now);
    return healed;
  });
}
