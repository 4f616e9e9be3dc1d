import { instant } from '../../clock.ts';
import type { Tag } from '../../domain/catalogue/tag.ts';
import { walksUntilDropped } from '../../domain/sale/absence.ts';
import type { RecordFacts } from '../../domain/schedule/record.ts';
import { splitListEdition, walkKinds } from '../../domain/schedule/record-kinds.ts';
import { pathAnswered } from '../evidence/reach.ts';
import type { SyncPorts } from '../records/context.ts';
import type { Refreshed } from '../records/settle.ts';
import { walk } from './walk.ts';

/**
 * Walks the list of tags in one language. The list in the primary language decides which tags there are: only a
 * complete walk of it removes one. The others add names.
 */
export async function walkTags(ports: SyncPorts, record: RecordFacts, signal: AbortSignal): Promise<Refreshed> {
  const { upstream, mirror, clock, policy, log } = ports;
  const { language, currency } = splitListEdition(record.edition);
  const cadence = policy.cadence.tags;
  const isPrimary = record.edition === walkKinds(policy.extent).primary.edition;
  return walk(ports, record, {
    cadence,
    read: (page) => upstream.tagPage(page, language, currency, signal),
    id: (tag: Tag) => tag.tag_id,
    store: ({ entries }, sent_at) => {
      pathAnswered(ports, 'tags', sent_at);
      const stale_at = instant(sent_at + cadence);
      return mirror.catalogue.tags.store(entries, {
        language,
        sent_at,
        now: clock.now(),
        stale_at,
        reason: record.due_reason,
      });
    },
    finished: ({ complete, started_at, rows, unusable }) => {
      // An empty list, or an unreadable row, does not show which tags are missing.
      if (!isPrimary || !complete || rows === 0 || unusable > 0) return;
      const missing = mirror.catalogue.tags.noteMissing({ edition: record.edition, started_at });
      const walks = walksUntilDropped(missing, mirror.catalogue.tags.count());
      const dropped = mirror.catalogue.tags.dropMissing(walks, { sent_at: started_at, reason: record.due_reason });
      if (missing > dropped)
        log.error({ missing, dropped }, 'many tags are missing from the list: keeping them until three lists agree');
    },
    signal,
  });
}
