import { type Failing, notFailing } from '../../files/failing.rules.ts';
import type { Instant } from '../../kernel/clock.ts';
import { type Bound, type Reads, Store, type Writes } from '../../kernel/sqlite/statements.ts';
import { query } from '../../mirror/sql/sql.ts';
import type { Tables } from '../../mirror/sql/tables.ts';
import type { OperationKind } from '../conditions/outcome.rules.ts';

export type StoredOutcome = Tables['_outcome'];

/** A failure, and the number of products, calls or attempts that it concerns. */
interface Failure {
  readonly affected: number;
  readonly detail?: string | null;
}

export interface OperationFailure extends Failure {
  readonly at: Instant;
}

export class OutcomeReads<Db extends Reads = Reads> extends Store<Db> {
  /** By operation. */
  readonly all = this.db.rows(() => query.selectFrom('_outcome').selectAll().orderBy('operation'));
}

type Row = Required<OperationFailure> & { readonly operation: OperationKind };

/** The last result of each operation that can fail in a way that no other table shows. */
export class OutcomeTable extends OutcomeReads<Writes> {
  readonly #failing = this.db.value(({ operation }: Bound<{ operation: OperationKind }>) =>
    query
      .selectFrom('_outcome')
      .select('failed_at')
      .where('operation', '=', operation)
      .where('failed_at', 'is not', null),
  );
  readonly #failed = this.db.change((failure: Bound<Row>) =>
    failed(failure).onConflict((known) =>
      known.column('operation').doUpdateSet(({ fn, ref }) => ({
        failed_at: fn.coalesce(ref('_outcome.failed_at'), failure.at),
        noticed_at: failure.at,
        affected: failure.affected,
        detail: failure.detail,
      })),
    ),
  );
  readonly #failedFurther = this.db.change((failure: Bound<Row & { started_at: Instant }>) =>
    failed(failure).onConflict((known) =>
      known.column('operation').doUpdateSet(({ between, case: when, eb, fn, lit, ref }) => ({
        failed_at: fn.coalesce(ref('_outcome.failed_at'), failure.at),
        noticed_at: failure.at,
        detail: failure.detail,
        affected: eb(
          failure.affected,
          '+',
          when()
            .when(between('_outcome.noticed_at', failure.started_at, failure.at))
            .then(ref('_outcome.affected'))
            .else(lit(0))
            .end(),
        ),
      })),
    ),
  );
  readonly #worked = this.db.change(({ operation, at }: Bound<{ operation: OperationKind; at: Instant }>) => {
    const works = { last_ok_at: at, failed_at: null, noticed_at: null, affected: 0, detail: null };
    return query
      .insertInto('_outcome')
      .values({ operation, ...works })
      .onConflict((known) => known.column('operation').doUpdateSet(works));
  });
  readonly #imagesAreBack = this.db.value(({ started_at, now }: Bound<{ started_at: Instant; now: Instant }>) =>
    query
      .selectFrom('_outcome')
      .select('operation')
      .where('operation', '=', 'image-list')
      .where('failed_at', 'is not', null)
      .where('noticed_at', '<', started_at)
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom('_product_read as r')
            .innerJoin('image as i', 'i.product_id', 'r.product_id')
            .select('r.product_id')
            .where('r.images_verified_at', '>=', started_at)
            .where('r.images_verified_at', '<=', now)
            .where('i.withdrawn_at', 'is', null),
        ),
      ),
  );

  /** Records a failure in the caller's transaction. `new`: the operation worked until now. */
  failed(operation: OperationKind, { at, affected, detail = null }: OperationFailure): 'new' | 'known' {
    const was = this.#fails(operation);
    this.#failed({ operation, at, affected, detail });
    return was;
  }

  /** Does the same product by product: adds to what was recorded from `started_at` on. */
  failedFurther(
    operation: OperationKind,
    { at, affected, detail = null, started_at }: OperationFailure & { readonly started_at: Instant },
  ): 'new' | 'known' {
    const was = this.#fails(operation);
    this.#failedFurther({ operation, at, affected, detail, started_at });
    return was;
  }

  /** Records in the caller's transaction that an operation worked. `ended`: it failed until now. */
  worked(operation: OperationKind, at: Instant): 'ended' | 'none' {
    const was = this.#fails(operation);
    this.#worked({ operation, at });
    return was === 'known' ? 'ended' : 'none';
  }

  /**
   * Records either (null: it works) in a transaction of its own. Writes nothing if the operation works and has worked:
   * most are judged every minute, and never fail.
   */
  note(operation: OperationKind, at: Instant, failure: Failure | null): 'new' | 'known' | 'ended' | 'none' {
    if (failure !== null) return this.db.transaction(() => this.failed(operation, { at, ...failure }));
    return this.#fails(operation) === 'new' ? 'none' : this.db.transaction(() => this.worked(operation, at));
  }

  /** Records that the list has images again if a walk that began at `started_at` met some, and no page without any. */
  imagesAreBack(started_at: Instant, now: Instant): void {
    if (this.#imagesAreBack({ started_at, now }) !== null) this.worked('image-list', now);
  }

  #fails(operation: OperationKind): 'new' | 'known' {
    return this.#failing({ operation }) === null ? 'new' : 'known';
  }
}

function failed({ operation, at, affected, detail }: Bound<Row>) {
  return query.insertInto('_outcome').values({ operation, failed_at: at, noticed_at: at, affected, detail });
}

/**
 * The attempts of one operation. Their last result is known at once, also while the mirror cannot be written, and is
 * stored when it can.
 */
export class Attempts {
  readonly #save: (at: Instant, failure: Failure | null) => void;
  #failing: Failing;
  #failures = 0;
  #failed_at: Instant | null = null;

  /** Continues from what an earlier process stored. */
  constructor(before: Failing, save: (at: Instant, failure: Failure | null) => void) {
    this.#failing = before;
    this.#save = save;
  }

  get failing(): Failing {
    return this.#failing;
  }

  /** Failures in a row in this process, and the instant of the last. */
  get failures(): { readonly count: number; readonly at: number | null } {
    return { count: this.#failures, at: this.#failed_at };
  }

  worked(at: Instant): void {
    this.#failing = notFailing;
    this.#failures = 0;
    this.#failed_at = null;
    this.#save(at, null);
  }

  failed(at: Instant, reason: string): void {
    this.#failing = { failure: reason, failing_since: this.#failing.failing_since ?? at };
    this.#failures += 1;
    this.#failed_at = at;
    this.#save(at, { affected: this.#failures, detail: reason });
  }
}
