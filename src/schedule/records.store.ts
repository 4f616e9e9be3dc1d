import { CurrencyTable } from '../catalogue/editions.store.ts';
import type { Instant } from '../kernel/clock.ts';
import {
  type Bound,
  type ExpressionBuilder,
  listed,
  pick,
  type RawBuilder,
  sql,
  type Writes,
} from '../kernel/sqlite/statements.ts';
import { dropBy, query, type Schema, setBy } from '../mirror/sql/sql.ts';
import type { Tables } from '../mirror/sql/tables.ts';
import { laneIndex, laneOf } from './lanes.rules.ts';
import type { RecordKind } from './record.rules.ts';
import {
  type Due,
  type DueReason,
  type KindKey,
  longestReadMs,
  type RecordFacts,
  type RecordKey,
} from './record.rules.ts';
import { isOfKind, isRecord, RecordReads, type RecordSelection, triggered } from './record-reads.store.ts';
import type { Resource } from './resources.rules.ts';
import type { Volatility } from './volatility.rules.ts';

/** Milliseconds between two reads of a record that notifications cause, however many come. */
export const triggeredApartMs = 60_000;

/** Due instant of a record as stored, with the lane that belongs to its reason. */
export type Planned = Pick<Tables['_record'], 'due_at' | 'due_reason' | 'lane'>;

/** Instant of the read, the instant at which it is due unless something asks for it earlier, and when it is stale. */
export interface CreatedRead {
  readonly fetched_at: Instant;
  readonly due_at: Instant;
  readonly stale_at: Instant;
}

/** Facts of a read that are stored as they are. */
interface StoredRead {
  /** Instant of the answer. */
  readonly sent_at: Instant;
  readonly body_hash: string | null;
  readonly stale_at: Instant;
  /** Since when its answers say "not on sale"; null: this one does not. */
  readonly off_sale_at: Instant | null;
  /** Since when some of its dates are left out; null: none is. */
  readonly unanswered_at: Instant | null;
  /** 1: it shows something that a later answer could take away; null: as before. */
  readonly shows: 0 | 1 | null;
  /** The number of times of each of its dates; null: as before. */
  readonly times: number | null;
}

export interface FetchedRead extends StoredRead {
  /** Instant of the request: later, where a cache had the answer. Left out: at `sent_at`. */
  readonly called_at?: Instant;
  readonly changed: boolean;
  readonly due: Due;
  /** Null: this read does not update the estimate. */
  readonly volatility: Volatility | null;
}

/** State of each record's reads, and the instant at which it is due. */
export class RecordTable extends RecordReads<Writes> {
  readonly #currencies = new CurrencyTable(this.db);
  readonly #create = this.db.change(({ templates, ids }: Bound<Templates & Products>) =>
    insertUnread(templates, productRows(ids)),
  );
  readonly #createList = this.db.change(({ templates }: Bound<Templates>) =>
    insertUnread(templates, sql`(select 0 as product_id)`),
  );
  readonly #createRead = this.db.change(insertRead);
  /** Returns for which kinds all products have their records, as it was noted; null: that has to be seen to. */
  readonly madeFor = this.db.value(() => query.selectFrom('_budget').select('made_for'));
  readonly noteMadeFor = this.db.change(setBy('_budget', [], ['made_for']));
  /** Drops a record that nobody waits for. */
  readonly drop = this.db.change((bound: Bound<RecordKey>) => query.deleteFrom('_record').where(isRecord(bound)));
  readonly #dropOthers = this.db.change(({ templates }: Bound<Templates>) =>
    query
      .deleteFrom('_record')
      .where(({ eb, refTuple, selectFrom }) =>
        eb(
          refTuple('resource', 'edition', 'part'),
          'not in',
          selectFrom(templateRows(templates))
            .select(['t.resource', 't.edition', 't.part'])
            .$asTuple('resource', 'edition', 'part'),
        ),
      ),
  );
  readonly #takeOutOfJobs = this.db.change(({ resource }: Bound<{ resource: Resource }>) =>
    query
      .updateTable('_job')
      .set(({ eb, selectFrom }) => ({
        records: eb(
          'records',
          '-',
          selectFrom('_record as r')
            .select(({ fn }) => fn.countAll<number>().as('records'))
            .whereRef('r.job_id', '=', '_job.job_id')
            .where('r.resource', '=', resource)
            .$asScalar()
            .$notNull(),
        ),
      }))
      .where('finished_at', 'is', null),
  );
  readonly #dropResource = this.db.change(dropBy('_record', ['resource']));
  /** Drops the records of a product that nothing is shown of. */
  readonly dropProduct = this.db.change(dropBy('_record', ['product_id']));
  /** Drops a product's windows that lie beyond `last_part`. */
  readonly dropBeyond = this.db.change(({ product_id, last_part }: Bound<{ product_id: number; last_part: number }>) =>
    query
      .deleteFrom('_record')
      .where('resource', '=', 'availability')
      .where('product_id', '=', product_id)
      .where('part', '>', last_part),
  );

  readonly #bringForward = this.db.change(bringForward);
  readonly #bringForwardSome = this.db.change((bound: Bound<Brought & Products>) =>
    bringForward(bound).where('product_id', 'in', listed<number>(bound.ids)),
  );
  readonly #askOffSale = this.db.change(askOffSale);
  readonly #notify = this.db.change(notify);
  readonly #retryOfProduct = this.db.change((bound: Bound<{ product_id: number; at: Instant }>) =>
    query
      .updateTable('_record')
      .set({ due_at: bound.at, failures: sql<number>`min(failures, 2)` })
      .where('product_id', '=', bound.product_id)
      .where('failures', '>', 0)
      .where('due_reason', '=', 'retry')
      .where('due_at', '>', bound.at),
  );
  readonly #setDue = this.db.change((bound: Bound<RecordKey & Planned>) => updateOf(bound).set(pick(bound, plan)));
  /** Lets every record of a resource wait until an instant. */
  readonly postpone = this.db.change(({ resource, until }: Bound<{ resource: Resource; until: Instant }>) =>
    query.updateTable('_record').set({ due_at: until }).where('resource', '=', resource).where('due_at', '<', until),
  );
  readonly #reschedule = this.db.change((bound: Bound<RecordKey & Planned & { stale_at: Instant }>) =>
    updateOf(bound).set(pick(bound, [...plan, 'stale_at'])),
  );

  readonly #fetched = this.db.change(markFetched);
  readonly #told = this.db.change((bound: Bound<RecordKey & Volatility & { told_at: Instant }>) =>
    updateOf(bound).set(pick(bound, ['told_at', 'shape', 'exposure'])),
  );
  readonly #failed = this.db.change(
    (bound: Bound<RecordKey & Planned & { failures: number; at: Instant; text: string }>) =>
      updateOf(bound).set(({ eb, fn }) => ({
        failures: eb(fn<number>('max', ['failures', bound.failures]), '+', 1),
        failed_at: bound.at,
        failure: bound.text,
        ...pick(bound, plan),
      })),
  );
  /**
   * The service answered for other dates than it was asked for, since `at`: as of a product that is on sale. Of a list: it
   * leaves out rows that it counts.
   */
  readonly astray = this.db.change((bound: Bound<RecordKey & { at: Instant }>) =>
    updateOf(bound).set({ unanswered_at: bound.at, off_sale_at: null }),
  );
  /** The service has neither these dates nor their product, since `at` unless it was answered as off sale before. */
  readonly missing = this.db.change((bound: Bound<RecordKey & { at: Instant }>) =>
    updateOf(bound).set(({ fn }) => ({ off_sale_at: fn.coalesce('off_sale_at', bound.at) })),
  );
  /** The next answer is decoded and stored, also where it is the one that was stored last. */
  readonly forgetBody = this.db.change((bound: Bound<RecordKey>) => updateOf(bound).set({ body_hash: null }));
  /** An answer came, such as a page of a long list: earlier failures are forgotten. */
  readonly progressed = this.db.change((bound: Bound<RecordKey>) =>
    updateOf(bound).set({ failures: 0, failed_at: null, failure: null }).where('failures', '>', 0),
  );
  #generation = 0;

  /**
   * Returns how often something was made due since the start. While it is unchanged, only time makes more due, or a
   * resync: a sync cycle under way takes a quarter of a second to notice that.
   */
  generation(): number {
    return this.#generation;
  }

  /** Makes what is missing for these products; what exists stays as it is. */
  create(templates: readonly RecordKind[], product_ids: readonly number[]): void {
    this.#generation += 1;
    this.#create({ templates: JSON.stringify(templates), ids: JSON.stringify(product_ids) });
  }

  /** Makes records of what was read at `fetched_at` as part of something else, for products that have none. */
  createRead(templates: readonly RecordKind[], product_ids: readonly number[], read: CreatedRead): void {
    this.#createRead({ templates: JSON.stringify(templates), ids: JSON.stringify(product_ids), ...read });
  }

  createWalk(template: RecordKind): void {
    this.#generation += 1;
    this.#createList({ templates: JSON.stringify([template]) });
    this.#currencies.followWalks();
  }

  /** Drops the records of kinds that the configuration no longer asks for. */
  dropOthers(templates: readonly RecordKind[]): void {
    this.#dropOthers({ templates: JSON.stringify(templates) });
    this.#currencies.followWalks();
  }

  /** Drops every record of a resource, out of its jobs too: the service does not have it. */
  dropResource(resource: Resource): void {
    this.#takeOutOfJobs({ resource });
    this.#dropResource({ resource });
    this.noteMadeFor({ made_for: null });
  }

  /**
   * Makes records due. A record that is due earlier keeps its instant. Of the two lanes a record gets the more urgent one,
   * and its reason.
   */
  bringForward({ kinds, product_ids }: RecordSelection, at: Instant, reason: DueReason): number {
    this.#generation += 1;
    const ids = JSON.stringify(product_ids);
    let brought = 0;
    for (const kind of kinds) {
      const bound = { ...kind, at, reason, lane: laneIndex(laneOf(kind, reason)) };
      brought += product_ids === null ? this.#bringForward(bound) : this.#bringForwardSome({ ...bound, ids });
    }
    return brought;
  }

  /** The product's own read says that it is on sale: dates that were answered as not on sale are due. `since_at`: the two disagree from then on; null: they did before. */
  askOffSale(product_id: number, at: Instant, since_at: Instant | null): number {
    const changes = this.#askOffSale({ product_id, at, since_at, lane: laneIndex('notification') });
    if (changes > 0) this.#generation += 1;
    return changes;
  }

  /** Notifications received at `at` name these products: all of them is due, each record at most once a minute. */
  notify(product_ids: readonly number[], at: Instant, now: Instant): number {
    this.#generation += 1;
    return this.#notify({ ids: JSON.stringify(product_ids), at, now, lane: laneIndex('notification') });
  }

  /**
   * One of the product's records was answered after it had failed: the others that wait for their retry are due at once, and
   * leave quarantine, so that a stray failure of that retry costs minutes.
   */
  retryOfProduct(product_id: number, at: Instant): number {
    const changes = this.#retryOfProduct({ product_id, at });
    if (changes > 0) this.#generation += 1;
    return changes;
  }

  setDue(key: RecordKey, due: Due): void {
    this.#generation += 1;
    this.#setDue({ ...key, ...planned(key, due) });
  }

  reschedule(key: RecordKey, due: Due, stale_at: Instant): void {
    this.#reschedule({ ...key, ...planned(key, due), stale_at });
  }

  /** A request sent at `called_at` was answered and stored. The record leaves its job, unless that was requested later. */
  fetched(key: RecordFacts, { due, changed, volatility, ...read }: FetchedRead): void {
    const { shape, exposure } = volatility ?? { shape: null, exposure: null };
    const { called_at = read.sent_at } = read;
    this.#fetched({
      ...key,
      ...read,
      called_at,
      ...planned(key, due),
      reason: key.due_reason,
      changed: changed ? 1 : 0,
      shape,
      exposure,
    });
  }

  /** Records that a failed order shows a change since the last read, and the updated estimate. */
  told(key: RecordKey, told_at: Instant, { shape, exposure }: Volatility): void {
    this.#told({ ...key, told_at, shape, exposure });
  }

  /**
   * Records a failed request, after `failures` others in a row. The record stays in its job: `giveUp` (resyncs.store.ts) removes
   * it.
   */
  failed(key: RecordFacts, { at, text, due }: { at: Instant; text: string; due: Due }): void {
    this.#failed({ ...key, at, text, ...planned(key, due) });
  }
}

const plan = ['due_at', 'due_reason', 'lane'] as const;

function planned(key: RecordKey, { at, reason }: Due): Planned {
  return { due_at: at, due_reason: reason, lane: laneIndex(laneOf(key, reason)) };
}

/** Returns an update of one record; its values are not set yet. */
function updateOf(bound: Bound<RecordKey>) {
  return query.updateTable('_record').where(isRecord(bound));
}

/** `templates`: a JSON array of `RecordKind`. */
type Templates = { templates: string };
/** `ids`: a JSON array. */
type Products = { ids: string };
type OfRecord = ExpressionBuilder<Schema, '_record'>;

/** Returns the rows of a bound JSON array of templates. */
function templateRows(templates: RawBuilder<string>) {
  return sql<RecordKind>`(select value ->> '$.resource' as resource, value ->> '$.edition' as edition,
    value ->> '$.part' as part, value ->> '$.due_at' as due_at from json_each(${templates}))`.as<'t'>('t');
}

/** Returns the rows of a bound JSON array of products. */
function productRows(ids: RawBuilder<string>): RawBuilder<{ product_id: number }> {
  return sql`(select value as product_id from json_each(${ids}))`;
}

/** Inserts a record of each template and each of the products, in this order. */
function insertUnread(templates: RawBuilder<string>, products: RawBuilder<{ product_id: number }>) {
  return query
    .insertInto('_record')
    .orIgnore()
    .columns(['resource', 'product_id', 'edition', 'part', 'due_at', 'due_reason', 'lane'])
    .expression(
      query
        .selectFrom(templateRows(templates))
        .crossJoin(products.as<'p'>('p'))
        .select(['t.resource', 'p.product_id', 't.edition', 't.part', 't.due_at'])
        .select(({ val }) => [
          val<'never-fetched'>('never-fetched').as('due_reason'),
          val(laneIndex('fill')).as('lane'),
        ]),
    );
}

function insertRead({ templates, ids, fetched_at, due_at, stale_at }: Bound<Templates & Products & CreatedRead>) {
  return query
    .insertInto('_record')
    .orIgnore()
    .columns(['resource', 'product_id', 'edition', 'part', 'due_at', 'due_reason', 'lane', 'fetched_at', 'stale_at'])
    .expression(
      query
        .selectFrom(templateRows(templates))
        .crossJoin(productRows(ids).as<'p'>('p'))
        .select(['t.resource', 'p.product_id', 't.edition', 't.part', due_at.as('due_at')])
        .select(({ val }) => [
          val<'cadence-elapsed'>('cadence-elapsed').as('due_reason'),
          val(laneIndex('weekly')).as('lane'),
          fetched_at.as('fetched_at'),
          stale_at.as('stale_at'),
        ]),
    );
}

/**
 * Returns a minute after the last read, if that was for one of these reasons and less than a minute ago; else a minute
 * after the last failure, if that was less than a minute ago; else now.
 */
function afterMinute(eb: OfRecord, now: RawBuilder<Instant>, reasons: readonly DueReason[]) {
  const apart = sql.lit(triggeredApartMs);
  const minuteAgo = sql<Instant>`${now} - ${apart}`;
  return eb
    .case()
    .when(eb.and([eb('fetched_reason', 'in', reasons), eb.between('fetched_at', minuteAgo, now)]))
    .then(sql<Instant>`${eb.ref('fetched_at')} + ${apart}`)
    .when(eb.between('failed_at', minuteAgo, now))
    .then(sql<Instant>`${eb.ref('failed_at')} + ${apart}`)
    .else(now)
    .end();
}

function notify({ ids, at, now, lane }: Bound<Products & { at: Instant; now: Instant; lane: number }>) {
  return query
    .updateTable('_record')
    .set((eb) => {
      const due = afterMinute(eb, now, triggered);
      // A record that was never read keeps its place in the fill. One that is planned no later and is at least as urgent
      // stays too.
      const stays = eb.or([eb('fetched_at', 'is', null), eb.and([eb('lane', '<=', lane), eb('due_at', '<=', due)])]);
      return {
        notified_at: eb.case().when('notified_at', '>=', at).then(eb.ref('notified_at')).else(at).end(),
        due_at: eb.case().when(stays).then(eb.ref('due_at')).else(due).end(),
        due_reason: eb.case().when(stays).then(eb.ref('due_reason')).else(eb.val<DueReason>('notified')).end(),
        lane: eb.case().when(stays).then(eb.ref('lane')).else(lane).end(),
      };
    })
    .where('product_id', 'in', listed<number>(ids));
}

type Brought = KindKey & { at: Instant; reason: DueReason; lane: number };

function bringForward(bound: Bound<Brought>) {
  const { at, reason, lane } = bound;
  return (
    query
      .updateTable('_record')
      .set((eb) => {
        // The first read that decides about a closure waits for nothing, the next ones for their minute.
        const due = eb
          .case()
          .when(reason, '=', 'closure-unconfirmed')
          .then(afterMinute(eb, at, ['closure-unconfirmed']))
          .else(at)
          .end();
        const stays = eb('lane', '<', lane);
        return {
          due_at: eb.fn<Instant>('min', ['due_at', due]),
          due_reason: eb.case().when(stays).then(eb.ref('due_reason')).else(reason).end(),
          lane: eb.fn<number>('min', ['lane', lane]),
        };
      })
      // The check of image limits runs every minute, so it must not break a backoff. Other reasons do. A fill keeps its
      // order.
      .where(({ eb, or }) => or([eb('failures', '=', 0), eb(reason, '<>', 'image-limit')]))
      .where(({ and, eb, or }) =>
        or([
          eb('due_at', '>', at),
          eb(reason, '=', 'closure-unconfirmed'),
          and([eb('lane', '>', lane), or([eb('fetched_at', 'is not', null), eb(lane, '<=', laneIndex('reopening'))])]),
        ]),
      )
      .where(isOfKind(bound))
  );
}

type AskedOffSale = { product_id: number; at: Instant; since_at: Instant | null; lane: number };

function askOffSale({ product_id, at, since_at, lane }: Bound<AskedOffSale>) {
  return query
    .updateTable('_record')
    .set((eb) => ({
      due_at: eb.fn<Instant>('min', ['due_at', at]),
      due_reason: eb
        .case()
        .when('due_at', '>', at)
        .then(eb.val<DueReason>('sale-status-changed'))
        .else(eb.ref('due_reason'))
        .end(),
      lane: eb.fn<number>('min', ['lane', lane]),
      off_sale_at: eb.fn.coalesce(since_at, 'off_sale_at'),
    }))
    .where('resource', '=', 'availability')
    .where('product_id', '=', product_id)
    .where('off_sale_at', 'is not', null);
}

type Fetched = RecordKey &
  Planned &
  StoredRead & { called_at: Instant; changed: 0 | 1; reason: DueReason; shape: number | null; exposure: number | null };

function markFetched(bound: Bound<Fetched>) {
  return updateOf(bound).set(({ eb, fn, ref }) => {
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
  });
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
function dueUnlessNotified(eb: OfRecord, bound: Bound<Fetched>) {
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
