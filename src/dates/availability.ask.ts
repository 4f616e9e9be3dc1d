import type { KnownProduct } from '../catalogue/product-reads.store.ts';
import { type Clock, type Instant, instant } from '../kernel/clock.ts';
import { type Dates, daysBetween, offsetOn } from '../kernel/time/venue.ts';
import { failureOf } from '../says/conditions/outcome.rules.ts';
import { believed, dueAfterRead, signalOf } from '../schedule/call-value.ts';
import {
  isSuperseded,
  type NoAnswer,
  type Refreshed,
  settleFailure,
  settleStored,
  settleUnstored,
} from '../schedule/next-read.ts';
import type { Due, RecordFacts } from '../schedule/record.rules.ts';
import { dueForIncomingDate, isStillWorth, type NextWindow } from '../schedule/record.rules.ts';
import type { ReadLane, Sync, UnreadFailure } from '../schedule/sync.ts';
import { datesOf } from '../schedule/window-dates.ts';
import type { Reading } from '../service/reading.ts';
import type { UnreadValue } from '../service/shapes.rules.ts';
import { type CountedDates, judgeDates } from '../trust/claims-of-answers.ts';
import { soonest } from '../trust/evidence.ts';
import { type AvailabilityAnswer, type DayForm, summarise } from './availability.rules.ts';
import type { AnswerMeta, Confirmed } from './availability.store.ts';
import { mostRateMove } from './converted-price.rules.ts';
import { doubtSaleStatus, notOnSale, release } from './off-sale-answer.ts';
import {
  type Covered,
  namesOtherDates,
  type WindowRequest,
  type WindowRequests,
  windowRequests,
} from './window-requests.rules.ts';

type Answered = Extract<Reading<AvailabilityAnswer>, { kind: 'read' | 'unchanged' }>;
type WindowDates = NonNullable<ReturnType<typeof datesOf>>;

/** The sale status in an answer, and the dates that it left out. */
export interface AnsweredSale {
  /**
   * `off`: the product is not on sale, and no dates are answered. `contradicted`: its own read says that it is on
   * sale.
   */
  readonly sale: 'on' | 'off' | 'contradicted';
  /** Instant at which the (first) request was sent. */
  readonly sent_at: Instant;
  /** Dates that the service did not answer in any request: the mirror keeps its copy of them. */
  readonly unanswered: readonly Dates[];
}

interface StoredWindow extends AnsweredSale {
  readonly kind: 'stored';
  readonly changed: boolean;
  /** Dates with a change that a shopper would notice. If only the variants changed, the first answered date. */
  readonly noticed: readonly string[];
  /** Set if the mirror keeps its copy, because the answer removes data. */
  readonly kept?: true;
}

/** The result of reading a window: a stored answer, or none, which does not count as a failure yet. */
export type AvailabilityRead = StoredWindow | NoAnswer;

/** The options of a read of a window: its signal, and callbacks, which only live reads need. */
interface ReadOptions {
  readonly signal: AbortSignal;
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
  lane: ReadLane,
  record: RecordFacts,
  signal: AbortSignal,
): Promise<Refreshed> {
  const { sync } = lane;
  if (record.due_reason === 'likely-changed' && postponeIfNotWorth(sync, record) === 'postponed')
    return { kind: 'postponed' };
  const read = await readAvailability(lane, record, { signal });
  if (read.kind === 'failed' && read.code === 'other-dates') answeredAstray(sync, record);
  if (read.kind !== 'stored') return settleFailure(sync, record, read, signal);
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
function answeredAstray(sync: Sync, record: RecordFacts): void {
  const { mirror, clock } = sync;
  mirror.transaction(() => {
    const off_before = mirror.catalogue.products.datesOffAt({ product_id: record.product_id });
    mirror.schedule.records.astray({ ...record, at: instant(record.unanswered_at ?? clock.now()) });
    release(sync, record, { sent_at: clock.now(), off_before });
  });
}

/** Reads one window of a product's dates. */
export function readAvailability(lane: ReadLane, record: RecordFacts, options: ReadOptions): Promise<AvailabilityRead> {
  return new WindowRead(lane, record, options).run();
}

/**
 * One read of a window of a product's dates. If the service caps an answer, it also requests the rest. After a
 * wrong-range answer, it requests the missing dates a few more times. Each answer is stored in a transaction of its own;
 * the last one also plans the next read. An answer for a product that is not on sale has no dates, and makes its sale
 * status doubtful.
 */
class WindowRead {
  readonly #lane: ReadLane;
  readonly #sync: Sync;
  readonly #record: RecordFacts;
  readonly #options: ReadOptions;
  readonly #product: KnownProduct;
  readonly #window: WindowDates;
  /** True if any date of the window was read before; null: not asked yet. */
  #readBefore: boolean | null = null;
  readonly #requests: WindowRequests;
  /** Hash of the answer that the mirror has of the whole window; null: none, or a concurrent check has stored another. */
  #known_hash: string | null;
  /** Instants at which the first stored answer was made and requested; null: none is stored. */
  #sent_at: Instant | null = null;
  #called_at: Instant | null = null;
  /** Hash of an answer with the whole window. */
  #body_hash: string | null = null;
  /** True: the window has dates to buy. Null: no single answer had all its dates. */
  #shows: boolean | null = null;
  /** How many times each of its dates has, on average; null: as stored. */
  #times: number | null = null;
  /** Dates in the stored answers. */
  #counted: CountedDates = { shown: 0, said: 0 };
  /** True: a stored answer changed the mirror. `#noticed` has the dates whose change a shopper would notice. */
  #changed = false;
  readonly #noticed: string[] = [];
  /** Number of changed dates that only the exchange rate has moved: no change of the product. */
  #byRate = 0;
  /** Members that its answers had and that cannot be read, with an example of each. */
  readonly #unread = new Map<string, UnreadValue>();
  /** The next read that an answer calls for because it removed data. A later answer then withdraws no claim. */
  #look: Due | null = null;

  constructor(lane: ReadLane, record: RecordFacts, options: ReadOptions) {
    const { sync } = lane;
    const { mirror, clock, policy, answerLengths } = sync;
    const { product_id, part } = record;
    const product = mirror.catalogue.products.find(product_id);
    const window = product === null ? null : datesOf(policy.of(product.category), product, part, clock.now());
    if (product === null || window === null) throw new Error(`no window ${part} of product ${product_id}`);
    const { today } = window;
    this.#lane = lane;
    this.#sync = sync;
    this.#record = record;
    this.#options = options;
    this.#product = product;
    this.#window = window;
    this.#requests = windowRequests(window, { today, most: policy.daysPerRequest, lengths: answerLengths });
    this.#known_hash = record.body_hash;
  }

  async run(): Promise<AvailabilityRead> {
    const requests = this.#requests;
    for (let request = requests.next(); request !== null; request = requests.next()) {
      const ended = await this.#ask(request);
      if (ended !== null) return ended;
    }
    const sent_at = this.#sent_at;
    if (sent_at === null) return otherDates(this.#window, requests.astray());
    const { unanswered } = requests;
    if (unanswered.length > 0) await this.#lane.commit(() => this.#giveUpRest(sent_at), 'changed');
    return { ...this.#stored(sent_at), unanswered };
  }

  /** Makes a request, and stores its answer. Returns the result if that ends the read; null: it goes on. */
  async #ask(request: WindowRequest): Promise<AvailabilityRead | null> {
    const { clock, policy } = this.#sync;
    const { product_id, edition: currency } = this.#record;
    const { signal, begins } = this.#options;
    const { wanted, asked } = request;
    const { from, to } = asked;
    const isWhole = from === this.#window.from && to === this.#window.to;
    const known_hash = isWhole && wanted.why === 'due' ? this.#known_hash : null;
    const [language] = policy.extent.languages;
    const question = { product_id, language, currency, from, to, known_hash, signal, begins };
    const reading = await this.#lane.upstream.availability(question);
    const lost = await this.#lostOf(reading);
    if (lost !== null) return lost;
    const off_at = offSaleAt(reading, clock);
    if (off_at !== null) {
      const { late = () => undefined } = this.#options;
      const said = { sent_at: instant(off_at), window: this.#window, late };
      return {
        ...this.#stored(said.sent_at),
        changed: false,
        noticed: [],
        ...(await notOnSale(this.#lane, this.#record, said)),
      };
    }
    if (reading.kind === 'throttled' || reading.kind === 'unreachable') return reading;
    if (reading.kind !== 'read' && reading.kind !== 'unchanged')
      return this.#requests.noAnswer(request) === 'failed' ? reading : null;
    const answer = reading.kind === 'read' ? reading.value : null;
    if (wanted.why === 'beyond-cut' && answer !== null) noteRest(this.#sync, answer.named);
    const covered = this.#requests.judge(request, answer);
    if (covered.kind === 'capped-away') return cappedAway(covered.to);
    if (covered.kind === 'nothing') return null;
    const { dates, still } = covered;
    const hasAll = isWhole && still.length === 0 && covered.asAsked;
    const cut = reading.kind === 'unchanged' ? reading : { ...reading, value: onlyOf(reading.value, asked, dates) };
    const stored = await this.#commit(cut, dates, () => this.#store(cut, { ...covered, asked }, hasAll));
    if (stored === 'kept')
      return { ...this.#stored(this.#sent_at ?? reading.sent_at), changed: false, noticed: [], kept: true };
    if (stored === 'stored') this.#requests.stored(still);
    // Asks again, without the hash: the answer is then compared with the mirror day by day.
    else this.#known_hash = null;
    return null;
  }

  /** Returns the failure of an answer in which too much cannot be read any more; null: it can be used. */
  async #lostOf(reading: Reading<AvailabilityAnswer>): Promise<UnreadFailure | null> {
    const { evidence, mirror, clock } = this.#sync;
    const answered_at = reading.kind === 'unchanged' ? reading.sent_at : offSaleAt(reading, clock);
    if (reading.kind !== 'read' && answered_at === null) return null;
    const record = this.#record;
    if (reading.kind === 'read') {
      for (const [member, unread] of reading.value.unread ?? []) this.#unread.set(member, unread);
      const contradiction = contradictedZone(reading.value, mirror.catalogue.zones.own(record.product_id));
      if (contradiction !== null)
        this.#unread.set('dates[].timeslots[].timezone', { example: contradiction, isAll: false });
    }
    const all = this.#unread.size === 0 ? undefined : new Map(this.#unread);
    if (all === undefined && mirror.evidence.unread.ofRecord(record).length === 0) return null;
    const sent_at = instant(reading.kind === 'read' ? reading.sent_at : (answered_at ?? clock.now()));
    const by = { sent_at, isRead: record.fetched_at !== null };
    // While the mirror cannot be written, the read goes on, and this is stored later.
    const foreseen = Promise.withResolvers<UnreadFailure | null>();
    const late = () => foreseen.resolve(evidence.foreseeUnread(record, all, by));
    return Promise.race([
      this.#lane.commit(() => evidence.judgeUnread(record, all, by), 'changed', late),
      foreseen.promise,
    ]);
  }

  #commit<Result>(reading: Answered, { from }: Dates, work: () => Result): Promise<Result> {
    const { confirmed, late } = this.#options;
    const { sent_at } = reading;
    const same = reading.kind === 'unchanged';
    if (same && !isSuperseded(this.#sync, this.#record, reading)) confirmed?.(sent_at);
    const dates = same ? null : { from, answer: reading.value };
    return this.#lane.commit(work, same ? 'same' : 'changed', () => late?.({ sent_at, sale: 'on', dates }));
  }

  /** Stores an answer about some of the dates; `hasAll`: about all of the window. Called in its transaction. */
  #store(
    reading: Answered,
    { dates, still, asked }: Extract<Covered, { kind: 'some' }> & { readonly asked: Dates },
    hasAll: boolean,
  ): 'stored' | 'kept' | 'superseded' {
    const { mirror } = this.#sync;
    const [record, requests] = [this.#record, this.#requests];
    const { sent_at } = reading;
    const current = mirror.schedule.records.find(record);
    // A concurrent check has stored another answer, so `unchanged` says nothing about the mirror.
    if (isSuperseded(this.#sync, record, reading)) return 'superseded';
    if (this.#sent_at === null && dates.from === this.#window.from) noteCap(this.#sync, asked, dates.to);
    const isLast = requests.endsWith(still);
    const answer = reading.kind === 'read' ? reading.value : null;
    const by = { sent_at, withdraws: isLast && this.#look === null, earlier: this.#counted };
    const verdict = judgeDates(this.#sync, record, dates, answer, by);
    if (verdict.kind === 'keep') {
      settleUnstored(this.#sync, record, { sent_at, cadence: this.#window.every, due: verdict.next });
      return 'kept';
    }
    this.#sent_at ??= sent_at;
    this.#called_at ??= reading.called_at ?? sent_at;
    // An answer that cannot be read completely is read again whole: what is told of it stays true.
    this.#body_hash = hasAll && (answer === null || answer.unread === undefined) ? reading.hash : null;
    this.#shows = hasAll ? verdict.shows : null;
    this.#times = verdict.times ?? this.#times;
    this.#counted = verdict.counted;
    this.#look = soonest([this.#look, verdict.next]);
    const { changed, noticed, byRate } = this.#storeDays(reading, dates.from);
    this.#byRate += byRate;
    this.#changed ||= changed;
    this.#noticed.push(...noticed);
    if (reading.kind === 'read') reading.stored?.(changed);
    if (record.due_reason === 'live-check') this.#applyElsewhere(reading, dates, noticed);
    if (this.#product.sale_status === 'disabled') doubtSaleStatus(this.#sync, record.product_id);
    if (isLast) this.#settle(this.#sent_at, current);
    return 'stored';
  }

  /** Plans the next read although dates stay unanswered. */
  #giveUpRest(sent_at: Instant): void {
    const { job_id } = this.#record;
    if (job_id !== null) this.#sync.mirror.schedule.jobs.giveUp(this.#record, job_id);
    this.#settle(sent_at);
  }

  #stored(sent_at: Instant): StoredWindow {
    return { kind: 'stored', changed: this.#changed, noticed: this.#noticed, sale: 'on', sent_at, unanswered: [] };
  }

  /**
   * Plans the next read of the window and of the window before it. Releases the product's dates if they were withheld
   * as off sale. Called when nothing is left to request.
   */
  #settle(sent_at: Instant, current?: RecordFacts | null): void {
    const { mirror } = this.#sync;
    const [sync, record, product, window] = [this.#sync, this.#record, this.#product, this.#window];
    const { product_id, edition: currency } = record;
    const unanswered_at = this.#requests.unanswered.length === 0 ? null : instant(record.unanswered_at ?? sent_at);
    // Another read of the product may have been stored since this one was sent.
    const off_before = mirror.catalogue.products.datesOffAt({ product_id });
    const incoming = dueForMidnight(sync, record, product, window);
    // Dates left out once are often answered the next time, since the length of its answers may just have been learned.
    const again: Due | null =
      unanswered_at === null
        ? null
        : { at: instant(sent_at + Math.max(leftOutRetryMs, sent_at - unanswered_at)), reason: 'retry' };
    const shows =
      this.#shows ?? mirror.catalogue.availability.shown({ product_id, currency }, window.from, window.to).dates > 0;
    settleStored(sync, record, {
      sent_at,
      called_at: this.#called_at ?? sent_at,
      changed: this.#changed,
      noticed: this.#noticed.length > this.#byRate,
      body_hash: this.#body_hash,
      cadence: window.every,
      product,
      sooner: soonest([again, incoming, this.#look, shows ? null : lookAtFirst(sync, record, sent_at)]),
      shows,
      times: this.#times,
      unanswered_at,
      current,
    });
    planMovedDate(sync, record, window);
    release(sync, record, { sent_at, off_before });
  }

  #storeDays(
    reading: Answered,
    from: string,
  ): { readonly changed: boolean; readonly noticed: readonly string[]; readonly byRate: number } {
    const { mirror, policy } = this.#sync;
    const { product_id, edition: currency, part, due_reason: reason } = this.#record;
    if (reading.kind === 'unchanged') {
      mirror.catalogue.availability.confirm(this.#confirmedBy(reading));
      return { changed: false, noticed: [], byRate: 0 };
    }
    const meta = this.#metaOf(reading, from);
    const { sent_at, now, today } = meta;
    const [language] = policy.extent.languages;
    const stale_at = instant(sent_at + policy.of(this.#product.category).cadence.variants);
    const read = { sent_at, reason, stale_at, source: 'availability' as const, product_id, language };
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
    const zone = zoneIn(reading.value);
    if (zone !== null && mirror.catalogue.zones.move(product_id, zone, now) && mirror.changes.tellsFirstReads())
      mirror.changes.add(
        { product_id, kind: 'product_changed', detail: { fields: ['timezone'] } },
        { sent_at, reason },
      );
    const days = mirror.catalogue.availability.store(meta, reading.value);
    const listed = mirror.catalogue.availability.variantIds(product_id);
    const spoken = [...known, ...reading.value.variants.map(({ variant_id }) => variant_id)];
    const lessVariants = !spoken.every((id) => listed.has(id)) && mirror.catalogue.variants.forget(read, listed);
    const others = newVariants || lessVariants;
    return {
      changed: days.changed > 0 || others,
      noticed: others && days.noticed.length === 0 ? [from] : days.noticed,
      // Other variants are a change of the product, whatever the rate has moved.
      byRate: others ? 0 : days.byRate,
    };
  }

  #confirmedBy({ sent_at, hash }: Answered): Confirmed {
    const { product_id, edition: currency } = this.#record;
    const { availability: tiers } = this.#sync.policy.of(this.#product.category).cadence;
    return { product_id, currency, sent_at, hash, today: this.#window.today, tiers };
  }

  #metaOf(reading: Answered, from: string): AnswerMeta {
    const { due_reason: reason } = this.#record;
    const [now, readBefore] = [this.#sync.clock.now(), this.#wasReadBefore()];
    return { ...this.#confirmedBy(reading), from, now, reason, readBefore, ...this.#rateOf(reading.sent_at) };
  }

  /** Returns whether any date of the window was read before this read. Asked before the first of its answers is stored. */
  #wasReadBefore(): boolean {
    const { product_id, edition: currency, fetched_at } = this.#record;
    const { from, to } = this.#window;
    // The last read may have found the product not on sale: then the record counts as fetched, but no date was read.
    this.#readBefore ??=
      fetched_at !== null && this.#sync.mirror.catalogue.availability.wasRead({ product_id, currency }, from, to);
    return this.#readBefore;
  }

  /** Returns by how much the exchange rate may have moved the prices since the last read. */
  #rateOf(sent_at: Instant) {
    const { product_id, edition: currency, fetched_at } = this.#record;
    if (fetched_at === null || fetched_at >= sent_at) return {};
    // The list has shown another price of the supplier since.
    if (signalOf(this.#product, instant(fetched_at), sent_at) !== null) return {};
    const own = this.#sync.mirror.catalogue.products.supplierCurrency({ product_id });
    return own === null || own === currency ? {} : { mostRateMove: mostRateMove(sent_at - fetched_at) };
  }

  /**
   * Applies a live answer to the product's other currencies. A date without tickets has none in any currency. If another
   * difference would be noticed by a shopper, the dates in these currencies are read at once.
   */
  #applyElsewhere(reading: Answered, { from, to }: Dates, noticed: readonly string[]): void {
    const { mirror, policy } = this.#sync;
    const { product_id, edition, part } = this.#record;
    const read = { ...this.#metaOf(reading, from), readBefore: true };
    const sold = reading.kind === 'read' ? reading.value.days : new Map<string, DayForm>();
    const differs = noticed.some((date) => {
      const form = sold.get(date);
      return form !== undefined && summarise(form).available;
    });
    for (const currency of policy.extent.currencies) {
      const other = currency === edition ? null : mirror.schedule.records.find({ ...this.#record, edition: currency });
      if (other === null) continue;
      // The dates stored here are not an answer in that currency, so its next answer is compared day by day even if it is
      // byte-identical.
      if (mirror.catalogue.availability.soldOutIn(currency, read, to) > 0) mirror.schedule.records.forgetBody(other);
      if (differs && other.fetched_at !== null && other.fetched_at < read.sent_at) {
        const kinds = [{ resource: 'availability', edition: currency, part } as const];
        mirror.schedule.records.bringForward({ kinds, product_ids: [product_id] }, read.now, 'other-currency');
      }
    }
  }
}

/** Returns the zone that the timeslots of an answer name; null: they name none. */
function zoneIn({ days }: AvailabilityAnswer): string | null {
  for (const [, zone] of days.values()) if (zone !== null) return zone;
  return null;
}

/** Returns how the zone of timeslots contradicts that of their product; null: both have the same clocks. */
function contradictedZone(answer: AvailabilityAnswer, own: string | null): string | null {
  const [zone, [date] = []] = [zoneIn(answer), [...answer.days.keys()]];
  if (zone === null || own === null || date === undefined || zone === own) return null;
  return offsetOn(zone, date, 0) === offsetOn(own, date, 0) ? null : `"${zone}" beside "${own}" of the product`;
}

/**
 * Returns the second read of dates that are empty in a first fill. It is needed because nothing was shown before that
 * an answer could remove. Null: not needed.
 */
function lookAtFirst({ mirror }: Sync, { fetched_at }: RecordFacts, sent_at: Instant): Due | null {
  if (mirror.filledAt() !== null || (fetched_at !== null && !mirror.schedule.records.isAllEmpty())) return null;
  return { at: instant(sent_at + firstLookMs), reason: 'claimed' };
}

/** Returns the instant of an answer that says "not on sale"; null: it says something else. */
function offSaleAt(reading: Reading<AvailabilityAnswer>, clock: Clock): number | null {
  if (reading.kind === 'refused' && reading.code === 'checkout_disabled') return clock.now();
  return reading.kind === 'read' && reading.value.sales_enabled !== true ? reading.sent_at : null;
}

function noteRest({ answerLengths, log }: Sync, named: Dates | null): void {
  if (answerLengths.restAnswered(named) === 'cut')
    log.warn(
      { days: answerLengths.longest() },
      'the service cuts availability answers without saying so: set service.profile.days_per_request',
    );
}

/** Records whether windows are answered by a small part: each costs many calls then. Called inside the transaction of the read. */
function noteCap({ answerLengths, mirror, clock, log }: Sync, asked: Dates, covered_to: string): void {
  const found = answerLengths.windowAnswered(asked, covered_to);
  if (found === null) return;
  const affected = daysBetween(asked.from, covered_to) + 1;
  if (found === 'whole') {
    if (failureOf(mirror.status.outcomes.all(), 'date-cap') !== null)
      mirror.status.outcomes.worked('date-cap', clock.now());
  } else if (mirror.status.outcomes.failed('date-cap', { at: clock.now(), affected }) === 'new')
    log.warn(
      { days: affected, asked: daysBetween(asked.from, asked.to) + 1 },
      'answers cover few of the dates asked for',
    );
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

function cappedAway(covered_to: string): NoAnswer {
  return {
    kind: 'failed',
    code: 'capped',
    message: `the answer ends at ${covered_to}, before the first date asked for`,
  };
}

/**
 * The share of its cadence by which a window other than the first is read before midnight. It is twice the lead that
 * reads by the cadence have.
 */
const midnightLead = 0.02;

/**
 * Plans an extra read again if it is no longer worth its call: the service has throttled since, or the budget for extra
 * calls has fallen. After midnight it is read as planned, because its window has moved by a date.
 */
function postponeIfNotWorth(sync: Sync, record: RecordFacts): 'postponed' | 'worth' {
  const { mirror, clock, policy } = sync;
  const { fetched_at } = record;
  const product = mirror.catalogue.products.find(record.product_id);
  if (fetched_at === null || product === null) return 'worth';
  const window = datesOf(policy.of(product.category), product, record.part, instant(fetched_at));
  if (window === null || clock.now() >= window.next_midnight) return 'worth';
  const byValue = dueAfterRead(
    sync,
    record,
    { fetched_at: instant(fetched_at), cadence: window.every, product },
    believed(record),
  );
  const sooner = dueForMidnight(sync, record, product, window);
  const planned = sooner !== null && sooner.at < byValue.at ? sooner : byValue;
  // The window before relies on this one being read before midnight (`dueForIncomingDate`).
  const surely = record.part === 0 ? planned.at : window.next_midnight - window.every * midnightLead;
  const due = { ...planned, at: instant(Math.min(planned.at, surely)) };
  if (isStillWorth(due, fetched_at, clock.now())) return 'worth';
  mirror.transaction(() => mirror.schedule.records.reschedule(record, due, instant(fetched_at + window.every)));
  return 'postponed';
}

/**
 * Called when a window was read. If the read was planned before midnight and came after it, the date that midnight
 * moved into the window before was in neither read. Makes the window before due before that date is older than its
 * cadence.
 */
function planMovedDate(
  { mirror }: Sync,
  record: RecordFacts,
  { last_midnight, every }: { readonly last_midnight: Instant; readonly every: number },
): void {
  const { part } = record;
  // If the record was never read, the date is not in the mirror at all.
  const fetched_at = record.fetched_at ?? 0;
  if (part === 0 || fetched_at >= last_midnight) return;
  const before = mirror.schedule.records.find({ ...record, part: part - 1 });
  if (before?.fetched_at == null || before.fetched_at >= last_midnight) return;
  const due = dueForIncomingDate({ fetched_at, due_at: fetched_at, cadence: every }, last_midnight);
  if (due !== null && due.at < before.due_at) mirror.schedule.records.setDue(before, due);
}

/**
 * Returns when a window that was read is due again because of the next midnight; null: no date moves into it. A request
 * that waited, or an answer that came, over midnight is for the window of yesterday, and that of today is read at once:
 * the date that has moved would seem read, as the window was read after midnight.
 */
function dueForMidnight(
  sync: Sync,
  record: RecordFacts,
  product: KnownProduct,
  { next_midnight }: { readonly next_midnight: number },
): Due | null {
  if (sync.clock.now() >= next_midnight) return { at: instant(next_midnight), reason: 'cadence-elapsed' };
  return dueForIncomingDate(nextWindow(sync, record, product), next_midnight);
}

/** Returns the window whose first date moves into this one at midnight; null: there is none, or it was never read. */
function nextWindow({ mirror, policy }: Sync, record: RecordFacts, { category }: KnownProduct): NextWindow | null {
  const part = record.part + 1;
  const window = policy.of(category).extent.windows.find((each) => each.part === part);
  const next = window === undefined ? null : mirror.schedule.records.find({ ...record, part });
  if (window === undefined || next?.fetched_at == null) return null;
  return { fetched_at: next.fetched_at, due_at: next.due_at, cadence: window.every };
}
