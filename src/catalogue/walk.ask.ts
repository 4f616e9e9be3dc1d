import { type Instant, instant } from '../kernel/clock.ts';
import { type NoAnswer, type Refreshed, recordFailure, settleFailure, settleStored } from '../schedule/next-read.ts';
import { type Due, futureToleranceMs, type RecordFacts, walkKinds } from '../schedule/record.rules.ts';
import type { ReadLane, Sync } from '../schedule/sync.ts';
import type { WalkKey, WalkState } from '../schedule/walks.store.ts';
import type { Page } from '../service/decode-product.ts';
import { failedStatus } from '../service/outcome.ts';
import type { Reading } from '../service/reading.ts';
import { soonest } from '../trust/evidence.ts';
import { refuses } from '../trust/refusal-reach.rules.ts';
import {
  afterShortWalk,
  isSameShortage,
  isSettled,
  metAll,
  rowsCounted,
  type ShortWalk,
  shortListText,
} from '../trust/short-list.rules.ts';
import { afterPage } from './list-page.rules.ts';
import type { DroppedByWalks } from './removals.store.ts';

/**
 * A list: the functions that read and store its pages. `store` and `finished` run inside the transaction of their page.
 */
export interface List<Entry> {
  readonly cadence: number;
  /** Returns when it is walked again before its cadence; null: not before. */
  sooner?(started_at: Instant): Due | null;
  read(page: number): Promise<Reading<Page<Entry>>>;
  id(entry: Entry): number;
  /** Stores a page. `walk`: the start of this attempt, and the number of the page. */
  store(page: Page<Entry>, sent_at: Instant, walk: WalkState): boolean;
  /** Called at the end of the list. */
  finished(end: FinishedWalk): void;
  readonly signal: AbortSignal;
}

/** Only a `complete` walk proves that absent rows are gone. `unusable` counts rows whose ids are unknown. */
interface FinishedWalk {
  readonly complete: boolean;
  readonly started_at: Instant;
  readonly rows: number;
  readonly unusable: number;
}

/** Drops what walks show to be missing. An empty list, or an unreadable row, does not show it. */
export function dropMissing(
  { log }: Sync,
  { resource, edition, due_reason }: RecordFacts,
  list: DroppedByWalks,
  { complete, started_at, rows, unusable }: FinishedWalk,
): void {
  if (!complete || rows === 0 || unusable > 0) return;
  const found = list.dropMissing({ edition, started_at }, { sent_at: started_at, reason: due_reason });
  if (found.missing > found.dropped)
    log.error(found, `many ${resource} are missing from the list: keeping them until three lists agree`);
}

/** The most attempts to walk a list: paging drifts, and a walk that repeats rows has missed others. */
const maxAttempts = 5;

/** A walk interrupted for longer than this, in milliseconds, begins again, because its first pages are outdated. */
const maxPauseMs = 6 * 60 * 60 * 1000;

/**
 * The longest interval between walks, in milliseconds, of a list that is accepted as short: rows it leaves out may come
 * back.
 */
const settledEveryMs = 24 * 60 * 60 * 1000;

/** Walks a paged list to its end. */
export function walk<Entry>(lane: ReadLane, record: RecordFacts, list: List<Entry>): Promise<Refreshed> {
  return new Walk(lane, record, list).run();
}

/**
 * One walk of a paged list. Each page is stored in one transaction with the walk's position, so a kill costs one page.
 * The walk ends when one attempt met every row once, or when all its attempts together met as many rows as there are.
 * Only the first case is complete and shows what is missing. A walk that met fewer rows, or unusable rows, has failed.
 */
class Walk<Entry> {
  readonly #sync: Sync;
  readonly #progressed: ReadLane['progressed'];
  readonly #record: RecordFacts;
  readonly #list: List<Entry>;
  readonly #key: WalkKey;
  /** The walk as it is stored. */
  #state: WalkState;
  #changed = false;
  /** Rows that this attempt has met, and the pages in a row that brought none that is new. */
  #pages: { readonly served: number; readonly barren: number };
  /** The rows of the first page, if this process read it and the second page is next. */
  #first: readonly number[] = [];

  constructor({ sync, progressed }: ReadLane, record: RecordFacts, list: List<Entry>) {
    this.#sync = sync;
    this.#progressed = progressed;
    this.#record = record;
    this.#list = list;
    this.#key = { resource: record.resource, edition: record.edition };
    this.#state = resume(sync, this.#key);
    const { next_page, repeated, unusable } = this.#state;
    this.#pages = { served: next_page === 1 ? 0 : this.#rows().attempt + repeated + unusable, barren: 0 };
  }

  async run(): Promise<Refreshed> {
    const { mirror, log } = this.#sync;
    for (;;) {
      const before = this.#state;
      const reading = await this.#list.read(before.next_page);
      if (reading.kind === 'unchanged') throw new Error('a page is always decoded');
      if (reading.kind !== 'read') return this.#unanswered(reading);
      const outcome = mirror.transaction(() => this.#store(reading.value, reading.sent_at));
      this.#progressed();
      if (outcome !== null) return outcome;
      const { attempt, started_at } = this.#state;
      if (attempt === before.attempt && started_at === before.started_at) continue;
      this.#pages = { served: 0, barren: 0 };
      if (attempt > before.attempt)
        log.info({ ...this.#key, attempt }, 'the list drifted or was short: walking it again');
    }
  }

  #unanswered(reading: NoAnswer): Promise<Refreshed> {
    // If only a later page is missing, the path exists.
    const isLater = this.#state.next_page > 1 && reading.kind === 'refused' && refuses('path', reading);
    const outcome = isLater ? failedStatus(reading.status) : reading;
    // Failures from before the last stored pages do not count any more.
    const record = this.#sync.mirror.schedule.records.find({ ...this.#record, ...this.#key }) ?? this.#record;
    return settleFailure(this.#sync, record, outcome, this.#list.signal);
  }

  /** Stores a page. Returns the result if it ends the walk; null: the walk goes on. */
  #store(page: Page<Entry>, sent_at: Instant): Refreshed | null {
    const { mirror, clock, log } = this.#sync;
    const { walks, records } = mirror.schedule;
    const [key, before] = [this.#key, this.#state];
    const unusable_example = page.rejected[0] ?? null;
    if (unusable_example !== null)
      log.warn({ ...key, rows: page.rejected.length, reason: unusable_example }, 'list rows rejected');
    const stored = walks.find(key);
    // A new walk was requested meanwhile: this page belongs to the old one.
    if (stored === null || stored.next_page !== before.next_page || stored.started_at !== before.started_at) {
      this.#state = stored ?? walks.begin(key, clock.now(), 1);
      return null;
    }
    const ids = page.entries.map(this.#list.id);
    if (before.next_page === 2 && isSamePage(this.#first, ids)) return this.#samePage(page.members);
    this.#first = before.next_page === 1 ? ids : [];
    this.#changed = this.#list.store(page, sent_at, before) || this.#changed;
    const unusable = page.rejected.length;
    const repeated = walks.turn(key, before, { ids, counted: page.total, unusable, unusable_example });
    this.#state = walks.find(key) ?? before;
    const rows = page.entries.length + unusable;
    const { served, barren } = this.#pages;
    this.#pages = { served: served + rows, barren: page.entries.length > repeated ? 0 : barren + 1 };
    const next = afterPage({ ...this.#pages, rows, short: page.short, next: page.next, total: page.total });
    // A list that counts more on each page counts nothing.
    if (next === 'endless') return this.#endless(before.counted === page.total);
    records.progressed(this.#record);
    return next === 'more' ? null : this.#end();
  }

  /** Fails a walk whose second page repeats the first: the service does not page by number. */
  #samePage(members: string): Refreshed {
    this.#sync.mirror.schedule.walks.end({ ...this.#key, completed_at: null });
    return this.#fail('same-page', `page 2 is page 1 once more, the page number is ignored; members: ${members}`);
  }

  /** Fails a walk whose list does not end. */
  #endless(isCounted: boolean): Refreshed {
    const count = this.#count(this.#rows().all);
    if (isCounted && !metAll(count)) return this.#short(count, false);
    const rows = this.#endIncomplete();
    const { served } = this.#pages;
    const came = `${served} rows came, ${rows} of them different, and more are announced`;
    return this.#fail('endless-list', `the list does not end: ${came}`);
  }

  /** Called at the end of an attempt. */
  #end(): Refreshed | null {
    const { mirror, clock } = this.#sync;
    const { repeated, attempt, unusable, started_at } = this.#state;
    const rows = this.#rows();
    const complete = repeated === 0 && metAll(this.#count(rows.attempt));
    const together = attempt > 1 && metAll(this.#count(rows.all));
    if (!complete && !together && attempt < maxAttempts && !this.#isSameAgain()) {
      this.#state = mirror.schedule.walks.begin(this.#key, clock.now(), attempt + 1);
      return null;
    }
    if ((!complete && !together) || unusable > 0) return this.#short(this.#count(rows.all), complete);
    mirror.schedule.shortLists.end(this.#key);
    return this.#settle(complete, this.#list.sooner?.(started_at) ?? null);
  }

  /**
   * Records a short walk. It has failed, unless three walks agree that there are no more rows. `complete`: true if only
   * unusable rows were the problem.
   */
  #short(count: ListCounted, complete: boolean): Refreshed {
    const { mirror, clock, policy } = this.#sync;
    const { shortLists, records } = mirror.schedule;
    const [key, record] = [this.#key, this.#record];
    const { started_at, unusable_example } = this.#state;
    const now = clock.now();
    const found = afterShortWalk(shortLists.find(key), this.#shortWalk(count), started_at);
    shortLists.note(key, { ...found, unusable_example }, now);
    if (isSettled(found.lists, found.met)) {
      const again = { at: instant(started_at + settledEveryMs), reason: 'suspicion' } as const;
      return this.#settle(complete, soonest([this.#list.sooner?.(started_at) ?? null, again]));
    }
    this.#endIncomplete();
    const primary = key.edition === walkKinds(policy.extent).primary.edition ? 1 : 0;
    const failed = this.#fail('list-incomplete', shortListText({ ...key, ...found, unusable_example, primary }));
    records.astray({ ...record, at: instant(record.unanswered_at ?? now) });
    return failed;
  }

  /** Ends a walk that does not show what is missing. Returns the number of different rows of this attempt. */
  #endIncomplete(): number {
    const { started_at, unusable } = this.#state;
    this.#sync.mirror.schedule.walks.end({ ...this.#key, completed_at: null });
    const rows = this.#rows().attempt;
    this.#list.finished({ complete: false, started_at, rows, unusable });
    return rows;
  }

  #fail(code: string, message: string): Refreshed {
    // Storing its pages has reset the failure count; failures of these kinds keep counting. `final`, because the list
    // would be the same if it were walked again at once.
    recordFailure(this.#sync, this.#record, { code, message, final: true });
    return { kind: 'failed', code, message };
  }

  /** Stores the end of a walk. */
  #settle(complete: boolean, sooner: Due | null): Refreshed {
    const { mirror, clock } = this.#sync;
    const { started_at, unusable } = this.#state;
    mirror.schedule.walks.end({ ...this.#key, completed_at: complete ? clock.now() : null });
    const { cadence } = this.#list;
    const read = { sent_at: started_at, changed: this.#changed, body_hash: null, cadence, sooner };
    const settled = settleStored(this.#sync, this.#record, read);
    // Called last, because the end of a list may bring the next walk forward.
    this.#list.finished({ complete, started_at, rows: this.#rows().attempt, unusable });
    return settled;
  }

  /** Returns the numbers of different rows: of this attempt, and of all. */
  #rows() {
    return this.#sync.mirror.schedule.walks.rows(this.#key, this.#state.attempt);
  }

  #count(met: number): ListCounted {
    const { counted, unusable } = this.#state;
    return { met, unusable, counted: this.#sync.policy.listTotal === 'ignore' ? null : counted };
  }

  #shortWalk(count: ListCounted): ShortWalk {
    const { met, unusable } = count;
    const row_hash = this.#sync.mirror.schedule.walks.rowHash(this.#key);
    return { met, unusable, counted: rowsCounted(count), row_hash };
  }

  /**
   * Returns whether a further attempt would show no more rows. This attempt repeated nothing, and met the same rows as
   * the attempts before it. For a first attempt: it lacks the same rows as the last short walk.
   */
  #isSameAgain(): boolean {
    const { repeated, attempt } = this.#state;
    if (repeated > 0) return false;
    const rows = this.#rows();
    if (attempt > 1) return rows.all === rows.attempt;
    const before = this.#sync.mirror.schedule.shortLists.find(this.#key);
    return before !== null && isSameShortage(before, this.#shortWalk(this.#count(rows.all)));
  }
}

/** The row counts of a walk. `counted`: the service's own; null: none. */
interface ListCounted {
  readonly met: number;
  readonly unusable: number;
  readonly counted: number | null;
}

/**
 * Returns whether two pages have the same rows in the same order. That does not happen by chance, nor because paging
 * drifts.
 */
function isSamePage(one: readonly number[], other: readonly number[]): boolean {
  return one.length > 0 && one.length === other.length && one.every((id, index) => other[index] === id);
}

/** Returns the stored walk, or a new one if none is stored or its instants lie in the future or too far back. */
function resume({ mirror, clock }: Sync, key: WalkKey): WalkState {
  const now = clock.now();
  const state = mirror.schedule.walks.find(key);
  const usable =
    state !== null &&
    state.next_page > 0 &&
    state.started_at <= now + futureToleranceMs &&
    now - state.started_at < maxPauseMs;
  return usable ? state : mirror.transaction(() => mirror.schedule.walks.begin(key, now, 1));
}
