import type { Instant } from '../../clock.ts';
import { laneIndex } from '../../domain/schedule/lanes.ts';
import {
  type Due,
  type DueReason,
  longestReadMs,
  type RecordFacts,
  type RecordKey,
} from '../../domain/schedule/record.ts';
import type { Volatility } from '../../domain/schedule/volatility.ts';
import { type Bound, type ExpressionBuilder, type RawBuilder, sql, type Writes } from '../../sqlite/statements.ts';
import { query, type Schema } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';
import { isRecord, type Planned, planned, triggeredApartMs } from './record-rows.ts';

/** Results of reads of a record. */
export interface RecordOutcomes {
  /** A request sent at `called_at` was answered and stored. The record leaves its job, unless that was requested later. */
  fetched(key: Pick<RecordFacts, keyof RecordKey | 'due_reason'>, read: FetchedRead): void;
  /** Records that a failed order shows a change since the last read, and the updated estimate. */
  told(key: RecordKey, at: Instant, volatility: Volatility): void;
  /**
   * Records a failed request, after `failures` others in a row. The record stays in its job: `giveUp` (jobs.ts) removes
   * it.
   */
  failed(key: Pick<RecordFacts, keyof RecordKey | 'failures'>, failure: { at: Instant; text: string; due: Due }): void;
  /**
   * The service answered for other dates than it was asked for, since `at`: as of a product that is on sale. Of a list: it
   * leaves out rows that it counts.
   */
  astray(key: RecordKey, at: Instant): void;
  /** The service has neither these dates nor their product, since `at` unless it was answered as off sale before. */
  missing(key: RecordKey, at: Instant): void;
  /** The next answer is decoded and stored, also where it is the one that was stored last. */
  forgetBody(key: RecordKey): void;
  /** An answer came, such as a page of a long list: earlier failures are forgotten. */
  progressed(key: RecordKey): void;
}

export interface FetchedRead {
  /** When the answer was made. */
  readonly sent_at: Instant;
  /** When the request was sent: later, where a cache had the answer. Left out: at `sent_at`. */
  readonly called_at?: Instant;
  readonly changed: boolean;
  readonly body_hash: string | null;
  readonly stale_at: Instant;
  readonly due: Due;
  /** Null: this read does not update the estimate. */
  readonly volatility: Volatility | null;
  /** Since when its answers say "not on sale"; null: this one does not. */
  readonly off_sale_at: Instant | null;
  /** Since when some of its dates are left out; null: none is. */
  readonly unanswered_at: Instant | null;
  /** 1: it shows something that a later answer could take away; null: as before. */
  readonly shows: 0 | 1 | null;
  /** How many times each of its dates has; null: as before. */
  readonly times: number | null;
}

export function recordOutcomes(db: Writes): RecordOutcomes {
  const fetched = markFetched(db);
  const told = db.change((bound: Bound<RecordKey & Volatility & { at: Instant }>) =>
    query
      .updateTable('_record')
      .set({ told_at: bound.at, shape: bound.shape, exposure: bound.exposure })
      .where(isRecord(bound)),
  );
  const failed = db.change((bound: Bound<RecordKey & Planned & { failures: number; at: Instant; text: string }>) =>
    query
      .updateTable('_record')
      .set(({ eb, fn }) => ({
        failures: eb(fn<number>('max', ['failures', bound.failures]), '+', 1),
        failed_at: bound.at,
        failure: bound.text,
        due_at: bound.due_at,
        due_reason: bound.due_reason,
        lane: bound.lane,
      }))
      .where(isRecord(bound)),
  );
  const astray = db.change((bound: Bound<RecordKey & { at: Instant }>) =>
    query.updateTable('_record').set({ unanswered_at: bound.at, off_sale_at: null }).where(isRecord(bound)),
  );
  const missing = db.change((bound: Bound<RecordKey & { at: Instant }>) =>
    query
      .updateTable('_record')
      .set(({ fn }) => ({ off_sale_at: fn.coalesce('off_sale_at', bound.at) }))
      .where(isRecord(bound)),
  );
  const forgetBody = db.change((bound: Bound<RecordKey>) =>
    query.updateTable('_record').set({ body_hash: null }).where(isRecord(bound)),
  );
  const forgetFailures = db.change((bound: Bound<RecordKey>) =>
    query
      .updateTable('_record')
      .set({ failures: 0, failed_at: null, failure: null })
      .where(isRecord(bound))
      .where('failures', '>', 0),
  );
  return {
    fetched,
    told: (key, at, { shape, exposure }) => {
      told.run({ ...key, at, shape, exposure });
    },
    failed: (key, { at, text, due }) => {
      failed.run({ ...key, at, text, ...planned(key, due) });
    },
    astray: (key, at) => {
      astray.run({ ...key, at });
    },
    missing: (key, at) => {
      missing.run({ ...key, at });
    },
    forgetBody: (key) => {
      forgetBody.run(key);
    },
    progressed: (key) => {
      forgetFailures.run(key);
    },
  };
}

type Fetched = RecordKey &
  Planned &
  Required<Pick<FetchedRead, 'called_at'>> &
  Pick<FetchedRead, 'sent_at' | 'body_hash' | 'stale_at' | 'off_sale_at' | 'unanswered_at' | 'shows' | 'times'> &
  Pick<Tables['_record'], 'shape' | 'exposure'> & { changed: 0 | 1; reason: DueReason };

function markFetched(db: Writes): RecordOutcomes['fetched'] {
  const mark = db.change((bound: Bound<Fetched>) =>
    query
      .updateTable('_record')
      .set(({ eb, fn, ref }) => {
        const changed_at = eb.case().when(bound.changed, '=', 1).then(bound.sent_at).else(ref('changed_at')).end();
        return {
          fetched_at: bound.sent_at,
          changed_at,
          body_hash: bound.body_hash,
          stale_at: bound.stale_at,
          fetched_reason: bound.reason,
          failures: 0,
          failed_at: null,
          failure: null,
          job_id: eb.case().when(askedSince(bound), '=', 1).then(ref('job_id')).else(null).end(),
          off_sale_at: bound.off_sale_at,
          unanswered_at: bound.unanswered_at,
          shows: fn.coalesce(bound.shows, 'shows'),
          times: fn.coalesce(bound.times, 'times'),
          shape: fn.coalesce(bound.shape, 'shape'),
          exposure: fn.coalesce(bound.exposure, 'exposure'),
          ...dueUnlessNotified(eb, bound),
        };
      })
      .where(isRecord(bound)),
  );
  return (key, { due, changed, volatility, ...read }) => {
    const { shape, exposure } = volatility ?? { shape: null, exposure: null };
    const reason = key.due_reason;
    const { called_at = read.sent_at } = read;
    mark.run({ ...key, ...read, called_at, ...planned(key, due), reason, changed: changed ? 1 : 0, shape, exposure });
  };
}

/** A job that waits for the record was requested after the request was sent: the answer is older than the question. */
function askedSince({ called_at }: Bound<Fetched>): RawBuilder<0 | 1> {
  // A job that was requested later than a read lasts did not come during the read: the clock was wrong.
  const latest = sql`${called_at} + ${sql.lit(longestReadMs)}`;
  return sql<
    0 | 1
  >`job_id is not null and (select requested_at from _job as j where j.job_id = _record.job_id) between ${called_at} + 1 and ${latest}`;
}

/**
 * As planned, unless a notification, a failed order or a resync came after the request was sent: none of them has been
 * answered.
 */
function dueUnlessNotified(eb: ExpressionBuilder<Schema, '_record'>, bound: Bound<Fetched>) {
  const { called_at } = bound;
  // A notification that is later did not come during the read: the clock was wrong.
  const latest = sql<Instant>`${called_at} + ${sql.lit(longestReadMs)}`;
  const notified = eb.and([eb('notified_at', '>=', called_at), eb('notified_at', '<=', latest)]);
  const told = eb.and([eb('told_at', '>', called_at), eb('told_at', '<=', latest)]);
  const either = <Column extends keyof Planned>(
    column: Column,
    afterNotice: RawBuilder<Planned[Column]>,
    due: RawBuilder<Planned[Column]>,
  ) =>
    sql<
      Planned[Column]
    >`case when ${notified} then ${afterNotice} when ${told} or ${askedSince(bound)} then ${eb.ref(column)} else ${due} end`;
  return {
    told_at: eb.case().when(told).then(eb.ref('told_at')).else(null).end(),
    notified_at: eb.case().when(notified).then(eb.ref('notified_at')).else(null).end(),
    due_at: either('due_at', sql`${called_at} + ${sql.lit(triggeredApartMs)}`, bound.due_at),
    due_reason: either('due_reason', sql.lit('notified'), bound.due_reason),
    lane: either('lane', sql.lit(laneIndex('notification')), bound.lane),
  };
}
