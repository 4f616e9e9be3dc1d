import type { Instant } from '../../clock.ts';
import type { OperationKind } from '../../domain/conditions/outcome.ts';
import type { Bound, Reads, Writes } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';

export type StoredOutcome = Tables['_outcome'];

/** A failure, and the number of products, calls or attempts that it concerns. */
export interface OperationFailure {
  readonly at: Instant;
  readonly affected: number;
  readonly detail?: string | null;
}

export interface OutcomeReads {
  /** By operation. */
  all(): StoredOutcome[];
}

/** The last result of each operation that can fail in a way that no other table shows. */
export interface OutcomeTable extends OutcomeReads {
  /** Records a failure in the caller's transaction. `new`: the operation worked until now. */
  failed(operation: OperationKind, failed: OperationFailure): 'new' | 'known';
  /** Does the same product by product: adds to what was recorded from `started_at` on. */
  failedFurther(operation: OperationKind, failed: OperationFailure & { readonly started_at: Instant }): 'new' | 'known';
  /** Records in the caller's transaction that an operation worked. `ended`: it failed until now. */
  worked(operation: OperationKind, at: Instant): 'ended' | 'none';
  /**
   * Records either (null: it works) in a transaction of its own. Writes nothing if the operation works and has worked:
   * most are judged every minute, and never fail.
   */
  note(
    operation: OperationKind,
    at: Instant,
    failed: Omit<OperationFailure, 'at'> | null,
  ): 'new' | 'known' | 'ended' | 'none';
  /** Records that the list has images again if a walk that began at `started_at` met some, and no page without any. */
  imagesAreBack(started_at: Instant, now: Instant): void;
}

type OfOperation = Bound<{ operation: OperationKind }>;
type Row = Pick<StoredOutcome, 'operation' | 'affected' | 'detail'> & { readonly at: Instant };

export function outcomeReads(db: Reads): OutcomeReads {
  const all = db.rows(() => query.selectFrom('_outcome').selectAll().orderBy('operation'));
  return { all: () => all.all() };
}

export function outcomeTable(db: Writes): OutcomeTable {
  const failing = db.values(({ operation }: OfOperation) =>
    query
      .selectFrom('_outcome')
      .select('failed_at')
      .where('operation', '=', operation)
      .where('failed_at', 'is not', null),
  );
  const fails = (operation: OperationKind) => (failing.get({ operation }) === undefined ? 'new' : 'known');
  const { first, further } = failures(db);
  const works = db.change(({ operation, at }: Bound<{ operation: OperationKind; at: Instant }>) =>
    query
      .insertInto('_outcome')
      .values({ operation, last_ok_at: at, failed_at: null, noticed_at: null, affected: 0, detail: null })
      .onConflict((known) =>
        known
          .column('operation')
          .doUpdateSet({ last_ok_at: at, failed_at: null, noticed_at: null, affected: 0, detail: null }),
      ),
  );

  function failed(operation: OperationKind, { at, affected, detail = null }: OperationFailure): 'new' | 'known' {
    const was = fails(operation);
    first.run({ operation, at, affected, detail });
    return was;
  }

  function worked(operation: OperationKind, at: Instant): 'ended' | 'none' {
    const was = fails(operation);
    works.run({ operation, at });
    return was === 'known' ? 'ended' : 'none';
  }

  return {
    ...outcomeReads(db),
    failed,
    failedFurther: (operation, { at, affected, detail = null, started_at }) => {
      const was = fails(operation);
      further.run({ operation, at, affected, detail, started_at });
      return was;
    },
    worked,
    note: (operation, at, failure) => {
      if (failure !== null) return db.transaction(() => failed(operation, { at, ...failure }));
      return fails(operation) === 'new' ? 'none' : db.transaction(() => worked(operation, at));
    },
    imagesAreBack: imagesAreBack(db, (now) => void worked('image-list', now)),
  };
}

function failures(db: Writes) {
  const inserting = ({ operation, at, affected, detail }: Bound<Row>) =>
    query.insertInto('_outcome').values({ operation, failed_at: at, noticed_at: at, affected, detail });
  const first = db.change((bound: Bound<Row>) =>
    inserting(bound).onConflict((known) =>
      known.column('operation').doUpdateSet(({ fn, ref }) => ({
        failed_at: fn.coalesce(ref('_outcome.failed_at'), bound.at),
        noticed_at: bound.at,
        affected: bound.affected,
        detail: bound.detail,
      })),
    ),
  );
  const further = db.change((bound: Bound<Row & { started_at: Instant }>) =>
    inserting(bound).onConflict((known) =>
      known.column('operation').doUpdateSet(({ between, case: when, eb, fn, lit, ref }) => ({
        failed_at: fn.coalesce(ref('_outcome.failed_at'), bound.at),
        noticed_at: bound.at,
        detail: bound.detail,
        affected: eb(
          bound.affected,
          '+',
          when()
            .when(between('_outcome.noticed_at', bound.started_at, bound.at))
            .then(ref('_outcome.affected'))
            .else(lit(0))
            .end(),
        ),
      })),
    ),
  );
  return { first, further };
}

function imagesAreBack(db: Writes, worked: (now: Instant) => void): OutcomeTable['imagesAreBack'] {
  const back = db.values(({ started_at, now }: Bound<{ started_at: Instant; now: Instant }>) =>
    query
      .selectFrom('_outcome')
      .select('operation')
      .where('operation', '=', 'image-list')
      .where('failed_at', 'is not', null)
      .where('noticed_at', '<', started_at)
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
    if (back.get({ started_at, now }) !== undefined) worked(now);
  };
}
