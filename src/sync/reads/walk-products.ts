import type { ProductEntry } from '../../domain/catalogue/product.ts';
import { dueByCadence } from '../../domain/schedule/cadence.ts';
import type { RecordFacts } from '../../domain/schedule/record.ts';
import { splitListEdition, walkKinds } from '../../domain/schedule/record-kinds.ts';
import type { ProductRead } from '../../mirror/catalogue/product/entry.ts';
import { holdVanishedImages } from '../images/vanished.ts';
import { walkForNotices } from '../notifications/apply.ts';
import { judgeAbsence } from '../records/absence.ts';
import type { SyncPorts } from '../records/context.ts';
import { extraWalk } from '../records/pricing.ts';
import { clearRefused, noteRefused, refusedOf } from '../records/refused-facts.ts';
import { listCadence } from '../records/reschedule.ts';
import type { Refreshed } from '../records/settle.ts';
import { noteSignal } from './list-signal.ts';
import { afterStore, productCadence } from './product.ts';
import { walk } from './walk.ts';

/**
 * Walks the product list, which brings titles, prices, images and sale status at one call per hundred products.
 * Additions and changes apply page by page; products missing from a complete walk are doubted (absence.ts).
 */
export async function walkProducts(ports: SyncPorts, record: RecordFacts, signal: AbortSignal): Promise<Refreshed> {
  const { upstream, mirror, clock, policy } = ports;
  const { language, currency } = splitListEdition(record.edition);
  const kinds = walkKinds(policy.extent);
  const primary = record.edition === kinds.primary.edition;
  const cadence = listCadence(policy.cadence);
  if (
    record.due_reason === 'likely-changed' &&
    record.fetched_at !== null &&
    extraWalk(ports, record.fetched_at) === null
  ) {
    const { fetched_at } = record;
    mirror.transaction(() => mirror.records.setDue(record, dueByCadence(record, fetched_at, cadence)));
    return { kind: 'postponed' };
  }
  let ordered = policy.listOrdered;
  return walk(ports, record, {
    cadence,
    ...(primary ? { sooner: (started_at) => extraWalk(ports, started_at) } : {}),
    read: async (page) => {
      const reading = await upstream.productPage(page, language, currency, signal, ordered ? 'ordered' : undefined);
      if (!ordered || reading.kind !== 'refused' || reading.status !== 400) return reading;
      // It does not know the order: better without places than without products.
      ordered = false;
      return upstream.productPage(page, language, currency, signal);
    },
    id: (entry: ProductEntry) => entry.product_id,
    store: (page, sent_at, { started_at, next_page }) => {
      noteRefused(ports, refusedOf(page.entries), started_at);
      const entries = page.entries.filter(({ product_id }) => !policy.excluded.has(product_id));
      if (primary && ordered)
        mirror.listPlaces.note(
          page.entries.map(({ product_id }) => product_id),
          (next_page - 1) * policy.pageSize + 1,
        );
      // Only the primary walk says anything about images.
      const stored = primary ? holdVanishedImages(ports, entries, started_at) : entries;
      return storeEntries(ports, stored, { primary, language, currency, sent_at, reason: record.due_reason });
    },
    finished: ({ complete, started_at, rows }) => {
      if (!primary) return;
      if (!ordered) mirror.listPlaces.clear();
      if (complete) judgeAbsence(ports, { edition: record.edition, started_at, rows });
      walkForNotices(ports, started_at);
      mirror.alarms.clearImages(started_at, clock.now());
      clearRefused(ports, started_at);
      // Further languages and currencies add to what the primary walk found, so they come after it.
      for (const kind of kinds.further.filter(({ resource }) => resource === 'products'))
        mirror.records.createWalk(kind);
      mirror.jobs.adopt([0]);
    },
  });
}

function storeEntries(
  ports: SyncPorts,
  entries: readonly ProductEntry[],
  { primary, ...by }: Pick<ProductRead, 'language' | 'currency' | 'sent_at' | 'reason'> & { readonly primary: boolean },
): boolean {
  const { mirror, clock, policy } = ports;
  const { language, sent_at } = by;
  let changed = false;
  for (const entry of entries) {
    const known = mirror.products.find(entry.product_id);
    const stored = mirror.products.store(entry, {
      ...by,
      source: 'list',
      primary: { language: policy.extent.languages[0], currency: policy.extent.currencies[0] },
      now: clock.now(),
      stale_at: sent_at + productCadence(policy, known),
    });
    afterStore(ports, { product_id: entry.product_id, language, sent_at }, stored);
    if (primary) noteSignal(ports, { product_id: entry.product_id, sent_at }, stored);
    changed ||= stored.outcome !== 'unchanged' && stored.outcome !== 'late';
  }
  return changed;
}
