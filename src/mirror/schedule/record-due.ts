import type { Instant } from '../../clock.ts';
import { laneIndex, laneOf } from '../../domain/schedule/lanes.ts';
import type { Due, DueReason, RecordKey } from '../../domain/schedule/record.ts';
import type { Resource } from '../../domain/schedule/resources.ts';
import {
  type Bound,
  type ExpressionBuilder,
  listed,
  type RawBuilder,
  sql,
  type Writes,
} from '../../sqlite/statements.ts';
import { query, type Schema } from '../sql/sql.ts';
import {
  isOfKind,
  isRecord,
  type KindKey,
  type Planned,
  planned,
  type RecordSelection,
  triggered,
  triggeredApartMs,
} from './record-rows.ts';

/** Makes records due. */
export interface RecordDue {
  /**
   * Makes records due. A record that is due earlier keeps its instant. Of the two lanes a record gets the more urgent one,
   * and its reason.
   */
  bringForward(selection: RecordSelection, at: Instant, reason: DueReason): number;
  /** The product's own read says that it is on sale: dates that were answered as not on sale are due. `since_at`: the two disagree from then on; null: they did before. */
  askOffSale(product_id: number, at: Instant, since_at: Instant | null): number;
  /** Notifications received at `at` name these products: all of them is due, each record at most once a minute. */
  notify(product_ids: readonly number[], at: Instant, now: Instant): number;
  /**
   * One of the product's records was answered after it had failed: the others that wait for their retry are due at once, and
   * leave quarantine, so that a stray failure of that retry costs minutes.
   */
  retryOfProduct(product_id: number, at: Instant): number;
  setDue(key: RecordKey, due: Due): void;
  /** Lets every record of a resource wait until an instant. */
  postpone(resource: Resource, until: Instant): void;
  reschedule(key: RecordKey, due: Due, stale_at: Instant): void;
}

/** `madeDue` is called where something may be due that was not. */
export function recordDue(db: Writes, madeDue: () => void): RecordDue {
  const setDue = db.change((bound: Bound<RecordKey & Planned>) =>
    query
      .updateTable('_record')
      .set({ due_at: bound.due_at, due_reason: bound.due_reason, lane: bound.lane })
      .where(isRecord(bound)),
  );
  const postpone = db.change(({ resource, until }: Bound<{ resource: Resource; until: Instant }>) =>
    query.updateTable('_record').set({ due_at: until }).where('resource', '=', resource).where('due_at', '<', until),
  );
  const reschedule = db.change((bound: Bound<RecordKey & Planned & { stale_at: Instant }>) =>
    query
      .updateTable('_record')
      .set({ due_at: bound.due_at, due_reason: bound.due_reason, lane: bound.lane, stale_at: bound.stale_at })
      .where(isRecord(bound)),
  );
  const retryOfProduct = db.change((bound: Bound<{ product_id: number; at: Instant }>) =>
    query
      .updateTable('_record')
      .set({ due_at: bound.at, failures: sql<number>`min(failures, 2)` })
      .where('product_id', '=', bound.product_id)
      .where('failures', '>', 0)
      .where('due_reason', '=', 'retry')
      .where('due_at', '>', bound.at),
  );
  const bringForward = bringingForward(db);
  const askOffSale = askingOffSale(db);
  const notify = notifying(db);
  return {
    bringForward: (selection, at, reason) => {
      madeDue();
      return bringForward(selection, at, reason);
    },
    retryOfProduct: (product_id, at) => {
      const { changes } = retryOfProduct.run({ product_id, at });
      if (changes > 0) madeDue();
      return changes;
    },
    askOffSale: (product_id, at, since_at) => {
      const asked = askOffSale(product_id, at, since_at);
      if (asked > 0) madeDue();
      return asked;
    },
    notify: (product_ids, at, now) => {
      madeDue();
      return notify(product_ids, at, now);
    },
    setDue: (key, due) => {
      madeDue();
      setDue.run({ ...key, ...planned(key, due) });
    },
    postpone: (resource, until) => {
      postpone.run({ resource, until });
    },
    reschedule: (key, due, stale_at) => {
      reschedule.run({ ...key, ...planned(key, due), stale_at });
    },
  };
}

type OfRecord = ExpressionBuilder<Schema, '_record'>;

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

function notifying(db: Writes): RecordDue['notify'] {
  const notify = db.change(({ ids, at, now, lane }: Bound<{ ids: string; at: Instant; now: Instant; lane: number }>) =>
    query
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
      .where('product_id', 'in', listed<number>(ids)),
  );
  return (product_ids, at, now) =>
    notify.run({ ids: JSON.stringify(product_ids), at, now, lane: laneIndex('notification') }).changes;
}

type Brought = KindKey & { at: Instant; reason: DueReason; lane: number };

function bringingForward(db: Writes): RecordDue['bringForward'] {
  const bring = (bound: Bound<Brought>) => {
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
            and([
              eb('lane', '>', lane),
              or([eb('fetched_at', 'is not', null), eb(lane, '<=', laneIndex('reopening'))]),
            ]),
          ]),
        )
        .where(isOfKind(bound))
    );
  };
  const all = db.change(bring);
  const some = db.change((bound: Bound<Brought & { ids: string }>) =>
    bring(bound).where('product_id', 'in', listed<number>(bound.ids)),
  );
  return ({ kinds, product_ids }, at, reason) => {
    const ids = JSON.stringify(product_ids);
    let brought = 0;
    for (const kind of kinds) {
      const bound = { ...kind, at, reason, lane: laneIndex(laneOf(kind, reason)) };
      brought += (product_ids === null ? all.run(bound) : some.run({ ...bound, ids })).changes;
    }
    return brought;
  };
}

function askingOffSale(db: Writes): RecordDue['askOffSale'] {
  type Asked = { product_id: number; at: Instant; since_at: Instant | null; lane: number };
  const ask = db.change(({ product_id, at, since_at, lane }: Bound<Asked>) =>
    query
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
      .where('off_sale_at', 'is not', null),
  );
  return (product_id, at, since_at) => ask.run({ product_id, at, since_at, lane: laneIndex('notification') }).changes;
}
