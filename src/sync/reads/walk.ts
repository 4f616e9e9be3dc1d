import { afterPage } from '../../domain/catalogue/list-page.ts';
import { type Due, futureToleranceMs, type RecordFacts } from '../../domain/schedule/record.ts';
import type { WalkKey, WalkState } from '../../mirror/schedule/walks.ts';
import type { Reading } from '../../upstream/client.ts';
import type { Page } from '../../upstream/decode-product.ts';
import type { SyncPorts } from '../records/context.ts';
import { type NoAnswer, type Refreshed, recordFailure, settleFailure, settleStored } from '../records/settle.ts';

/** One list: how its pages are read and stored. `store` and `finished` run inside the transaction of their page. */
export interface List<Entry> {
  readonly cadence: number;
  /** Returns when it is walked again before its cadence; null: it is not. */
  sooner?(started_at: number): Due | null;
  read(page: number): Promise<Reading<Page<Entry>>>;
  /** Called when the first page was not answered; returns `gone` if there is no such list, which is no failure. */
  refused?(reading: NoAnswer): 'gone' | 'failed';
  id(entry: Entry): number;
  /** `walk`: when this attempt of it began, and which page this is. */
  store(page: Page<Entry>, sent_at: number, walk: Pick<WalkState, 'started_at' | 'next_page'>): boolean;
  /** Called at the end of the list. `rejected` counts unusable rows, whose ids are unknown. */
  finished(end: { complete: boolean; started_at: number; rows: number; rejected: number }): void;
}

/** How often a list is walked at most: paging drifts, and a walk that repeats rows has missed others. */
const maxAttempts = 5;

/** A walk interrupted for longer begins again: its first pages are out of date. */
const maxPauseMs = 6 * 60 * 60 * 1000;

/**
 * Walks a paged list. Each page is stored in one transaction with the walk's position, so a kill costs one page. The
 * walk ends when an attempt met every row once, or when its attempts together met as many rows as there are; only the
 * former is complete and shows what is missing.
 */
export async function walk<Entry>(ports: SyncPorts, record: RecordFacts, list: List<Entry>): Promise<Refreshed> {
  const { mirror, clock, log } = ports;
  const key: WalkKey = { resource: record.resource, edition: record.edition };
  let state = mirror.transaction(() => resume(ports, key));
  let changed = false;
  let rejected = 0;
  const met = mirror.walks.rows(key, state.attempt).attempt + state.repeated;
  let pages = { served: state.next_page === 1 ? 0 : met, barren: 0 };
  /** The rows of the first page, if this process read it and the next one is the second. */
  let first: readonly number[] = [];
  for (;;) {
    const reading = await list.read(state.next_page);
    if (reading.kind === 'unchanged') throw new Error('a page is always decoded');
    // Failures before the pages stored meanwhile are forgotten.
    if (reading.kind !== 'read' && state.next_page === 1 && list.refused?.(reading) === 'gone')
      return { kind: 'postponed' };
    if (reading.kind !== 'read')
      return settleFailure(ports, mirror.records.find({ ...record, ...key }) ?? record, reading);
    const { value: page, sent_at } = reading;
    for (const reason of page.rejected) log.warn({ resource: record.resource, reason }, 'list row rejected');
    rejected += page.rejected.length;
    const before = state;
    const outcome = mirror.transaction((): Refreshed | null => {
      const stored = mirror.walks.find(key);
      // A new walk was requested meanwhile: this page belongs to the old one.
      if (stored === null || stored.next_page !== before.next_page || stored.started_at !== before.started_at) {
        state = stored ?? mirror.walks.begin(key, clock.now(), 1);
        return null;
      }
      const ids = page.entries.map(list.id);
      if (before.next_page === 2 && isSamePage(first, ids)) return samePage(ports, record, key, page.members);
      first = before.next_page === 1 ? ids : [];
      changed = list.store(page, sent_at, before) || changed;
      const repeated = mirror.walks.turn(key, before, ids);
      state = mirror.walks.find(key) ?? before;
      const rows = page.entries.length + page.rejected.length;
      const fresh = page.entries.length - repeated;
      pages = { served: pages.served + rows, barren: fresh > 0 ? 0 : pages.barren + 1 };
      const next = afterPage({ ...pages, rows, short: page.short, total: page.total });
      if (next === 'endless') return endlessList(ports, record, list, { key, state, rejected, served: pages.served });
      mirror.records.progressed(record);
      if (next === 'more') return null;
      return endOfList(ports, record, list, { key, state, changed, total: page.total, rejected }, (next) => {
        state = next;
      });
    });
    ports.progressed();
    if (outcome !== null) return outcome;
    if (state.attempt === before.attempt && state.started_at === before.started_at) continue;
    rejected = 0;
    pages = { served: 0, barren: 0 };
    if (state.attempt > before.attempt)
      log.info({ ...key, attempt: state.attempt }, 'paging drifted: walking the list again');
  }
}

/** Tells whether two pages have the same rows in the same order: by chance, or because paging drifts, none do. */
function isSamePage(one: readonly number[], other: readonly number[]): boolean {
  return one.length > 0 && one.length === other.length && one.every((id, index) => other[index] === id);
}

/**
 * Fails a walk whose second page is the first once more: the service does not page by number. The rows of the page stay
 * stored. Nothing else is known of the list, not even that it was walked.
 */
function samePage(ports: SyncPorts, record: RecordFacts, key: WalkKey, members: string): Refreshed {
  ports.mirror.walks.end(key, null);
  const failure = {
    code: 'same-page',
    message: `page 2 is page 1 once more, the page number is ignored; members: ${members}`,
  };
  // Storing the first page has reset the failures; those of this kind go on counting.
  recordFailure(ports, record, { ...failure, final: true });
  return { kind: 'failed', ...failure };
}

/** Fails a walk whose list does not end: its rows stay stored, but it does not show what is missing. */
function endlessList<Entry>(
  ports: SyncPorts,
  record: RecordFacts,
  list: List<Entry>,
  { key, state, rejected, served }: { key: WalkKey; state: WalkState; rejected: number; served: number },
): Refreshed {
  const { mirror } = ports;
  const rows = mirror.walks.rows(key, state.attempt).attempt;
  mirror.walks.end(key, null);
  list.finished({ complete: false, started_at: state.started_at, rows, rejected });
  const failure = {
    code: 'endless-list',
    message: `the list does not end: ${served} rows came, ${rows} of them different, and more are announced`,
  };
  // Its pages have reset its failures; failures of this kind go on counting.
  recordFailure(ports, record, { ...failure, final: true });
  return { kind: 'failed', ...failure };
}

function endOfList<Entry>(
  ports: SyncPorts,
  record: RecordFacts,
  list: List<Entry>,
  {
    key,
    state,
    changed,
    total,
    rejected,
  }: { key: WalkKey; state: WalkState; changed: boolean; total: number | null; rejected: number },
  again: (next: WalkState) => void,
): Refreshed | null {
  const { mirror, clock } = ports;
  const rows = mirror.walks.rows(key, state.attempt);
  const expected = (total ?? rows.attempt) - rejected;
  const complete = state.repeated === 0 && rows.attempt >= expected;
  const together = state.attempt > 1 && rows.all >= expected;
  if (!complete && !together && state.attempt < maxAttempts) {
    again(mirror.walks.begin(key, clock.now(), state.attempt + 1));
    return null;
  }
  mirror.walks.end(key, complete ? clock.now() : null);
  const sooner = list.sooner?.(state.started_at) ?? null;
  const read = { sent_at: state.started_at, changed, body_hash: null, cadence: list.cadence, sooner };
  const settled = settleStored(ports, record, read);
  // Afterwards, because the end of a list may bring the next walk forward.
  list.finished({ complete, started_at: state.started_at, rows: rows.attempt, rejected });
  return settled;
}

/** Returns the stored walk, or a new one if none is stored or its instants lie in the future or too far back. */
function resume({ mirror, clock }: SyncPorts, key: WalkKey): WalkState {
  const now = clock.now();
  const state = mirror.walks.find(key);
  const usable =
    state !== null &&
    state.next_page > 0 &&
    state.started_at <= now + futureToleranceMs &&
    now - state.started_at < maxPauseMs;
  return usable ? state : mirror.transaction(() => mirror.walks.begin(key, now, 1));
}
