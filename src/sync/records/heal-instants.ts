import type { Ports } from './context.ts';

/**
 * Corrects instants that a wrong clock wrote into the mirror: records read by it count as never read and are due now;
 * each other instant becomes what `mirror/sql/instants.ts` says. Run when the time is known again, and at every start.
 * Returns the number of rows changed, by table.
 */
export function healMirror({ mirror, clock }: Pick<Ports, 'mirror' | 'clock'>): Record<string, number> {
  const now = clock.now();
  return mirror.transaction(() => {
    for (const record of mirror.records.beyond(now)) {
      mirror.records.setDue(record, { at: now, reason: 'clock-set-back' });
      // The same body may be about other dates, like an empty answer.
      mirror.records.forgetBody(record);
    }
    const healed = mirror.healInstants(now);
    mirror.writeZones(now);
    return healed;
  });
}
