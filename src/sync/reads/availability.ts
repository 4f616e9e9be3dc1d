import { type Instant, instant } from '../../clock.ts';
import { namesOtherDates } from '../../domain/catalogue/answered-span.ts';
import { type AvailabilityAnswer, type DayForm, summarise } from '../../domain/catalogue/availability.ts';
import { type WindowRequests, windowRequests } from '../../domain/catalogue/window-requests.ts';
import { dueForIncomingDate } from '../../domain/schedule/cadence.ts';
import type { Due, RecordFacts } from '../../domain/schedule/record.ts';
import type { Dates } from '../../domain/time/dates.ts';
import type { AnswerMeta } from '../../mirror/catalogue/dates/answer-meta.ts';
import type { KnownProduct } from '../../mirror/catalogue/product/reads.ts';
import type { Reading } from '../../upstream/reading.ts';
import { judgeDates } from '../evidence/answers.ts';
import { soonest } from '../evidence/evidence.ts';
import type { Commit, Sync, SyncPorts } from '../records/context.ts';
import { noteRefused } from '../records/refused-facts.ts';
import {
  type NoAnswer,
  type Refreshed,
  type StoredRead,
  settleFailure,
  settleKept,
  settleStored,
} from '../records/settle.ts';
import { datesOf } from '../records/window-dates.ts';
import { doubtSaleStatus, notOnSale, release } from './off-sale-answer.ts';
import { nextWindow, planMovedDate, postponeIfNotWorth } from './planned-window.ts';

type Answered = Extract<Reading<AvailabilityAnswer>, { kind: 'read' | 'unchanged' }>;

/** The result of reading a window: a stored answer, or none, which does not count as a failure yet. */
export type AvailabilityRead =
  | {
      readonly kind: 'stored';
      readonly changed: boolean;
      /** Dates with a change that a shopper would notice. If only the variants changed, the first answered date. */
      readonly noticed: readonly string[];
      /**
       * `off`: the product is not on sale, and no dates are answered. `contradicted`: its own read says that it is on
       * sale.
       */
      readonly sale: 'on' | 'off' | 'contradicted';
      /** Instant at which the (first) request was sent. */
      readonly sent_at: Instant;
      /** Dates that the service did not answer in any request: the mirror keeps its copy of them. */
      readonly unanswered: readonly Dates[];
      /** Set if the mirror keeps its copy, because the answer removes data. */
      readonly kept?: true;
    }
  | NoAnswer;

/** The options of a read of a window: its signal, its commit, and callbacks, which only live reads need. */
interface ReadOptions {
  readonly signal: AbortSignal;
  readonly commit: Commit;
  /** Called when the turn of a call has come, before it is sent. */
  readonly begins?: () => void;
  /** Called before waiting for the disk if the answer is the same as in the mirror. */
  readonly confirmed?: (sent_at: Instant) => void;
  /** Called with the answer if the mirror cannot be written: the answer is stored later. */
  readonly late?: (said: SaidNow) => void;
}

/** An answer of the service that the mirror does not have yet. */
export interface SaidNow {
  readonly sent_at: Instant;
  readonly sale: 'on' | 'off' | 'contradicted';
  /** The answered dates, from `from` on; null: the same as in the mirror. */
  readonly dates: { readonly from: string; readonly answer: AvailabilityAnswer } | null;
}

/**
 * Milliseconds after which dates left out of an answer are requested again. The interval doubles each time, up to their
 * cadence.
 */
const leftOutRetryMs = 60_000;
/**
 * Milliseconds after which empty dates of a first fill are requested again: once, or repeatedly until any dates are
 * found.
 */
const firstLookMs = 30 * 60_000;

/** Reads one window of a product's dates because it is due. Without an answer the record has failed. */
export async function refreshAvailability(
  ports: SyncPorts,
  record: RecordFacts,
  signal: AbortSignal,
): Promise<Refreshed> {
  if (record.due_reason === 'likely-changed' && postponeIfNotWorth(ports, record) === 'postponed')
    return { kind: 'postponed' };
  const read = await readAvailability(ports, record, { signal, commit: ports.commit });
  if (read.kind === 'failed' && read.code === 'other-dates') answeredAstray(ports, record);
  if (read.kind !== 'stored') return settleFailure(ports, record, read, signal);
  if (read.kept) return { kind: 'postponed' };
  if (read.sale === 'contradicted') {
    const message = "the dates are answered as not on sale, but the product's own read says on sale";
    return { ...read, warning: { code: 'sale-contradicted', message } };
  }
  const [left] = read.unanswered;
  if (left === undefined) return read;
  return { ...read, warning: { code: 'other-dates', message: `not answered: ${left.from} to ${left.to}` } };
}

/** Records a wrong-range answer: it says nothing about the requested dates, only that the product is on sale. */
function answeredAstray(ports: SyncPorts, record: RecordFacts): void {
  const { mirror, clock } = ports;
  mirror.transaction(() => {
    const off_before = mirror.catalogue.products.datesOffAt(record.product_id);
    mirror.schedule.records.astray(record, instant(record.unanswered_at ?? clock.now()));
    release(ports, record, { sent_at: clock.now(), off_before });
  });
}

/**
 * Reads one window of a product's dates. If the service caps an answer, also requests the rest. After a wrong-range
 * answer, requests the missing dates a few more times. An answer for a product that is not on sale has no dates, and
 * makes its sale status doubtful.
 */
export async function readAvailability(
  ports: SyncPorts,
  record: RecordFacts,
  { signal, commit, begins, confirmed, late = () => undefined }: ReadOptions,
): Promise<AvailabilityRead> {
  const { upstream, mirror, clock, policy } = ports;
  const { product_id, edition: currency } = record;
  const { product, window, readBefore } = windowOf(ports, record);
  const [language] = policy.extent.languages;
  const requests = requestsFor(ports, window);
  let sent_at = Number.POSITIVE_INFINITY;
  const found: Found = { changed: false, noticed: [] };
  let body_hash: string | null = null;
  let known = record.body_hash;
  let look: Due | null = null;
  /** True once a part of the answer has removed data: a later part then withdraws no claim. */
  let taken = false;
  /**
   * Called when nothing is left to request: inside the transaction of the last answer, or by itself if dates stay
   * unanswered.
   */
  const settle = (current?: RecordFacts | null) => {
    const unanswered_at = requests.unanswered.length === 0 ? null : (record.unanswered_at ?? sent_at);
    settleWindow(
      ports,
      record,
      { window, product },
      {
        sent_at: instant(sent_at),
        ...found,
        body_hash,
        unanswered_at: unanswered_at === null ? null : instant(unanswered_at),
        current,
        look,
      },
    );
  };

  for (let request = requests.next(); request !== null; request = requests.next()) {
    const { wanted, asked } = request;
    const { from, to } = asked;
    const whole = from === window.from && to === window.to;
    const known_hash = whole && wanted.why === 'due' ? known : null;
    const reading = await upstream.availability({
      product_id,
      language,
      currency,
      from,
      to,
      known_hash,
      signal,
      begins,
    });
    const off_at = offSaleAt(reading, clock);
    if (off_at !== null)
      return offSale(
        await notOnSale(ports, record, {
          sent_at: instant(off_at),
          every: window.every,
          from: window.from,
          to: window.to,
          commit,
          late,
        }),
      );
    if (reading.kind === 'throttled' || reading.kind === 'unreachable') return reading;
    if (reading.kind !== 'read' && reading.kind !== 'unchanged') {
      if (requests.noAnswer(request) === 'failed') return reading;
      continue;
    }
    const answer = reading.kind === 'read' ? reading.value : null;
    if (wanted.why === 'beyond-cut' && answer !== null) noteRest(ports, answer.named);
    const covered = requests.judge(request, answer);
    if (covered.kind === 'capped-away') return cappedAway(covered.to);
    if (covered.kind === 'nothing') continue;
    const { dates: answered, still } = covered;
    const cut = reading.kind === 'unchanged' ? reading : { ...reading, value: onlyOf(reading.value, asked, answered) };
    const same = reading.kind === 'unchanged';
    if (same && confirmed !== undefined && isStored(reading, mirror.schedule.records.find(record)))
      confirmed(reading.sent_at);
    const stored = await commit(
      () => {
        const current = mirror.schedule.records.find(record);
        // A concurrent check has stored another answer, so `unchanged` says nothing about the mirror.
        if (same && !isStored(reading, current)) return 'superseded';
        body_hash = whole && still.length === 0 && covered.asAsked ? reading.hash : null;
        sent_at = Math.min(sent_at, reading.sent_at);
        const isLast = requests.endsWith(still) && !taken;
        const verdict = judgeDates(ports, record, answered, cut.kind === 'read' ? cut.value : null, {
          sent_at: reading.sent_at,
          withdraws: isLast,
        });
        if (verdict.kind === 'keep') {
          settleKept(ports, record, { sent_at: reading.sent_at, cadence: window.every, due: verdict.next });
          return 'kept';
        }
        taken ||= verdict.next !== null;
        look = soonest([look, verdict.next]);
        const where = { from: answered.from, today: window.today, product, readBefore } as const;
        const effect = storeAnswer(ports, record, where, cut);
        note(found, effect);
        if (effect.changed && cut.kind === 'read') cut.matters?.();
        if (record.due_reason === 'live-check')
          applyElsewhere(ports, record, { ...where, to: answered.to }, cut, effect);
        if (product.sale_status === 'disabled') doubtSaleStatus(ports, product_id);
        if (requests.endsWith(still)) settle(current);
        return 'stored';
      },
      same ? 'same' : 'changed',
      () => late(saidOf(cut, answered.from)),
    );
    if (stored === 'kept') return kept(instant(sent_at === Number.POSITIVE_INFINITY ? reading.sent_at : sent_at));
    if (stored === 'stored') requests.stored(still);
    // Asks again, without the hash: the answer is then compared with the mirror day by day.
    else known = null;
  }
  if (sent_at === Number.POSITIVE_INFINITY) return otherDates(window, requests.astray());
  if (requests.unanswered.length > 0)
    await commit(() => {
      if (record.job_id !== null) mirror.schedule.jobs.giveUp(record, record.job_id);
      settle();
      return 'stored';
    }, 'changed');
  return { kind: 'stored', ...found, sale: 'on', sent_at: instant(sent_at), unanswered: requests.unanswered };
}

/**
 * Plans the next read of a window and of the window before it. Releases the product's dates if they were withheld as
 * off sale.
 */
function settleWindow(
  ports: SyncPorts,
  record: RecordFacts,
  { window, product }: Pick<ReturnType<typeof windowOf>, 'window' | 'product'>,
  {
    noticed,
    look,
    ...read
  }: Pick<StoredRead, 'sent_at' | 'body_hash' | 'unanswered_at' | 'current'> & Found & { readonly look: Due | null },
): void {
  // Another read of the product may have been stored since this one was sent.
  const off_before = ports.mirror.catalogue.products.datesOffAt(record.product_id);
  const incoming = dueForIncomingDate(nextWindow(ports, record, product), window.next_midnight);
  // Dates left out once are often answered the next time, since the length of its answers may just have been learned.
  const again =
    read.unanswered_at == null
      ? null
      : ({
          at: instant(read.sent_at + Math.max(leftOutRetryMs, read.sent_at - read.unanswered_at)),
          reason: 'retry',
        } as const);
  const { product_id, edition: currency } = record;
  const shows = ports.mirror.catalogue.availability.shown({ product_id, currency }, window.from, window.to).dates > 0;
  const sooner = soonest([again, incoming, look, shows ? null : lookAtFirst(ports, record, read.sent_at)]);
  const found = { ...read, noticed: noticed.length > 0 };
  settleStored(ports, record, { ...found, shows, cadence: window.every, product, sooner });
  planMovedDate(ports, record, window);
  release(ports, record, { sent_at: read.sent_at, off_before });
}

/**
 * Returns the second read of dates that are empty in a first fill. It is needed because nothing was shown before that
 * an answer could remove. Null: not needed.
 */
function lookAtFirst({ mirror }: Sync, { fetched_at }: RecordFacts, sent_at: Instant): Due | null {
  if (mirror.filledAt() !== null || (fetched_at !== null && !mirror.schedule.records.isAllEmpty())) return null;
  return { at: instant(sent_at + firstLookMs), reason: 'claimed' };
}

/** Returns the product and window of a record. `readBefore`: any date of the window was read before. */
function windowOf({ mirror, clock, policy }: SyncPorts, { product_id, edition, part, fetched_at }: RecordFacts) {
  const product = mirror.catalogue.products.find(product_id);
  const window = product === null ? null : datesOf(policy.of(product.category), product, part, clock.now());
  if (product === null || window === null) throw new Error(`no window ${part} of product ${product_id}`);
  const { from, to } = window;
  // The last read may have found the product not on sale: then the record counts as fetched, but no date was read.
  const readBefore =
    fetched_at !== null && mirror.catalogue.availability.wasRead({ product_id, currency: edition }, from, to);
  return { product, window, readBefore };
}

/** Returns whether the mirror holds this repeated answer. */
function isStored({ hash }: Answered, current: RecordFacts | null): boolean {
  return current?.body_hash === hash;
}

function requestsFor({ policy, answerLengths }: SyncPorts, window: Dates & { today: string }): WindowRequests {
  return windowRequests(window, {
    today: window.today,
    most: policy.daysPerRequest,
    lengths: answerLengths,
  });
}

/** Returns the instant of an answer that says "not on sale"; null: it says something else. */
function offSaleAt(reading: Reading<AvailabilityAnswer>, clock: SyncPorts['clock']): number | null {
  if (reading.kind === 'refused' && reading.code === 'checkout_disabled') return clock.now();
  return reading.kind === 'read' && reading.value.sales_enabled !== true ? reading.sent_at : null;
}

function saidOf(reading: Answered, from: string): SaidNow {
  const dates = reading.kind === 'read' ? { from, answer: reading.value } : null;
  return { sent_at: reading.sent_at, sale: 'on', dates };
}

function noteRest({ answerLengths, log }: SyncPorts, named: Dates | null): void {
  if (answerLengths.restAnswered(named) === 'cut')
    log.warn(
      { days: answerLengths.longest() },
      'the service cuts availability answers without saying so: set service.profile.days_per_request',
    );
}

function kept(sent_at: Instant): AvailabilityRead {
  return { kind: 'stored', changed: false, noticed: [], unanswered: [], sale: 'on', sent_at, kept: true };
}

function offSale(said: Awaited<ReturnType<typeof notOnSale>>): AvailabilityRead {
  return { kind: 'stored', changed: false, noticed: [], unanswered: [], ...said };
}

/** Returns the failure of a read that got a wrong-range answer: the old copy stays. */
function otherDates(asked: Dates, astray: Dates | null): NoAnswer {
  const said = astray === null ? 'for none, as for other products' : `for ${astray.from} to ${astray.to}`;
  return { kind: 'failed', code: 'other-dates', message: `asked for ${asked.from} to ${asked.to}, answered ${said}` };
}

/** Returns the part of an answer within `from` and `to`, with the variants sold on these dates. */
function onlyOf(value: AvailabilityAnswer, asked: Dates, { from, to }: Dates): AvailabilityAnswer {
  if (!namesOtherDates(asked, value.named) && from === asked.from && to === value.covered_to) return value;
  const days = new Map([...value.days].filter(([date]) => date >= from && date <= to));
  const sold = new Set(
    [...days.values()].flatMap(([, , slots]) => slots.flatMap(([, , offers]) => offers.map(([id]) => id))),
  );
  return { ...value, covered_to: to, days, variants: value.variants.filter(({ variant_id }) => sold.has(variant_id)) };
}

/** The effect of an answer: whether it changed the mirror, and the dates with a change that a shopper would notice. */
interface Found {
  changed: boolean;
  readonly noticed: string[];
}

/** Adds the effect of one answer to that of the answers before it. */
function note(found: Found, { changed, noticed }: Found): void {
  found.changed ||= changed;
  found.noticed.push(...noticed);
}

/**
 * Applies a live answer to the product's other currencies. A date without tickets has none in any currency. If another
 * difference would be noticed by a shopper, the dates in these currencies are read at once.
 */
function applyElsewhere(
  { mirror, clock, policy }: SyncPorts,
  record: RecordFacts,
  { from, to, today, product }: Pick<AnswerMeta, 'from' | 'today'> & { readonly to: string; product: KnownProduct },
  reading: Answered,
  { noticed }: Found,
): void {
  const { product_id, edition, part, due_reason: reason } = record;
  const { sent_at, hash } = reading;
  const now = clock.now();
  const { availability: tiers } = policy.of(product.category).cadence;
  const read = {
    product_id,
    currency: edition,
    from,
    sent_at,
    now,
    hash,
    today,
    tiers,
    reason,
    readBefore: true,
  } as const;
  const sold = reading.kind === 'read' ? reading.value.days : new Map<string, DayForm>();
  const differs = noticed.some((date) => {
    const form = sold.get(date);
    return form !== undefined && summarise(form).available;
  });
  for (const currency of policy.extent.currencies) {
    const other = currency === edition ? null : mirror.schedule.records.find({ ...record, edition: currency });
    if (other === null) continue;
    // The dates stored here are not an answer in that currency, so its next answer is compared day by day even if it is
    // byte-identical.
    if (mirror.catalogue.availability.soldOutIn(currency, read, to) > 0) mirror.schedule.records.forgetBody(other);
    if (differs && other.fetched_at !== null && other.fetched_at < sent_at) {
      const kinds = [{ resource: 'availability', edition: currency, part } as const];
      mirror.schedule.records.bringForward({ kinds, product_ids: [product_id] }, now, 'other-currency');
    }
  }
}

function storeAnswer(
  ports: SyncPorts,
  record: RecordFacts,
  { from, today, product, readBefore }: Pick<AnswerMeta, 'from' | 'today' | 'readBefore'> & { product: KnownProduct },
  reading: Answered,
): Found {
  const { mirror, clock, policy } = ports;
  const { product_id, edition: currency, part, due_reason: reason } = record;
  const { sent_at, hash } = reading;
  const { availability: tiers, variants } = policy.of(product.category).cadence;
  if (reading.kind === 'unchanged') {
    mirror.catalogue.availability.confirm({ product_id, currency, hash, sent_at, today, tiers });
    return { changed: false, noticed: [] };
  }
  const now = clock.now();
  const { refused_prices: prices = 0 } = reading.value;
  if (prices > 0) noteRefused(ports, [{ product_id, refused: { images: 0, prices } }], now);
  const [language] = policy.extent.languages;
  const by = { sent_at, reason, stale_at: instant(sent_at + variants), now };
  const read = { ...by, source: 'availability' as const, product_id, language };
  // Variants first, because the prices of dates depend on their groups. Variants that no date sells any more are found
  // afterwards.
  const known = mirror.catalogue.availability.variantIds(product_id);
  const newVariants = mirror.catalogue.variants.store(
    { ...read, groups: reading.value.groups },
    reading.value.variants,
    known,
  );
  // Past dates are dropped first: the answer covers the rest of their window, and variants sold only on past dates are
  // not listed.
  if (part === 0) mirror.catalogue.availability.prune({ product_id, currency }, today);
  const days = mirror.catalogue.availability.store(
    { product_id, currency, from, sent_at, now, hash, today, tiers, reason, readBefore },
    reading.value,
  );
  const listed = mirror.catalogue.availability.variantIds(product_id);
  const spoken = [...known, ...reading.value.variants.map(({ variant_id }) => variant_id)];
  const lessVariants = !spoken.every((id) => listed.has(id)) && mirror.catalogue.variants.forget(read, listed);
  if (part === 0)
    mirror.catalogue.contexts.store({ product_id, currency, document: reading.value.context, read_at: sent_at });
  const others = newVariants || lessVariants;
  const noticed = others && days.noticed.length === 0 ? [from] : days.noticed;
  return { changed: days.changed > 0 || others, noticed };
}

function cappedAway(covered_to: string): NoAnswer {
  return {
    kind: 'failed',
    code: 'capped',
    message: `the answer ends at ${covered_to}, before the first date asked for`,
  };
}
