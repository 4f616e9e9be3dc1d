import type { KnownProduct } from '../catalogue/product-reads.store.ts';
import { type Instant, instant } from '../kernel/clock.ts';
import { listRetryAt, quarantineAfter, retryAt, soonListRetryAt, soonRetryAt } from '../service/backoff.rules.ts';
import type { Reading } from '../service/reading.ts';
import type { Examples } from '../service/shapes.rules.ts';
import { isAboutProduct, meansGone, refusedCode, refuses } from '../trust/refusal-reach.rules.ts';
import { believed, dueAfterRead, priorOf, siblingGroups, siblingJump, signalOf } from './call-value.ts';
import { askOwnReads, decideGone, decidesAbsence, noteGone, noteThere } from './deciding-reads.ts';
import { withheldMs } from './offer.rules.ts';
import { type Due, dueByCadence, mayReplace, type RecordFacts } from './record.rules.ts';
import { triggeredApartMs } from './records.store.ts';
import { cadenceOfRecord } from './replan-products.ts';
import { areTelling } from './siblings.rules.ts';
import { afterSignalledRead, afterVisitSignalled, either, signalTier } from './signal.rules.ts';
import type { Sync, UnreadFailure } from './sync.ts';
import { afterVisit, stillTrue, type Volatility } from './volatility.rules.ts';

/**
 * Milliseconds over which the records of a product are spread after its pause, but no more than the length of the
 * pause. One goes first, and shows whether the others may follow.
 */
const restSpreadMs = 60_000;

/** The result of refreshing a record. */
export type Refreshed =
  | {
      readonly kind: 'stored';
      readonly changed: boolean;
      /** A reason why the stored answer is not enough. The record is read again soon, and has not failed. */
      readonly warning?: { readonly code: string; readonly message: string };
    }
  /** The record itself failed. It is retried after a backoff, and no other record waits for it. */
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }
  /**
   * Nothing or only a part was stored, and the record has not failed. The service throttled or was unreachable, so it
   * stays due; the mirror kept its copy until the answer is confirmed; its path is missing; or the read was no longer worth
   * a call, and was planned again.
   */
  | { readonly kind: 'postponed' }
  /** The service refuses the key, so every other read would fail too. */
  | { readonly kind: 'key-refused' };

/**
 * A read without a usable answer: its outcome, a wrong-range answer, or an answer that ends before the first requested
 * date.
 */
export type NoAnswer =
  | Exclude<Reading<never>, { kind: 'read' | 'unchanged' }>
  | { readonly kind: 'failed'; readonly code: 'other-dates' | 'capped'; readonly message: string }
  | UnreadFailure;

/** An answered read, with the facts that its record's schedule needs. */
export interface StoredRead {
  readonly sent_at: Instant;
  /** When the request was sent; left out: at `sent_at`. */
  readonly called_at?: Instant;
  readonly changed: boolean;
  /**
   * True: a shopper would notice the change. Only such changes update the estimated rate of change. Default: `changed`.
   */
  readonly noticed?: boolean;
  readonly body_hash: string | null;
  readonly cadence: number;
  /** The product, if extra calls may be made for it. */
  readonly product?: KnownProduct;
  /** Set if the answer does not show whether the record changed, so that its estimated rate of change stays the same. */
  readonly teaches?: 'nothing';
  /** An earlier due instant for a special reason; null: none. */
  readonly sooner?: Due | null;
  /** True: the answer shows something that a later answer could remove. */
  readonly shows?: boolean;
  /** How many times each of its dates has, on average; null or left out: as stored. */
  readonly times?: number | null;
  /** Instant since which answers say "not on sale"; null: this answer has dates. */
  readonly off_sale_at?: Instant | null;
  /** Instant since which the service leaves out some of its dates; null: it answered all. */
  readonly unanswered_at?: Instant | null;
  /** The stored record, if the caller has read it in this transaction; null or left out: it has not. */
  readonly current?: RecordFacts | null | undefined;
}

/** The longest time for which a resync waits for a confirming read, in milliseconds. */
const longestWaitMs = 120_000;

/**
 * Plans the confirming read of an answer of which at least a part is not stored, because it removes data. While the
 * claim is held, that is the next read by the cadence. A resync waits only for a confirming read. Called in the
 * transaction of the read.
 */
export function settleUnstored(
  sync: Sync,
  record: RecordFacts,
  { sent_at, cadence, due }: { readonly sent_at: Instant; readonly cadence: number; readonly due: Due | null },
): Refreshed {
  const { mirror } = sync;
  mirror.schedule.records.progressed(record);
  mirror.schedule.records.setDue(record, dueAfterUnstored(sync, record, due ?? dueByCadence(record, sent_at, cadence)));
  const waits = due !== null && due.at - sent_at <= longestWaitMs;
  if (record.job_id !== null && !waits) mirror.schedule.jobs.giveUp(record, record.job_id);
  if (decidesAbsence(sync.policy, record)) noteThere(sync, record.product_id);
  return { kind: 'postponed' };
}

/**
 * Returns when a record is due of whose read nothing was stored: as planned, unless a notification, a failed order or a
 * resync came during the read. None of them has been answered. `record`: as it was before the read. Called in its
 * transaction.
 */
export function dueAfterUnstored({ mirror, clock }: Sync, record: RecordFacts, planned: Due): Due {
  const current = mirror.schedule.records.find(record) ?? record;
  const isNewer = (member: 'notified_at' | 'told_at') => (current[member] ?? 0) > (record[member] ?? 0);
  if (isNewer('notified_at'))
    return { at: instant(Math.min(planned.at, clock.now() + triggeredApartMs)), reason: 'notified' };
  const isRequested = current.job_id !== null && current.job_id !== record.job_id;
  return isRequested || isNewer('told_at') ? { at: instant(current.due_at), reason: current.due_reason } : planned;
}

/** Plans when the record is due again. Called in the transaction that stores a read. */
export function settleStored(sync: Sync, record: RecordFacts, read: StoredRead): Refreshed {
  const { sent_at, changed, body_hash, cadence } = read;
  const now = sync.clock.now();
  // Meanwhile a check may have read the same record, or a failed order may have reported it.
  const current = read.current ?? sync.mirror.schedule.records.find(record) ?? record;
  const overtaken = current.fetched_at !== record.fetched_at && !mayReplace(current.fetched_at, sent_at);
  if (overtaken) return { kind: 'stored', changed };
  const found = changeFound(current, read);
  const shared = found === null ? 0 : noteSiblings(sync, current, { ...read, changed: found });
  const volatility = read.teaches === 'nothing' ? null : learned(sync, current, read, shared);
  const due = dueAfterStored(sync, record, read, volatility);
  sync.mirror.schedule.records.fetched(record, {
    sent_at,
    called_at: read.called_at ?? sent_at,
    changed,
    body_hash,
    stale_at: instant(sent_at + cadence),
    due: afterCache(read.sooner != null && read.sooner.at < due.at ? read.sooner : due, read.called_at ?? sent_at),
    volatility,
    off_sale_at: read.off_sale_at ?? null,
    shows: read.shows === undefined ? null : read.shows ? 1 : 0,
    unanswered_at: read.unanswered_at ?? null,
    times: read.times ?? null,
  });
  // The product's trouble is over: its other records need not wait for a backoff of up to a day.
  if (record.failures > 0 && record.product_id !== 0)
    sync.mirror.schedule.records.retryOfProduct(record.product_id, now);
  if (decidesAbsence(sync.policy, record)) noteThere(sync, record.product_id);
  return { kind: 'stored', changed };
}

/** Milliseconds after which an answer is asked for again that a cache has had for longer than its record may wait. */
const cachedRetryMs = 60_000;

/**
 * Returns when to read a record again. Its instant is planned from when the answer was made. If that is past already, a
 * cache had the answer, and would give the same one at once.
 */
function afterCache(due: Due, called_at: Instant): Due {
  return due.at > called_at ? due : { ...due, at: instant(called_at + cachedRetryMs) };
}

/**
 * Returns whether a read found a change that may have come to the venue's or supplier's other products too; null: it
 * says nothing about that. Dates that go off sale teach nothing about their own rate, but they are such a change.
 */
function changeFound({ off_sale_at }: RecordFacts, read: StoredRead): boolean | null {
  if (read.off_sale_at != null && off_sale_at === null) return true;
  return read.teaches === 'nothing' ? null : (read.noticed ?? read.changed);
}

function dueAfterStored(
  sync: Sync,
  record: RecordFacts,
  { sent_at, cadence, product }: StoredRead,
  volatility: Volatility | null,
): Due {
  if (sync.policy.adaptive === null || product === undefined) return dueByCadence(record, sent_at, cadence);
  return dueAfterRead(sync, record, { fetched_at: sent_at, cadence, product }, volatility ?? believed(record));
}

/**
 * Returns the estimated rate of change after this read; null: there was no earlier read to compare with. A change
 * reported by a failed order was already counted. `shared`: the probability that the change was shared with siblings.
 */
function learned(
  sync: Sync,
  record: RecordFacts,
  { sent_at, changed, noticed = changed, product }: StoredRead,
  shared: number,
): Volatility | null {
  const { fetched_at, told_at } = record;
  if (fetched_at === null || fetched_at >= sent_at) return null;
  if (told_at === null || told_at < fetched_at)
    return learnedWatched(
      sync,
      record,
      { before_at: instant(fetched_at), at: sent_at, changed: noticed },
      product,
      shared,
    );
  return afterVisit(believed(record), sent_at - told_at, false, priorOf(record));
}

/**
 * Updates two estimates from a read: the record's rate of change, and the value of the product list as a signal (the
 * share of changes it shows, and how often it is wrong).
 */
function learnedWatched(
  { mirror, policy }: Sync,
  record: RecordFacts,
  visit: { readonly before_at: Instant; readonly at: Instant; readonly changed: boolean },
  product: KnownProduct | undefined,
  shared: number,
): Volatility {
  const before = believed(record);
  const { before_at, at, changed } = visit;
  if (policy.adaptive === null || product === undefined)
    return afterVisit(before, at - before_at, changed, priorOf(record));
  const read = { ...visit, signal: signalOf(product, before_at, at), looked_at: product.listed_at };
  const tier = signalTier(record.part);
  const belief = mirror.schedule.signals.of(tier);
  const next = afterSignalledRead(belief, before, read);
  if (next !== belief) mirror.schedule.signals.save({ tier, ...next });
  return afterVisitSignalled(before, read, belief, priorOf(record), shared);
}

/**
 * Updates the estimated rate of change when a failed order shows that a record has changed since its last read: once
 * between two reads.
 */
export function noteTold({ mirror }: Sync, record: RecordFacts, at: Instant): void {
  const { fetched_at, told_at } = record;
  if (fetched_at === null || fetched_at >= at || (told_at !== null && told_at >= fetched_at)) return;
  mirror.schedule.records.told(record, at, afterVisit(believed(record), at - fetched_at, true, priorOf(record)));
}

/**
 * Records the failure of an answer in which too much cannot be read any more, in the transaction that would store it.
 * Null: it can be used.
 */
export function lostOf(
  sync: Sync,
  record: RecordFacts,
  reading: Extract<Reading<{ readonly unread?: Examples | undefined }>, { kind: 'read' | 'unchanged' }>,
): Extract<Refreshed, { kind: 'failed' }> | null {
  const by = { sent_at: reading.sent_at, isRead: record.fetched_at !== null };
  const unread = reading.kind === 'unchanged' ? undefined : reading.value.unread;
  const lost = sync.evidence.judgeUnread(record, unread, by);
  if (lost !== null) recordFailure(sync, record, { ...lost, final: true });
  return lost;
}

/**
 * Returns whether an unchanged answer says nothing about the mirror: it repeats an answer that the mirror no longer
 * has, because another one was stored, or because the next one is to be compared in full.
 */
export function isSuperseded(
  { mirror }: Sync,
  record: RecordFacts,
  reading: { readonly kind: 'read' | 'unchanged'; readonly hash: string },
): boolean {
  return reading.kind === 'unchanged' && mirror.schedule.records.find(record)?.body_hash !== reading.hash;
}

/** Milliseconds after which a refused record is requested again while the reach of the refusal is unknown. */
const unknownReachMs = 60_000;

/**
 * Records a read without a usable answer: decides whether the record, its path or the key failed, and when to retry.
 * The old copy stays.
 */
export async function settleFailure(
  sync: Sync,
  record: RecordFacts,
  reading: NoAnswer,
  signal: AbortSignal,
): Promise<Refreshed> {
  if (reading.kind === 'throttled' && reading.rests !== undefined) return settleThrottled(sync, record, reading.rests);
  if (reading.kind === 'throttled' || reading.kind === 'unreachable') return { kind: 'postponed' };
  const reach = reading.kind === 'refused' ? await sync.refusals.judge(record, reading, signal) : null;
  const to = reach?.to ?? 'record';
  if (to === 'key') return { kind: 'key-refused' };
  // The record was dropped with its path, unless the key could read it before.
  if (to === 'path' && !sync.policy.extent.resources.has(record.resource)) return { kind: 'postponed' };
  const { message } = reading;
  const isRefused = reading.kind === 'refused';
  // The first fill does not wait for records refused this way.
  const isExcused = isRefused && (to === 'unknown' || refuses('key', reading));
  const code = isExcused ? `${refusedCode}${reading.status}` : reading.code;
  // The service would give a wrong-range answer again, so a waiting resync does not wait for that.
  const final = isRefused || code === 'other-dates' || code === 'members-unreadable';
  const gone = isRefused && meansGone(reading);
  if (to === 'unknown') recordFailure(sync, record, { code, message, final: false, again_ms: unknownReachMs });
  else if (to === 'path') recordFailure(sync, record, { code, message, final, again_ms: withheldMs });
  else if (!gone || record.product_id === 0) {
    const again = 'again_ms' in reading ? { again_ms: reading.again_ms } : {};
    recordFailure(sync, record, { code, message, final, ...again });
  } else
    sync.mirror.transaction(() => {
      const { job_id, product_id, due_reason: reason } = record;
      const answer = reading.status === 410 ? 'permanently-gone' : 'gone';
      const isSaid = reach !== null && isAboutProduct(reach) && decidesAbsence(sync.policy, record);
      const next = isSaid ? noteGone(sync, product_id, { answer, reason }) : null;
      if (record.resource === 'availability') askItself(sync, product_id);
      const decision = job_id === null ? 'there' : decideGone(sync, product_id, job_id);
      if (decision === 'gone' && job_id !== null) sync.mirror.schedule.jobs.leaveOut(record, job_id);
      recordFailure(sync, record, { code, message, final: decision !== 'waits', next });
    });
  return { kind: 'failed', code, message };
}

/** Makes the own read due of a product whose dates are missing, unless it is asked again already. */
function askItself(sync: Sync, product_id: number): void {
  const { mirror, policy } = sync;
  const isAsked = mirror.schedule.records
    .ofProduct(product_id)
    .some((record) => decidesAbsence(policy, record) && record.failures > 0);
  if (!isAsked) askOwnReads(sync, [product_id], 'sale-status-doubted');
}

/**
 * Plans a record that was throttled: it is due when the pause is over. If its product is throttled alone, the record
 * has failed, and neither a fill nor a resync waits for it.
 */
function settleThrottled(
  sync: Sync,
  record: RecordFacts,
  { until, alone }: { readonly until: Instant; readonly alone: boolean },
): Refreshed {
  const { mirror, clock, chance } = sync;
  const now = clock.now();
  // Until it is known whether the product or the service is throttled, no record waits for long.
  const left = Math.max(0, alone ? until - now : Math.min(until - now, restSpreadMs));
  const again_ms = left + Math.round(Math.min(left, restSpreadMs) * chance());
  if (!alone) {
    const due = { at: instant(now + again_ms), reason: record.due_reason };
    mirror.transaction(() => mirror.schedule.records.setDue(record, dueAfterUnstored(sync, record, due)));
    return { kind: 'postponed' };
  }
  const failure = { code: `${refusedCode}429`, message: 'the service throttles it while it answers for others' };
  recordFailure(sync, record, { ...failure, final: true, again_ms });
  return { kind: 'failed', ...failure };
}

/**
 * Counts a failure of the record. A `final` failure (the service refused), or the fifth in a row, makes a resync give
 * the record up.
 */
export function recordFailure(
  sync: Sync,
  record: RecordFacts,
  {
    code,
    message,
    final,
    again_ms,
    next = null,
  }: { code: string; message: string; final: boolean; again_ms?: number; next?: Due | null },
): void {
  const { mirror, clock, chance, retries } = sync;
  const now = clock.now();
  const failures = record.failures + 1;
  // A refusal is the service's answer: an immediate repetition would get the same one.
  const wanted = !final && again_ms === undefined && (record.fetched_at === null || record.job_id !== null);
  const soon = wanted && (failures >= quarantineAfter || retries.take() === 'soon');
  const again = record.product_id === 0 ? (soon ? soonListRetryAt : listRetryAt) : soon ? soonRetryAt : retryAt;
  mirror.transaction(() => {
    // A record requested by a notification stays requested: it keeps its lane and share.
    const reason = record.notified_at === null ? (next?.reason ?? 'retry') : 'notified';
    const at = next?.at ?? (again_ms === undefined ? again(failures, chance(), now) : now + again_ms);
    const due = dueAfterUnstored(sync, record, { at: instant(at), reason });
    mirror.schedule.records.failed(record, { at: now, text: `${code}: ${message}`, due });
    if (record.job_id !== null && (final || failures >= quarantineAfter))
      mirror.schedule.jobs.giveUp(record, record.job_id);
  });
}

/** An answered read of a product's dates. */
interface AnsweredRead {
  readonly sent_at: Instant;
  /** A shopper would notice the change. */
  readonly changed: boolean;
  readonly cadence: number;
  /** The product, if extra calls may be made for it. */
  readonly product?: KnownProduct;
}

/**
 * Takes a stored read of dates as evidence about the other products of its venue and supplier. If it found a change,
 * brings forward those of them that are now worth a call. Returns the probability that the change was shared with
 * siblings. `record`: as it was before the read. Called in the transaction of the read.
 */
function noteSiblings(sync: Sync, record: RecordFacts, read: AnsweredRead): number {
  const { mirror, policy, siblings } = sync;
  const { fetched_at } = record;
  const { sent_at: at, changed } = read;
  if (policy.adaptive === null || record.resource !== 'availability') return 0;
  if (fetched_at === null || fetched_at >= at) return 0;
  if (!changed && siblings.areQuiet()) return 0;
  countEarly(sync, record, read);
  const otherwise = 1 - stillTrue(believed(record), at - fetched_at);
  const others = new Map<number, RecordFacts>();
  const groups = siblingGroups(sync, record).filter(({ name }) => changed || siblings.isOpen(name));
  const shared = groups.map(({ kind, id, name, subject }) => {
    const before = mirror.schedule.signals.of(subject);
    const othersReadAt = () => {
      const found = mirror.schedule.siblings.of(record, kind, id);
      if (areTelling(before)) for (const other of found) others.set(other.product_id, other);
      return found.flatMap((other) => other.fetched_at ?? []);
    };
    const after = siblings.afterRead(name, { before_at: fetched_at, at, changed, otherwise }, othersReadAt, before);
    if (after.belief !== before) mirror.schedule.signals.save({ tier: subject, ...after.belief });
    return after.shared;
  });
  for (const other of others.values()) bringForward(sync, other);
  return either(shared);
}

/** Counts a read that was made before the record alone was worth one. */
function countEarly(sync: Sync, record: RecordFacts, { sent_at, cadence, product }: AnsweredRead): void {
  const fetched_at = instant(record.fetched_at ?? 0);
  if (product === undefined || record.due_reason !== 'likely-changed' || siblingJump(sync, record, fetched_at) === 0)
    return;
  const alone = dueAfterRead(sync, record, { fetched_at, cadence, product }, believed(record), 0);
  sync.siblings.readEarly(sent_at - fetched_at, alone.at - fetched_at);
}

function bringForward(sync: Sync, record: RecordFacts): void {
  const { mirror, clock, policy } = sync;
  const waits = record.due_reason === 'likely-changed' || record.due_reason === 'cadence-elapsed';
  if (record.fetched_at === null || record.failures > 0 || !waits) return;
  const fetched_at = instant(record.fetched_at);
  const shared = siblingJump(sync, record, fetched_at);
  if (shared === 0) return;
  const product = mirror.catalogue.products.find(record.product_id);
  if (product === null) return;
  const cadence = cadenceOfRecord(policy.of(product.category), record, product);
  const due = dueAfterRead(sync, record, { fetched_at, cadence, product }, believed(record), shared);
  const at = instant(Math.max(due.at, clock.now()));
  if (due.reason === 'likely-changed' && at < record.due_at) mirror.schedule.records.setDue(record, { ...due, at });
}
