import { instant } from '../../clock.ts';
import type { Experience } from '../../domain/catalogue/experience.ts';
import { walksUntilDropped } from '../../domain/sale/absence.ts';
import type { RecordFacts } from '../../domain/schedule/record.ts';
import { splitListEdition } from '../../domain/schedule/record-kinds.ts';
import { pathAnswered } from '../evidence/reach.ts';
import type { SyncPorts } from '../records/context.ts';
import type { Refreshed } from '../records/settle.ts';
import { walk } from './walk.ts';

/** Walks the list of experiences, which name their products. Only a complete walk removes one. */
export async function walkExperiences(ports: SyncPorts, record: RecordFacts, signal: AbortSignal): Promise<Refreshed> {
  const { upstream, mirror, clock, policy, log } = ports;
  const { language, currency } = splitListEdition(record.edition);
  const cadence = policy.cadence.experiences;
  return walk(ports, record, {
    cadence,
    read: (page) => upstream.experiencePage(page, language, currency, signal),
    id: (experience: Experience) => experience.experience_id,
    store: ({ entries }, sent_at) => {
      pathAnswered(ports, 'experiences', sent_at);
      const read = {
        currency,
        sent_at,
        now: clock.now(),
        stale_at: instant(sent_at + cadence),
        reason: record.due_reason,
      };
      return mirror.catalogue.experiences.store(entries, read);
    },
    finished: ({ complete, started_at, rows, unusable }) => {
      // An empty list, or an unreadable row, does not show which experiences are missing.
      if (!complete || rows === 0 || unusable > 0) return;
      const missing = mirror.catalogue.experiences.noteMissing({ edition: record.edition, started_at });
      const walks = walksUntilDropped(missing, mirror.catalogue.experiences.count());
      const dropped = mirror.catalogue.experiences.dropMissing(walks, {
        sent_at: started_at,
        reason: record.due_reason,
      });
      if (missing > dropped)
        log.error(
          { missing, dropped },
          'many experiences are missing from the list: keeping them until three lists agree',
        );
    },
    signal,
  });
}
