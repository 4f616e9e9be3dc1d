import { listedAtMost, memoryMs, type PageMemory } from '../admin/page/memory.ts';
import { instant } from '../clock.ts';
import type { ChangeFeed, FeedChange } from '../mirror/changes/changes.ts';
import type { Mirroring } from './mirroring.ts';

/** Reads the data that the page shows in addition to the status. Leaves out data of a file that is lost or damaged. */
export function pageMemory(
  { mirror, inbox, files, sync }: Mirroring,
  { feed, started_at }: { readonly feed: ChangeFeed; readonly started_at: number },
): PageMemory {
  const [mirrored, received] = [files.isWell('mirror'), files.isWell('inbox')];
  const { conditions, deliveries } = inbox;
  const from = instant(sync.clock.now() - memoryMs);
  const titleOf = ({ product_id }: FeedChange) => mirror.catalogue.products.shown(product_id)?.title ?? null;
  return {
    started_at,
    conditions: received ? { watched_since: conditions.watchedSince(), periods: conditions.flips(from) } : null,
    resyncs: mirrored ? mirror.schedule.jobs.unfinished() : [],
    changes: mirrored ? feed.newest(listedAtMost).map((change) => ({ ...change, title: titleOf(change) })) : [],
    deliveries: received ? deliveries.list({ since: null, state: null, limit: listedAtMost }) : [],
  };
}
