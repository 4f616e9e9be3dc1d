import { type Instant, instant } from '../kernel/clock.ts';
import { rereadAfterNotice } from '../push/rereads.ts';
import { believed, dueAfterRead, extraWalk } from '../schedule/call-value.ts';
import { askReads, judgeAbsence, placeRestMs, walkForPlace } from '../schedule/deciding-reads.ts';
import { dueAfterUnstored, type Refreshed, settleFailure, settleStored } from '../schedule/next-read.ts';
import {
  type Due,
  dueByCadence,
  type Extent,
  type RecordFacts,
  type RecordKey,
  splitListEdition,
  walkKinds,
} from '../schedule/record.rules.ts';
import { cadenceOfRecord, listCadence, productCadence } from '../schedule/replan-products.ts';
import type { ReadLane, Sync } from '../schedule/sync.ts';
import type { Page } from '../service/decode-product.ts';
import type { Reading } from '../service/reading.ts';
import { judgeEntry } from '../trust/claims-of-answers.ts';
import { soonest } from '../trust/evidence.ts';
import { pathAnswered } from '../trust/refusals.ask.ts';
import type { Experience } from './experience.rules.ts';
import { addRecords, afterStore } from './product.ask.ts';
import type { ProductEntry } from './product.rules.ts';
import type { ProductRead, StoredProduct } from './product-reads.store.ts';
import type { Tag } from './tag.rules.ts';
import { holdVanishedImages, unreadWithExpiry } from './vanished-images.ts';
import { dropMissing, walk } from './walk.ask.ts';

/**
 * Walks the product list, which shows titles, prices, images and sale status at one call per hundred products.
 * Additions and changes apply page by page. Products missing from a complete walk are doubted (absence.rules.ts).
 */
export async function walkProducts(lane: ReadLane, record: RecordFacts, signal: AbortSignal): Promise<Refreshed> {
  const { sync } = lane;
  const { mirror, clock, policy } = sync;
  const kinds = walkKinds(policy.extent);
  const primary = record.edition === kinds.primary.edition;
  const cadence = listCadence(policy.cadence);
  if (
    record.due_reason === 'likely-changed' &&
    record.fetched_at !== null &&
    extraWalk(sync, instant(record.fetched_at)) === null
  ) {
    const { fetched_at } = record;
    mirror.transaction(() => mirror.schedule.records.setDue(record, dueByCadence(record, fetched_at, cadence)));
    return { kind: 'postponed' };
  }
  const list = productList(lane, record, signal);
  return walk(lane, record, {
    cadence,
    ...(primary ? { sooner: (started_at) => extraWalk(sync, started_at) } : {}),
    read: list.read,
    id: (entry: ProductEntry) => entry.product_id,
    store: (page, sent_at, { started_at, next_page }) => list.store(page, { number: next_page, sent_at, started_at }),
    finished: ({ complete, started_at }) => {
      if (!primary) return;
      if (!list.isOrdered()) mirror.catalogue.listPlaces.clear();
      if (complete) judgeAbsence(sync, { edition: record.edition, started_at });
      mirror.status.outcomes.imagesAreBack(started_at, clock.now());
      // Further languages and currencies add to what the primary walk found, so they come after it.
      for (const kind of kinds.further.filter(({ resource }) => resource === 'products'))
        mirror.schedule.records.createWalk(kind);
      mirror.schedule.jobs.adopt([0]);
    },
    signal,
  });
}

/** A page of the product list, and the instants of reading it. */
interface ReadPage {
  readonly number: number;
  readonly sent_at: Instant;
  /** When it was requested; left out: at `sent_at`. */
  readonly called_at?: Instant;
  /** Start of the walk that reads it. For a page read by itself: the instant at which it was requested. */
  readonly started_at: Instant;
}

/** The product list in a language and currency: reads and stores its pages. */
interface ProductList {
  read(page: number): Promise<Reading<Page<ProductEntry>>>;
  /**
   * Stores a page. Returns whether anything changed. Products missing from a page prove nothing. Called in a
   * transaction.
   */
  store(page: Page<ProductEntry>, read: ReadPage): boolean;
  /** Returns whether the list comes in the order of popularity. */
  isOrdered(): boolean;
}

function productList({ sync, upstream }: ReadLane, record: RecordFacts, signal: AbortSignal): ProductList {
  const { mirror, policy } = sync;
  const { language, currency } = splitListEdition(record.edition);
  const primary = record.edition === walkKinds(policy.extent).primary.edition;
  let ordered = policy.listOrdered;
  return {
    isOrdered: () => ordered,
    read: async (page) => {
      const reading = await upstream.productPage(page, language, currency, signal, ordered ? 'ordered' : undefined);
      if (!ordered || reading.kind !== 'refused' || reading.status !== 400) return reading;
      // The service does not know this order. Products without places are better than no products.
      ordered = false;
      return upstream.productPage(page, language, currency, signal);
    },
    store: (page, { number, sent_at, called_at = sent_at, started_at }) => {
      const entries = page.entries.filter(({ product_id }) => !policy.excluded.has(product_id));
      // Only the primary walk shows images.
      const stored = primary ? holdVanishedImages(sync, entries, started_at) : entries;
      const by = { primary, language, currency, sent_at, reason: record.due_reason };
      const settled = stored.map((entry) => {
        const place = { ...record, product_id: entry.product_id, part: 0 };
        return { place, ...storeEntry(sync, place, entry, by) };
      });
      for (const [extent, of] of Map.groupBy(settled, ({ added }) => added))
        if (extent !== null)
          addRecords(
            sync,
            extent,
            of.map(({ place }) => place.product_id),
          );
      if (primary && ordered)
        mirror.catalogue.listPlaces.note(
          page.entries.map(({ product_id }) => product_id),
          (number - 1) * policy.pageSize + 1,
        );
      for (const { place, ask } of settled) settlePlace(sync, place, { sent_at, called_at }, ask);
      return settled.some(({ differs }) => differs);
    },
  };
}

/**
 * Called when a product's place in the list was read: plans the next read of it, if a notification or a claim needs
 * one.
 */
function settlePlace(
  sync: Sync,
  key: RecordKey,
  { sent_at, called_at }: { readonly sent_at: Instant; readonly called_at: Instant },
  ask: Due | null,
): void {
  const current = sync.mirror.schedule.records.find(key);
  if (current === null) return;
  const primary = key.edition === walkKinds(sync.policy.extent).primary.edition;
  const sooner = soonest([primary ? rereadAfterNotice(sync, key.product_id, sent_at) : null, ask]);
  const read = {
    sent_at,
    called_at,
    changed: false,
    body_hash: null,
    cadence: placeRestMs,
    teaches: 'nothing',
  } as const;
  settleStored(sync, current, { ...read, current, sooner });
}

/**
 * Reads the page of the list on which a product last stood, then the pages beside it. If the service has no
 * single-product read, these pages decide about a notification. Other reads of the same page wait for this one, and
 * need no call if their product stands there. If the product is on none of them, the list is walked again, but not too
 * often.
 */
export async function readPlace(lane: ReadLane, record: RecordFacts, signal: AbortSignal): Promise<Refreshed> {
  const { sync } = lane;
  const { mirror, clock } = sync;
  const { product_id, resource, edition } = record;
  const key = { resource, edition };
  const list = productList(lane, record, signal);
  if (isAnswered(sync, record)) return { kind: 'postponed' };
  if (record.due_reason === 'cadence-elapsed' && record.job_id === null) {
    // Nothing has requested the place since: the walk of the list is enough.
    mirror.transaction(() => mirror.schedule.records.drop(record));
    return { kind: 'postponed' };
  }
  const at = mirror.schedule.walks.pageOf(key, product_id);
  let end = Number.POSITIVE_INFINITY;
  for (const number of at === null ? [] : [at, at + 1, at - 1].filter((page) => page > 0)) {
    if (number > end) continue;
    const result = await sync.pageTurns(`${edition} ${number}`, async (): Promise<Refreshed | 'elsewhere'> => {
      if (isAnswered(sync, record)) return { kind: 'postponed' };
      const reading = await list.read(number);
      if (reading.kind === 'unchanged') throw new Error('a page is always decoded');
      if (reading.kind !== 'read')
        return settleFailure(sync, mirror.schedule.records.find(record) ?? record, reading, signal);
      const { value: page, sent_at, called_at = sent_at } = reading;
      if (page.short || page.next === null || page.entries.length === 0) end = number;
      const changed = mirror.transaction(() => {
        const ids = page.entries.map((entry) => entry.product_id);
        mirror.schedule.walks.moved(key, number, ids);
        return list.store(page, { number, sent_at, called_at, started_at: called_at });
      });
      lane.progressed();
      return isAnswered(sync, record) ? { kind: 'stored', changed } : 'elsewhere';
    });
    if (result !== 'elsewhere') return result;
  }
  mirror.transaction(() => {
    walkForPlace(sync, record);
    const due = { at: instant(clock.now() + placeRestMs), reason: 'cadence-elapsed' } as const;
    mirror.schedule.records.setDue(record, dueAfterUnstored(sync, record, due));
    if (record.job_id === null) return;
    // If the job also reads the whole list, it needs no place: the walk reads every product.
    if (isWalkedBy(sync, record, record.job_id)) mirror.schedule.jobs.leaveOut(record, record.job_id);
    else mirror.schedule.jobs.giveUp(record, record.job_id);
  });
  return { kind: 'postponed' };
}

/**
 * Returns whether a job still walks the list of a product's place, or the list was walked since the job was requested.
 */
function isWalkedBy({ mirror }: Sync, { resource, edition, part }: RecordFacts, job_id: number): boolean {
  const list = mirror.schedule.records.find({ resource, edition, part, product_id: 0 });
  const requested_at = mirror.schedule.jobs.find({ job_id })?.requested_at ?? Number.POSITIVE_INFINITY;
  return list !== null && (list.job_id === job_id || (list.fetched_at ?? 0) >= requested_at);
}

/** Returns whether a page requested for another product has answered for this one too. */
function isAnswered({ mirror, clock }: Sync, record: RecordFacts): boolean {
  const current = mirror.schedule.records.find(record);
  return current === null || current.due_at > clock.now();
}

/**
 * Stores an entry, as far as it is believed. `ask`: the instant at which its place in the list is read again because of
 * a claim.
 */
function storeEntry(
  sync: Sync,
  place: RecordKey,
  entry: ProductEntry,
  { primary, ...by }: Pick<ProductRead, 'language' | 'currency' | 'sent_at' | 'reason'> & { readonly primary: boolean },
): { readonly differs: boolean; readonly ask: Due | null; readonly added: Extent | null } {
  const { mirror, clock, policy } = sync;
  const { language, sent_at } = by;
  const { product_id } = entry;
  const known = mirror.catalogue.products.find(product_id);
  const primaryEdition = { language: policy.extent.languages[0], currency: policy.extent.currencies[0] };
  const stale_at = instant(sent_at + productCadence(policy, known));
  const read: ProductRead = { ...by, source: 'list', primary: primaryEdition, now: clock.now(), stale_at };
  const isRead = known !== null && mirror.catalogue.products.isVisible(product_id);
  const next_at = sent_at + listCadence(policy.cadence);
  const unread = primary ? unreadWithExpiry(sync, entry, next_at) : entry.unread;
  if (sync.evidence.judgeUnread(place, unread, { sent_at, isRead }) !== null)
    return { differs: false, ask: null, added: null };
  const verdict = judgeEntry(sync, entry, read);
  const ask = verdict.next;
  if (ask !== null) askReads(sync, [place], [product_id], ask);
  if (verdict.kind === 'keep') return { differs: false, ask, added: null };
  const stored = mirror.catalogue.products.store(entry, { ...read, onlySaleAndImages: verdict.kind === 'sale-only' });
  const added = afterStore(sync, { product_id, language, sent_at }, stored);
  if (primary) noteSignal(sync, { product_id, sent_at }, stored);
  return { differs: stored.outcome !== 'unchanged' && stored.outcome !== 'late', ask, added };
}

/**
 * Called when an entry of the primary list was stored. A new price or sale status signals that the product's dates may
 * have changed too. Brings forward the dates for which a call is now worth its price.
 */
function noteSignal(
  sync: Sync,
  { product_id, sent_at }: { readonly product_id: number; readonly sent_at: Instant },
  { before_at, was, is, repriced }: StoredProduct,
): void {
  const { mirror, clock, policy } = sync;
  if (policy.adaptive === null || before_at === null || before_at >= sent_at || (was === is && !repriced)) return;
  mirror.catalogue.products.signalled(product_id, { before_at, at: sent_at });
  const product = mirror.catalogue.products.find(product_id);
  if (product === null || !product.sellable) return;
  for (const waiting of mirror.schedule.records.waiting({ product_id })) {
    const record = waiting.resource === 'availability' ? mirror.schedule.records.find(waiting) : null;
    if (record?.fetched_at == null) continue;
    const cadence = cadenceOfRecord(policy.of(product.category), record, product);
    const read = { fetched_at: instant(record.fetched_at), cadence, product };
    const due = dueAfterRead(sync, record, read, believed(record));
    if (due.reason === 'likely-changed' && due.at < record.due_at)
      mirror.schedule.records.setDue(record, { ...due, at: instant(Math.max(due.at, clock.now())) });
  }
}

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
