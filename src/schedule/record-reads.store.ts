import { type Instant, instant } from '../kernel/clock.ts';
import { earliestMs, longestAheadMs } from '../kernel/sqlite/instants.ts';
import { type Bound, type ExpressionBuilder, listed, type Reads, Store, sql } from '../kernel/sqlite/statements.ts';
import { query, type Schema } from '../mirror/sql/sql.ts';
import { quarantineAfter } from '../service/backoff.rules.ts';
import { refusedCode } from '../trust/refusal-reach.rules.ts';
import { type Lane, type LaneEntry, laneIndex, lanes } from './lanes.rules.ts';
import {
  type DueReason,
  futureToleranceMs,
  type KindKey,
  type LearnedRecord,
  type RecordFacts,
  type RecordKey,
} from './record.rules.ts';

/** Records by kind and product. `product_ids` null: of all products. */
export interface RecordSelection {
  readonly kinds: readonly KindKey[];
  readonly product_ids: readonly number[] | null;
}

export interface FillState {
  readonly records: number;
  readonly never_fetched: number;
  readonly failing: number;
}

/** A record that waits for its cadence, with what the cadence depends on. */
export interface WaitingRecord extends RecordKey {
  readonly fetched_at: Instant;
  readonly category: string | null;
  readonly dynamic: 0 | 1;
  readonly covered: 0 | 1;
}

/** A record with what people ask about it. */
export interface RecordDetail extends RecordFacts {
  readonly lane: Lane;
  readonly fetched_reason: DueReason | null;
  readonly stale_at: Instant | null;
  readonly failed_at: Instant | null;
  readonly failure: string | null;
}

/** A record that adaptive scheduling may read before its cadence. */
export interface AdaptiveRecord extends LearnedRecord {
  readonly category: string | null;
}

/** Reasons for records that are due because of notifications. */
export const triggered: readonly DueReason[] = ['notified', 'closure-unconfirmed'];

const key = ['resource', 'product_id', 'edition', 'part'] as const;
const facts = [
  ...key, 'due_at', 'due_reason', 'fetched_at', 'changed_at', 'body_hash', 'failures', 'job_id', 'notified_at', 'shape',
  'exposure', 'told_at', 'off_sale_at', 'unanswered_at',
] as const; // biome-ignore format: a list of columns
const details = [...facts, 'lane', 'fetched_reason', 'stale_at', 'failed_at', 'failure'] as const;

/** Queries of records. */
export class RecordReads<Db extends Reads = Reads> extends Store<Db> {
  readonly #due = this.db.rows((bound: Bound<DueOfLane>) => dueOfLane(bound).orderBy('due_at'));
  readonly #dueUntriggered = this.db.rows((bound: Bound<DueOfLane>) =>
    dueOfLane(bound).where('due_reason', 'not in', triggered).orderBy('due_at'),
  );
  readonly #dueTriggered = this.db.rows((bound: Bound<DueOfLane>) =>
    dueOfLane(bound)
      .where('due_reason', 'in', triggered)
      .orderBy(({ eb }) => eb('due_reason', '=', 'notified'))
      .orderBy('due_at'),
  );
  /** Returns the same for one job, in all lanes. */
  readonly dueOfJob = this.db.rows(({ now, job_id, limit }: Bound<{ now: Instant; job_id: number; limit: number }>) =>
    query
      .selectFrom('_record')
      .select(facts)
      .where('job_id', '=', job_id)
      .where('due_at', '<=', now)
      .orderBy('due_at')
      .limit(limit),
  );
  readonly #count = this.db.value(countOf);
  readonly #countSome = this.db.value((of: Bound<KindKey & { ids: string }>) =>
    countOf(of).where('product_id', 'in', listed<number>(of.ids)),
  );
  readonly #next = this.db.value(nextOfAll);
  readonly #nextOfJob = this.db.value(({ job_id }: Bound<{ job_id: number }>) =>
    query
      .selectFrom('_record')
      .select(({ fn }) => fn.min('due_at').as('at'))
      .where('job_id', '=', job_id),
  );
  readonly find = this.db.row((bound: Bound<RecordKey>) =>
    query.selectFrom('_record').select(facts).where(isRecord(bound)),
  );
  /** Returns how many times each date of a window has, on average, by its last stored answer; null: not known. */
  readonly times = this.db.value((bound: Bound<RecordKey>) =>
    query.selectFrom('_record').select('times').where(isRecord(bound)),
  );
  readonly #ofProduct = this.db.rows(({ product_id }: Bound<{ product_id: number }>) =>
    query
      .selectFrom('_record')
      .select(details)
      .where('product_id', '=', product_id)
      .orderBy('resource')
      .orderBy('edition')
      .orderBy('part'),
  );
  /** Returns what `reschedule` needs after a changed cadence: the records of a product that wait for it. */
  readonly waiting = this.db.rows(({ product_id }: Bound<{ product_id: number }>) =>
    query
      .selectFrom('_record as r')
      .leftJoin('_product as p', 'p.product_id', 'r.product_id')
      .select(({ exists, fn, lit, selectFrom }) => [
        'r.resource',
        'r.product_id',
        'r.edition',
        'r.part',
        'r.fetched_at',
        'p.category',
        fn.coalesce('p.covered', lit(0)).as('covered'),
        exists(
          selectFrom('checkout as c')
            .select('c.product_id')
            .whereRef('c.product_id', '=', 'r.product_id')
            .where('c.has_dynamic_pricing', '=', 1),
        )
          .$castTo<0 | 1>()
          .as('dynamic'),
      ])
      .where('r.fetched_at', 'is not', null)
      .$narrowType<{ fetched_at: Instant }>()
      .where('r.failures', '=', 0)
      .where('r.due_reason', 'in', ['cadence-elapsed', 'likely-changed'])
      .where('r.product_id', '=', product_id),
  );
  /** Returns the next products that have records, or are visible and should have some, in ascending order; 0: the lists. */
  readonly productsAfter = this.db.values((bound: Bound<{ product_id: number; limit: number }>) =>
    query
      .selectFrom('_record')
      .select('product_id')
      .distinct()
      .where('product_id', '>', bound.product_id)
      .union(
        query
          .selectFrom('_product')
          .select('product_id')
          .where('product_id', '>', bound.product_id)
          .where('withdrawn_at', 'is', null),
      )
      .orderBy('product_id')
      .limit(bound.limit),
  );
  readonly #adaptive = this.db.rows(({ product_id, edition, part, limit }: Bound<AdaptiveAfter>) =>
    query
      .selectFrom('_record as r')
      .crossJoin('_product as p')
      .whereRef('p.product_id', '=', 'r.product_id')
      .select(['r.resource', 'r.product_id', 'r.edition', 'r.part', 'p.category', 'r.shape', 'r.exposure'])
      .where('r.resource', '=', 'availability')
      .where(({ eb, refTuple, tuple }) =>
        eb(refTuple('r.product_id', 'r.edition', 'r.part'), '>', tuple(product_id, edition, part)),
      )
      .where('p.sellable', '=', 1)
      .where('r.fetched_at', 'is not', null)
      .orderBy('r.product_id')
      .orderBy('r.edition')
      .orderBy('r.part')
      .limit(limit),
  );
  readonly #fill = this.db.row(() =>
    query
      .selectFrom('_record')
      .select(({ fn }) => [
        fn.countAll<number>().as('records'),
        fn.countAll<number>().filterWhere('fetched_at', 'is', null).as('never_fetched'),
        fn.countAll<number>().filterWhere('failures', '>', 0).as('failing'),
      ]),
  );
  readonly #announced = this.db.value(() =>
    query
      .selectFrom('_record as r')
      .leftJoin('_product as p', (join) =>
        join.onRef('p.product_id', '=', 'r.product_id').on('p.withdrawn_at', 'is', null),
      )
      .select(({ fn }) => fn.count<number>('r.product_id').distinct().as('products'))
      .where('r.resource', '=', 'product_detail')
      .where('p.product_id', 'is', null),
  );
  readonly #unread = this.db.value(() =>
    query
      .selectFrom('_record')
      .select('product_id')
      .where('fetched_at', 'is', null)
      .where('failures', '<', quarantineAfter)
      .where(({ eb, or, fn }) =>
        or([eb(fn.coalesce('failure', eb.val('')), 'not like', `${refusedCode}%`), eb('resource', '=', 'products')]),
      )
      .limit(1),
  );
  // A list whose answers cannot be used is not excused: without it nobody knows what there is.
  readonly #unusable = this.db.value(() =>
    query
      .selectFrom('_record')
      .select('product_id')
      .where('resource', '=', 'products')
      .where('product_id', '=', 0)
      .where('fetched_at', 'is', null)
      .where(({ eb, or }) => or([eb('failure', 'like', 'wrong-shape:%'), eb('failure', 'like', 'same-page:%')]))
      .limit(1),
  );
  readonly #dated = this.db.row(() =>
    query
      .selectFrom('_record as r')
      .innerJoin('_product as p', 'p.product_id', 'r.product_id')
      .select(({ fn }) => [
        fn.countAll<number>().as('windows'),
        fn.countAll<number>().filterWhere(sql<number>`coalesce(r.shows, 1)`, '=', 1).as('shown'),
      ])
      .where('r.resource', '=', 'availability')
      .where('r.fetched_at', 'is not', null)
      .where('p.sellable', '=', 1),
  );
  readonly #beyond = this.db.rows(
    (bound: Bound<{ fetched_after: Instant; fetched_before: Instant; due_after: Instant }>) =>
      query
        .selectFrom('_record')
        .select(key)
        .where(({ eb, or }) =>
          or([
            eb('fetched_at', '>', bound.fetched_after),
            eb('fetched_at', '<', bound.fetched_before),
            eb('due_at', '>', bound.due_after),
          ]),
        ),
  );

  /**
   * Returns those of a lane that are due at `now`, the longest due first; of those that notifications made due, the
   * ones that confirm a closure first.
   */
  due(now: Instant, entry: LaneEntry, limit: number): RecordFacts[] {
    if (entry === 'triggered') return this.#dueTriggered({ now, lane: laneIndex('notification'), limit });
    const rows = entry === 'notification' ? this.#dueUntriggered : this.#due;
    return rows({ now, lane: laneIndex(entry), limit });
  }

  /** Returns the instant at which the next record of a job, or of any (null), is due; null if there is none. */
  nextDueAt(job_id: number | null): number | null {
    return job_id === null ? this.#next() : this.#nextOfJob({ job_id });
  }

  /** Returns how many records a selection names, by resource. */
  count({ kinds, product_ids }: RecordSelection): Map<string, number> {
    const ids = JSON.stringify(product_ids);
    const counts = new Map<string, number>();
    for (const kind of kinds) {
      const records = (product_ids === null ? this.#count(kind) : this.#countSome({ ...kind, ids })) ?? 0;
      counts.set(kind.resource, (counts.get(kind.resource) ?? 0) + records);
    }
    return counts;
  }

  ofProduct(product_id: number): RecordDetail[] {
    return this.#ofProduct({ product_id }).map((row) => ({ ...row, lane: lanes[row.lane] ?? ('fill' as const) }));
  }

  /**
   * Returns the availability records after `cursor` in the order of the key, for the price: null when there are no
   * more.
   */
  adaptiveAfter(cursor: RecordKey | null, limit: number): AdaptiveRecord[] {
    const { product_id, edition, part } = cursor ?? { product_id: -1, edition: '', part: 0 };
    return this.#adaptive({ product_id, edition, part, limit });
  }

  fill(): FillState {
    return this.#fill() ?? { records: 0, never_fetched: 0, failing: 0 };
  }

  /** Returns the number of products that have their own read and are not shown: announced, or included by configuration. */
  countAnnounced(): number {
    return this.#announced() ?? 0;
  }

  /** Returns whether a record, neither refused nor in quarantine, was never fetched, or a product list cannot be used. */
  isAnyUnread(): boolean {
    return this.#unread() !== null || this.#unusable() !== null;
  }

  /** Returns whether products are on sale, and all of their dates were answered, and none can be bought. */
  isAllEmpty(): boolean {
    const { windows, shown } = this.#dated() ?? { windows: 0, shown: 0 };
    return windows > 0 && shown === 0;
  }

  /** Returns records that a wrong clock has read, or made due: at instants that have not come, cannot be planned for, or are too long ago. */
  beyond(now: Instant): RecordKey[] {
    return this.#beyond({
      fetched_after: instant(now + futureToleranceMs),
      fetched_before: instant(earliestMs),
      due_after: instant(now + longestAheadMs),
    });
  }
}

type DueOfLane = { now: Instant; lane: number; limit: number };
type AdaptiveAfter = { product_id: number; edition: string; part: number; limit: number };

function dueOfLane({ now, lane, limit }: Bound<DueOfLane>) {
  return query.selectFrom('_record').select(facts).where('lane', '=', lane).where('due_at', '<=', now).limit(limit);
}

/** Selects the instant at which the next record is due: one look into the index a lane. */
export function nextOfAll() {
  const each = lanes.slice(1).reduce((all, _, before) => all.unionAll(nextOfLane(before + 1)), nextOfLane(0));
  return query.selectFrom(each.as('next')).select(({ fn }) => fn.min('at').as('at'));
}

function nextOfLane(lane: number) {
  return query
    .selectFrom('_record')
    .select(({ fn }) => fn.min('due_at').as('at'))
    .where('lane', '=', lane);
}

type OfRecord = ExpressionBuilder<Schema, '_record'>;

function countOf(kind: Bound<KindKey>) {
  return query
    .selectFrom('_record')
    .select(({ fn }) => fn.countAll<number>().as('records'))
    .where(isOfKind(kind));
}

/** Returns whether a row is of this kind. */
export function isOfKind({ resource, edition, part }: Bound<KindKey>) {
  return ({ and, eb }: OfRecord) =>
    and([eb('resource', '=', resource), eb('edition', '=', edition), eb('part', '=', part)]);
}

/** Returns whether a row is this one. */
export function isRecord(bound: Bound<RecordKey>) {
  const ofKind = isOfKind(bound);
  return ({ and, eb }: OfRecord) => and([ofKind(eb), eb('product_id', '=', bound.product_id)]);
}
