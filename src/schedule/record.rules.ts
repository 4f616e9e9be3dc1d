import { hash } from 'node:crypto';
import type { Window } from '../dates/availability.rules.ts';
import { dayMs, type Instant, instant } from '../kernel/clock.ts';
import { listResources, type ProductResource, productResources, type Resource, resources } from './resources.rules.ts';
import { intervalAfterSignal, type PlannedSignal, planReads } from './signal.rules.ts';
import type { Volatility } from './volatility.rules.ts';

/* A record is the content of one request: a list (walked page by page), or one resource of one product. */

/** Reason why a record is due: the same word in logs, `explain` and tests. */
export type DueReason =
  /** It was never stored. */
  | 'never-fetched'
  /** A notification announced that its product has changed (specification §6). */
  | 'notified'
  /** It does not show what a notification announced: a cache may have answered (push/news.rules.ts). */
  | 'not-shown-yet'
  /** A notification closed its product, and no read has decided yet: goes first. */
  | 'closure-unconfirmed'
  /** Nothing could be received for longer than the service retries, so covered products are read again. */
  | 'gap-healing'
  /** Its cadence has passed. */
  | 'cadence-elapsed'
  /** Before its cadence has passed: by its history it is likely to have changed, and that is worth a call. */
  | 'likely-changed'
  /** Its images must be confirmed before their hard limit (specification §1 rule 4). */
  | 'image-limit'
  /** It is off sale, and may be on sale again. */
  | 'reopening-look'
  /** Somebody is about to order (specification §1 rule 5). */
  | 'live-check'
  /** Picked by chance, to measure how much of the data shown is correct. */
  | 'audit'
  /** An order was made (specification §1 rule 5). */
  | 'order-recheck'
  /** A live check or an order, answered in another currency, has found that the offer has changed. */
  | 'other-currency'
  /** The service refused an order of something that is available according to the record. */
  | 'order-failed'
  /** Somebody requested it. */
  | 'requested'
  /** Its last read has an instant in the future: the clock was set back since. */
  | 'clock-set-back'
  /** Its last answer takes something away, or many such answers are held. It is read again before any is accepted. */
  | 'claimed'
  /** Answers took something away, and were accepted. It may be back soon. */
  | 'taken-away'
  /** Its last read failed. */
  | 'retry'
  /** It is missing from the list, and its own read decides. */
  | 'missing-from-list'
  /** Facts contradict each other, so the list is walked again. */
  | 'suspicion'
  | 'list-entry-changed'
  | 'sale-status-changed'
  | 'sale-status-doubted';

/** A kind of record, for any product. */
export interface KindKey {
  readonly resource: Resource;
  /** Language ('en') for texts, currency ('EUR') for availability, both ('en/EUR') for the product list. */
  readonly edition: string;
  /** Availability: window index, counted from the venue's today; else 0. */
  readonly part: number;
}

export interface RecordKey extends KindKey {
  /** 0 for a list. */
  readonly product_id: number;
}

/** A record with the estimate of its rate of change from its reads (volatility.rules.ts); null before the second read. */
export interface LearnedRecord extends RecordKey {
  readonly shape: number | null;
  readonly exposure: number | null;
}

/** Facts about a record's reads. Instants are null for never. */
export interface RecordFacts extends LearnedRecord {
  readonly due_at: number;
  readonly due_reason: DueReason;
  readonly fetched_at: number | null;
  readonly changed_at: number | null;
  readonly body_hash: string | null;
  /** Failures in a row. */
  readonly failures: number;
  readonly job_id: number | null;
  /** Instant of the newest notification; null once a read sent after it has answered. */
  readonly notified_at: number | null;
  /** Instant at which a failed order showed that it has changed since its last read; null if none did. */
  readonly told_at: number | null;
  /**
   * Availability: instant since which its answers are "not on sale" under the product's present sale status. Null: the
   * last one was about days.
   */
  readonly off_sale_at: number | null;
  /**
   * Availability: instant since which the service leaves out some of its dates, or answers for others. A list: instant
   * since which it leaves out rows that it counts. Null: the last answer was complete.
   */
  readonly unanswered_at: number | null;
}

/** Instant at which a record is due, and the reason. */
export interface Due {
  readonly at: Instant;
  readonly reason: DueReason;
}

/** Largest tolerated lead of a stored instant. One further in the future was written by a wrong clock. */
export const futureToleranceMs = 5 * 60 * 1000;

/**
 * Longest time from when an answer is made to when it is stored, in milliseconds: a cache keeps it for 15 minutes at
 * most, and a read takes one.
 */
export const longestReadMs = 16 * 60 * 1000;

/**
 * Returns whether an answer to a request sent at `sent_at` may replace the one stored at `stored_at`. A stored
 * instant that is later by more than a read takes was written before the clock was set back, and is not repaired yet.
 */
export function mayReplace(stored_at: number | null, sent_at: number): boolean {
  return stored_at === null || sent_at >= stored_at || stored_at - sent_at > longestReadMs;
}

/** Resources that can be requested from the service now, without the paths that it turned out to lack. */
export interface Offered {
  has(resource: Resource): boolean;
}

/** Data to mirror, by configuration and service profile. The first language and currency are the primary ones. */
export interface Extent {
  readonly languages: readonly [string, ...string[]];
  readonly currencies: readonly [string, ...string[]];
  readonly windows: readonly Window[];
  /** Resources for which the service profile has a path, and which the service is not known to lack. */
  readonly resources: Offered;
}

/** A kind of record. `due_at` is the instant in 1970 that sorts a never-fetched one. */
export interface RecordKind extends KindKey {
  readonly due_at: number;
}

/**
 * Returns the list walks. The primary one decides which products are visible. A further language or currency only adds
 * to its products.
 */
export function walkKinds({ languages, currencies, resources: offered }: Extent): {
  primary: RecordKind;
  further: RecordKind[];
} {
  const [language, ...otherLanguages] = languages;
  const [currency, ...otherCurrencies] = currencies;
  const primary = kind('products', listEdition(language, currency));
  const further = listResources.filter((resource) => resource === primary.resource || offered.has(resource));
  return {
    primary,
    further: further.flatMap((resource) => [
      ...(resource === primary.resource ? [] : [kind(resource, primary.edition)]),
      ...(resources[resource].edition === 'primary'
        ? []
        : [
            ...otherLanguages.map((other) => kind(resource, listEdition(other, currency))),
            ...(resources[resource].edition === 'language' ? [] : otherCurrencies).map((other) =>
              kind(resource, listEdition(language, other)),
            ),
          ]),
    ]),
  };
}

/** Returns the kinds of record that every product has. */
export function productKinds(extent: Extent): RecordKind[] {
  return productResources
    .filter((resource) => resources[resource].tiers || extent.resources.has(resource))
    .flatMap((resource) => {
      const parts = resources[resource].tiers ? extent.windows.map(({ part }) => part) : [0];
      const editions = editionsOf(resource, extent);
      return editions.flatMap((edition) => parts.map((part) => kind(resource, edition, part)));
    });
}

function editionsOf(resource: ProductResource, { languages, currencies }: Extent): readonly string[] {
  const [[language], [, ...otherCurrencies]] = [languages, currencies];
  switch (resources[resource].edition) {
    case 'language':
      return languages;
    case 'prices':
      // A further currency is read in the primary language, for its price.
      return [...languages, ...otherCurrencies.map((currency) => listEdition(language, currency))];
    case 'currency':
      return currencies;
  }
}

/**
 * Returns the language and currency in which a product's own read is requested: `en` means the primary currency,
 * `en/USD` a further one.
 */
export function detailEdition(edition: string, { currencies }: Extent): { language: string; currency: string } {
  const { language, currency } = splitListEdition(edition);
  return { language, currency: currency === '' ? currencies[0] : currency };
}

/** Returns the edition of the list that corresponds to the edition of a product's own read: `en/EUR` for `en`. */
export function listEditionOf(edition: string, extent: Extent): string {
  const { language, currency } = detailEdition(edition, extent);
  return listEdition(language, currency);
}

/** Returns the edition of a list: `en/EUR`. */
function listEdition(language: string, currency: string): string {
  return `${language}/${currency}`;
}

export function splitListEdition(edition: string): { language: string; currency: string } {
  const [language = '', currency = ''] = edition.split('/');
  return { language, currency };
}

function kind(resource: Resource, edition: string, part = 0): RecordKind {
  return { resource, edition, part, due_at: dueNeverFetched({ resource, edition, part }).at };
}

/* Decides when a record is due: pure functions of the facts and the cadence. They read no clock: `now` is an argument. */

/** Position of the far dates in a first fill: last, after the lists, all near dates and the data of a checkout page. */
const farOrder = 50;

/** Returns the due instant of a record that was never fetched: in 1970, in the order of a first fill. */
export function dueNeverFetched({ resource, part }: KindKey): Due {
  return { at: instant(part > 0 ? farOrder + part : resources[resource].fill), reason: 'never-fetched' };
}

/**
 * Returns the due instant of a requested record, at once. One of a few comes before everything else, one of many in the
 * order of a fill.
 */
export function dueRequested(key: KindKey, few: boolean): Due {
  return { at: instant(few ? 0 : dueNeverFetched(key).at), reason: 'requested' };
}

/**
 * Share of its cadence after which a record is read: a little early, so that a tick and a queue do not make it late.
 */
const period = 0.99;
/**
 * Latest share of the cadence for which a read is planned, and the share by which one read moves it towards the
 * record's own phase.
 */
const latest = 0.995;
const pullBack = 0.1;

/**
 * Returns when a record is due by its cadence: once a period, which is slightly shorter than the cadence, at a phase of
 * its own. A thousand products filled in one minute drift apart, by at most a tenth of the cadence per read, until they
 * are spread over all of it. Records that have come together through a long downtime or a resync drift apart in the
 * same way.
 */
export function dueByCadence(key: RecordKey, fetched_at: number, cadence: number): Due {
  const length = cadence * period;
  const end = fetched_at + cadence * latest;
  const beyond = modulo(end - phase(key) * length, length);
  return { at: instant(end - Math.min(beyond, cadence * pullBack)), reason: 'cadence-elapsed' };
}

/** Returns how many reads a record of this cadence has in a span of time. */
export function readsPerPeriod(span: number, cadence: number): number {
  return span / (cadence * period);
}

/** Facts by which adaptive scheduling plans the next read of a record. */
interface Worth {
  readonly volatility: Volatility;
  readonly weight: number;
  /** Price of a call (call-price.rules.ts). */
  readonly price: number;
  /** Shortest interval between two reads, in milliseconds. */
  readonly floor: number;
  /**
   * Signal about the record, and the probability (`jump`) with which it has shown a change since the last read. Left
   * out if there is none.
   */
  readonly signal?: { readonly watch: PlannedSignal; readonly jump: number };
}

/** Returns when a record is due: by its cadence, or earlier, as soon as a call is worth its price. */
export function dueByWorth(key: RecordKey, fetched_at: number, cadence: number, worth: Worth): Due {
  const due = dueByCadence(key, fetched_at, cadence);
  const cap = due.at - fetched_at;
  const interval = worthwhileInterval({ ...worth, cap });
  if (interval >= cap) return due;
  // Varied a little each time, so that records of the same rate drift apart.
  const spread = 0.975 + 0.05 * phase({ ...key, product_id: key.product_id + fetched_at });
  return { at: instant(Math.min(due.at, fetched_at + interval * spread)), reason: 'likely-changed' };
}

function worthwhileInterval({ volatility, signal, ...worth }: Worth & { readonly cap: number }): number {
  if (signal === undefined || signal.jump === 0) return planReads(volatility, worth, signal?.watch ?? null).every;
  return intervalAfterSignal(volatility, worth, signal.watch, signal.jump);
}

/**
 * Returns whether a read that was planned because it seemed worth its price still is. `due`: as it would be planned
 * now. Small changes of the price do not matter.
 */
export function isStillWorth(due: Due, fetched_at: number, now: number): boolean {
  return due.at - now <= (due.at - fetched_at) / 4;
}

/** The window after this one. Every midnight it hands over a date. */
export interface NextWindow {
  readonly fetched_at: number;
  readonly due_at: number;
  readonly cadence: number;
}

/**
 * Returns when a window is due because of its incoming date. At the venue's `midnight` the first date of the next
 * window becomes the last one of this window, and reads of the next window no longer cover it. So this window is due
 * before the last such read is older than its cadence: that of the incoming date, which the reason `cadence-elapsed` means
 * here. Null if the next window is not read.
 */
export function dueForIncomingDate(next: NextWindow | null, midnight: number): Due | null {
  if (next === null) return null;
  // A read that is planned for the last minutes before midnight may come after it.
  const surely = next.due_at < midnight - next.cadence * (1 - period);
  const last_read = surely ? Math.max(next.due_at, next.fetched_at) : next.fetched_at;
  return { at: instant(Math.max(midnight, last_read + next.cadence * period)), reason: 'cadence-elapsed' };
}

/**
 * Returns when a record is due after a change of cadence: like `dueByCadence`, but records that would have been due
 * before `now` are spread over one cadence.
 */
export function dueAfterNewCadence(key: RecordKey, fetched_at: number, cadence: number, now: number): Due {
  const due = dueByCadence(key, fetched_at, cadence);
  return due.at >= now ? due : { ...due, at: instant(now + phase(key) * cadence) };
}

/** Days between two reads of a closed product, by the reopening that the service expects (specification §6 rule 5). */
const lookEvery: Readonly<Record<string, number>> = { more_than_month: 7, within_month: 2 };

/**
 * Returns the next read of a product that is off sale: at the date named by `expected_reopening`, else every few days
 * for the longer known values, else daily. Null if the cadence comes first.
 */
export function reopeningReread(expected_reopening: string | null, read_at: number, cadence: number): Due | null {
  const named = expected_reopening === null ? Number.NaN : Date.parse(expected_reopening);
  const ahead = named - read_at;
  const every = (lookEvery[expected_reopening ?? ''] ?? 1) * dayMs;
  const wait = ahead > 0 ? Math.max(every, ahead) : every;
  return wait < cadence ? { at: instant(read_at + wait), reason: 'reopening-look' } : null;
}

/** Highest age of an answer from a service's own caches. */
export const cachedMs = 10 * 60_000;

/** Returns a number in [0, 1) that depends only on the record. */
function phase({ resource, product_id, edition, part }: RecordKey): number {
  return Number.parseInt(hash('sha1', `${resource} ${product_id} ${edition} ${part}`).slice(0, 8), 16) / 2 ** 32;
}

function modulo(value: number, length: number): number {
  return value - Math.floor(value / length) * length;
}
