import type { Instant } from '../../clock.ts';
import { futureToleranceMs } from '../../domain/schedule/record.ts';
import { type Bound, sql, type Writes } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';

export type Alarm = Tables['_alarm'];

/** Number of products that meet a condition, and the instant at which that was seen. */
type Met = Pick<Alarm, 'kind' | 'products'> & { readonly at: Instant };

/** Conditions that a person should know of, as long as they last. */
export interface AlarmTable {
  /** Notes that a condition holds; `new`: it did not until now. */
  raise(alarm: Met): 'new' | 'known';
  /** The same where it is met product by product: what was met from `started_at` on is counted together. */
  add(alarm: Met & { readonly started_at: Instant }): 'new' | 'known';
  /** A condition holds no longer. */
  clear(kind: Alarm['kind']): 'ended' | 'none';
  /**
   * Raises an alarm, or clears it (null: its condition does not hold), in a transaction of its own. Writes nothing where
   * the condition neither holds nor held: most are looked at every minute, and hold never.
   */
  set(kind: Alarm['kind'], met: Omit<Met, 'kind'> | null): 'new' | 'known' | 'ended' | 'none';
  /** Ends the alarm about images where a walk that began at `started_at` has met images again, and no page without any. */
  clearImages(started_at: Instant, now: Instant): void;
  /** By kind. */
  all(): Alarm[];
}

export function alarmTable(db: Writes): AlarmTable {
  const one = db.rows(({ kind }: Bound<OfKind>) => query.selectFrom('_alarm').selectAll().where('kind', '=', kind));
  const all = db.rows(() => query.selectFrom('_alarm').selectAll().orderBy('kind'));
  const raise = db.change(({ kind, at, products }: Bound<Met>) =>
    query
      .insertInto('_alarm')
      .values({ kind, raised_at: at, seen_at: at, products })
      .onConflict((known) => known.column('kind').doUpdateSet({ seen_at: at, products })),
  );
  const add = db.change(({ kind, at, products, started_at }: Bound<Met & { started_at: Instant }>) =>
    query
      .insertInto('_alarm')
      .values({ kind, raised_at: at, seen_at: at, products })
      .onConflict((known) =>
        known.column('kind').doUpdateSet(({ between, case: when, eb, lit, ref }) => ({
          seen_at: at,
          products: eb(
            products,
            '+',
            when()
              .when(between('_alarm.seen_at', started_at, at))
              .then(ref('_alarm.products'))
              .else(lit(0))
              .end(),
          ),
        })),
      ),
  );
  const clear = db.change(({ kind }: Bound<OfKind>) => query.deleteFrom('_alarm').where('kind', '=', kind));
  const clearImages = clearingImages(db);
  const known = (kind: Alarm['kind']) => (one.get({ kind }) === undefined ? 'new' : 'known');

  function raised(met: Met): 'new' | 'known' {
    const stands = known(met.kind);
    raise.run(met);
    return stands;
  }

  function cleared(kind: Alarm['kind']): 'ended' | 'none' {
    return clear.run({ kind }).changes > 0 ? 'ended' : 'none';
  }

  return {
    raise: raised,
    add: (met) => {
      const stands = known(met.kind);
      add.run(met);
      return stands;
    },
    clear: cleared,
    set: (kind, met) => {
      if (met !== null) return db.transaction(() => raised({ kind, ...met }));
      return known(kind) === 'new' ? 'none' : db.transaction(() => cleared(kind));
    },
    clearImages,
    all: () => all.all(),
  };
}

type OfKind = Pick<Alarm, 'kind'>;

function clearingImages(db: Writes): AlarmTable['clearImages'] {
  const clear = db.change(({ started_at, now }: Bound<{ started_at: Instant; now: Instant }>) =>
    query
      .deleteFrom('_alarm')
      .where('kind', '=', 'images-vanished')
      .where(({ eb, or }) =>
        or([eb('seen_at', '<', started_at), eb('seen_at', '>', sql<Instant>`${now} + ${sql.lit(futureToleranceMs)}`)]),
      )
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom('_product as p')
            .innerJoin('image as i', 'i.product_id', 'p.product_id')
            .select('p.product_id')
            .where('p.images_verified_at', '>=', started_at)
            .where('p.images_verified_at', '<=', now)
            .where('i.withdrawn_at', 'is', null),
        ),
      ),
  );
  return (started_at, now) => {
    clear.run({ started_at, now });
  };
}
