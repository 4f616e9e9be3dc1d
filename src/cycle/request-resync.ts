import { z } from 'zod';
import { DeadlineExceeded } from '../kernel/clock.ts';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import { daysBetween, venueToday } from '../kernel/time/venue.ts';
import { count, type Shaped, text } from '../kernel/values/answer-values.ts';
import { refuseDates } from '../schedule/date-reach.ts';
import type { LaneEntry } from '../schedule/lanes.rules.ts';
import type { KindKey } from '../schedule/record.rules.ts';
import { dueRequested, productKinds, type RecordKind, walkKinds } from '../schedule/record.rules.ts';
import type { RecordSelection } from '../schedule/record-reads.store.ts';
import { isList, type ResyncResource, resources, resyncHelp } from '../schedule/resources.rules.ts';
import type { ResyncState } from '../schedule/resyncs.store.ts';
import { furthestOf, type ProductPolicy, type Sync, type SyncFacts } from '../schedule/sync.ts';

export const resyncResources = Object.keys(resyncHelp) as readonly ResyncResource[];

export interface ResyncRequest {
  readonly resources: readonly ResyncResource[];
  /** Empty: all products. */
  readonly product_ids: readonly number[];
  /** First and last date of the windows of availability that are read; null: no limit. */
  readonly from: string | null;
  readonly to: string | null;
}

/** The cost of a resync. */
export const resyncCost = z.object({
  records: z.record(text, count),
  calls: z.number(),
  minutes: z.number().meta({ description: 'at the configured rate' }),
  /** Null: the cost is counted from the mirror. */
  estimated_from: count.nullable().meta({
    description: 'how many products the service lists, where the mirror does not know them yet; null: it was counted',
  }),
  /** True: more records will become due. */
  at_least: z.boolean().meta({ description: 'true: the service did not say how many products it lists' }),
});
export type ResyncCost = Shaped<typeof resyncCost>;

/** The service's number of products. `unknown`: it did not answer; null: not needed, because the mirror knows. */
export type Listed = number | 'unknown' | null;

/** Milliseconds to wait for the service's number of products. */
const countingMs = 3000;

/** The most calls of a resync that goes before everything else. A larger one is queued like a fill. */
const fewCalls = 100;

/** An interrupted resync older than this is not resumed. */
const resumableMs = 24 * 60 * 60 * 1000;

/**
 * Makes the named records due now, as a new job: only answers to calls that are sent from now on count. Leaves other
 * schedules unchanged. `resume`: continues an interrupted resync of the same scope instead, so that nothing is fetched
 * twice, and makes its failed records due again. For a command that works without a daemon, which continues by itself.
 */
export function requestResync(
  sync: Sync,
  request: ResyncRequest,
  { resume = false }: { readonly resume?: boolean } = {},
): ResyncState & { readonly resumed: boolean } {
  const { mirror, clock } = sync;
  const selection = select(sync, request);
  const now = clock.now();
  return mirror.transaction(() => {
    const unfinished = resume ? mirror.schedule.jobs.unfinishedOf(selection) : null;
    const isFilled = mirror.filledAt() !== null;
    const counts = mirror.schedule.records.count(selection);
    const few = isFilled && callsOf(sync, selection, counts, mirror.catalogue.products.count()) <= fewCalls;
    const [lane, dueAt] = [few ? 'notification' : 'fill', (kind: KindKey) => dueRequested(kind, few).at] as const;
    // A walk under way has read its first pages before the request, so it begins again.
    const walkAgain = (kinds: readonly KindKey[]) => {
      if (isFilled) for (const kind of kinds) if (isList(kind.resource)) mirror.schedule.walks.begin(kind, now, 1);
    };
    if (unfinished !== null && now - unfinished.requested_at < resumableMs) {
      walkAgain(mirror.schedule.jobs.askFailed(unfinished, selection, now, lane, dueAt));
      return { ...(mirror.schedule.jobs.find({ job_id: unfinished.job_id }) ?? unfinished), resumed: true };
    }
    const job = mirror.schedule.jobs.open(selection, now, lane, dueAt);
    if (job.records === 0 && mirror.catalogue.products.count() > 0) mirror.schedule.jobs.finish({ at: now });
    walkAgain(selection.kinds);
    return { ...job, resumed: false };
  });
}

/**
 * Computes the cost of a resync, without making anything due. `listed`: the service's number of products, if the mirror
 * does not know all of them. `counted`: the records to read, by resource; left out: all that the request names.
 */
export function costOfResync(
  facts: SyncFacts,
  request: ResyncRequest,
  requests_per_second: number,
  { listed = null, counted }: { readonly listed?: Listed; readonly counted?: ReadonlyMap<string, number> } = {},
): ResyncCost {
  const selection = select(facts, request);
  const estimated_from = typeof listed === 'number' ? listed : null;
  const products = Math.max(estimated_from ?? 0, facts.mirror.catalogue.products.count());
  const known = counted ?? facts.mirror.schedule.records.count(selection);
  // Named products are in the mirror: they are counted.
  const isKnown = estimated_from === null || selection.product_ids !== null;
  const counts = isKnown ? known : estimated(facts, selection.kinds, products);
  const calls = callsOf(facts, selection, counts, products);
  const minutes = Math.ceil(calls / requests_per_second / 6) / 10;
  return { records: Object.fromEntries(counts), calls, minutes, estimated_from, at_least: listed === 'unknown' };
}

/**
 * Counts the records that a request names, by resource, where no daemon runs. Kinds of record that the configuration has
 * added since the last start have none yet; they count one record per product. Returns null if the list that the request
 * needs was never walked: the service has to be asked.
 */
export function countStored(facts: SyncFacts, request: ResyncRequest): ReadonlyMap<string, number> | null {
  const { records } = facts.mirror.schedule;
  const { kinds, product_ids } = select(facts, request);
  const { primary } = walkKinds(facts.policy.extent);
  const isNamed = kinds.some(({ resource }) => resource === primary.resource);
  if (isNamed && records.find({ ...primary, product_id: 0 })?.fetched_at == null) return null;
  const counts = records.count({ kinds, product_ids });
  const added = kinds.filter((kind) => records.count({ kinds: [kind], product_ids: null }).get(kind.resource) === 0);
  // Of named products, the selection has one more: the lists.
  const products = product_ids === null ? facts.mirror.catalogue.products.count() : product_ids.length - 1;
  for (const [resource, expected] of estimated(facts, added, products))
    counts.set(resource, (counts.get(resource) ?? 0) + expected);
  return counts;
}

/**
 * Requests the service's number of products, with one call. Returns null without a call if the list was walked already,
 * or if the request needs no list.
 */
export async function countListed(
  sync: Sync,
  lane: LaneEntry,
  request: ResyncRequest,
  signal: AbortSignal,
): Promise<Listed> {
  const { mirror, clock, policy, upstream } = sync;
  const { primary } = walkKinds(policy.extent);
  const walks = select(sync, request).kinds.some(({ resource }) => resource === primary.resource);
  if (mirror.filledAt() !== null || !walks) return null;
  const [[language], [currency]] = [policy.extent.languages, policy.extent.currencies];
  using patience = clock.deadline(countingMs, signal);
  const reading = await upstream
    .in(lane)
    .productPage(1, language, currency, patience.signal)
    .catch((error: unknown) => {
      signal.throwIfAborted();
      if (error instanceof DeadlineExceeded) return null;
      throw error;
    });
  return reading?.kind === 'read' ? (reading.value.total ?? 'unknown') : 'unknown';
}

/**
 * Returns the number of records of these kinds after the first walk of the list, by resource. Nobody knows the categories of
 * its products yet, so they count like those of none.
 */
function estimated({ policy }: SyncFacts, kinds: readonly KindKey[], products: number): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { resource, part } of kinds) {
    const records = isList(resource) ? 1 : part < policy.extent.windows.length ? products : 0;
    counts.set(resource, (counts.get(resource) ?? 0) + records);
  }
  return counts;
}

/** Returns the number of calls: a walk reads all pages of a list, a product's place in one is read with its page. */
function callsOf(
  { policy }: SyncFacts,
  { kinds }: RecordSelection,
  counts: ReadonlyMap<string, number>,
  products: number,
): number {
  const pages = Math.ceil(products / policy.pageSize) || 1;
  const walks = Math.min(counts.get('products') ?? 0, kinds.filter(({ resource }) => resource === 'products').length);
  return [...counts.values()].reduce((sum, count) => sum + count, walks * (pages - 1));
}

function select(facts: SyncFacts, request: ResyncRequest): RecordSelection {
  const { mirror, policy } = facts;
  refuseDates(facts, { from: request.from, to: request.to });
  const unknown = request.product_ids.filter((id) => !mirror.catalogue.products.isVisible(id));
  if (unknown.length > 0) {
    throw new CataloguedError('unknown-product', `not in the mirror: product ${unknown.join(', ')}`, {
      exitCode: exitCodes.usage,
      hint: 'without --dry-run the service is asked for it; for a new product, read the list again: catalogued resync --products',
    });
  }
  const single = request.product_ids.length > 0;
  const { primary, further } = walkKinds(policy.extent);
  const categories = request.product_ids.map((id) => mirror.catalogue.products.find(id)?.category ?? null);
  const furthest = furthestOf(policy, single ? categories : undefined);
  const perProduct = productKinds(furthest.extent);
  const wants = (resource: ResyncResource) => request.resources.includes(resource);
  const details = perProduct.filter(({ resource }) => resource === 'product_detail');
  const kinds: RecordKind[] = [];
  if (wants('products') || wants('images')) {
    // The list shows images, prices and sale status of everything at one call per hundred products. A single product is
    // cheaper by its own read.
    if (single && details.length > 0) kinds.push(...details);
    else kinds.push(primary, ...(wants('products') ? [...further, ...details] : []));
  }
  const asked = resyncResources.filter((name) => name !== 'products' && wants(name));
  const named = asked.flatMap((name) => perProduct.filter(({ resource }) => resources[resource].resync === name));
  kinds.push(...withinDates(facts, request, furthest, named));
  // Walks are stored with product 0, so 0 selects them and nothing else.
  const product_ids = single ? [0, ...request.product_ids].sort((a, b) => a - b) : null;
  return { kinds: kinds.map(({ resource, edition, part }) => ({ resource, edition, part })), product_ids };
}

/**
 * Leaves out windows without a requested date, for any time zone of the venue: its today may be today in UTC or a day
 * beside it. Throws where no window is left.
 */
function withinDates(
  facts: SyncFacts,
  { from, to }: ResyncRequest,
  { extent, cadence }: ProductPolicy,
  kinds: readonly RecordKind[],
): RecordKind[] {
  const isDated = ({ resource }: RecordKind) => resources[resource].tiers;
  if (kinds.some(isDated)) refuseDates(facts, { from }, { horizon: cadence.availability.horizon });
  const { earliest, latest } = venueToday(null, facts.clock.now());
  const first = from === null ? 0 : daysBetween(latest, from);
  const last = to === null ? Number.POSITIVE_INFINITY : daysBetween(earliest, to);
  const parts = extent.windows
    .filter((window) => window.last_day >= first && window.first_day <= last)
    .map(({ part }) => part);
  return kinds.filter((kind) => !isDated(kind) || parts.includes(kind.part));
}
