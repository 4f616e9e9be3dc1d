import type { Instant } from '../../clock.ts';
import type { AbsenceFacts, DirectAnswer } from '../../domain/sale/absence.ts';
import { futureToleranceMs } from '../../domain/schedule/record.ts';
import {
  type Bound,
  type Expression,
  listed,
  type RawBuilder,
  type Reads,
  sql,
  type Writes,
} from '../../sqlite/statements.ts';
import type { ChangeTable, FoundBy } from '../changes/changes.ts';
import { query } from '../sql/sql.ts';
import type { ImageLedger } from './image-ledger.ts';
import { primaryTitle } from './of-product.ts';
import { recommending } from './product/alternatives.ts';
import type { SearchTable } from './search.ts';
import { countsBeside, metBy } from './walked.ts';

export type Absent = AbsenceFacts & { readonly product_id: number };

/** A product that the list lacks, for people. */
export interface AbsentProduct extends Absent {
  readonly title: string | null;
}

/** Queries about products that the list lacks. */
export interface RemovalReads {
  /**
   * Returns every product that the list lacks, in ascending order; `one` also where only its own read was refused so
   * far.
   */
  absent(): Absent[];
  one(product_id: number): Absent | null;
  list(): AbsentProduct[];
}

/** Products that the list lacks. */
export interface RemovalTable extends RemovalReads {
  /**
   * Records a complete walk of the primary list. A product that the walk met is no longer missing. One that it did not meet
   * is
   * missing once more; for an `included` one, which the list's filter may leave out, this counts only if the product's own
   * read says that it is gone.
   */
  note(walk: { edition: string; started_at: Instant; now: Instant; included: readonly number[] }): void;
  answered(product_id: number, answer: DirectAnswer, at: Instant): void;
  /** Forgets the 404s of products: they mean nothing about the products, because the service has no such path. */
  forgetGone(): void;
  /** Withdraws a product: its rows stay, its records are deleted. */
  withdraw(product_id: number, reason: string, now: Instant, by: FoundBy): void;
}

/** The tables that know of a product that is withdrawn. */
export interface WithdrawalPorts {
  readonly changes: ChangeTable;
  readonly search: SearchTable;
  readonly images: ImageLedger;
}

interface OfProduct {
  readonly product_id: number;
}

export function removalTable(db: Writes, ports: WithdrawalPorts): RemovalTable {
  return { ...removalReads(db), ...noting(db), ...answers(db), ...withdrawing(db, ports) };
}

export function removalReads(db: Reads): RemovalReads {
  const absence = query
    .selectFrom('_absence as a')
    .select(['a.product_id', 'a.missing_walks', 'a.first_missing_at', 'a.last_missing_at'])
    .select(['a.answer', 'a.answered_at']);
  const missing = absence.where('a.missing_walks', '>', 0);
  const absent = db.rows(() => missing.orderBy('a.product_id'));
  const one = db.rows(({ product_id }: Bound<OfProduct>) => absence.where('a.product_id', '=', product_id));
  const list = db.rows(() =>
    missing
      .select((of) => primaryTitle(of.ref('a.product_id')).as('title'))
      .orderBy('a.first_missing_at')
      .orderBy('a.product_id'),
  );
  return {
    absent: () => absent.all(),
    one: (product_id) => one.get({ product_id }) ?? null,
    list: () => list.all(),
  };
}

function noting(db: Writes): Pick<RemovalTable, 'note'> {
  const met = db.change(({ edition, included }: Bound<{ edition: string; included: string }>) =>
    query
      .deleteFrom('_absence')
      .where((of) =>
        of.or([
          of('product_id', 'in', metBy('products', edition)),
          of.and([of('product_id', 'in', listed<number>(included)), of('product_id', 'not in', goneByOwnRead())]),
        ]),
      ),
  );
  const missed = db.change((bound: Bound<{ edition: string; included: string; started_at: Instant; now: Instant }>) => {
    const { edition, included, started_at, now } = bound;
    const absent = query
      .selectFrom('_product')
      .select('product_id')
      .select([sql.lit(1).as('missing_walks'), started_at.as('first_missing_at'), started_at.as('last_missing_at')])
      .where('withdrawn_at', 'is', null)
      .where((of) => of.or([of('first_seen_at', '<', started_at), isAhead(of.ref('first_seen_at'), now)]))
      .where('product_id', 'not in', metBy('products', edition))
      .where((of) =>
        of.or([of('product_id', 'not in', listed<number>(included)), of('product_id', 'in', goneByOwnRead())]),
      );
    return query
      .insertInto('_absence')
      .columns(['product_id', 'missing_walks', 'first_missing_at', 'last_missing_at'])
      .expression(absent)
      .onConflict((taken) =>
        taken.doUpdateSet((of) => {
          const walks = of.ref('_absence.missing_walks');
          const first = of.ref('_absence.first_missing_at');
          const last = of.ref('_absence.last_missing_at');
          const counts = sql<number>`(${walks} = 0 or ${countsBeside(last, started_at)})`;
          return {
            first_missing_at: sql`case when ${walks} = 0 or ${isAhead(first, now)} then ${started_at} else ${first} end`,
            missing_walks: of('_absence.missing_walks', '+', counts),
            last_missing_at: sql`case when ${counts} then ${started_at} else ${last} end`,
          };
        }),
      );
  });
  return {
    note: ({ included, ...walk }) => {
      const bound = { ...walk, included: JSON.stringify(included) };
      met.run(bound);
      missed.run(bound);
    },
  };
}

/** The products whose own read says that they are gone. */
function goneByOwnRead() {
  return query.selectFrom('_absence').select('product_id').where('answer', 'in', ['gone', 'permanently-gone']);
}

function isAhead(at: Expression<number>, now: RawBuilder<number>): RawBuilder<boolean> {
  return sql`${at} > ${now} + ${futureToleranceMs}`;
}

function answers(db: Writes): Pick<RemovalTable, 'answered' | 'forgetGone'> {
  const answered = db.change(({ product_id, answer, at }: Bound<OfProduct & { answer: DirectAnswer; at: Instant }>) =>
    query
      .insertInto('_absence')
      .columns(['product_id', 'missing_walks', 'first_missing_at', 'last_missing_at', 'answer', 'answered_at'])
      .expression(
        query
          .selectFrom('_product')
          .select('product_id')
          .select([
            sql.lit(0).as('missing_walks'),
            at.as('first_missing_at'),
            at.as('last_missing_at'),
            answer.as('answer'),
            at.as('answered_at'),
          ])
          .where('product_id', '=', product_id)
          .where('withdrawn_at', 'is', null),
      )
      .onConflict((taken) => taken.doUpdateSet({ answer, answered_at: at })),
  );
  const dropSuspects = db.change(() =>
    query.deleteFrom('_absence').where('answer', '=', 'gone').where('missing_walks', '=', 0),
  );
  const forgetGone = db.change(() =>
    query.updateTable('_absence').set({ answer: null, answered_at: null }).where('answer', '=', 'gone'),
  );
  return {
    answered: (product_id, answer, at) => {
      answered.run({ product_id, answer, at });
    },
    forgetGone: () => {
      dropSuspects.run();
      forgetGone.run();
    },
  };
}

function withdrawing(db: Writes, { changes, search, images }: WithdrawalPorts): Pick<RemovalTable, 'withdraw'> {
  const mark = db.change(({ product_id, reason, now }: Bound<OfProduct & { reason: string; now: Instant }>) =>
    query
      .updateTable('_product')
      .set({ withdrawn_at: now, withdrawn_reason: reason })
      .where('product_id', '=', product_id)
      .where('withdrawn_at', 'is', null),
  );
  // No read will decide about it any more; that it is gone bears out that it was closed.
  const endClosure = db.change(({ product_id, now }: Bound<OfProduct & { now: Instant }>) =>
    query
      .updateTable('_closure')
      .set((of) => ({ confirmed_at: of.fn.coalesce('confirmed_at', now), ended_at: now }))
      .where('product_id', '=', product_id)
      .where('ended_at', 'is', null),
  );
  const dropRecords = db.change(({ product_id }: Bound<OfProduct>) =>
    query.deleteFrom('_record').where('product_id', '=', product_id),
  );
  const drop = db.change(({ product_id }: Bound<OfProduct>) =>
    query.deleteFrom('_absence').where('product_id', '=', product_id),
  );
  const alternatives = recommending(db, changes);
  return {
    withdraw: (product_id, reason, now, by) => {
      if (mark.run({ product_id, reason, now }).changes === 0) return;
      images.productTakenDown(product_id, now);
      search.productGone(product_id);
      drop.run({ product_id });
      dropRecords.run({ product_id });
      endClosure.run({ product_id, now });
      changes.add({ product_id, kind: 'product_withdrawn', detail: { reason } }, by);
      alternatives.changed(product_id, by);
    },
  };
}
