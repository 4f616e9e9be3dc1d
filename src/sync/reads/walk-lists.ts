import { instant } from '../../clock.ts';
import type { Experience } from '../../domain/catalogue/experience.ts';
import type { Tag } from '../../domain/catalogue/tag.ts';
import type { RecordFacts } from '../../domain/schedule/record.ts';
import { splitListEdition, walkKinds } from '../../domain/schedule/record-kinds.ts';
import { pathAnswered } from '../evidence/reach.ts';
import type { ReadLane } from '../records/context.ts';
import type { Refreshed } from '../records/settle.ts';
import { dropMissing, walk } from './walk.ts';

/** Walks the list of experiences, which name their products. Only a complete walk removes one. */
export async function walkExperiences(lane: ReadLane, record: RecordFacts, signal: AbortSignal): Promise<Refreshed> {
  const { sync } = lane;
  const { mirror, policy } = sync;
  const { language, currency } = splitListEdition(record.edition);
  const cadence = policy.cadence.experiences;
  return walk(lane, record, {
    cadence,
    read: (page) => lane.upstream.experiencePage(page, language, currency, signal),
    id: (experience: Experience) => experience.experience_id,
    store: ({ entries }, sent_at) => {
      pathAnswered(sync, 'experiences', sent_at);
      const read = {
        currency,
        sent_at,
        stale_at: instant(sent_at + cadence),
        reason: record.due_reason,
        isUsable: ({ experience_id, unread }: Experience, isRead: boolean) =>
          sync.evidence.judgeUnread({ ...record, part: experience_id }, unread, { sent_at, isRead }) === null,
      };
      return mirror.catalogue.experiences.store(entries, read);
    },
    finished: (end) => dropMissing(sync, record, mirror.catalogue.experiences, end),
    signal,
  });
}

/**
 * Walks the list of tags in one language. The list in the primary language decides which tags there are: only a
 * complete walk of it removes one. The others add names.
 */
export async function walkTags(lane: ReadLane, record: RecordFacts, signal: AbortSignal): Promise<Refreshed> {
  const { sync } = lane;
  const { mirror, policy } = sync;
  const { language, currency } = splitListEdition(record.edition);
  const cadence = policy.cadence.tags;
  const isPrimary = record.edition === walkKinds(policy.extent).primary.edition;
  return walk(lane, record, {
    cadence,
    read: (page) => lane.upstream.tagPage(page, language, currency, signal),
    id: (tag: Tag) => tag.tag_id,
    store: ({ entries }, sent_at) => {
      pathAnswered(sync, 'tags', sent_at);
      const stale_at = instant(sent_at + cadence);
      return mirror.catalogue.tags.store(entries, {
        language,
        sent_at,
        stale_at,
        reason: record.due_reason,
        isUsable: ({ tag_id, unread }, isRead) =>
          sync.evidence.judgeUnread({ ...record, part: tag_id }, unread, { sent_at, isRead }) === null,
      });
    },
    finished: (end) => {
      if (isPrimary) dropMissing(sync, record, mirror.catalogue.tags, end);
    },
    signal,
  });
}
