import { type Instant, instant } from '../kernel/clock.ts';
import { type Bound, pick, type Reads, Store, sql, type Writes } from '../kernel/sqlite/statements.ts';
import { query } from '../mirror/sql/sql.ts';
import type { Tables } from '../mirror/sql/tables.ts';
import { futureToleranceMs } from '../schedule/record.rules.ts';
import { type ClosureFacts, guardSpanMs } from './closure.rules.ts';
import type { Closure } from './notification.rules.ts';

/** A closure that is in force, with its words. */
export type StoredClosure = Readonly<Pick<Tables['_closure'], keyof ClosureFacts>> &
  Closure & { readonly closure_id: number; readonly product_id: number; readonly delivery_id: number };

/** Numbers of closures that no read has decided yet. */
export interface ClosureCounts {
  /** In effect: these products are off sale. */
  readonly unconfirmed: number;
  /** Not in effect: too many came at once. */
  readonly held: number;
}

const open = query.selectFrom('_closure').where('ended_at', 'is', null);

/** Queries about closures that notifications reported. */
export class ClosureReads<Db extends Reads = Reads> extends Store<Db> {
  /** Returns the closure that is in force; null if there is none. */
  readonly inForce = this.db.row(({ product_id }: Bound<OfProduct>) =>
    open.selectAll().where('product_id', '=', product_id),
  );
  readonly #unconfirmed = this.db.value(({ since, latest }: Bound<{ since: Instant; latest: Instant }>) =>
    query
      .selectFrom('_closure')
      .select(({ fn }) => fn.countAll<number>().as('closures'))
      .where('confirmed_at', 'is', null)
      .where('applied_at', 'is not', null)
      .where(({ eb, or }) => or([eb('ended_at', 'is', null), eb.between('applied_at', since, latest)])),
  );
  readonly #counts = this.db.row(() =>
    open
      .where('confirmed_at', 'is', null)
      .select(({ fn }) => [
        fn.countAll<number>().filterWhere('applied_at', 'is not', null).as('unconfirmed'),
        fn.countAll<number>().filterWhere('applied_at', 'is', null).as('held'),
      ]),
  );
  /** Returns the products with a closure that no read has decided yet. */
  readonly undecided = this.db.values(() => open.select('product_id').where('confirmed_at', 'is', null));
  /** Returns the last that ended, or were confirmed, the newest first. */
  readonly decided = this.db.rows(({ limit }: Bound<{ limit: number }>) => {
    const at = sql<number | null>`coalesce(${sql.ref('confirmed_at')}, ${sql.ref('ended_at')})`;
    return query
      .selectFrom('_closure')
      .select(['confirmed_at', 'ended_at'])
      .where(at, 'is not', null)
      .orderBy(at, 'desc')
      .limit(limit);
  });
  readonly ofProduct = this.db.rows(({ product_id }: Bound<OfProduct>) =>
    query
      .selectFrom('_closure')
      .selectAll()
      .where('product_id', '=', product_id)
      .orderBy('closure_id', 'desc')
      .limit(20),
  );

  /**
   * Returns how many took effect within the guard's span and were not confirmed, also if they are over, with older ones that
   * still wait.
   */
  recentlyUnconfirmed(now: Instant): number {
    // Instants that a wrong clock wrote are repaired only when the time is known again.
    const span = { since: instant(now - guardSpanMs), latest: instant(now + futureToleranceMs) };
    return this.#unconfirmed(span) ?? 0;
  }

  counts(): ClosureCounts {
    return this.#counts() ?? { unconfirmed: 0, held: 0 };
  }
}

type OfProduct = { product_id: number };

const put = [
  'product_id', 'delivery_id', 'notified_at', 'applied_at', 'available_at', 'reason', 'expected_reopening',
  'alternative_product_id',
] as const; // biome-ignore format: a list of columns

type PutClosure = Pick<StoredClosure, (typeof put)[number]>;

/** Closures that notifications reported. */
export class ClosureTable extends ClosureReads<Writes> {
  readonly #put = this.db.change((closure: Bound<PutClosure & { reopened: 0 | 1 }>) =>
    query
      .insertInto('_closure')
      .values(pick(closure, put))
      .onConflict((inForce) =>
        inForce
          .column('product_id')
          .where('ended_at', 'is', null)
          .doUpdateSet(({ eb, fn, val }) => ({
            delivery_id: closure.delivery_id,
            notified_at: closure.notified_at,
            applied_at: fn.coalesce('_closure.applied_at', closure.applied_at),
            available_at: closure.available_at,
            confirmed_at: null,
            reason: closure.reason,
            expected_reopening: closure.expected_reopening,
            alternative_product_id: fn.coalesce(
              closure.alternative_product_id,
              eb.case().when(closure.reopened, '=', val(0)).then(eb.ref('_closure.alternative_product_id')).end(),
            ),
          })),
      ),
  );
  readonly #marks = {
    available_at: this.db.change(marking('available_at')),
    confirmed_at: this.db.change(marking('confirmed_at')),
    ended_at: this.db.change(marking('ended_at')),
  };
  /** Takes effect: the product is off sale until reads decide. */
  readonly apply = this.db.change(({ product_id }: Bound<OfProduct>) =>
    query
      .updateTable('_product as p')
      .from('_closure as c')
      .set(({ eb, ref }) => ({
        closure_unconfirmed: 1,
        disabled_source: eb
          .case()
          .when('p.sale_status', '=', 'disabled')
          .then(ref('p.disabled_source'))
          .else(eb.val<'notification'>('notification'))
          .end(),
        disabled_reason: ref('c.reason'),
        expected_reopening: ref('c.expected_reopening'),
        alternative_product_id: ref('c.alternative_product_id'),
      }))
      .where('p.product_id', '=', product_id)
      .where('c.product_id', '=', product_id)
      .where('c.ended_at', 'is', null),
  );
  /** Forgets those that were over before an instant; one in force stays, however old. */
  readonly prune = this.db.change(({ before }: Bound<{ before: Instant }>) =>
    query.deleteFrom('_closure').where('ended_at', '<', before),
  );

  /**
   * Stores a closure, or updates the one in force. If the update names no alternative, the old one stays, unless the
   * product was `reopened` in between. `applied_at` null: it waits for its read.
   */
  put(closure: PutClosure, meanwhile?: 'reopened'): void {
    this.#put({ ...closure, reopened: meanwhile === 'reopened' ? 1 : 0 });
  }

  /** A read has found the product available or disabled, or the closure is over. */
  mark(closure_id: number, as: 'available_at' | 'confirmed_at' | 'ended_at', at: Instant): void {
    this.#marks[as]({ closure_id, at });
  }
}

function marking(column: 'available_at' | 'confirmed_at' | 'ended_at') {
  return ({ closure_id, at }: Bound<{ closure_id: number; at: Instant }>) =>
    query
      .updateTable('_closure')
      .set({ [column]: at })
      .where('closure_id', '=', closure_id);
}
