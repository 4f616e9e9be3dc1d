import { type Instant, instant } from '../../clock.ts';
import { afterPage } from '../../domain/catalogue/list-page.ts';
import { refuses } from '../../domain/evidence/reach.ts';
import {
  afterShortWalk,
  isSameShortage,
  isSettled,
  metAll,
  rowsCounted,
  type ShortWalk,
  shortListText,
} from '../../domain/sale/short-list.ts';
import { type Due, futureToleranceMs, type RecordFacts } from '../../domain/schedule/record.ts';
import { walkKinds } from '../../domain/schedule/record-kinds.ts';
import type { WalkKey, WalkState } from '../../mirror/schedule/walks.ts';
import type { Page } from '../../upstream/decode-product.ts';
import { failedStatus } from '../../upstream/outcome.ts';
import type { Reading } from '../../upstream/reading.ts';
import type { Sync, SyncPorts } from '../records/context.ts';
import { type Refreshed, recordFailure, settleFailure, settleStored } from '../records/settle.ts';

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
  store(page: Page<Entry>, sent_at: Instant, walk: Pick<WalkState, 'started_at' | 'next_page'>): boolean;
  /**
   * Called at the end of the list. Only a `complete` walk proves that absent rows are gone. `unusable` counts rows
   * whose ids are unknown.
   */
  finished(end: { complete: boolean; started_at: Instant; rows: number; unusable: number }): void;
  readonly signal: AbortSignal;
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

/**
 * Walks a paged list. Each page is stored in one transaction with the walk's position, so a kill costs one page. The
 * walk ends when one attempt met every row once, or when all its attempts together met as many rows as there are. Only
 * the first case is complete and shows what is missing. A walk that met fewer rows, or unusable rows, has failed.
 */
export async function walk<Entry>(ports: SyncPorts, record: RecordFacts, list: List<Entry>): Promise<Refreshed> {
  const { mirror, clock, log } = ports;
  const key: WalkKey = { resource: record.resource, edition: record.edition };
  let state = mirror.transaction(() => resume(ports, key));
  let changed = false;
  const met = mirror.schedule.walks.rows(key, state.attempt).attempt + state.repeated + state.unusable;
  let pages = { served: state.next_page === 1 ? 0 : met, barren: 0 };
  /** The rows of the first page, if this process read it and the second page is next. */
  let first: readonly number[] = [];
  for (;;) {
    const reading = await list.read(state.next_page);
    if (reading.kind === 'unchanged') throw new Error('a page is always decoded');
    if (reading.kind !== 'read') {
      // If only a later page is missing, the path exists.
      const isLater = state.next_page > 1 && reading.kind === 'refused' && refuses('path', reading);
      const outcome = isLater ? failedStatus(reading.status) : reading;
      // Failures from before the last stored pages do not count any more.
      return settleFailure(ports, mirror.schedule.records.find({ ...record, ...key }) ?? record, outcome, list.signal);
    }
    const { value: page, sent_at } = reading;
    const unusable_example = page.rejected[0] ?? null;
    if (unusable_example !== null)
      log.warn({ ...key, rows: page.rejected.length, reason: unusable_example }, 'list rows rejected');
    const before = state;
    const outcome = mirror.transaction((): Refreshed | null => {
      const stored = mirror.schedule.walks.find(key);
      // A new walk was requested meanwhile: this page belongs to the old one.
      if (stored === null || stored.next_page !== before.next_page || stored.started_at !== before.started_at) {
        state = stored ?? mirror.schedule.walks.begin(key, clock.now(), 1);
        return null;
      }
      const ids = page.entries.map(list.id);
      if (before.next_page === 2 && isSamePage(first, ids)) return samePage(ports, record, key, page.members);
      first = before.next_page === 1 ? ids : [];
      changed = list.store(page, sent_at, before) || changed;
      const repeated = mirror.schedule.walks.turn(key, before, {
        ids,
        counted: page.total,
        unusable: page.rejected.length,
        unusable_example,
      });
      state = mirror.schedule.walks.find(key) ?? before;
      const rows = page.entries.length + page.rejected.length;
      const fresh = page.entries.length - repeated;
      pages = { served: pages.served + rows, barren: fresh > 0 ? 0 : pages.barren + 1 };
      const next = afterPage({ ...pages, rows, short: page.short, next: page.next, total: page.total });
      // A list that counts more on each page counts nothing.
      const isCounted = before.counted === page.total;
      if (next === 'endless') return endlessList(ports, record, list, { key, state, changed, isCounted, ...pages });
      mirror.schedule.records.progressed(record);
      if (next === 'more') return null;
      return endOfList(ports, record, list, { key, state, changed }, (next) => {
        state = next;
      });
    });
    ports.progressed();
    if (outcome !== null) return outcome;
    if (state.attempt === before.attempt && state.started_at === before.started_at) continue;
    pages = { served: 0, barren: 0 };
    if (state.attempt > before.attempt)
      log.info({ ...key, attempt: state.attempt }, 'the list drifted or was short: walking it again');
  }
}

/**
 * Returns whether two pages have the same rows in the same order. That does not happen by chance, nor because paging
 * drifts.
 */
function isSamePage(one: readonly number[], other: readonly number[]): boolean {
  return one.length > 0 && one.length === other.length && one.every((id, index) => other[index] === id);
}

/**
 * Fails a walk whose second page repeats the first: the service does not page by number. The rows of the page stay
 * stored. The list does not count as walked.
 */
function samePage(ports: SyncPorts, record: RecordFacts, key: WalkKey, members: string): Refreshed {
  ports.mirror.schedule.walks.end(key, null);
  const failure = {
    code: 'same-page',
    message: `page 2 is page 1 once more, the page number is ignored; members: ${members}`,
  };
  // Storing the first page has reset the failure count; failures of this kind keep counting.
  recordFailure(ports, record, { ...failure, final: true });
  return { kind: 'failed', ...failure };
}

/** The end of a walk. */
interface End {
  readonly key: WalkKey;
  readonly state: WalkState;
  readonly changed: boolean;
}

/** Fails a walk whose list does not end: its rows stay stored, but it does not show what is missing. */
function endlessList<Entry>(
  ports: SyncPorts,
  record: RecordFacts,
  list: List<Entry>,
  { served, isCounted, ...end }: End & { readonly served: number; readonly isCounted: boolean },
): Refreshed {
  const { mirror } = ports;
  const { key, state } = end;
  const count = countOf(ports, state, mirror.schedule.walks.rows(key, state.attempt).all);
  if (isCounted && !metAll(count)) return shortList(ports, record, list, { ...end, count, complete: false });
  const rows = mirror.schedule.walks.rows(key, state.attempt).attempt;
  mirror.schedule.walks.end(key, null);
  list.finished({ complete: false, started_at: state.started_at, rows, unusable: state.unusable });
  const failure = {
    code: 'endless-list',
    message: `the list does not end: ${served} rows came, ${rows} of them different, and more are announced`,
  };
  // Storing its pages has reset the failure count; failures of this kind keep counting.
  recordFailure(ports, record, { ...failure, final: true });
  return { kind: 'failed', ...failure };
}

function endOfList<Entry>(
  ports: SyncPorts,
  record: RecordFacts,
  list: List<Entry>,
  end: End,
  again: (next: WalkState) => void,
): Refreshed | null {
  const { mirror, clock } = ports;
  const { key, state } = end;
  const rows = mirror.schedule.walks.rows(key, state.attempt);
  const complete = state.repeated === 0 && metAll(countOf(ports, state, rows.attempt));
  const together = state.attempt > 1 && metAll(countOf(ports, state, rows.all));
  if (!complete && !together && state.attempt < maxAttempts && !isSameAgain(ports, end)) {
    again(mirror.schedule.walks.begin(key, clock.now(), state.attempt + 1));
    return null;
  }
  const count = countOf(ports, state, rows.all);
  if ((!complete && !together) || state.unusable > 0)
    return shortList(ports, record, list, { ...end, count, complete });
  mirror.schedule.shortLists.end(key);
  return settleWalk(ports, record, list, { ...end, complete, sooner: list.sooner?.(state.started_at) ?? null });
}

/**
 * Records a short walk. It has failed, unless three walks agree that there are no more rows. `complete`: true if only
 * unusable rows were the problem.
 */
function shortList<Entry>(
  ports: SyncPorts,
  record: RecordFacts,
  list: List<Entry>,
  { count, complete, ...end }: End & { readonly count: ListCounted; readonly complete: boolean },
): Refreshed {
  const { mirror, clock, policy } = ports;
  const { key, state } = end;
  const now = clock.now();
  const found = afterShortWalk(mirror.schedule.shortLists.find(key), shortWalkOf(ports, key, count), state.started_at);
  const { unusable_example } = state;
  mirror.schedule.shortLists.note(key, { ...found, unusable_example }, now);
  if (isSettled(found)) {
    const sooner = earlier(list.sooner?.(state.started_at) ?? null, {
      at: instant(state.started_at + settledEveryMs),
      reason: 'suspicion',
    });
    return settleWalk(ports, record, list, { ...end, complete, sooner });
  }
  mirror.schedule.walks.end(key, null);
  const { attempt: rows } = mirror.schedule.walks.rows(key, state.attempt);
  list.finished({ complete: false, started_at: state.started_at, rows, unusable: state.unusable });
  const primary = key.edition === walkKinds(policy.extent).primary.edition ? 1 : 0;
  const failure = { code: 'list-incomplete', message: shortListText({ ...key, ...found, unusable_example, primary }) };
  // Storing its pages has reset the failure count; failures of this kind keep counting. `final`, because the list would
  // be as short if it were walked again at once.
  recordFailure(ports, record, { ...failure, final: true });
  mirror.schedule.records.astray(record, instant(record.unanswered_at ?? now));
  return { kind: 'failed', ...failure };
}

/** Stores the end of a walk. */
function settleWalk<Entry>(
  ports: SyncPorts,
  record: RecordFacts,
  list: List<Entry>,
  { key, state, changed, complete, sooner }: End & { readonly complete: boolean; readonly sooner: Due | null },
): Refreshed {
  const { mirror, clock } = ports;
  const { started_at, attempt, unusable } = state;
  mirror.schedule.walks.end(key, complete ? clock.now() : null);
  const read = { sent_at: started_at, changed, body_hash: null, cadence: list.cadence, sooner };
  const settled = settleStored(ports, record, read);
  // Called last, because the end of a list may bring the next walk forward.
  list.finished({ complete, started_at, rows: mirror.schedule.walks.rows(key, attempt).attempt, unusable });
  return settled;
}

type ListCounted = ReturnType<typeof countOf>;

/** Returns the row counts of a walk. */
function countOf({ policy }: Sync, { counted, unusable }: WalkState, met: number) {
  return { met, unusable, counted: policy.listTotal === 'ignore' ? null : counted };
}

function shortWalkOf({ mirror }: Sync, key: WalkKey, count: ListCounted): ShortWalk {
  const { met, unusable } = count;
  return { met, unusable, counted: rowsCounted(count), row_hash: mirror.schedule.walks.rowHash(key) };
}

/**
 * Returns whether a further attempt would show no more rows. This attempt repeated nothing, and met the same rows as
 * the attempts before it. For a first attempt: it lacks the same rows as the last short walk.
 */
function isSameAgain(ports: SyncPorts, { key, state }: End): boolean {
  const { mirror } = ports;
  if (state.repeated > 0) return false;
  const rows = mirror.schedule.walks.rows(key, state.attempt);
  if (state.attempt > 1) return rows.all === rows.attempt;
  const before = mirror.schedule.shortLists.find(key);
  return before !== null && isSameShortage(before, shortWalkOf(ports, key, countOf(ports, state, rows.all)));
}

function earlier(one: Due | null, other: Due): Due {
  return one !== null && one.at < other.at ? one : other;
}

/** Returns the stored walk, or a new one if none is stored or its instants lie in the future or too far back. */
function resume({ mirror, clock }: SyncPorts, key: WalkKey): WalkState {
  const now = clock.now();
  const state = mirror.schedule.walks.find(key);
  const usable =
    state !== null &&
    state.next_page > 0 &&
    state.started_at <= now + futureToleranceMs &&
    now - state.started_at < maxPauseMs;
  return usable ? state : mirror.transaction(() => mirror.schedule.walks.begin(key, now, 1));
}
