import type { Ports } from './context.ts';

/**
 * Heals what a wrong clock has written into the mirror: records that it read count as never read and are due now, and
 * each other instant becomes what `mirror/instants.ts` says. Run when the time is known again, and at every start.
 * Returns the rows changed, by table.
 */
export function healMirror({ mirror, clock }: Pick<Ports, 'mirror' | 'clock'>): Record<string, number> {
  const now = clock.now();
  return mirror.transaction(() => {
    for (const record of mirror.records.beyond(now)) {
      mirror.records.setDue(record, { at: now, reason: 'clock-set-back' });
      // The same body may be of other dates: an empty answer is.
      mirror.records.forgetBody(record);
    }
    const healed = mirror.healInstants(now);
    mirror.writeZones(now);
    return healed;
  });
}
