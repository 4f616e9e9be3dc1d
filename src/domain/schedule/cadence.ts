import { hash } from 'node:crypto';
import { instant } from '../../clock.ts';
import type { Due, KindKey, RecordKey } from './record.ts';
import { resources } from './resources.ts';
import { intervalAfterSignal, planReads, type Watch } from './signal.ts';
import type { Volatility } from './volatility.ts';

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
export interface Worth {
  readonly volatility: Volatility;
  readonly weight: number;
  /** Price of a call (price.ts). */
  readonly price: number;
  /** Shortest interval between two reads, in milliseconds. */
  readonly floor: number;
  /**
   * Signal about the record, and the probability (`jump`) with which it has shown a change since the last read. Left
   * out if there is none.
   */
  readonly signal?: { readonly watch: Watch; readonly jump: number };
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
const dayMs = 86_400_000;

/**
 * Returns the next read of a product that is off sale: at the date named by `expected_reopening`, else every few days
 * for the longer known values, else daily. Null if the cadence comes first.
 */
export function reopeningLook(expected_reopening: string | null, read_at: number, cadence: number): Due | null {
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
