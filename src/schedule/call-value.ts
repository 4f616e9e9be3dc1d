import { setImmediate } from 'node:timers/promises';
import type { KnownProduct } from '../catalogue/product-reads.store.ts';
import { dayMs, type Instant, instant } from '../kernel/clock.ts';
import { besideAudits, extraCalls, limitsAfterPressure } from '../service/extra-calls.rules.ts';
import type { SurveyedInterest } from './budget.store.ts';
import { addDemand, clearingPrice, type Demand, noDemand, noExtraCalls, pricesAround } from './call-price.rules.ts';
import { walkAgain } from './deciding-reads.ts';
import { neededCalls } from './needed-calls.ts';
import {
  type Due,
  dueByCadence,
  dueByWorth,
  type KindKey,
  type LearnedRecord,
  type RecordKey,
  readsPerPeriod,
  walkKinds,
} from './record.rules.ts';
import type { AdaptiveRecord } from './record-reads.store.ts';
import { cadenceOfRecord, listCadence } from './replan-products.ts';
import { usualLane } from './resources.rules.ts';
import { type SiblingKind, type SiblingSubject, siblingKinds } from './siblings.rules.ts';
import {
  addWalkCosts,
  type BatchReads,
  bestWalkInterval,
  either,
  jumpOf,
  noWalkCosts,
  plannedSignalOf,
  signalTier,
  type WalkCosts,
} from './signal.rules.ts';
import type { Sync } from './sync.ts';
import { priorVolatility, type Volatility } from './volatility.rules.ts';
import { surveyInterest, weighing, weighProduct, weightOfRecord } from './weights.ts';

/** Milliseconds for which a demand is valid: rates of change move slowly, and each new survey corrects a wrong price. */
const holdsMs = 6 * 3_600_000;
/** The number of records between two turns of the event loop, which take a millisecond or two. */
const slice = 100;
/** The shortest interval between two reads, in milliseconds: `few` below this number of products, `many` above it. */
const floors = { products: 1_000, few: 15 * 60_000, many: 5 * 60_000 };

/**
 * Computes the demand for extra calls when the last one is six hours old: at several prices, from the availability
 * records, a slice at a time (call-price.rules.ts).
 */
export async function surveyDemand(sync: Sync, signal: AbortSignal): Promise<void> {
  const { mirror, clock, policy } = sync;
  const due_at = surveyDueAt(sync);
  if (policy.adaptive === null || due_at === null || due_at > clock.now()) return;
  const floor = mirror.catalogue.products.count() < floors.products ? floors.few : floors.many;
  const interest = await surveyInterest(sync, signal);
  const weigh = weighing(sync, interest);
  const { price, walk_every } = marketOf(sync);
  let demand: Demand = noDemand(pricesAround(price === noExtraCalls ? null : price));
  let walks = noWalkCosts(listCadence(policy.cadence), floor, mirror.schedule.signals.of('near'));
  let cursor: AdaptiveRecord | null = null;
  for (;;) {
    const records: AdaptiveRecord[] = mirror.schedule.records.adaptiveAfter(cursor, slice);
    if (signal.aborted) return;
    if (records.length === 0) break;
    const priced = records.map((record) => ({ ...pricedOf(sync, record, walk_every), floor, weight: weigh(record) }));
    demand = addDemand(demand, priced);
    if (price !== noExtraCalls) walks = addWalkCosts(walks, priced, price);
    cursor = records.at(-1) ?? null;
    await setImmediate();
  }
  const surveyed = {
    demand,
    floor,
    needed: neededCalls(sync) / dayMs,
    siblings: sync.siblings.takeSpent(clock.now()),
    interest,
    ...walksAt(sync, walks, price),
  };
  mirror.transaction(() => {
    mirror.schedule.budget.saveDemand(surveyed, clock.now());
    const walked_at =
      mirror.schedule.records.find({ ...walkKinds(policy.extent).primary, product_id: 0 })?.fetched_at ?? null;
    const due = walked_at === null ? null : extraWalk(sync, instant(walked_at));
    if (due !== null) walkAgain(sync, instant(Math.max(due.at, clock.now())), due.reason);
  });
}

/** Returns the best interval between walks of the list at a price; empty if no extra calls are made. */
function walksAt({ mirror, policy }: Sync, costs: WalkCosts, price: number) {
  if (price === noExtraCalls) return {};
  const pages = Math.max(1, Math.ceil(mirror.catalogue.products.count() / policy.pageSize));
  const every = bestWalkInterval(costs, price, pages);
  return { walks: { every, calls: pages * (1 / every - 1 / Math.max(every, listCadence(policy.cadence))) } };
}

/**
 * Returns the walk of the list before its cadence elapses, after a walk. Null: none is worth its calls, or no extra
 * calls are made now.
 */
export function extraWalk(sync: Sync, walked_at: Instant): Due | null {
  const { price, walk_every } = marketOf(sync);
  if (price === noExtraCalls || walk_every >= listCadence(sync.policy.cadence)) return null;
  return { at: instant(walked_at + walk_every), reason: 'likely-changed' };
}

/** Returns when the demand is computed next, in epoch milliseconds. Null: never, or not before the fill has ended. */
export function surveyDueAt({ mirror, policy }: Sync): number | null {
  if (policy.adaptive === null || mirror.filledAt() === null) return null;
  const surveyed_at = mirror.schedule.budget.surveyedAt();
  return surveyed_at === null ? 0 : surveyed_at + holdsMs;
}

/** A read of a product's record, and what its next one depends on. */
interface PlannedRead {
  readonly fetched_at: Instant;
  readonly cadence: number;
  readonly product: KnownProduct;
}

/**
 * Returns when a record is due after a read at `fetched_at`: by its cadence, or sooner if that is worth the price of a
 * call. `shared`: the probability that it has changed together with its siblings since.
 */
export function dueAfterRead(
  sync: Sync,
  record: RecordKey,
  { fetched_at, cadence, product }: PlannedRead,
  volatility: Volatility,
  shared = siblingJump(sync, record, fetched_at),
): Due {
  const { price, floor, interest, walk_every } = marketOf(sync);
  if (interest === null) return dueByCadence(record, fetched_at, cadence);
  const watch = plannedSignalOf(sync.mirror.schedule.signals.of(signalTier(record.part)), walk_every);
  const listed = jumpOf(watch, signalOf(product, fetched_at, sync.clock.now()), fetched_at);
  const signal = { watch, jump: either([listed, shared]) };
  const weight = weightOfRecord(weighProduct(sync, product, interest), record);
  return dueByWorth(record, fetched_at, cadence, { volatility, weight, price, floor, signal });
}

interface Market {
  /** The current price of a call. Before the first survey it is so high that no extra call is made. */
  readonly price: number;
  /** The shortest interval between two reads, in milliseconds. */
  readonly floor: number;
  /** The interval between walks of the list, in milliseconds. */
  readonly walk_every: number;
  readonly interest: SurveyedInterest | null;
}

function marketOf({ mirror, clock, policy, budget }: Sync): Market {
  const surveyed = mirror.schedule.budget.demand();
  const cadence = listCadence(policy.cadence);
  if (surveyed === null || policy.adaptive === null)
    return { price: noExtraCalls, floor: 0, walk_every: cadence, interest: null };
  const { demand, needed, floor, interest, siblings = 0, walks = { every: cadence, calls: 0 } } = surveyed;
  const learned = budget();
  const limits = limitsAfterPressure(policy.adaptive, learned, clock.now());
  const extra = besideAudits(extraCalls(limits, needed, learned.rate / 1000), needed, policy.audit);
  return {
    price: clearingPrice(demand, extra - walks.calls - siblings),
    floor,
    walk_every: Math.min(walks.every, cadence),
    interest,
  };
}

/** Returns the facts about a record that the demand counts, beside its weight and the shortest interval. */
function pricedOf({ mirror, policy }: Sync, record: AdaptiveRecord, walk_every: number) {
  const cap = dayMs / readsPerPeriod(dayMs, cadenceOfRecord(policy.of(record.category), record, null));
  const watch = plannedSignalOf(mirror.schedule.signals.of(signalTier(record.part)), walk_every);
  return { volatility: believed(record), cap, watch };
}

/** Returns the estimated rate of change of a record: learned from its reads, or the usual rate of its kind. */
export function believed(record: LearnedRecord): Volatility {
  const { shape, exposure } = record;
  return shape === null || exposure === null ? priorOf(record) : { shape, exposure };
}

/** Returns the estimated rate of change of a record that was never read. */
export function priorOf({ resource, part }: KindKey): Volatility {
  return priorVolatility(usualLane(resource, part));
}

/**
 * Returns the change that the product list showed after a read at `read_at`, up to `at`. Null: it showed none, or a
 * wrong clock wrote the instant.
 */
export function signalOf(
  { signal_at, signal_before_at }: KnownProduct,
  read_at: Instant,
  at: Instant,
): BatchReads | null {
  if (signal_at === null || signal_before_at === null || signal_at <= read_at || signal_at > at) return null;
  return { before_at: signal_before_at, at: signal_at };
}

/** One of the groups of a record, and the subject of the estimate about it. */
interface SiblingGroup {
  readonly kind: SiblingKind;
  readonly id: number | string;
  readonly name: string;
  readonly subject: SiblingSubject;
}

/** Returns the groups that a record's product belongs to: the products of its venue, of its supplier … Their dates may change together. */
export function siblingGroups({ mirror }: Sync, { product_id, edition, part }: RecordKey): SiblingGroup[] {
  const ids = mirror.schedule.siblings.groupsOf(product_id);
  return siblingKinds.flatMap((kind): SiblingGroup[] => {
    const id = ids[kind];
    if (id === null) return [];
    return [{ kind, id, name: `${kind} ${id} ${edition} ${part}`, subject: `${kind} ${signalTier(part)}` }];
  });
}

/** Returns the probability that a record has changed together with its siblings since a read at `read_at`. */
export function siblingJump(sync: Sync, record: RecordKey, read_at: Instant): number {
  const { mirror, siblings } = sync;
  if (siblings.areQuiet()) return 0;
  const groups = siblingGroups(sync, record).filter(({ name }) => siblings.isOpen(name));
  return either(groups.map(({ name, subject }) => siblings.jump(name, read_at, mirror.schedule.signals.of(subject))));
}
